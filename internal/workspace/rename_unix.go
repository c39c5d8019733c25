//go:build !windows

package workspace

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// renameBetween renames what is in one held folder into another: whatever is done to
// the folders above meanwhile, and whatever the name leads to, nothing else is moved.
func renameBetween(from *os.File, name string, to *os.File, as string) error {
	return unix.Renameat(int(from.Fd()), name, int(to.Fd()), as)
}

// otherDisk reports whether a rename failed because the other folder is on another disk.
func otherDisk(err error) bool { return errors.Is(err, unix.EXDEV) }

// changedAt is when a path itself was last changed in any way, which no program can set.
func changedAt(real string) (time.Time, error) {
	var st unix.Stat_t
	if err := unix.Lstat(real, &st); err != nil {
		return time.Time{}, err
	}
	return time.Unix(st.Ctim.Unix()), nil
}
