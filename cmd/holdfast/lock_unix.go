//go:build unix

package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// makePrivate takes every right from others.
func makePrivate(dir string) error { return os.Chmod(dir, 0o700) }

// makeSocketPrivate does so for the socket; the directory already keeps others out.
func makeSocketPrivate(path string) error { return os.Chmod(path, 0o600) }
