package settings

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

const (
	maxSettings = 1 << 20   // bytes of a settings file
	maxContract = 256 << 10 // bytes of a contract
)

// Names of the files, in each folder that has some.
const (
	projectFolder = ".holdfast"
	settingsName  = "settings.json"
	localName     = "settings.local.json"
	contractName  = "contract.yaml"
)

// source is one file as it was read, once. Nothing reads it again: what is judged,
// what is digested and what is shown are these bytes.
type source struct {
	layer   policy.Layer
	path    string
	present bool
	data    []byte
}

var (
	errTooBig   = errors.New("too large")
	errNoFile   = errors.New("it is no regular file")
	errIsLink   = errors.New("it is a link")
	errReplaced = errors.New("it was replaced while it was read")
	errChanged  = errors.New("it is not what it was when the settings were read")
	errAppeared = errors.New("it was not there when the settings were read")
)

// place is a line of the file.
func (s source) place(line int) policy.Place {
	return policy.Place{Layer: s.layer, File: s.path, Line: line}
}

// readOwners reads a file of the managed or the user's settings; it may be a link. A
// file that is not there is no error, everything else is.
func readOwners(layer policy.Layer, path string, limit int64) (source, error) {
	s := source{layer: layer, path: path}
	before, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return s, unreadable(s, errors.New("it is a link that leads nowhere"))
		}
		return s, nil
	}
	if err == nil {
		s.data, err = readRegular(before, limit, func() (*os.File, error) { return openNow(path) })
	}
	if err != nil {
		return s, unreadable(s, err)
	}
	s.present = true
	return s, nil
}

// readProject reads a file of a project's folder, which is never reached through a
// link: a link could lead to what the agent may write.
func readProject(folder *os.Root, layer policy.Layer, dir, name string, limit int64) (source, error) {
	s := source{layer: layer, path: filepath.Join(dir, projectFolder, name)}
	if folder == nil {
		return s, nil
	}
	before, err := folder.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil && before.Mode()&fs.ModeSymlink != 0 {
		err = errIsLink
	}
	if err == nil {
		s.data, err = readRegular(before, limit, func() (*os.File, error) { return folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) })
	}
	if err != nil {
		return s, unreadable(s, err)
	}
	s.present = true
	return s, nil
}

// openNow opens a file without waiting for a FIFO or a device.
func openNow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// readRegular opens what was looked at before, without waiting for a FIFO or a device,
// and reads it when it is still the same regular file.
func readRegular(before fs.FileInfo, limit int64, open func() (*os.File, error)) ([]byte, error) {
	if !before.Mode().IsRegular() {
		return nil, errNoFile
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !os.SameFile(before, opened):
		return nil, errReplaced
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, errTooBig
	}
	return data, err
}

// unreadable is the error of a file that is there and can't be read: nothing may then
// start, for a deny could stand in it.
func unreadable(s source, err error) error {
	kind := fault.BadInput
	if errors.Is(err, errTooBig) {
		kind = fault.TooLarge
	}
	return problem(s.place(0), kind, "Put it right, or remove it: without it its layer says nothing.", "%s can't be read: %s", s.path, reason(err))
}

// openProject opens the project's own folder; nil when there is none.
func openProject(dir string) (*os.Root, error) {
	path := filepath.Join(dir, projectFolder)
	at := policy.Place{Layer: policy.Project, File: path}
	before, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, problem(at, fault.BadInput, "", "%s can't be looked at: %s", path, reason(err))
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, problem(at, fault.BadInput, "Put the folder itself there.", "%s is a link: the settings of a project are never reached through one", path)
	case !before.IsDir():
		return nil, problem(at, fault.BadInput, "Remove it, or make a folder of it.", "%s is no folder", path)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, problem(at, fault.BadInput, "", "%s can't be opened: %s", path, reason(err))
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(before, opened) {
		root.Close()
		return nil, problem(at, fault.BadInput, "Start again.", "%s was replaced while it was opened", path)
	}
	return root, nil
}
