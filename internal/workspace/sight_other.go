//go:build !linux

package workspace

import (
	"io/fs"
	"os"
)

// steady is told of no folder here.
func steady(*os.File) (device uint64, ok bool) { return 0, false }

// closely looks at an entry. No command is confined here, and less is told.
func (e *entry) closely() (now sight, err error) {
	if now.stat, err = e.lstat(); err != nil {
		return sight{}, err
	}
	now.is.Kind, now.is.Inode, now.ours = now.mode.Type(), now.inode, true
	if now.mode&fs.ModeSymlink != 0 {
		now.is.Target, err = e.Readlink(e.name)
	}
	return now, err
}

// sightOf looks at a path. A link at its end is not followed.
func (t *tree) sightOf(real string) (now sight, err error) {
	info, err := os.Lstat(real)
	if err != nil {
		return sight{}, err
	}
	now.stat = statOf(info)
	now.is.Kind, now.is.Inode, now.ours = now.mode.Type(), now.inode, true
	if now.mode&fs.ModeSymlink != 0 {
		now.is.Target, err = os.Readlink(real)
	}
	return now, err
}

// allow gives the owner of a folder further rights on it, and reports whether it has
// them.
func (s spot) allow(was stat, rights uint32) bool {
	now, err := s.lstat()
	return err == nil && now.mode.IsDir() && now.inode == was.inode && s.Chmod(s.name, now.mode.Perm()|fs.FileMode(rights)) == nil
}

// names tells how many names an entry's file has; here nothing is made of it.
func (e *entry) names() uint64 { return 1 }
