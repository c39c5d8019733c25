//go:build unix

package main

import "syscall"

// openFiles is how many files this process may have open; 0 where it is not known.
func openFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return uint64(l.Cur)
}
