package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// confined is a command under a supervisor that is the first process of the command's
// process namespace, or its parent. When the first process of a namespace ends, the
// kernel ends all others in it.
//
// The supervisor leads a process group. Until the command is let through the gate, the
// first process is in that group too, so that the two can be ended together even before
// the first process is known.
type confined struct {
	cmd  *exec.Cmd
	stop func() // tells the supervisor to end, called under mu; nil: its group is killed
	done chan struct{}

	mu     sync.Mutex
	gone   bool // the supervisor ended, and its id may soon be another's
	first  int  // a pidfd of the namespace's first process; -1 before it is known and after its end
	ends   []func()
	killed bool
	ended  bool
	exit   Exit
	err    error
}

// longestEnd is how long it is waited for what was killed. What did not end by then is
// kept by the kernel in something that can't be broken off, and runs no code of its own
// any more.
const longestEnd = 5 * time.Second

// newConfined takes over a supervisor that was started, and waits for its end. What is
// in atEnd is called when nothing of the command is left. When ctx ends, so does all.
func newConfined(ctx context.Context, cmd *exec.Cmd, stop func(), atEnd ...func()) *confined {
	c := &confined{cmd: cmd, stop: stop, done: make(chan struct{}), first: -1, ends: atEnd}
	forget := context.AfterFunc(ctx, c.Kill)
	c.onEnd(func() { forget() })
	go c.reap()
	return c
}

// adopt names the first process of the namespace, by a pidfd that is closed here.
func (c *confined) adopt(first int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.killed {
		_ = unix.PidfdSendSignal(first, unix.SIGKILL, nil, 0) // or it ended already, with the group
	}
	if c.ended {
		unix.Close(first)
		return
	}
	c.first = first
}

// onEnd adds what is done when nothing of the command is left.
func (c *confined) onEnd(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		f()
		return
	}
	c.ends = append(c.ends, f)
}

func (c *confined) reap() {
	c.endGroup()
	err := c.cmd.Wait()
	c.endNamespace()
	for c.end(err) {
	}
	close(c.done)
}

// end does what is to be done at the end, until there is nothing more of it.
func (c *confined) end(err error) (more bool) {
	c.mu.Lock()
	ends := c.ends
	c.ends = nil
	if len(ends) == 0 {
		c.ended = true
		if c.first >= 0 { // adopted late: it ended with the group
			unix.Close(c.first)
		}
		if c.exit, c.err = exitOf(c.cmd, err); c.killed {
			c.exit, c.err = Exit{Code: -1, Signal: syscall.SIGKILL.String()}, nil
		}
	}
	c.mu.Unlock()
	for _, end := range ends {
		end()
	}
	return len(ends) > 0
}

// endGroup waits for the end of the supervisor, and ends what else is in its group. It is
// not reaped yet, so that the group's id can't be another's.
func (c *confined) endGroup() {
	leader := c.cmd.Process.Pid
	for {
		err := unix.Waitid(unix.P_PID, leader, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	c.mu.Lock()
	c.gone = true
	known := c.first >= 0 || c.stop != nil
	c.mu.Unlock()
	killGroup(leader)
	if known {
		return
	}
	endAll(func() bool {
		killGroup(leader)
		for p := range processes() {
			if p.group == leader && p.pid != leader && !p.ended {
				return false
			}
		}
		return true
	})
}

// endAll ends what takes a moment to end, and reports whether it did.
func endAll(ended func() bool) bool {
	for deadline := time.Now().Add(longestEnd); !ended(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// killGroup ends all of a process group whose leader is not reaped.
func killGroup(leader int) { _ = unix.Kill(-leader, unix.SIGKILL) } // all may have ended

// endNamespace kills the first process, which ends when all others have.
func (c *confined) endNamespace() {
	c.mu.Lock()
	first := c.first
	c.mu.Unlock()
	if first < 0 {
		return
	}
	_ = unix.PidfdSendSignal(first, unix.SIGKILL, nil, 0) // it may have ended
	awaitProcess(first, longestEnd)
	c.mu.Lock()
	defer c.mu.Unlock()
	unix.Close(first)
	c.first = -1
}

// awaitProcess waits for the end of a process.
func awaitProcess(pidfd int, most time.Duration) {
	for deadline := time.Now().Add(most); time.Now().Before(deadline); {
		ended := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		if n, err := unix.Poll(ended, 100); n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (c *confined) Wait() (Exit, error) {
	<-c.done
	return c.exit, c.err
}

func (c *confined) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.killed = true
	switch {
	case c.gone:
	case c.stop != nil:
		c.stop()
	default:
		killGroup(c.cmd.Process.Pid)
	}
	if c.first >= 0 {
		_ = unix.PidfdSendSignal(c.first, unix.SIGKILL, nil, 0) // it may have ended
	}
}

// exitOf reads the end of a program.
func exitOf(cmd *exec.Cmd, err error) (Exit, error) {
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return Exit{Code: -1}, err
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit{Code: -1, Signal: ws.Signal().String()}, nil
	}
	return Exit{Code: cmd.ProcessState.ExitCode()}, nil
}
