package ledger

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock makes a file this process's own, until it is closed or the process ends. What is
// locked lies beyond the end, for a locked part can't be read.
func lock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 1}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
}
