package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// Limits of what is walked. Every folder on the way is held open, and a path must fit
// into a system call, below another root too.
const (
	maxDepth = 200   // folders below the one that a walk begins in
	maxPath  = 3_800 // bytes of a real path
)

var errDeep = errors.New("it lies deeper than is looked")

// entry is one thing in a folder that is walked.
type entry struct {
	spot
	real    string
	info    fs.FileInfo // as it was when its folder was listed
	ignored bool        // by a .gitignore
	inside  bool        // its folder is ignored already
}

// walk visits everything below a judged folder, each folder before what is in it. visit
// says whether to go into a folder. What can't be read is passed over, and no link is
// followed. A single file is visited alone. One visit is made at a time, and folders
// beside each other come in any order.
func (t *tree) walk(from policy.Resolved, visit func(entry) (descend bool)) error {
	return t.comb(from, visit, care{})
}

// care is what a walk does about folders that it can't go through.
type care struct {
	lost func(entry, error)     // is told; nil: they are passed over
	mend func(real string) bool // says which to open to this user first; nil: none
}

// comb is walk with care. Its error is about the folder that it begins in.
func (t *tree) comb(from policy.Resolved, visit func(entry) (descend bool), c care) error {
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
		visit(entry{spot: at, real: from.Real, info: info})
		return nil
	}
	folder := at.Root
	if at.name != "." {
		if folder, err = into(at.Root, at.name); err != nil {
			return err
		}
		defer folder.Close()
	}
	above := t.ignoresAbove(from)
	if above.match(from.Real, true) {
		above = nil // who asks for an ignored folder means what is in it
	}
	return walkFolder(folder, from.Real, above, visit, c)
}

// walkFolder walks an open folder. Its error is about that folder alone.
func walkFolder(r *os.Root, real string, above *ignores, visit func(entry) bool, c care) error {
	w := walker{care: c, visit: visit, helpers: make(chan struct{}, runtime.GOMAXPROCS(0)-1)}
	err := w.folder(r, real, above, false, 0)
	w.helping.Wait()
	return err
}

// walker goes through a tree with as many goroutines as there are processors: nearly all
// of the time is spent asking the system.
type walker struct {
	care
	mu      sync.Mutex // of visit and lost
	visit   func(entry) bool
	helpers chan struct{}
	helping sync.WaitGroup
}

func (w *walker) folder(r *os.Root, real string, above *ignores, all bool, depth int) error {
	f, err := r.Open(".")
	if err != nil {
		return err
	}
	list, err := f.ReadDir(-1)
	_ = f.Close()
	here := above.with(r, real, list)
	folders, unseen := w.visitAll(r, real, list, here, all)
	for _, e := range folders {
		sub, err := w.enter(e, depth+1)
		if err != nil {
			w.miss(e, err)
			continue
		}
		below := func() {
			err := w.folder(sub, e.real, here, e.ignored, depth+1)
			w.miss(e, err)
			_ = sub.Close()
		}
		select {
		case w.helpers <- struct{}{}:
			w.helping.Go(func() {
				below()
				<-w.helpers
			})
		default:
			below()
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the folder went while it was listed
	}
	return errors.Join(err, unseen)
}

// enter opens a folder that was listed.
func (w *walker) enter(e entry, depth int) (*os.Root, error) {
	if depth > maxDepth || len(e.real) > maxPath {
		return nil, errDeep
	}
	if shut(e.info) && w.mend != nil && w.mend(e.real) {
		_ = e.Chmod(e.name, e.info.Mode().Perm()|0o700) // where it fails, so does what follows
	}
	return enter(e.Root, e.name, e.info)
}

// shut reports whether a folder's owner can't list or enter it.
func shut(info fs.FileInfo) bool { return info.Mode().Perm()&0o500 != 0o500 }

// miss tells of a folder that was not seen, or not whole. What is gone holds nothing.
func (w *walker) miss(e entry, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) || w.lost == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost(e, err)
}

// visitAll visits what is in a folder, and gives the folders to go into. Its error says
// that something in it could not be looked at.
func (w *walker) visitAll(r *os.Root, real string, list []fs.DirEntry, here *ignores, all bool) (into []entry, unseen error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range list {
		info, err := d.Info() // of a folder in a Root: it was looked at when it was listed
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				unseen = err
			}
			continue
		}
		e := entry{spot: spot{Root: r, name: d.Name()}, real: real + string(filepath.Separator) + d.Name(), info: info, inside: all}
		e.ignored = all || here.match(e.real, d.IsDir())
		if w.visit(e) && d.IsDir() {
			into = append(into, e)
		}
	}
	return into, unseen
}
