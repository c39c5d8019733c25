package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// Doctor is what a person should look at, worst first. It looks at everything, the
// whole audit too, and changes nothing.
type Doctor struct {
	Findings []Diagnosis `json:"findings" nullable:"false"`
	Healthy  bool        `json:"healthy" doc:"No finding is worse than a note"`
}

// Diagnosis is one thing to look at, and what to do about it.
type Diagnosis struct {
	Code     string `json:"code" enum:"audit_broken,config_problem,signatures_problem,bad_trust_mode,server_unreachable,approved_findings,gate_off,auth_off,trust_mode_unset,config_warning,review_waits,who_the_person_is" doc:"Stable"`
	Level    string `json:"level" enum:"problem,warning,note"`
	Server   string `json:"server,omitempty"`
	Sentence string `json:"sentence"`
	Fix      string `json:"fix,omitempty" doc:"What to do about it"`
}

// levels are in the order in which findings are told.
var levels = []string{"problem", "warning", "note"}

func (a *api) doctor(ctx context.Context, _ *struct{}) (*body[Doctor], error) {
	c, d, cfg := a.Trust.Catalogue(), a.Daemon(), a.Config()
	var all []Diagnosis
	all = append(all, a.auditFindings(ctx)...)
	all = append(all, configFindings(cfg, d)...)
	all = append(all, a.serverFindings(c)...)
	all = append(all, upgradeFindings(c, d.DefaultsSince)...)
	all = append(all, a.approvedFindings(ctx)...)
	all = append(all, reviewFindings(c)...)
	all = append(all, Diagnosis{
		Code: "who_the_person_is", Level: "note",
		Sentence: "Every program that runs as the same user can do what you can do at the socket in " + d.DataDir + ": approve, release, read.",
		Fix:      "Where agents have a shell, run them as a user of their own.",
	})
	out := Doctor{Findings: []Diagnosis{}, Healthy: true}
	for _, level := range levels {
		for _, f := range all {
			if f.Level == level {
				out.Findings = append(out.Findings, f)
				out.Healthy = out.Healthy && level == "note"
			}
		}
	}
	return &body[Doctor]{out}, nil
}

func (a *api) auditFindings(ctx context.Context) []Diagnosis {
	chain, err := a.Audit.Verify(ctx)
	const fix = "Keep a copy of the data directory before anything else; `holdfast audit verify` tells it again."
	switch {
	case err != nil:
		return []Diagnosis{{Code: "audit_broken", Level: "problem", Sentence: "The audit could not be read: " + strings.TrimSuffix(err.Error(), ".") + ".", Fix: fix}}
	case chain.BadSeq != 0:
		return []Diagnosis{{Code: "audit_broken", Level: "problem", Sentence: fmt.Sprintf("The audit does not verify at entry %d: %s.", chain.BadSeq, chain.Problem), Fix: fix}}
	}
	return nil
}

func configFindings(c Config, d Daemon) []Diagnosis {
	var all []Diagnosis
	if c.Problem != "" {
		all = append(all, Diagnosis{
			Code: "config_problem", Level: "problem", Sentence: "The configuration file as it is now is not in force, the one before is: " + c.Problem,
			Fix: "Correct " + c.Path + "; `holdfast config check` tells the same.",
		})
	}
	if s := d.Signatures; s.Problem != "" {
		all = append(all, Diagnosis{
			Code: "signatures_problem", Level: "problem", Sentence: fmt.Sprintf("The file of signatures is not in force, the signatures %s are: %s", s.Version, s.Problem),
			Fix: "Correct the file; it is read again when it changes. Without security.bundle_path the signatures of the program are used.",
		})
	}
	if !c.QuarantineEnabled {
		all = append(all, Diagnosis{
			Code: "gate_off", Level: "warning", Sentence: "The gate is off: every new tool and every change is approved by itself.",
			Fix: "Take quarantine_enabled out of " + c.Path + ".",
		})
	}
	if d.AuthOff {
		all = append(all, Diagnosis{
			Code: "auth_off", Level: "warning", Sentence: "Auth is off: every program on this machine that reaches the address may call every ready tool without a token.",
			Fix: "Take auth out of listen in " + c.Path + ", and create tokens with: holdfast token create.",
		})
	}
	if _, err := approval.ParseMode(c.DefaultTrustMode); err != nil {
		all = append(all, badMode("", "default_trust_mode is "+quoted(c.DefaultTrustMode), "Write manual, scan or auto in "+c.Path+"."))
	}
	for _, w := range c.Warnings {
		all = append(all, Diagnosis{Code: "config_warning", Level: "note", Sentence: w})
	}
	return all
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

func badMode(server, what, fix string) Diagnosis {
	return Diagnosis{Code: "bad_trust_mode", Level: "problem", Server: server, Sentence: what + ", which is no trust mode and counts as manual.", Fix: fix}
}

// serverFindings tells of servers with a bad mode, and of those that should run and
// can't be reached.
func (a *api) serverFindings(c *dispatch.Catalogue) []Diagnosis {
	var all []Diagnosis
	for _, s := range c.Servers() {
		if mode := s.Options.TrustMode; mode != "" && s.Named {
			if _, err := approval.ParseMode(mode); err != nil {
				all = append(all, badMode(s.Name, "The trust mode of "+s.Name+" is "+quoted(mode), setMode(s, "MODE")))
			}
		}
		if !s.Runs() {
			continue
		}
		v := a.serverView(c, s)
		if v.State.Phase != "connected" && v.State.Error != "" {
			all = append(all, Diagnosis{
				Code: "server_unreachable", Level: "problem", Server: s.Name,
				Sentence: fmt.Sprintf("%s can't be reached: %s.", s.Name, strings.TrimSuffix(v.State.Error, ".")),
				Fix: fmt.Sprintf("See what it says with: holdfast server logs %[1]s. Correct what is run or its address; then: holdfast server restart %[1]s. "+
					"Or switch it off with: holdfast server disable %[1]s.", s.Name),
			})
		}
	}
	return all
}

// setMode says how a server is given a trust mode.
func setMode(s approval.Server, mode string) string {
	if s.FromFile {
		return fmt.Sprintf("Write \"trust_mode\": \"%s\" into its entry in the configuration.", mode)
	}
	return fmt.Sprintf("holdfast server trust %s %s", s.Name, mode)
}

// Unset are the enabled servers that came under newer defaults without a trust mode
// of their own: docs/design/approval.md section 8. since is when.
func Unset(c *dispatch.Catalogue, since time.Time) []approval.Server {
	var unset []approval.Server
	for _, s := range c.Servers() {
		if !since.IsZero() && s.Runs() && s.Options.TrustMode == "" && s.Created.Before(since) {
			unset = append(unset, s)
		}
	}
	return unset
}

func upgradeFindings(c *dispatch.Catalogue, since time.Time) []Diagnosis {
	var all []Diagnosis
	for _, s := range Unset(c, since) {
		mode, _ := c.Settings().ModeOf(s)
		all = append(all, Diagnosis{
			Code: "trust_mode_unset", Level: "warning", Server: s.Name,
			Sentence: fmt.Sprintf("%s has no trust mode of its own and was added before the trust mode scan approved anything by itself; %s is in force for it.", s.Name, mode),
			Fix:      "Say which you want: " + setMode(s, "manual") + " (a person decides about every change), or scan in its place.",
		})
	}
	return all
}

// approvedFindings tells what the signatures in force find in what is approved.
func (a *api) approvedFindings(ctx context.Context) []Diagnosis {
	var all []Diagnosis
	for _, f := range a.Trust.Findings(ctx) {
		var checks []string
		for _, v := range f.Findings {
			checks = append(checks, v.Check)
		}
		all = append(all, Diagnosis{
			Code: "approved_findings", Level: "warning", Server: f.Key.Server,
			Sentence: fmt.Sprintf("The scan finds something in %s/%s, which is approved: %s.", f.Key.Server, f.Key.Name, strings.Join(unique(checks), ", ")),
			Fix: fmt.Sprintf("Look at it with: holdfast tool show %[1]s. If it is meant, approve it again, so that these findings count as seen; if not: holdfast tool block %[1]s.",
				f.Key.Server+"/"+f.Key.Name),
		})
	}
	return all
}

func unique(words []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range words {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

func reviewFindings(c *dispatch.Catalogue) []Diagnosis {
	n := 0
	each(c, func(t Tool) {
		if t.InReview {
			n++
		}
	})
	if n == 0 {
		return nil
	}
	return []Diagnosis{{Code: "review_waits", Level: "note", Sentence: fmt.Sprintf("Contracts that wait for a person: %d.", n), Fix: "holdfast tool list --status review"}}
}
