package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/sandbox"
	"github.com/holdfast-mcp/holdfast/internal/workspace"
)

// broken is a sandbox that starts nothing, while something comes to be.
type broken struct {
	meanwhile func()
	err       error
}

func (broken) Name() string { return "broken" }

func (b broken) Start(context.Context, sandbox.Policy, sandbox.Command) (sandbox.Process, error) {
	b.meanwhile()
	return nil, fault.Wrap(b.err, fault.Unavailable, "it was not started", "")
}

// What came to be while a command could not be started is moved away when the command may
// have made it, and is the owner's when it is certain that it did not run.
func TestCommandThatDidNotStart(t *testing.T) {
	for _, begun := range []bool{false, true} {
		t.Run(fmt.Sprint("begun ", begun), func(t *testing.T) {
			r := newRig(t, setup{off: true, user: allowBash})
			err := errors.New("no more processes")
			if begun {
				err = errors.Join(sandbox.ErrBegun, err)
			}
			r.options.Shell = workspace.RunIn(broken{func() { r.put(".envrc", "x") }, err}, sandbox.Policy{})
			r.serve()
			r.call("Bash", "command", "true").fails("it was not started")
			if begun {
				r.absent(".envrc")
			} else {
				r.holds(".envrc", "x")
			}
		})
	}
}
