package workspace

import (
	"io/fs"
	"os"
)

// sameOwner is nothing here: a new file inherits from its folder.
func sameOwner(*os.File, fs.FileInfo) {}

// inode is not known here; size and time have to do.
func inode(fs.FileInfo) uint64 { return 0 }
