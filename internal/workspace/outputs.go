package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

const maxOutput = 64 << 20 // bytes of one command that are kept

// outputs are the files with what commands printed. Read reaches them by the paths that
// it was told, and nothing else does: the folder lies with this program's own files.
type outputs struct {
	folder string
	root   *os.Root

	mu    sync.Mutex
	last  int
	given map[string]string // the name in the folder, by the path as it was told
}

func openOutputs(session string) (*outputs, error) {
	folder := filepath.Join(session, "output")
	if err := privateFolder(folder); err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fault.Wrap(err, fault.Storage, "the folder for outputs can't be opened: "+plain(err), "")
	}
	return &outputs{folder: folder, root: r, given: map[string]string{}}, nil
}

func (o *outputs) close() { _ = o.root.Close() }

// create makes the file of one command.
func (o *outputs) create() (f *os.File, path string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last++
	name := fmt.Sprintf("%d.txt", o.last)
	if f, err = o.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return nil, "", err
	}
	path = filepath.Join(o.folder, name)
	o.given[path] = name
	return f, path, nil
}

// has reports whether a path is one that was told.
func (o *outputs) has(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.given[path]
	return ok
}

// find gives the spot of a path that was told.
func (o *outputs) find(path string) (spot, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name, ok := o.given[path]
	if !ok {
		return spot{}, errors.New("it is no output of this session")
	}
	r, err := o.root.OpenRoot(".")
	return spot{Root: r, name: name}, err
}
