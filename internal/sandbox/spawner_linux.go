package sandbox

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawn starts a program in a process group of its own. With dies it is killed when
// this process dies. The system takes the thread that started it for its parent, and threads of
// Go end at any time: so all are started by one thread that lives as long as the
// process.
func spawn(cmd *exec.Cmd, dies bool) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if dies {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	keepDescriptors()
	j := job{cmd, make(chan error, 1)}
	spawner() <- j
	return <-j.err
}

type job struct {
	cmd *exec.Cmd
	err chan error
}

var spawner = sync.OnceValue(func() chan<- job {
	jobs := make(chan job)
	go func() {
		runtime.LockOSThread() // and never unlocked
		for j := range jobs {
			j.err <- j.cmd.Start()
		}
	}()
	return jobs
})

// keepDescriptors sees to it that no descriptor that this process itself was started
// with, and does not know, gets to a child. Those of Go are closed on exec anyway.
func keepDescriptors() {
	if unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) == nil {
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
