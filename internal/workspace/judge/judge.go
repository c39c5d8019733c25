// Package judge is the one way from a call's bytes to its decision: arguments,
// containment, contract, rules, mode, hooks, ask, in this order, the first refusal
// final. The server and `workspace check` use it, and nothing else decides. Design:
// docs/design/workspace.md section 1.
package judge

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace/hooks"
)

// Judge decides calls. Immutable, safe for concurrent use. The nil Judge refuses
// everything.
type Judge struct {
	policy *policy.Policy
	files  policy.Files
	hooks  *hooks.Runner
}

// New makes a judge. All are required; a nil runner is an error too (hooks.New with no
// hooks gives one that objects to nothing).
func New(p *policy.Policy, files policy.Files, h *hooks.Runner) (*Judge, error) {
	if p == nil || files == nil || h == nil {
		return nil, errors.New("a judge needs a policy, a way to resolve paths, and a hook runner")
	}
	return &Judge{policy: p, files: files, hooks: h}, nil
}

// Ruling is a decision and what may be run under it. Input is set exactly when the
// decision is policy.Allowed: the arguments, decoded, after hooks changed them.
type Ruling struct {
	policy.Decision
	Input     Input
	Arguments []byte // as they are run; nil unless allowed
}

// Rule judges one call: its tool's name and its arguments as raw JSON text. id is the
// call's, for hooks. A decision that somebody would have to be asked for comes back
// with the outcome policy.Asked and the stage policy.StageAsk: there is nobody, and it
// is refused. When ctx ends while hooks run, they are killed and the call is refused.
func (j *Judge) Rule(ctx context.Context, id, tool string, arguments []byte) Ruling {
	if j == nil {
		return refuse(policy.StageStart, "there is no judge: nothing may run", "")
	}
	first, answer := j.round(ctx, id, tool, arguments)
	if answer.Updated == nil || first.Outcome == policy.Refused {
		return settle(first, answer)
	}
	second, again := j.round(ctx, id, tool, answer.Updated)
	if second.Outcome != policy.Refused && again.Updated != nil && !sameJSON(again.Updated, answer.Updated) {
		return Ruling{Decision: policy.Decision{
			Outcome: policy.Refused, Stage: policy.StageHooks, At: again.At, Parts: second.Parts,
			Reason: "a hook changed the input that hooks had changed already: a change is judged once",
			Remedy: "Make the hook leave alone what it changed before.",
		}}
	}
	// What a hook said of the first input holds for the call, whatever became of it.
	if answer.Outcome == policy.Asked && again.Outcome == policy.Allowed {
		again = answer
	}
	return settle(second, again)
}

// round goes once through the arguments, the policy and the hooks. The answer is the
// zero one, which refuses, unless the hooks ran.
func (j *Judge) round(ctx context.Context, id, tool string, arguments []byte) (Ruling, hooks.Answer) {
	in, err := Decode(tool, arguments)
	if err != nil {
		remedy := "Correct the arguments: the tool's input schema says what they must be."
		if _, ok := errors.AsType[noTool](err); ok {
			remedy = "The tools are " + strings.Join(toolNames(), ", ") + "."
		}
		return refuse(policy.StageArguments, err.Error(), remedy), hooks.Answer{}
	}
	r := Ruling{Decision: j.decide(in), Input: in, Arguments: arguments}
	if r.Outcome == policy.Refused {
		r.Input, r.Arguments = nil, nil
		return r, hooks.Answer{}
	}
	return r, j.hooks.Before(ctx, hooks.Call{ID: id, Tool: tool, Input: arguments})
}

// settle makes the last decision of a round: a refusal of the policy is final, then
// what the hooks say, then whether somebody would have to be asked.
func settle(r Ruling, a hooks.Answer) Ruling {
	switch {
	case r.Outcome == policy.Refused:
		return r
	case a.Outcome == policy.Refused:
		r.Outcome, r.Stage, r.Rule, r.At = policy.Refused, policy.StageHooks, "", a.At
		r.Reason, r.Remedy = a.Reason, "Do what the hook says, or let the owner change the hook."
	case r.Outcome == policy.Asked:
	case a.Outcome == policy.Asked:
		r.Outcome, r.Stage, r.Rule, r.At = policy.Asked, policy.StageAsk, "", a.At
		r.Reason, r.Remedy = a.Reason, "A hook wants somebody to be asked, and nobody is here: let the owner change the hook."
	case a.Outcome == policy.Allowed && r.Outcome == policy.Allowed:
		return r
	default:
		r.Outcome, r.Stage = policy.Refused, policy.StageHooks
	}
	r.Input, r.Arguments = nil, nil
	return r
}

// decide holds the decoded arguments against the policy. Every path that a tool is
// given is judged; the first refusal is final, and of the others the strictest counts.
func (j *Judge) decide(in Input) policy.Decision {
	switch in := in.(type) {
	case *ReadInput:
		return j.policy.Judge(policy.Call{Tool: policy.Read, Path: in.FilePath}, j.files)
	case *WriteInput:
		return j.policy.Judge(policy.Call{Tool: policy.Write, Path: in.FilePath}, j.files)
	case *EditInput:
		return j.policy.Judge(policy.Call{Tool: policy.Edit, Path: in.FilePath}, j.files)
	case *BashInput:
		return j.policy.Judge(policy.Call{Tool: policy.Bash, Command: in.Command}, j.files)
	case *GrepInput:
		return j.policy.Judge(policy.Call{Tool: policy.Grep, Path: in.Path}, j.files)
	case *GlobInput:
		return j.glob(in)
	case *BashOutputInput, *KillShellInput:
		// They take the ids of this session alone, and need no rule (section 8).
		return policy.Decision{Outcome: policy.Allowed, Stage: policy.StageMode, Reason: "it needs no rule: it reaches this session's commands alone"}
	}
	return refuse(policy.StageArguments, "it is not a tool of the workspace", "").Decision
}

// glob judges the folder that is searched and, of an absolute pattern, the folder that
// the pattern starts from.
func (j *Judge) glob(in *GlobInput) policy.Decision {
	from := GlobRoot(in.Pattern)
	if from == "" {
		return j.policy.Judge(policy.Call{Tool: policy.Glob, Path: in.Path}, j.files)
	}
	d := j.policy.Judge(policy.Call{Tool: policy.Glob, Path: from}, j.files)
	if in.Path == "" || d.Outcome == policy.Refused {
		return d
	}
	given := j.policy.Judge(policy.Call{Tool: policy.Glob, Path: in.Path}, j.files)
	if given.Outcome < d.Outcome {
		return given
	}
	d.Paths = append(d.Paths, given.Paths...)
	return d
}

// GlobRoot is the folder that an absolute pattern of Glob starts from: its segments up
// to the first that holds an operator, or the folder of the file that it names. It is
// empty for a relative pattern.
func GlobRoot(pattern string) string {
	if !filepath.IsAbs(pattern) {
		return ""
	}
	if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
		pattern = pattern[:i]
	}
	if i := strings.LastIndexByte(filepath.ToSlash(pattern), '/'); i > 0 {
		return pattern[:i]
	}
	return string(filepath.Separator)
}

func refuse(stage policy.Stage, reason, remedy string) Ruling {
	return Ruling{Decision: policy.Decision{Outcome: policy.Refused, Stage: stage, Reason: reason, Remedy: remedy}}
}

// sameJSON reports whether two inputs are the same object; spelling does not count.
func sameJSON(a, b []byte) bool {
	x, xok := hooks.Canonical(a)
	y, yok := hooks.Canonical(b)
	return xok && yok && bytes.Equal(x, y)
}
