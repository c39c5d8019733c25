package main

import (
	"os"
	"syscall"
)

// syncData puts the content of a file on the disk, and not its times.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
