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
type confined struct {
	cmd  *exec.Cmd
	stop func() // tells the supervisor to end; called under mu
	done chan struct{}

	mu     sync.Mutex
	first  int // a pidfd of the namespace's first process; -1 before it is known and after its end
	ends   []func()
	killed bool
	ended  bool
	exit   Exit
	err    error
}

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
	if c.first = first; c.ended || c.killed {
		_ = unix.PidfdSendSignal(first, unix.SIGKILL, nil, 0)
	}
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
	err := c.cmd.Wait()
	c.endNamespace()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.exit, c.err = exitOf(c.cmd, err); c.killed {
		c.exit, c.err = Exit{Code: -1, Signal: syscall.SIGKILL.String()}, nil
	}
	for _, end := range c.ends {
		end()
	}
	close(c.done)
}

// endNamespace kills the first process, which ends when all others have.
func (c *confined) endNamespace() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first < 0 {
		return
	}
	_ = unix.PidfdSendSignal(c.first, unix.SIGKILL, nil, 0) // it may have ended
	deadline := time.Now().Add(5 * time.Second)
	for time.Now().Before(deadline) {
		ended := []unix.PollFd{{Fd: int32(c.first), Events: unix.POLLIN}}
		if n, err := unix.Poll(ended, 100); n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	unix.Close(c.first)
	c.first = -1
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
	c.stop()
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
