// Package ledger keeps what every call changed, so that it can be shown and undone.
// Entries and earlier contents are files of mode 0600 in a folder of this program's
// own state, which no tool reaches. Design: docs/design/workspace.md section 9.
package ledger

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Limits of what is kept.
const (
	MaxFile   = 10 << 20            // bytes of one earlier content
	MaxDigest = 256 << 20           // bytes of a file that is read to know whether it changed
	MaxAll    = 1 << 30             // bytes of all of them
	MaxAge    = 30 * 24 * time.Hour // of an entry
)

// Kind says what is at a path.
type Kind string

// The kinds.
const (
	Absent Kind = "absent"
	File   Kind = "file"
	Folder Kind = "folder"
	Link   Kind = "link"
	Other  Kind = "other" // a pipe, a socket, a device
)

// State is what was at a path at one time.
type State struct {
	Kind   Kind        `json:"kind"`
	Mode   fs.FileMode `json:"mode,omitempty"` // permissions
	Size   int64       `json:"size,omitempty"` // bytes, of a file
	SHA256 string      `json:"sha256,omitempty"`
	Target string      `json:"target,omitempty"` // of a link
	Kept   bool        `json:"kept,omitempty"`   // the content lies in the ledger
	Why    string      `json:"why,omitempty"`    // why it was not kept
}

// same reports whether two states are surely of the same content.
func (s State) same(o State) bool {
	return s.Kind == o.Kind && s.SHA256 == o.SHA256 && s.Target == o.Target && (s.Kind != File || s.SHA256 != "")
}

// Change is one path that a call changed.
type Change struct {
	Path   string `json:"path"` // real
	Before State  `json:"before"`
	After  State  `json:"after"`
}

// Entry is one call. Ended is zero while it runs, and stays so when this program died
// meanwhile: then what it changed is not known.
type Entry struct {
	ID          string    `json:"id"`
	Session     string    `json:"session"`
	Call        string    `json:"call"`
	Tool        string    `json:"tool"`
	What        string    `json:"what"` // a path, or a command as it was run
	Begun       time.Time `json:"begun"`
	Ended       time.Time `json:"ended,omitzero"`
	Changes     []Change  `json:"changes,omitempty"`
	Ignored     []string  `json:"ignored,omitempty"`      // paths that git ignores, and that changed
	IgnoredMore int       `json:"ignored_more,omitempty"` // such paths that are not listed
	Withheld    []string  `json:"withheld,omitempty"`     // paths that were moved away
	Missed      int       `json:"missed,omitempty"`       // changes over the most that one entry lists
	Shared      bool      `json:"shared,omitempty"`       // other commands ran meanwhile, whose changes may be among these
	Undoes      string    `json:"undoes,omitempty"`       // an entry
}

// Ledger is a folder of entries. Safe for concurrent use, also by several processes:
// every file is written under a name of its own and then renamed.
type Ledger struct {
	changes, contents *os.Root
	running           *os.Root // what is held of sessions whose commands run
	now               func() time.Time
	most              int64 // bytes of all contents

	mu   sync.Mutex
	used int64 // bytes of the contents; -1 before they were counted
}

// Open opens the ledger in a folder, which is made if need be.
func Open(folder string, now func() time.Time) (*Ledger, error) {
	if now == nil || !filepath.IsAbs(folder) {
		return nil, errors.New("a ledger needs a folder and a clock")
	}
	l := &Ledger{now: now, most: MaxAll, used: -1}
	for name, r := range map[string]**os.Root{"changes": &l.changes, "contents": &l.contents, "running": &l.running} {
		path := filepath.Join(folder, name)
		err := os.MkdirAll(path, 0o700)
		if err == nil {
			*r, err = os.OpenRoot(path)
		}
		if err != nil {
			l.Close()
			return nil, unwritable(err)
		}
	}
	return l, nil
}

// Close gives the folders back.
func (l *Ledger) Close() {
	for _, r := range []*os.Root{l.changes, l.contents, l.running} {
		if r != nil {
			_ = r.Close()
		}
	}
}

func unwritable(err error) error {
	return fault.Wrap(err, fault.Storage, "the change ledger can't be written: "+plain(err),
		"What is not written down is not changed. Is the disk full, or the state directory not yours?")
}

func plain(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// Draft is an entry of a call that runs.
type Draft struct {
	l     *Ledger
	entry Entry
}

// ID names the entry.
func (d *Draft) ID() string { return d.entry.ID }

// Begin writes an entry before its call has any effect. It is durable when it returns
// if it says of a change what was there before; a failure is a fault.Storage, and then
// the call must not be made.
func (l *Ledger) Begin(e Entry) (*Draft, error) {
	e.Begun = l.now().UTC()
	e.ID = strings.Replace(e.Begun.Format("20060102-150405.000"), ".", "-", 1) + "-" + strings.ToLower(rand.Text()[:4])
	d := &Draft{l, e}
	if err := l.put(l.changes, e.ID+".json", encode(e), len(e.Changes) > 0); err != nil {
		return nil, unwritable(err)
	}
	return d, nil
}

// End completes the entry.
func (d *Draft) End(complete func(e *Entry)) error {
	complete(&d.entry)
	d.entry.Ended = d.l.now().UTC()
	if err := d.l.put(d.l.changes, d.entry.ID+".json", encode(d.entry), false); err != nil {
		return unwritable(err)
	}
	return nil
}

// Drop takes the entry back: its call changed nothing.
func (d *Draft) Drop() { _ = d.l.changes.Remove(d.entry.ID + ".json") }

// Keep keeps a content, and gives the state of a file that has it. What is over the
// limit, or may not be read, is only described.
func (l *Ledger) Keep(content []byte, mode fs.FileMode, readable bool) (State, error) {
	s := Describe(content, mode)
	switch {
	case !readable:
		s.Why = "it may not be read"
		return s, nil
	case len(content) > MaxFile:
		s.Why = fmt.Sprintf("it has more than %d bytes", MaxFile)
		return s, nil
	}
	if room, err := l.room(s.Size); err != nil || !room {
		s.Why = "the ledger holds as much as it may"
		return s, err
	}
	s.Kept = true
	if info, err := l.contents.Lstat(s.SHA256); err == nil && info.Size() == int64(len(content)) {
		now := l.now()
		_ = l.contents.Chtimes(s.SHA256, now, now) // in use: Prune leaves what is young
		return s, nil
	}
	if err := l.put(l.contents, s.SHA256, content, true); err != nil {
		return State{}, unwritable(err)
	}
	return s, nil
}

// room makes room for a content. It reports whether there is any.
func (l *Ledger) room(size int64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used < 0 || l.used+size > l.most {
		used, err := l.prune(l.most - size)
		if err != nil {
			return false, err
		}
		l.used = used
	}
	if l.used+size > l.most {
		return false, nil
	}
	l.used += size
	return true, nil
}

// Describe gives the state of a file without keeping it.
func Describe(content []byte, mode fs.FileMode) State {
	sum := sha256.Sum256(content)
	return State{Kind: File, Mode: mode.Perm(), Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// put writes a file whole or not at all.
func (l *Ledger) put(r *os.Root, name string, content []byte, durable bool) error {
	temporary := ".new-" + rand.Text()
	f, err := r.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && durable {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = r.Rename(temporary, name)
	}
	if err != nil {
		_ = r.Remove(temporary)
	}
	return err
}

func encode(e Entry) []byte {
	b, _ := json.Marshal(e) // strings, numbers and times
	return append(b, '\n')
}

// Entry gives one entry; its id may be shortened to a part that only it has.
func (l *Ledger) Entry(id string) (Entry, error) {
	names, err := l.names()
	if err != nil {
		return Entry{}, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return id == "" || !strings.Contains(n, id) })
	switch {
	case slices.Contains(names, id):
		return l.read(id)
	case len(names) == 1:
		return l.read(names[0])
	case len(names) > 1:
		return Entry{}, fault.New(fault.BadInput, fmt.Sprintf("%d changes have %q in their ids", len(names), id), "Give more of the id: holdfast workspace log")
	}
	return Entry{}, fault.New(fault.NotFound, fmt.Sprintf("there is no change %q", id), "See them with: holdfast workspace log")
}

// Entries gives the newest entries, the newest first; those that can't be read are
// counted.
func (l *Ledger) Entries(most int) (entries []Entry, broken int, err error) {
	names, err := l.names()
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names[:min(most, len(names))] {
		e, err := l.read(name)
		if err != nil {
			broken++
			continue
		}
		entries = append(entries, e)
	}
	return entries, broken, nil
}

// names are the ids of all entries, the newest first.
func (l *Ledger) names() ([]string, error) {
	list, err := fs.ReadDir(l.changes.FS(), ".")
	if err != nil {
		return nil, fault.Wrap(err, fault.Storage, "the change ledger can't be read: "+plain(err), "")
	}
	var names []string
	for _, d := range list {
		if name, ok := strings.CutSuffix(d.Name(), ".json"); ok && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Reverse(names)
	return names, nil
}

func (l *Ledger) read(id string) (Entry, error) {
	var e Entry
	b, err := l.changes.ReadFile(id + ".json")
	if err == nil {
		err = json.Unmarshal(b, &e)
	}
	if err == nil && e.ID != id {
		err = errors.New("it names another")
	}
	if err != nil {
		return Entry{}, fault.Wrap(err, fault.Corrupt, "the change "+id+" can't be read: "+plain(err), "")
	}
	return e, nil
}

// Content gives a content that was kept.
func (l *Ledger) Content(s State) ([]byte, error) {
	if !s.Kept {
		why := s.Why
		if why == "" {
			why = "it is none that was kept"
		}
		return nil, fault.New(fault.NotFound, "the earlier content is not in the ledger: "+why, "")
	}
	b, err := l.contents.ReadFile(s.SHA256)
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "the earlier content is not in the ledger any more: "+plain(err), "")
	}
	if Describe(b, 0).SHA256 != s.SHA256 {
		return nil, fault.New(fault.Corrupt, "the earlier content in the ledger was changed", "")
	}
	return b, nil
}
