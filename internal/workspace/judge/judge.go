// Package judge is the one way from a call's bytes to its decision: arguments,
// containment, contract, rules, mode, hooks, ask, in this order, the first refusal
// final. The server and `workspace check` use it, and nothing else decides. Design:
// docs/design/workspace.md section 1.
package judge

import (
	"context"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace/hooks"
)

// Definition is a tool as it is listed: the raw tool object of MCP.
type Definition struct {
	Name string
	Raw  []byte
}

// Definitions of all tools, in listed order: Read, Write, Edit, Bash, BashOutput,
// KillShell, Grep, Glob. Which of them are offered is the server's to say.
func Definitions() []Definition { panic("unwritten") }

// Judge decides calls. Safe for concurrent use.
type Judge struct{}

// New makes a judge. All are required; a nil runner is an error too (hooks.New with no
// hooks gives one that objects to nothing).
func New(p *policy.Policy, files policy.Files, h *hooks.Runner) (*Judge, error) {
	panic("unwritten")
}

// Ruling is a decision and what may be run under it. Input is set exactly when the
// decision is policy.Allowed: the arguments, decoded, after hooks changed them.
type Ruling struct {
	policy.Decision
	Input     Input
	Arguments []byte // as they are run
}

// Input is one of *ReadInput, *WriteInput, *EditInput, *BashInput, *GrepInput,
// *GlobInput, *BashOutputInput, *KillShellInput.
type Input interface{ tool() string }

// Rule judges one call: its tool's name and its arguments as raw JSON text. id is the
// call's, for hooks.
func (j *Judge) Rule(ctx context.Context, id, tool string, arguments []byte) Ruling {
	panic("unwritten")
}

// Inputs, as the tools' schemas have them. Pointers are nil where a key is absent.
type (
	// ReadInput is the input of Read. Offset is a line from 1, Limit a number of lines.
	ReadInput struct {
		FilePath      string
		Offset, Limit *int
	}
	// WriteInput is the input of Write.
	WriteInput struct{ FilePath, Content string }
	// EditInput is the input of Edit.
	EditInput struct {
		FilePath, OldString, NewString string
		ReplaceAll                     bool
	}
	// BashInput is the input of Bash. Timeout is in milliseconds.
	BashInput struct {
		Command, Description string
		Timeout              *int
		RunInBackground      bool
	}
	// GrepInput is the input of Grep. OutputMode is "content", "files_with_matches" or
	// "count"; empty is files_with_matches.
	GrepInput struct {
		Pattern, Path, Glob, Type, OutputMode string
		IgnoreCase, LineNumbers, Multiline    bool
		Before, After, Context, HeadLimit     *int
	}
	// GlobInput is the input of Glob.
	GlobInput struct{ Pattern, Path string }
	// BashOutputInput is the input of BashOutput. Filter is a regular expression (RE2).
	BashOutputInput struct{ BashID, Filter string }
	// KillShellInput is the input of KillShell.
	KillShellInput struct{ ShellID string }
)

func (*ReadInput) tool() string       { return "Read" }
func (*WriteInput) tool() string      { return "Write" }
func (*EditInput) tool() string       { return "Edit" }
func (*BashInput) tool() string       { return "Bash" }
func (*GrepInput) tool() string       { return "Grep" }
func (*GlobInput) tool() string       { return "Glob" }
func (*BashOutputInput) tool() string { return "BashOutput" }
func (*KillShellInput) tool() string  { return "KillShell" }
