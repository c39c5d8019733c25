package hooks

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// wait waits for the shell's end, kills what it left, and reaps it only then: until
// then its number, and so the group's, can't belong to anyone else.
func (g *group) wait(cmd *exec.Cmd) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	g.mu.Lock()
	g.killLocked()
	g.id = 0
	g.mu.Unlock()
	return cmd.Wait()
}

// keepDescriptors keeps a child from inheriting what this process inherited itself. All
// that Go opens is kept from it anyway.
func keepDescriptors() {
	if unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
