package trail

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Refusal is a call that was refused in a session.
type Refusal struct {
	Session string
	record.Entry
}

// Damage is what is wrong with a file: what is read of it may be false, or not all.
type Damage struct {
	File string // its name
	Err  error
}

// session is a file in the folder.
type session struct {
	name, id string
	changed  time.Time
}

// sessions are the files of all sessions, the one that was written last first.
func sessions(folder string) ([]session, error) {
	list, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Storage, "the audit can't be read: "+plain(err), "Is the state directory yours?")
	}
	var all []session
	for _, d := range list {
		base, ok := strings.CutSuffix(d.Name(), ".jsonl")
		info, err := d.Info()
		if !ok || err != nil || !info.Mode().IsRegular() {
			continue
		}
		_, id, _ := strings.Cut(base, "-")
		all = append(all, session{d.Name(), id, info.ModTime()})
	}
	slices.SortStableFunc(all, func(a, b session) int { return b.changed.Compare(a.changed) })
	return all, nil
}

// Sessions are the sessions that have a file in the folder.
func Sessions(folder string) (map[string]bool, error) {
	all, err := sessions(folder)
	known := map[string]bool{}
	for _, s := range all {
		known[s.id] = true
	}
	return known, err
}

// Refusals gives the newest refusals of all sessions, the newest first, and the files
// that are damaged: what can still be read of them is among the rest. It reads no more
// files than it must, and remembers no more than most of each.
func Refusals(folder string, most int) (found []Refusal, damaged []Damage, err error) {
	all, err := sessions(folder)
	for _, s := range all {
		if len(found) >= most && (most < 1 || s.changed.Before(found[most-1].Time)) {
			break // nothing in it, nor in what follows, is newer than what was found
		}
		refused, err := s.refusals(folder, most)
		if err != nil {
			damaged = append(damaged, Damage{s.name, err})
		}
		found = append(found, refused...)
		slices.SortStableFunc(found, func(a, b Refusal) int { return b.Time.Compare(a.Time) })
		found = found[:min(most, len(found))]
	}
	return found, damaged, err
}

// refusals are the last ones of a session, the newest first.
func (s session) refusals(folder string, most int) ([]Refusal, error) {
	f, err := os.Open(filepath.Join(folder, s.name))
	if err != nil {
		return nil, fault.Wrap(err, fault.Storage, "the audit can't be read: "+plain(err), "")
	}
	defer f.Close()
	var last []Refusal
	err = walk(f, func(e record.Entry) {
		if e.Type != record.TypeRefusal || e.Call == nil {
			return
		}
		if len(last) == most {
			last = append(last[:0], last[1:]...)
		}
		last = append(last, Refusal{s.id, e})
	})
	slices.Reverse(last)
	return last, err
}

// walk gives each entry that can be read, and says where the chain is broken first.
func walk(r io.Reader, each func(record.Entry)) error {
	var failed error
	line, seq, last := int64(0), int64(0), [32]byte{}
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxEntry)
	for s.Scan() {
		line++
		e, why := follows(s.Bytes(), seq, last)
		if why != "" && failed == nil {
			failed = broken(line, why)
		}
		if e.Type == "" {
			continue // nothing of it can be read
		}
		seq, last = e.Seq, e.Hash
		each(e)
	}
	if s.Err() != nil && failed == nil {
		failed = broken(line+1, unreadable)
	}
	return failed
}
