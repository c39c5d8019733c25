//go:build !windows

package workspace

import "syscall"

// nonblock keeps an open from waiting for whoever is at the other end of a pipe.
const nonblock = syscall.O_NONBLOCK
