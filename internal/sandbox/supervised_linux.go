package sandbox

import (
	"context"
	"errors"
	"os"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Unconfined runs children without a sandbox, in a process group of their own with a
// filtered environment: only for `--sandbox off`.
func Unconfined() Sandbox { return unconfined{} }

type unconfined struct{}

func (unconfined) Name() string { return "none" }

// Start holds the child to nothing but its environment, its empty standard input and its
// end. Limits are not set.
func (unconfined) Start(ctx context.Context, p Policy, c Command) (Process, error) {
	if err := check(p, c); err != nil {
		return nil, err
	}
	return supervised(ctx, order{Args: c.Args, Env: append([]string{}, p.Env...), Dir: c.Dir}, c)
}

// supervised starts a stage that supervises the command.
func supervised(ctx context.Context, o order, c Command) (Process, error) {
	if !staged.Load() {
		return nil, fault.New(fault.Internal, "the command was not run: this program does not call sandbox.Main", "call it first in main and in TestMain")
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.Wrap(err, fault.Cancelled, "the command was cancelled before it started", "")
	}
	ended, life, err := os.Pipe()
	if err != nil {
		return nil, unheld(err, "no pipes can be made")
	}
	cmd, err := stageCommand(o, ended)
	if err != nil {
		return nil, unheld(errors.Join(err, ended.Close(), life.Close()), "its supervisor can't be prepared")
	}
	cmd.Stdout, cmd.Stderr = nil, nil
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	// It is not killed with this process: then it has to end the others first, and
	// the end of the pipe tells it.
	err = spawn(cmd, false)
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	if err != nil {
		life.Close()
		return nil, unheld(err, "its supervisor can't be started")
	}
	end := func() { life.Close() }
	return newConfined(ctx, cmd, end, end), nil
}
