//go:build unix && !linux

package upstream

import "syscall"

func dieWithUs(*syscall.SysProcAttr) {}

func onlyZombies(int) bool { return false }
