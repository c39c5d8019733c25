package approval

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/record"
)

// Program is what is run or connected to: each field as written, with no secret
// resolved and defaults filled in. Two equal Programs are one incarnation.
type Program struct {
	Type      string            `json:"type"` // "stdio", "http", or "builtin": a server that is part of Holdfast, named by Command
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Cwd       string            `json:"cwd,omitempty"`
	URL       string            `json:"url,omitempty"`
	Isolation string            `json:"isolation,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
}

// filled fills in the type that a command or a URL implies.
func (p Program) filled() Program {
	if p.Type == "" && p.Command != "" {
		p.Type = "stdio"
	}
	if p.Type == "" && p.URL != "" {
		p.Type = "http"
	}
	return p
}

// Equal reports whether both are one incarnation.
func (p Program) Equal(q Program) bool { return len(p.differs(q)) == 0 }

// differs names the fields that are not equal. Absent and empty are one.
func (p Program) differs(q Program) []string {
	p, q = p.filled(), q.filled()
	var names []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"type", p.Type == q.Type},
		{"command", p.Command == q.Command},
		{"args", slices.Equal(p.Args, q.Args)},
		{"cwd", p.Cwd == q.Cwd},
		{"url", p.URL == q.URL},
		{"isolation", p.Isolation == q.Isolation},
		{"env", maps.Equal(p.Env, q.Env)},
		{"headers", maps.Equal(p.Headers, q.Headers)},
	} {
		if !f.same {
			names = append(names, f.name)
		}
	}
	return names
}

// check refuses what can't be run or connected to.
func (p Program) check() error {
	hint := "Give a command for a server of type stdio, or a URL for one of type http."
	switch {
	case p.Type == "stdio" && p.Command == "":
		return refuse(CodeBadInput, "a server of type stdio needs a command", hint)
	case p.Type == "http" && p.URL == "":
		return refuse(CodeBadInput, "a server of type http needs a URL", hint)
	case p.Type == "":
		return refuse(CodeBadInput, "a server needs a command or a URL", hint)
	case p.Type == "builtin" && p.Command == "":
		return refuse(CodeBadInput, "a server of type builtin needs a name", "Name the server that is part of Holdfast: workspace.")
	case p.Type != "stdio" && p.Type != "http" && p.Type != "builtin":
		return refuse(CodeBadInput, "there is no server type "+quote(p.Type), hint)
	case p.Command != "" && p.URL != "":
		return refuse(CodeBadInput, "a server has a command or a URL, not both", hint)
	}
	return p.bounded()
}

// Options are the settings of a server that are no part of what is run.
type Options struct {
	TrustMode     string        `json:"trust_mode,omitempty"` // as written; "" is absent
	OnHold        string        `json:"on_hold,omitempty"`    // "", "block" or "keep"
	EnabledTools  []string      `json:"enabled_tools,omitempty"`
	DisabledTools []string      `json:"disabled_tools,omitempty"`
	Timeout       time.Duration `json:"timeout,omitempty"`        // of one call; 0 is the default
	MaxConcurrent int           `json:"max_concurrent,omitempty"` // calls at once; 0 is the default
}

// differs names the options that are not equal. Absent and empty are one.
func (o Options) differs(p Options) []string {
	var names []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"trust_mode", o.TrustMode == p.TrustMode},
		{"on_hold", o.OnHold == p.OnHold},
		{"enabled_tools", slices.Equal(o.EnabledTools, p.EnabledTools)},
		{"disabled_tools", slices.Equal(o.DisabledTools, p.DisabledTools)},
		{"timeout", o.Timeout == p.Timeout},
		{"max_concurrent", o.MaxConcurrent == p.MaxConcurrent},
	} {
		if !f.same {
			names = append(names, f.name)
		}
	}
	return names
}

// check refuses bad values. A trust mode that a file says is no reason to refuse
// the file: a bad one counts as manual.
func (o Options) check(actor record.Actor) error {
	if o.TrustMode != "" && actor.Kind != record.Operator {
		if _, err := ParseMode(o.TrustMode); err != nil {
			return err
		}
	}
	switch {
	case o.OnHold != "" && o.OnHold != OnHoldBlock && o.OnHold != OnHoldKeep:
		return refuse(CodeBadInput, quote(o.OnHold)+" is no value of on_hold", "Write block or keep.")
	case o.Timeout < 0:
		return refuse(CodeBadInput, "a timeout can't be negative", "Give a duration, or 0 for the default.")
	case o.MaxConcurrent < 0:
		return refuse(CodeBadInput, "max_concurrent can't be negative", "Give a number, or 0 for the default.")
	}
	return nil
}

// list prints names for the audit.
func list(names []string) string { return strings.Join(names, ", ") }
