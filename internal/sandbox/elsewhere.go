//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"sync"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Choose finds no sandbox: there is none for this system yet.
func Choose(_ context.Context, p Policy) (Sandbox, Diagnosis, error) {
	c := Command{Args: []string{"true"}}
	if len(p.Roots) > 0 {
		c.Dir = p.Roots[0]
	}
	if err := check(p, c); err != nil {
		return nil, Diagnosis{}, err
	}
	d := Diagnosis{Causes: []string{"There is no sandbox for " + runtime.GOOS + ": commands are confined on Linux alone. Run this in a Linux machine or virtual machine."}}
	return nil, d, fault.New(fault.Unavailable, "no sandbox holds here: "+d.Causes[0], "commands are not run without one, but under --sandbox off")
}

// Main does nothing here: no child has a second stage.
func Main() {}

// Quit does nothing here: nothing is kept for further commands.
func Quit() {}

// Unconfined runs children without a sandbox, as one that can be ended as a whole, with
// a filtered environment: only for `--sandbox off`.
func Unconfined() Sandbox { return unconfined{} }

type unconfined struct{}

func (unconfined) Name() string { return "none" }

func (unconfined) Start(ctx context.Context, p Policy, c Command) (Process, error) {
	if err := check(p, c); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.Wrap(err, fault.Cancelled, "the command was cancelled before it started", "")
	}
	program, err := lookIn(c.Args[0], p.Env)
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "the command was not run: its program is not in the PATH", "")
	}
	cmd := &exec.Cmd{Path: program, Args: c.Args, Env: append([]string{}, p.Env...), Dir: c.Dir}
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	w := &whole{}
	w.prepare(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "the command was not run: it can't be started", "")
	}
	if err := w.adopt(cmd); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fault.Wrap(errors.Join(ErrBegun, err), fault.Unavailable, "the command was ended at its start: it could not be ended as a whole", "")
	}
	f := &free{cmd: cmd, whole: w, done: make(chan struct{})}
	stop := context.AfterFunc(ctx, f.Kill)
	go func() {
		defer stop()
		f.reap()
	}()
	return f, nil
}

// free is a command that is not confined.
type free struct {
	cmd   *exec.Cmd
	whole *whole
	done  chan struct{}

	mu     sync.Mutex
	killed bool
	ended  bool
	exit   Exit
	err    error
}

func (f *free) reap() {
	err := f.cmd.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.whole.kill()
	f.whole.release()
	f.exit = Exit{Code: f.cmd.ProcessState.ExitCode()}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		f.err = err
	}
	if f.killed || f.exit.Code < 0 {
		f.exit = Exit{Code: -1, Signal: "killed"}
	}
	close(f.done)
}

func (f *free) Wait() (Exit, error) {
	<-f.done
	return f.exit, f.err
}

func (f *free) Kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.killed = true
		f.whole.kill()
	}
}
