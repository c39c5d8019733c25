package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// Limits of what is walked. Every folder on the way is held open, and a path must fit
// into a system call, below another root too.
const (
	maxDepth = 200   // folders below the one that a walk begins in
	maxPath  = 3_800 // bytes of a real path
)

var errDeep = errors.New("it lies deeper than is looked")

// dirent is a name in a folder, with the type bits of its mode.
type dirent struct {
	name string
	kind fs.FileMode
}

const unknownKind = fs.ModeIrregular // what a listing says nothing of

// entry is one thing in a folder that is walked.
type entry struct {
	spot
	real   string
	kind   fs.FileMode // type bits
	inside bool        // its folder is ignored by a .gitignore

	above          *ignores // what speaks of it
	lines          *int     // lines that it and others may still be held against
	asked, ignored bool     // whether it is, when that was asked
	folder         int      // the open folder, while the entry is visited; 0: none
	seen           bool     // it was looked at
	now            stat
	err            error // it can't be looked at
}

// stat looks at the entry when it is first asked, and tells whether it could.
func (e *entry) stat() (now stat, ok bool) {
	if !e.seen {
		e.seen = true
		e.now, e.err = e.look()
		e.kind = e.now.mode.Type()
	}
	return e.now, e.err == nil
}

// isIgnored reports whether a .gitignore says so of it or of a folder that it lies in.
func (e *entry) isIgnored() bool {
	if !e.asked {
		e.asked, e.ignored = true, e.inside
		if e.above != nil && !e.inside {
			if *e.lines -= e.above.lines; *e.lines > 0 {
				e.ignored = e.above.match(e.real, e.kind.IsDir())
			}
		}
	}
	return e.ignored
}

// lstat looks at what is in a held folder.
func (s spot) lstat() (stat, error) {
	info, err := s.Lstat(s.name)
	if err != nil {
		return stat{}, err
	}
	return statOf(info), nil
}

// walk visits everything below a judged folder, each folder before what is in it. visit
// says whether to go into a folder. What can't be read is passed over, and no link is
// followed. A single file is visited alone.
func (t *tree) walk(from policy.Resolved, visit func(*entry) (descend bool)) error {
	return t.comb(from, visit, care{})
}

// care is what a walk does about folders that it can't go through.
type care struct {
	lost func(*entry, error)    // is told; nil: they are passed over
	mend func(real string) bool // says which to open to this user first; nil: none
}

// comb is walk with care. Its error is about the folder that it begins in.
func (t *tree) comb(from policy.Resolved, visit func(*entry) (descend bool), c care) error {
	at, err := t.find(from, false)
	if err != nil {
		return err
	}
	defer at.Close()
	info, err := at.Lstat(at.name)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return errSwapped
	case !info.IsDir():
		visit(&entry{spot: at, real: from.Real, kind: info.Mode().Type()})
		return nil
	}
	folder := at.Root
	if at.name != "." {
		if folder, err = into(at.Root, at.name); err != nil {
			return err
		}
		defer folder.Close()
	}
	w := walker{care: c, visit: visit, ignores: &t.rules, parse: maxParsed, ask: maxAsked}
	return w.folder(folder, from.Real, t.ignoresAbove(from), false, 0)
}

// walker goes through a tree with one goroutine: nearly all of the time is spent in the
// system, where others would wait for each other.
type walker struct {
	care
	visit   func(*entry) bool
	ignores *ignoreFiles // nil: nothing is ignored
	parse   int          // lines of those that may still be read
	ask     int          // lines that may still be held against paths
	lister
}

// folder walks an open folder. Its error is about that folder alone.
func (w *walker) folder(r *os.Root, real string, above *ignores, all bool, depth int) error {
	f, err := r.Open(".")
	if err != nil {
		return err
	}
	list, err := w.list(f)
	here := above
	if w.ignores != nil {
		here = w.ignores.with(above, r, real, list, &w.parse)
	}
	folders, unseen := w.visitAll(r, f, real, list, here, all)
	_ = f.Close()
	for i := range folders {
		e := &folders[i]
		err := w.below(e, here, depth+1)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && w.lost != nil { // what is gone holds nothing
			w.lost(e, err)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the folder went while it was listed
	}
	return errors.Join(err, unseen)
}

// below goes into a folder that was listed.
func (w *walker) below(e *entry, above *ignores, depth int) error {
	if depth > maxDepth || len(e.real) > maxPath {
		return errDeep
	}
	if now, ok := e.stat(); ok && shut(now.mode) && w.mend != nil && w.mend(e.real) {
		_ = e.allow(now, 0o700) // where it fails, so does what follows
	}
	sub, err := into(e.Root, e.name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return w.folder(sub, e.real, above, e.isIgnored(), depth)
}

// shut reports whether a folder's owner can't list or enter it.
func shut(m fs.FileMode) bool { return m.Perm()&0o500 != 0o500 }

// visitAll visits what is in a folder, and gives the folders to go into. Its error says
// that something in it could not be looked at.
func (w *walker) visitAll(r *os.Root, f *os.File, real string, list []dirent, here *ignores, all bool) (into []entry, unseen error) {
	fd := int(f.Fd())
	e := new(entry) // one for all: it is a large thing
	for _, l := range list {
		*e = entry{spot: spot{Root: r, name: l.name}, real: real + string(filepath.Separator) + l.name, kind: l.kind, inside: all, above: here, lines: &w.ask, folder: fd}
		if l.kind == unknownKind {
			e.stat()
		}
		descend := w.visit(e)
		switch {
		case e.err == nil && descend && e.kind.IsDir():
			e.folder = 0
			into = append(into, *e)
		case e.err != nil && !errors.Is(e.err, fs.ErrNotExist):
			unseen = e.err
		}
	}
	return into, unseen
}
