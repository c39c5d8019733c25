// Package trail is the audit of a workspace that runs on its own: one file a session,
// a line an entry, each with the hash of the one before (core/record). It needs no
// database, so that the server is there at once. Design: docs/design/workspace.md.
package trail

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// maxWaiting is how many entries are held while the disk takes none.
const maxWaiting = 10_000

// maxEntry is how many bytes one line has at most when a file is verified.
const maxEntry = 4 << 20

// syncEvery is how long an entry that nobody waits for may be on its way to the disk.
const syncEvery = 100 * time.Millisecond

// Trail is the file of one session. Safe for concurrent use.
type Trail struct {
	path string

	mu      sync.Mutex
	file    *os.File
	size    int64 // bytes of whole lines
	seq     int64
	last    [32]byte
	waiting []record.Entry // could not be written yet
	lost    int            // over maxWaiting
	fault   error          // why
	dirty   bool           // written, and not made durable
	closed  bool

	timer *time.Timer
}

// Create makes the file of a session, which must not be there.
func Create(folder, session string, now time.Time) (*Trail, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, unwritable(err)
	}
	path := filepath.Join(folder, now.UTC().Format("20060102T150405Z")+"-"+session+".jsonl")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, unwritable(err)
	}
	return &Trail{path: path, file: f}, nil
}

// Path is the file's.
func (t *Trail) Path() string { return t.path }

func unwritable(err error) error {
	return fault.Wrap(err, fault.Storage, "the audit can't be written: "+plain(err), "Is the disk full, or the state directory not yours?")
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

// Append writes entries down; they are durable when it returns nil.
func (t *Trail) Append(ctx context.Context, entries ...record.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.flush(); err != nil {
		return unwritable(err)
	}
	for _, e := range entries {
		if err := t.write(e); err != nil {
			return unwritable(err)
		}
	}
	if err := t.sync(); err != nil {
		return unwritable(err)
	}
	return nil
}

// Enqueue writes an entry down; it is durable soon after. What can't be written is held,
// and Healthy says why.
func (t *Trail) Enqueue(e record.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.flush(); err == nil {
		if err = t.write(e); err == nil {
			t.soon()
			return
		}
		t.fault = err
	}
	if len(t.waiting) == maxWaiting {
		t.lost++
		return
	}
	t.waiting = append(t.waiting, e)
}

// Healthy is nil while entries are written. It tries again what could not be.
func (t *Trail) Healthy() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.flush(); err != nil {
		return unwritable(err)
	}
	if t.lost > 0 {
		return fault.New(fault.Storage, fmt.Sprintf("the audit lacks %s that could not be written", fault.Plural(t.lost, "entry")), "Start the workspace again.")
	}
	return nil
}

// Close makes everything durable.
func (t *Trail) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	err := errors.Join(t.flush(), t.sync())
	t.closed, t.fault = true, os.ErrClosed
	return errors.Join(err, t.file.Close())
}

// flush writes what waits. mu is held, as in all below.
func (t *Trail) flush() error {
	if t.closed {
		return os.ErrClosed
	}
	for len(t.waiting) > 0 {
		if err := t.write(t.waiting[0]); err != nil {
			t.fault = err
			return err
		}
		t.waiting = t.waiting[1:]
		t.soon()
	}
	if t.fault != nil && t.dirty {
		return t.sync()
	}
	t.fault = nil
	return nil
}

// write appends one line, whole or not at all.
func (t *Trail) write(e record.Entry) error {
	e.Seq, e.Prev = t.seq+1, t.last
	encoded, err := record.Encode(e)
	if err != nil {
		return err
	}
	e.Hash = record.Link(e.Prev, e.Seq, encoded)
	line, err := record.AppendJSON(nil, e)
	if err != nil {
		return err
	}
	if _, err := t.file.WriteAt(append(line, '\n'), t.size); err != nil {
		return errors.Join(err, t.file.Truncate(t.size))
	}
	t.size += int64(len(line) + 1)
	t.seq, t.last, t.dirty = e.Seq, e.Hash, true
	return nil
}

func (t *Trail) sync() error {
	if !t.dirty {
		return nil
	}
	if err := datasync(t.file); err != nil {
		t.fault = err
		return err
	}
	t.dirty, t.fault = false, nil
	return nil
}

// soon has what was written made durable in a moment.
func (t *Trail) soon() {
	if t.timer != nil {
		return
	}
	t.timer = time.AfterFunc(syncEvery, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.timer = nil
		if !t.closed {
			_ = t.sync() // a failure stays, and Healthy tries it again
		}
	})
}

// Verify reads a file and checks its chain: every entry has the hash that it was written
// with, and follows the one before. It gives how many there are, and the last hash.
func Verify(r io.Reader) (entries int64, last [32]byte, err error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxEntry)
	for s.Scan() {
		e, why := follows(s.Bytes(), entries, last)
		if why != "" {
			return entries, last, broken(entries+1, why)
		}
		entries, last = e.Seq, e.Hash
	}
	if err := s.Err(); err != nil {
		return entries, last, broken(entries+1, unreadable)
	}
	return entries, last, nil
}

const unreadable = "it can't be read"

// follows reads a line, and says why it is not what was written after the entry that has
// this number and hash. An entry that can't be read at all is the zero Entry.
func follows(line []byte, seq int64, last [32]byte) (e record.Entry, why string) {
	e, err := record.ParseJSON(line)
	switch {
	case err != nil:
		return record.Entry{}, unreadable
	case record.Check(e) != nil:
		return e, "it was changed"
	case e.Seq != seq+1 || e.Prev != last:
		return e, "it does not follow the one before"
	}
	return e, ""
}

func broken(n int64, why string) error {
	return fault.New(fault.Corrupt, fmt.Sprintf("the audit is broken at line %d: %s", n, why), "Entries before it are as they were written.")
}

// Digest is a hash as people see it.
func Digest(h [32]byte) string { return hex.EncodeToString(h[:sha256.Size]) }
