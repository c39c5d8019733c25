//go:build !windows

package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameBetween renames what is in one held folder into another: whatever is done to
// the folders above meanwhile, and whatever the name leads to, nothing else is moved.
func renameBetween(from *os.File, name string, to *os.File, as string) error {
	return unix.Renameat(int(from.Fd()), name, int(to.Fd()), as)
}
