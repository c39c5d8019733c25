//go:build !windows

package ledger

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock makes a file this process's own, until it is closed or the process ends.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
