//go:build !linux

package workspace

import (
	"io/fs"
	"os"
)

// lister lists folders.
type lister struct{}

// list gives what is in an open folder; of one that can't be listed to its end, also
// what was seen.
func (*lister) list(f *os.File) (all []dirent, err error) {
	list, err := f.ReadDir(-1)
	for _, d := range list {
		all = append(all, dirent{d.Name(), d.Type()})
	}
	return all, err
}

// look looks at the entry.
func (e *entry) look() (stat, error) { return e.lstat() }

// statOf is what is known of a file.
func statOf(info fs.FileInfo) stat {
	return stat{mode: info.Mode(), size: info.Size(), time: info.ModTime().UnixNano(), inode: inode(info)}
}
