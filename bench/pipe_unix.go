//go:build unix

package main

import (
	"os"
	"syscall"
)

// stdio gives the standard streams as files that wait in the runtime's poller. A
// read that blocks in the system holds a processor until the runtime notices, up
// to 10 ms later: on two cores that is most of the time of a large message.
func stdio() (in, out *os.File) {
	open := func(f *os.File) *os.File {
		fd := int(f.Fd())
		if syscall.SetNonblock(fd, true) != nil {
			return f // a regular file, in a trial by hand
		}
		return os.NewFile(uintptr(fd), f.Name())
	}
	return open(os.Stdin), open(os.Stdout)
}
