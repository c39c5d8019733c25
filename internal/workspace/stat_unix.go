//go:build !windows

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// sameOwner gives a file the owner and group of another, where this user may.
func sameOwner(f *os.File, like fs.FileInfo) {
	if st, ok := like.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}
