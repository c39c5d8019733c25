package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

// Files puts back what calls changed (ledger.Files): through the roots, and only where
// the rules do not deny writing. That a person would be asked is no hindrance: the
// person is who undoes.
type Files struct {
	tree   *tree
	policy *policy.Policy
	real   policy.Files
}

// OpenFiles opens the roots for an undo.
func OpenFiles(roots []string, p *policy.Policy, real policy.Files) (*Files, error) {
	if p == nil || real == nil {
		return nil, errors.New("an undo needs a policy, and a way to resolve paths")
	}
	t, err := openTree(roots)
	if err != nil {
		return nil, err
	}
	return &Files{t, p, real}, nil
}

// Close gives the roots back.
func (f *Files) Close() { f.tree.close() }

// May says why a path may not be written.
func (f *Files) May(path string) error {
	d := f.policy.Judge(policy.Call{Tool: policy.Write, Path: path}, f.real)
	if d.Outcome == policy.Refused && d.Stage != policy.StageMode {
		return fmt.Errorf("it may not be written: %s", d.Reason)
	}
	if len(d.Paths) == 1 && d.Paths[0].Real != path {
		return errors.New("a link stands in its way now")
	}
	return nil
}

// Now gives what is at a path.
func (f *Files) Now(path string) (ledger.State, []byte, error) {
	absent := ledger.State{Kind: ledger.Absent}
	at, err := f.find(path, false)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFolder) {
		return absent, nil, nil
	}
	if err != nil {
		return absent, nil, err
	}
	defer at.Close()
	info, err := at.Lstat(at.name)
	if errors.Is(err, fs.ErrNotExist) {
		return absent, nil, nil
	}
	if err != nil {
		return absent, nil, err
	}
	s := ledger.State{Kind: kind(info.Mode()), Mode: info.Mode().Perm()}
	switch s.Kind {
	case ledger.Link:
		s.Target, err = at.Readlink(at.name)
	case ledger.File:
		s.Size = info.Size()
		if s.Size > ledger.MaxDigest {
			return s, nil, nil
		}
		if s.Size > ledger.MaxFile {
			s.SHA256, _, err = at.digest()
			return s, nil, err
		}
		var file *os.File
		if file, _, err = at.openRegular(); err != nil {
			return s, nil, err
		}
		defer file.Close()
		var raw []byte
		if raw, err = readAll(file, s.Size, maxFile); err != nil {
			return s, nil, err
		}
		return ledger.Describe(raw, info.Mode()), raw, nil
	case ledger.Absent, ledger.Folder, ledger.Other:
	}
	return s, nil, err
}

// Put makes a path what it was.
func (f *Files) Put(path string, s ledger.State, content []byte) error {
	at, err := f.find(path, s.Kind != ledger.Absent)
	if s.Kind == ledger.Absent && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer at.Close()
	switch s.Kind {
	case ledger.Absent:
		if err := at.Remove(at.name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case ledger.Folder:
		return putFolder(at, s.Mode)
	case ledger.File, ledger.Link:
		if info, err := at.Lstat(at.name); err == nil && info.IsDir() {
			if err := at.Remove(at.name); err != nil { // what was in it is gone by now, or it stays
				return err
			}
		}
		return restore(at, s, content)
	case ledger.Other:
	}
	return errors.New("it was no file, folder or link")
}

// putFolder makes a folder, in the place of a file or a link too. The mode of one that is
// there is set by what is held: a link may be put in its place at any time.
func putFolder(at spot, mode fs.FileMode) error {
	info, err := at.Lstat(at.name)
	if err == nil && !info.IsDir() {
		err = errors.Join(at.Remove(at.name), fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return at.Mkdir(at.name, mode)
	}
	if err != nil {
		return err
	}
	sub, err := enter(at.Root, at.name, info)
	if err != nil {
		return err
	}
	defer sub.Close()
	f, err := sub.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Chmod(mode)
}

// restore writes a file or a link beside its place, and renames it.
func restore(at spot, s ledger.State, content []byte) error {
	temporary := ".holdfast-" + rand.Text() + ".tmp"
	err := error(nil)
	if s.Kind == ledger.Link {
		err = at.Symlink(s.Target, temporary)
	} else {
		err = at.WriteFile(temporary, content, 0o600)
		if err == nil {
			err = at.Chmod(temporary, s.Mode)
		}
	}
	if err == nil {
		err = at.Rename(temporary, at.name)
	}
	if err != nil {
		_ = at.Remove(temporary)
		return err
	}
	syncFolder(at.Root)
	return nil
}

func (f *Files) find(path string, make bool) (spot, error) {
	p, ok := f.tree.resolved(path)
	if !ok {
		return spot{}, errors.New("it lies in none of the folders of the workspace")
	}
	return f.tree.find(p, make)
}
