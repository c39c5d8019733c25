package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

// Limits of what the ledger compares.
const (
	maxCopies  = 1 << 30 // bytes of all copies of one session
	maxChanges = 10_000  // of one entry
	maxIgnored = 200     // names of ignored paths, of one entry
)

// baseline is what the files of the roots held when they were last looked at, for what
// a command changes is known only afterwards. The copies lie in one file without a name:
// they are gone when this process is.
type baseline struct {
	s    *Server
	mu   sync.Mutex
	pack *os.File // nil: not made yet
	size int64
	now  map[string]*subject // by real path
}

// copied is the content that a file had.
type copied struct {
	at, size int64  // in the pack
	why      string // there is none; why
}

func newBaseline(s *Server) *baseline { return &baseline{s: s, now: map[string]*subject{}} }

func (b *baseline) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pack != nil {
		_ = b.pack.Close()
		_ = os.Remove(b.pack.Name()) // where an open file keeps its name
	}
}

// take adds a path to a survey, with a copy of its content if asked. What was known of
// it is taken over when nothing changed. mu is held.
func (b *baseline) take(v *survey, e *entry, known *subject, reach policy.Reach, whole, contents bool) {
	now, ok := e.stat()
	if !ok {
		return
	}
	contents = contents && reach == policy.Writable && now.mode.IsRegular()
	x := known
	if x == nil || x.stat != now || x.under != e.above || contents && x.copy == nil {
		x = &subject{stat: now, reach: reach, whole: whole, under: e.above}
		switch {
		case known != nil && known.stat == now && (known.copy != nil || !contents):
			x.target, x.copy = known.target, known.copy
		case now.mode&fs.ModeSymlink != 0:
			x.target, _ = e.Readlink(e.name)
		case contents:
			x.copy = b.copy(e, now)
		}
	}
	v.files[e.real] = x
}

// copy keeps what a file holds.
func (b *baseline) copy(e *entry, s stat) *copied {
	c := &copied{}
	switch {
	case s.size > ledger.MaxFile:
		c.why = "it has more bytes than are kept of a file"
		return c
	case b.size+s.size > maxCopies:
		c.why = "the workspace has more bytes than are kept of a session"
		return c
	case !b.s.o.Policy.Readable(e.real, e.real):
		c.why = "it may not be read"
		return c
	}
	f, _, err := e.openRegular()
	if err == nil {
		var raw []byte
		raw, err = readAll(f, s.size, ledger.MaxFile)
		_ = f.Close()
		if err == nil {
			err = b.append(c, raw)
		}
	}
	if err != nil {
		c.why = "it could not be copied: " + plain(err)
	}
	return c
}

func (b *baseline) append(c *copied, raw []byte) error {
	if b.pack == nil {
		f, err := os.OpenFile(filepath.Join(b.s.o.Folder, "before"), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		_ = os.Remove(f.Name()) // not everywhere can this be done while it is open
		b.pack = f
	}
	if _, err := b.pack.WriteAt(raw, b.size); err != nil {
		return err
	}
	c.at, c.size = b.size, int64(len(raw))
	b.size += c.size
	return nil
}

// content gives what was copied.
func (b *baseline) content(c *copied) ([]byte, error) {
	b.mu.Lock()
	pack := b.pack
	b.mu.Unlock()
	switch {
	case c == nil:
		return nil, errors.New("it could not be changed")
	case c.why != "":
		return nil, errors.New(c.why)
	case c.size == 0:
		return nil, nil
	}
	raw := make([]byte, c.size)
	_, err := pack.ReadAt(raw, c.at)
	return raw, err
}

// changes compares two surveys: what was made, changed and removed in between. It keeps
// earlier contents in the ledger.
func (s *Server) changes(before, after *survey) (changes []ledger.Change, missed int) {
	s.find(before, after)
	var paths []string
	for p, x := range before.files {
		if y := after.files[p]; y != x && (y == nil || differs(x, y)) {
			paths = append(paths, p)
		}
	}
	for p := range after.files {
		if before.files[p] == nil && !before.ignores(p) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	for _, p := range paths {
		if len(changes) == maxChanges {
			missed++
			continue
		}
		if c, changed := s.compare(p, before.files[p], after.files[p]); changed {
			changes = append(changes, c)
		}
	}
	return changes, missed
}

// compare gives the states of a path before and after. Nothing is changed that was
// touched, or written with what it held; of the rest the earlier content is kept.
func (s *Server) compare(path string, before, after *subject) (c ledger.Change, changed bool) {
	was, raw, err := s.state(before)
	is, _, _ := s.state(after)
	c = ledger.Change{Path: path, Before: was, After: is}
	same := was.Kind == is.Kind && was.Mode == is.Mode && was.Target == is.Target && was.SHA256 == is.SHA256
	if same && (is.Kind == ledger.Link || is.Kind == ledger.File && is.SHA256 != "") {
		return c, false
	}
	if was.Kind != ledger.File {
		return c, true
	}
	if err == nil {
		var kept ledger.State
		if kept, err = s.o.Ledger.Keep(raw, before.mode, true); err == nil {
			c.Before = kept
			return c, true
		}
	}
	c.Before.Why = plain(err)
	return c, true
}

// find adds to a survey what was known before and is not in it though it is there: git
// ignores it now. A command can write a .gitignore, and what it changed must not look
// as if it were gone.
func (s *Server) find(before, after *survey) {
	s.base.mu.Lock()
	defer s.base.mu.Unlock()
	for p, was := range before.files {
		if after.files[p] != nil {
			continue
		}
		at, ok := s.tree.resolved(p)
		if !ok {
			continue
		}
		spot, err := s.tree.find(at, false)
		if err != nil {
			continue // it is gone, and its folder too
		}
		e := &entry{spot: spot, real: p}
		if now, ok := e.stat(); ok {
			reach, whole := s.reach(p, now.mode.IsDir(), was)
			s.base.take(after, e, was, reach, whole, true)
		}
		_ = spot.Close()
	}
}

// ignores reports whether git ignored a path, or the folder that it lies in: of what it
// held then nothing is known.
func (v *survey) ignores(path string) bool {
	for {
		if _, ok := v.ignored[path]; ok {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

// differs reports whether a path may have been changed. A folder's size and time change
// with what is in it, which is compared itself.
func differs(x, y *subject) bool {
	if x.mode.IsDir() && y.mode.IsDir() {
		return x.mode != y.mode
	}
	return x.stat != y.stat || x.target != y.target
}

func kind(m fs.FileMode) ledger.Kind {
	switch {
	case m.IsRegular():
		return ledger.File
	case m.IsDir():
		return ledger.Folder
	case m&fs.ModeSymlink != 0:
		return ledger.Link
	}
	return ledger.Other
}

// state is what was at a path in a survey, with the content of a file. An error says
// why it is not known.
func (s *Server) state(x *subject) (st ledger.State, raw []byte, err error) {
	if x == nil {
		return ledger.State{Kind: ledger.Absent}, nil, nil
	}
	st = ledger.State{Kind: kind(x.mode), Mode: x.mode.Perm(), Target: x.target}
	if st.Kind != ledger.File {
		return st, nil, nil
	}
	st.Size = x.size
	if raw, err = s.base.content(x.copy); err == nil {
		st = ledger.Describe(raw, x.mode)
	}
	return st, raw, err
}

// newlyIgnored names what git ignores and changed.
func newlyIgnored(before, after *survey, shown func(string) string) []string {
	var names []string
	for p, x := range after.ignored {
		// What was known before is compared, but for what is in a folder.
		if known := before.files[p]; known != nil && (!x.mode.IsDir() || known.stat == x) {
			continue
		}
		if before.ignored[p] != x {
			names = append(names, shown(p))
		}
	}
	for p, x := range before.ignored {
		if _, ok := after.ignored[p]; ok {
			continue
		}
		if now := after.files[p]; now == nil || now.stat != x {
			names = append(names, shown(p))
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names[:min(len(names), maxIgnored)]
}
