package judge

import (
	"context"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/hooks"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// Verdict is what a server would decide on a call, as `workspace check --json` prints
// it. Decision is "allow" or "refuse"; what nothing says is null.
type Verdict struct {
	Decision string  `json:"decision"`
	Stage    string  `json:"stage"`
	Rule     *string `json:"rule"`
	Layer    *string `json:"layer"`
	File     *string `json:"file"`
	Line     *int    `json:"line"`
	Reason   string  `json:"reason"`
	Remedy   *string `json:"remedy"`
	Parts    []Part  `json:"parts"`

	// Settings are those that the decision was made under; nil when nothing starts.
	Settings *settings.Settings `json:"-"`
}

// Part is the decision on one part of a command: "allow", "ask" or "refuse".
type Part struct {
	Text     string  `json:"text"`
	Decision string  `json:"decision"`
	Rule     *string `json:"rule"`
}

// Allowed reports whether the call would be run.
func (v Verdict) Allowed() bool { return v.Decision == "allow" }

// Starts reports whether a server would start at all.
func (v Verdict) Starts() bool { return v.Stage != string(policy.StageStart) }

// Check judges a call as a server started with these options would, the sandbox taken
// as working, and runs nothing but, with runHooks, the hooks.
func Check(ctx context.Context, o settings.Options, runHooks bool, tool string, arguments []byte) Verdict {
	s, err := settings.Load(o)
	if err != nil {
		return notStarted(err)
	}
	p, err := s.Policy(true)
	if err != nil {
		return notStarted(err)
	}
	run := s.Hooks
	if !runHooks {
		run = nil
	}
	h, err := hooks.New(run, s.Dir, "check", s.Mode)
	if err != nil {
		return notStarted(err)
	}
	j, err := New(p, settings.Disk{}, h)
	if err != nil {
		return notStarted(err)
	}
	v := verdict(j.Rule(ctx, "check", tool, arguments).Decision)
	v.Settings = s
	return v
}

// notStarted is the verdict on every call of a server that does not start.
func notStarted(err error) Verdict {
	return verdict(policy.Decision{
		Outcome: policy.Refused, Stage: policy.StageStart, At: settings.PlaceOf(err),
		Reason: err.Error(), Remedy: fault.HintOf(err),
	})
}

func verdict(d policy.Decision) Verdict {
	v := Verdict{
		Decision: "refuse", Stage: string(d.Stage), Rule: maybe(d.Rule), File: maybe(d.At.File),
		Reason: d.Reason, Remedy: maybe(d.Remedy), Parts: []Part{},
	}
	if d.Outcome == policy.Allowed {
		v.Decision = "allow"
	}
	if d.At.Layer != policy.NoLayer {
		v.Layer = maybe(d.At.Layer.String())
	}
	if d.At.Line > 0 {
		v.Line = &d.At.Line
	}
	for _, p := range d.Parts {
		v.Parts = append(v.Parts, Part{Text: p.Text, Decision: word(p.Outcome), Rule: maybe(p.Rule)})
	}
	return v
}

func word(o policy.Outcome) string {
	switch o {
	case policy.Allowed:
		return "allow"
	case policy.Asked:
		return "ask"
	default:
		return "refuse"
	}
}

// maybe is nil for an empty text.
func maybe(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
