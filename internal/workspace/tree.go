package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// errSwapped says that a path is not what was judged any more: a link stands where a
// folder or a file stood.
var errSwapped = errors.New("it changed between the decision and the call: a link, or another file, is there now")

var errNoFolder = errors.New("a part of the path is no folder")

// tree is the roots, held open: whatever is opened is reached from them, step by step,
// through folders alone. A judged path has no links left, so a link on the way was put
// there afterwards, and what it leads to was never judged, though it may lie inside a
// root. Safe for concurrent use.
type tree struct {
	paths  []string
	open   []*os.Root
	held   []*os.File      // the same folders: their modes can be set though they can't be entered
	steady map[uint64]bool // devices that keep what tells files apart
	rules  ignoreFiles     // of git, that were read
}

func openTree(paths []string) (*tree, error) {
	t := &tree{paths: paths, steady: map[uint64]bool{}}
	for _, p := range paths {
		r, err := os.OpenRoot(p)
		if err != nil {
			t.close()
			return nil, fault.Wrap(err, fault.BadInput, "the folder "+p+" can't be opened: "+plain(err), "Name another with -C or --add-dir.")
		}
		t.open = append(t.open, r)
		f, err := r.Open(".")
		if err != nil {
			t.close()
			return nil, fault.Wrap(err, fault.BadInput, "the folder "+p+" can't be read: "+plain(err), "Name another with -C or --add-dir.")
		}
		t.held = append(t.held, f)
		if device, ok := steady(f); ok {
			t.steady[device] = true
		}
	}
	return t, nil
}

func (t *tree) close() {
	for _, r := range t.open {
		_ = r.Close()
	}
	for _, f := range t.held {
		_ = f.Close()
	}
}

// spot is where a path lies: a folder that is held open, and a name in it. The name of
// a root itself is ".". It must be closed.
type spot struct {
	*os.Root
	name string
	made []string // folders that were made on the way, real paths
}

// find goes to the folder of a judged path. With make, folders that are missing are made.
func (t *tree) find(p policy.Resolved, make bool) (spot, error) {
	if p.Root < 0 || p.Root >= len(t.open) {
		return spot{}, errors.New("it lies in none of the folders that were judged")
	}
	rel, err := filepath.Rel(t.paths[p.Root], p.Real)
	if err != nil || !filepath.IsLocal(rel) {
		return spot{}, errors.New("it lies in none of the folders that were judged")
	}
	at, err := t.open[p.Root].OpenRoot(".")
	if err != nil {
		return spot{}, err
	}
	s := spot{Root: at, name: filepath.Base(rel)}
	if rel == "." {
		return s, nil
	}
	steps := strings.Split(rel, string(filepath.Separator))
	way := t.paths[p.Root]
	for _, step := range steps[:len(steps)-1] {
		way = filepath.Join(way, step)
		next, err := into(s.Root, step)
		if make && errors.Is(err, fs.ErrNotExist) {
			if err = s.Mkdir(step, 0o777); err == nil {
				s.made = append(s.made, way)
				next, err = into(s.Root, step)
			}
		}
		_ = s.Close()
		if err != nil {
			return spot{}, err
		}
		s.Root = next
	}
	return s, nil
}

// into opens a folder in a folder. It fails for a link, and for what is replaced
// meanwhile: what it opened is what stood there as a folder.
func into(r *os.Root, name string) (*os.Root, error) {
	before, err := r.Lstat(name)
	if err != nil {
		return nil, err
	}
	return enter(r, name, before)
}

// enter opens a folder in a folder, which must be the one that was looked at before.
func enter(r *os.Root, name string, before fs.FileInfo) (*os.Root, error) {
	switch {
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, errSwapped
	case !before.IsDir():
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNoFolder}
	}
	next, err := r.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if got, err := next.Stat("."); err != nil || !os.SameFile(before, got) {
		_ = next.Close()
		return nil, errSwapped
	}
	return next, nil
}

// kindOf says what is no regular file.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}

// openRegular opens a regular file for reading. It never blocks, and opens neither
// links nor devices nor pipes.
func (s spot) openRegular() (*os.File, fs.FileInfo, error) {
	before, err := s.Lstat(s.name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		if before.Mode()&fs.ModeSymlink != 0 {
			return nil, nil, errSwapped
		}
		return nil, nil, &fs.PathError{Op: "open", Path: s.name, Err: errors.New("it is " + kindOf(before.Mode()))}
	}
	f, err := s.OpenFile(s.name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	got, err := f.Stat()
	if err != nil || !os.SameFile(before, got) || !got.Mode().IsRegular() {
		_ = f.Close()
		return nil, nil, errSwapped
	}
	return f, got, nil
}
