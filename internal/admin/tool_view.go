package admin

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Tool is what is stored about one offered thing: a tool, prompt, template or a
// server's instructions. Name, title and description are foreign text.
type Tool struct {
	Server      string `json:"server"`
	Kind        string `json:"kind" enum:"tool,prompt,template,instructions"`
	Name        string `json:"name"`
	Direct      string `json:"direct_name" doc:"The name in the direct and search faces"`
	Incarnation string `json:"incarnation" doc:"Of the server"`

	Status   string   `json:"status" enum:"none,pending,approved,changed"`
	Ready    bool     `json:"ready" doc:"Agents can call it"`
	Reasons  []string `json:"reasons,omitempty" doc:"All that keeps it from agents; the first one names a refusal"`
	Class    string   `json:"class" enum:"none,read,write,destructive" doc:"What a caller must be permitted to do"`
	Waiting  bool     `json:"waiting" doc:"Approved, with an update that waits"`
	Blocked  bool     `json:"blocked"`
	Absent   bool     `json:"absent" doc:"Not in the last complete listing"`
	InReview bool     `json:"in_review" doc:"Waits for a person"`

	Held       *Held  `json:"held,omitempty"`
	Digest     string `json:"digest" doc:"Of the live contract: an act names it"`
	Approved   string `json:"approved_digest,omitempty"`
	ApprovedBy *Grant `json:"approved_by,omitempty"`
	Summary    string `json:"summary" doc:"One sentence: how it stands, and why"`
	Title      string `json:"title,omitempty" doc:"Of the live contract"`
	Text       string `json:"description,omitempty" doc:"Of the live contract"`
	Problem    string `json:"problem,omitempty" doc:"Why the live contract can't be read"`
	Version    int64  `json:"version" doc:"Raised with every change of the record"`
}

// Held is why a contract is held.
type Held struct {
	Reason      string   `json:"reason" enum:"structural,not_locked,scan_findings,scan_coverage,declined,first_seen,manual"`
	Label       string   `json:"label"`
	Explanation string   `json:"explanation"`
	Signals     []Signal `json:"signals" nullable:"false"`
	Verdict     Verdict  `json:"verdict"`
}

// Signal is one difference that holds a change.
type Signal struct {
	Signal      string `json:"signal" example:"GATE-SCHEMA-SHAPE:new-required:bcc"`
	Label       string `json:"label"`
	Explanation string `json:"explanation"`
}

// Verdict is what a scan concluded.
type Verdict struct {
	Outcome  string        `json:"outcome" enum:"not_scanned,clean,review,dangerous"`
	Complete bool          `json:"complete"`
	Bundle   string        `json:"bundle,omitempty"`
	Findings []ScanFinding `json:"findings,omitempty"`
}

// ScanFinding is one check's find at one place.
type ScanFinding struct {
	Check    string `json:"check"`
	Tier     string `json:"tier" enum:"hard,soft"`
	Path     string `json:"path"`
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Evidence string `json:"evidence"`
	Label    string `json:"label,omitempty" doc:"Of the check"`
	Accepted bool   `json:"accepted,omitempty" doc:"A person saw this very finding before and approved"`
}

// Grant is who approved a contract, why and when.
type Grant struct {
	Reason string    `json:"reason"`
	Actor  Actor     `json:"actor"`
	Time   time.Time `json:"time"`
}

// Actor is who did something.
type Actor struct {
	Kind string `json:"kind" enum:"person,agent,operator,holdfast,"`
	Name string `json:"name,omitempty"`
}

func toolOf(e dispatch.Entry) Tool {
	r := e.Record
	t := Tool{
		Server: r.Key.Server, Kind: string(r.Key.Kind), Name: r.Key.Name, Direct: e.Direct,
		Incarnation: e.Server.Incarnation, Status: r.Status.String(), Ready: e.Reason == dispatch.Ready,
		Class: e.Class.String(), Waiting: r.Waiting(), Blocked: r.Blocked, Absent: r.Absent, InReview: r.InReview(),
		Digest: string(r.Live.Digest()), Approved: string(r.Approved.Digest()), ApprovedBy: grantOf(r.ApprovedBy),
		Title: text(r.Live, "title"), Text: text(r.Live, "description"), Problem: r.Live.Problem(), Version: r.Version,
	}
	for _, why := range e.Reasons {
		if why != dispatch.Ready {
			t.Reasons = append(t.Reasons, string(why))
		}
	}
	if r.Status == approval.Pending || r.Status == approval.Changed || t.Waiting {
		t.Held = heldOf(r.Evidence, r.Accepted)
	}
	t.Summary = toolSummary(t)
	return t
}

// toolsOf shows records as the catalogue has them.
func toolsOf(c *dispatch.Catalogue, records []approval.Record) []Tool {
	out := []Tool{}
	for _, r := range records {
		if e, ok := c.Find(r.Key); ok {
			out = append(out, toolOf(e))
		}
	}
	return out
}

func grantOf(g approval.Grant) *Grant {
	if g.Reason == "" {
		return nil
	}
	return &Grant{Reason: string(g.Reason), Actor: Actor{string(g.Actor.Kind), g.Actor.Name}, Time: g.Time.UTC()}
}

func heldOf(e approval.Evidence, accepted []scan.Finding) *Held {
	why := e.Reason.Explain()
	h := &Held{Reason: string(e.Reason), Label: why.Label, Explanation: why.Sentence, Signals: []Signal{}, Verdict: verdictOf(e.Verdict, accepted)}
	for _, s := range e.Signals {
		t := approval.ExplainSignal(s)
		h.Signals = append(h.Signals, Signal{Signal: s, Label: t.Label, Explanation: t.Sentence})
	}
	return h
}

func verdictOf(v scan.Verdict, accepted []scan.Finding) Verdict {
	out := Verdict{Outcome: outcomeWord(v.Outcome), Complete: v.Complete, Bundle: v.Bundle}
	for _, f := range v.Findings {
		tier := "hard"
		if f.Tier == scan.Soft {
			tier = "soft"
		}
		label, _ := scan.Explain(f.Check)
		out.Findings = append(out.Findings, ScanFinding{
			Check: f.Check, Tier: tier, Path: f.Path, Start: f.Start, End: f.End, Evidence: f.Evidence,
			Label: label.Label, Accepted: slices.Contains(accepted, f),
		})
	}
	return out
}

func outcomeWord(o scan.Outcome) string {
	switch o {
	case scan.Clean:
		return "clean"
	case scan.Review:
		return "review"
	case scan.Dangerous:
		return "dangerous"
	case scan.NotScanned:
	}
	return "not_scanned"
}

// text gives a string member of a contract's definition.
func text(c contract.Contract, member string) string {
	if !c.Parsable() {
		return ""
	}
	if v, ok := c.Root().Get(member); ok && v.Kind() == contract.String {
		return v.Text()
	}
	return ""
}

func toolSummary(t Tool) string {
	why := ""
	if t.Held != nil && t.Held.Explanation != "" {
		why = ": " + clause(t.Held.Explanation)
	}
	switch {
	case t.Blocked:
		return "blocked by a person"
	case t.Absent:
		return "its server no longer lists it"
	case t.Status == "pending":
		return "never approved" + why
	case t.Status == "changed":
		return "changed since it was approved, and held" + why
	case t.Waiting:
		return "approved as it was; an update waits" + why
	case t.Ready:
		return "ready"
	case len(t.Reasons) > 0:
		return "approved, but not ready: " + clause(dispatch.Reason(t.Reasons[0]).Explain().Sentence)
	}
	return t.Status
}

// find gives the record that a path names, or says what is like it.
func (a *api) find(server, kind, name string) (dispatch.Entry, error) {
	c := a.Trust.Catalogue()
	if _, ok := c.Server(server); !ok {
		return dispatch.Entry{}, noServer(c, server)
	}
	e, ok := c.Find(approval.Key{Server: server, Kind: approval.Kind(kind), Name: name})
	if ok {
		return e, nil
	}
	var names []string
	for _, other := range c.Entries(server) {
		if other.Record.Key.Kind == approval.Kind(kind) {
			names = append(names, other.Record.Key.Name)
		}
	}
	hint := fmt.Sprintf("`holdfast tool list --server %s` shows what it offers", server)
	if near := nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return dispatch.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("the server %s has no %s %q", server, kind, name), hint)
}
