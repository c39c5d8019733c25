package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/workspace/trail"
)

// refusedCall is a refused call with --json. Of the call itself there is only what the
// audit has, which is no argument.
type refusedCall struct {
	Time    time.Time `json:"time"`
	Session string    `json:"session"`
	Call    string    `json:"call"`
	Tool    string    `json:"tool"`
	Stage   string    `json:"stage"`
	Class   string    `json:"class"`
	Rule    string    `json:"rule,omitempty"`
	RuleAt  string    `json:"rule_at,omitempty"`
	Reason  string    `json:"reason"`
	Remedy  string    `json:"remedy"`
}

// refusedCalls is the answer with --json.
type refusedCalls struct {
	Items   []refusedCall `json:"items"`
	Damaged []damagedFile `json:"damaged,omitempty"`
}

type damagedFile struct {
	File    string `json:"file"`
	Problem string `json:"problem"`
}

// refusedLog lists what was refused in the sessions of a workspace that ran on its own.
func (a *app) refusedLog(w *owned, most int) error {
	folder := filepath.Join(w.state, auditName)
	found, damaged, err := trail.Refusals(folder, most)
	if err != nil {
		return err
	}
	answer := refusedCalls{Items: []refusedCall{}}
	for _, r := range found {
		answer.Items = append(answer.Items, explainRefusal(r))
	}
	for _, d := range damaged {
		answer.Damaged = append(answer.Damaged, damagedFile{d.File, d.Err.Error()})
		a.notef("%s: %s. What can be read of it is listed all the same.\n", visible(filepath.Join(folder, d.File)), paragraph(d.Err.Error()))
	}
	if a.json {
		return a.printJSON(answer)
	}
	a.printRefused(answer.Items)
	if len(found) == 0 || w.ranElsewhere(folder) {
		a.notef("Where the gateway runs this workspace, its refusals are in the gateway's audit: %s\n", a.command("audit", "list", "--type", "call.refused"))
	}
	return nil
}

// ranElsewhere reports whether the ledger names a session that wrote no audit here: its
// audit is the gateway's.
func (w *owned) ranElsewhere(folder string) bool {
	known, err := trail.Sessions(folder)
	if err != nil {
		return false
	}
	entries, _, err := w.ledger.Entries(50)
	for _, e := range entries {
		if err == nil && e.Session != "" && !known[e.Session] {
			return true
		}
	}
	return false
}

func (a *app) printRefused(calls []refusedCall) {
	if len(calls) == 0 {
		a.printf("Nothing was refused here yet.\n")
		return
	}
	var rows [][]string
	var remedies []string // a stage and what to do about it, each once
	for _, c := range calls {
		rows = append(rows, []string{clock(c.Time), visible(cut(c.Session, 8)), visible(cut(c.Tool, 24)), c.Stage, visible(c.why())})
		if !slices.Contains(remedies, c.Remedy) {
			remedies = append(remedies, "  "+c.Stage, c.Remedy)
		}
	}
	a.table([]string{"TIME", "SESSION", "TOOL", "STAGE", "WHY"}, rows)
	a.printf("\nWhat to do, by stage:\n")
	a.fields(remedies...)
	a.printf("The arguments of refused calls are not written down; the agent was told the whole reason.\n")
}

// why is what decided, where that is known, else the reason.
func (c refusedCall) why() string {
	switch name, protected := strings.CutPrefix(c.Rule, "protected:"); {
	case protected:
		return "the protected name " + name
	case c.Rule != "" && c.RuleAt != "":
		return c.Rule + " (" + c.RuleAt + ")"
	case c.Rule != "":
		return c.Rule
	case c.RuleAt != "":
		return "a hook (" + c.RuleAt + ")"
	}
	return c.Reason
}

// explainRefusal says in words what the audit has of a refused call.
func explainRefusal(r trail.Refusal) refusedCall {
	c := refusedCall{
		Time: r.Time, Session: r.Session, Call: r.Call.ID, Tool: r.Name, Class: r.Call.Refused, Rule: r.Call.Rule, RuleAt: r.Call.RuleAt,
	}
	reason := dispatch.Reason(r.Call.Refused)
	if reason == dispatch.RefusedByRules && len(r.Call.Reasons) > 1 {
		reason = dispatch.Reason(r.Call.Reasons[1])
	}
	c.Reason = reason.Explain().Sentence
	switch reason {
	case dispatch.ToolUnknown:
		c.Stage, c.Reason, c.Remedy = "arguments", "There is no tool of this name, or it is not offered here.", "The banner at the start says which tools are not offered, and why."
	case dispatch.InvalidArguments, dispatch.TooLarge, dispatch.ByArguments:
		c.Stage, c.Remedy = "arguments", "Nothing: the agent has to send other arguments."
	case dispatch.BySandbox:
		c.Stage, c.Remedy = "sandbox", "If it should reach there: --add-dir, with a folder that holds it."
	case dispatch.ByContract:
		c.Stage, c.Remedy = "contract", "If it should be allowed: change the contract."
	case dispatch.ByRules:
		c.Stage, c.Remedy = "rules", "If it should be allowed: change the rule; a protected path takes an allow rule that names it."
		if c.Rule == "" {
			c.Reason = "The command can't be read, or not in one way alone, and is refused in every mode."
		}
	case dispatch.ByMode:
		c.Stage, c.Remedy = "mode", "If it should be allowed: start with another --mode."
	case dispatch.ByHooks:
		c.Stage, c.Remedy = "hooks", "If it should be allowed: change the hook. One that fails refuses too."
	case dispatch.ByAsk:
		c.Stage, c.Remedy = "ask", "If it should be allowed: write an allow rule. `holdfast workspace check TOOL ARGS` names the one that is meant."
	case dispatch.AuditUnavailable:
		c.Stage, c.Remedy = "audit", "See that the disk is not full, and that the state directory is yours."
	default:
		c.Stage, c.Remedy = string(reason), "The agent may call again."
		if c.Reason == "" {
			c.Reason = fmt.Sprintf("It was refused as %q.", string(reason))
		}
	}
	return c
}
