package main

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID asks the kernel who connected.
func peerUID(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -2, err
	}
	var cred *unix.Xucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); err != nil {
		return -2, err
	}
	if failed != nil {
		return -2, failed
	}
	return int(cred.Uid), nil
}
