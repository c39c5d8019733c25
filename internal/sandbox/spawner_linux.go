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

// spawner starts programs, each in a process group of its own, or a session. The system takes the
// thread that started a program for its parent, and threads of Go end at any time: so a
// spawner is one thread, which ends when it is dismissed. Safe for concurrent use.
type spawner struct{ jobs chan func() }

func newSpawner() spawner {
	s := spawner{make(chan func())}
	go s.serve()
	return s
}

// serve does what comes. The thread ends with it, for it is not unlocked; but the main
// thread would only stand still for ever, so that one is kept busy until another is found.
func (s spawner) serve() {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		defer runtime.UnlockOSThread()
		found := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(found)
			s.work()
		}()
		<-found
		return
	}
	s.work()
}

func (s spawner) work() {
	for do := range s.jobs {
		do()
	}
}

// do does something on the spawner's thread.
func (s spawner) do(f func() error) error {
	err := make(chan error, 1)
	s.jobs <- func() { err <- f() }
	return <-err
}

// start starts a program. With dies it is killed when this process dies.
func (s spawner) start(cmd *exec.Cmd, dies bool) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = !cmd.SysProcAttr.Setsid // a session is a new group too
	if dies {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	keepDescriptors()
	return s.do(cmd.Start)
}

// dismiss ends the thread. What it started must have ended.
func (s spawner) dismiss() { close(s.jobs) }

// common is the spawner of what needs none of its own.
var common = sync.OnceValue(newSpawner)

// spawn starts a program by the common spawner.
func spawn(cmd *exec.Cmd, dies bool) error { return common().start(cmd, dies) }

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
