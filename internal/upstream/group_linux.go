package upstream

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// dieWithUs has the system kill the program when Holdfast is killed and can't. The
// signal is bound to the thread that starts the program: see spawner.
func dieWithUs(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// onlyZombies reports whether all members of a group have ended and were only not
// waited for yet: in a container there may be no init that does. When /proc can't
// be read the answer is no.
func onlyZombies(group int) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	found := false
	for _, e := range entries {
		if c := e.Name()[0]; c < '0' || c > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it ended meanwhile
		}
		// "pid (name) state ppid pgrp ...", and the name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 || string(fields[2]) != strconv.Itoa(group) {
			continue
		}
		if s := fields[0][0]; s != 'Z' && s != 'X' {
			return false
		}
		found = true
	}
	return found
}
