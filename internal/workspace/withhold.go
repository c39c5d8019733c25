package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

const maxWithheld = 64 << 20 // bytes of one thing that is moved away

// moveAway moves a path to the session's folder, which no tool reaches, and reports
// whether it is gone. was is what was seen there; when something else is there by now,
// or the way to it changed, nothing is done. What can't be kept is removed all the same:
// it must not stay.
func (s *Server) moveAway(real string, was stat) bool {
	p, ok := s.tree.resolved(real)
	if !ok {
		return false
	}
	at, err := s.tree.find(p, false)
	if err != nil {
		return false
	}
	defer at.Close()
	if now, err := at.lstat(); err != nil || now.inode != was.inode {
		return false
	}
	err = s.carry(at)
	if err == nil {
		return true
	}
	s.o.Log.Warn("what a command made where it may not could not be kept", "path", real, "error", plain(err))
	if err := at.RemoveAll(at.name); err != nil {
		s.o.Log.Error("what a command made where it may not could not be removed", "path", real, "error", plain(err))
		return false
	}
	return true
}

// carry moves what is at a spot to the session's folder: by the folders that are held
// open, never by a path, for a command may put a link in its way at any time.
func (s *Server) carry(at spot) error {
	away := filepath.Join(s.o.Folder, "withheld")
	if err := privateFolder(away); err != nil {
		return err
	}
	to, err := os.Open(away)
	if err != nil {
		return err
	}
	defer to.Close()
	from, err := at.Open(".")
	if err != nil {
		return err
	}
	defer from.Close()
	as := fmt.Sprintf("%d-%s", s.counted(), at.name)
	if renameBetween(from, at.name, to, as) == nil {
		return nil
	}
	left := int64(maxWithheld) // on another disk it is copied
	if err := copyAway(at, filepath.Join(away, as), &left); err != nil {
		return err
	}
	return at.RemoveAll(at.name)
}

func (s *Server) counted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved++
	return s.moved
}

// resolved gives a real path as a judged one.
func (t *tree) resolved(real string) (policy.Resolved, bool) {
	for i, root := range t.paths {
		if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) && rel != "." {
			return policy.Resolved{Given: real, Real: real, Root: i}, true
		}
	}
	return policy.Resolved{}, false
}

func copyAway(from spot, to string, left *int64) error {
	info, err := from.Lstat(from.name)
	if err != nil {
		return err
	}
	switch {
	case info.Mode().IsRegular():
		return copyFile(from, to, left)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(from.name)
		if err != nil {
			return err
		}
		return os.WriteFile(to+".link", []byte(target), 0o600)
	case !info.IsDir():
		return nil
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	sub, err := into(from.Root, from.name)
	if err != nil {
		return err
	}
	defer sub.Close()
	list, err := fs.ReadDir(sub.FS(), ".")
	for _, d := range list {
		err = errors.Join(err, copyAway(spot{Root: sub, name: d.Name()}, filepath.Join(to, d.Name()), left))
	}
	return err
}

func copyFile(from spot, to string, left *int64) error {
	f, info, err := from.openRegular()
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > *left {
		return errors.New("it is too large to be kept")
	}
	*left -= info.Size()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(f, info.Size()))
	return errors.Join(err, out.Close())
}
