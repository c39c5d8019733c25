// Package hooks runs the owner's hook commands around a call. A hook can refuse, ask or
// change the input, never loosen; every failure refuses. Design:
// docs/design/workspace.md section 6.
package hooks

import (
	"context"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// Runner runs hooks. Immutable, safe for concurrent use.
type Runner struct{}

// New makes a runner of what the settings say. dir is where hooks run; session and mode
// are told to them.
func New(hooks []settings.Hook, dir, session string, mode policy.Mode) (*Runner, error) {
	panic("unwritten")
}

// Call is what hooks are told.
type Call struct {
	ID    string
	Tool  string
	Input []byte // the arguments, one JSON object
}

// Answer is the most restrictive of all answers.
type Answer struct {
	Outcome policy.Outcome // Allowed: no hook objects
	Reason  string         // why not, and which hook
	At      policy.Place
	Updated []byte // the changed input; nil when none changed it
}

// Before runs the PreToolUse hooks that match, in parallel, and waits for all.
func (r *Runner) Before(ctx context.Context, c Call) Answer { panic("unwritten") }

// After runs the PostToolUse hooks; response is the result. It gives what they add to
// the result, one text each.
func (r *Runner) After(ctx context.Context, c Call, response []byte) []string { panic("unwritten") }
