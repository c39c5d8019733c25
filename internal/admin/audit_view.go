package admin

import (
	"encoding/hex"
	"time"

	"github.com/holdfast-mcp/holdfast/core/record"
)

// AuditEntry is one line of the audit. Exactly one of transition, act and call is
// set. Names and texts of tools are foreign text.
type AuditEntry struct {
	Seq         int64     `json:"seq"`
	Time        time.Time `json:"time"`
	Type        string    `json:"type"`
	Actor       Actor     `json:"actor"`
	Server      string    `json:"server,omitempty"`
	Incarnation string    `json:"incarnation,omitempty"`
	Kind        string    `json:"kind,omitempty"`
	Name        string    `json:"name,omitempty"`
	RequestID   string    `json:"request_id,omitempty"`
	SettingsID  string    `json:"settings_id,omitempty"`

	Transition *AuditTransition `json:"transition,omitempty"`
	Act        *AuditAct        `json:"act,omitempty"`
	Call       *AuditCall       `json:"call,omitempty"`

	Prev string `json:"prev" doc:"Hash of the entry before, hexadecimal"`
	Hash string `json:"hash" doc:"Of this entry, hexadecimal"`
}

// AuditTransition is a change of one record.
type AuditTransition struct {
	From     string            `json:"from"`
	To       string            `json:"to"`
	Reason   string            `json:"reason"`
	Old      *Contract         `json:"old,omitempty" doc:"In lists without its text"`
	New      *Contract         `json:"new,omitempty" doc:"In lists without its text"`
	Signals  []string          `json:"signals,omitempty"`
	Verdict  string            `json:"verdict,omitempty"`
	Complete bool              `json:"complete"`
	Bundle   string            `json:"bundle,omitempty"`
	Findings []ScanFinding     `json:"findings,omitempty"`
	Accepted []ScanFinding     `json:"accepted,omitempty"`
	Detail   map[string]string `json:"detail,omitempty"`
	Lines    []ReviewLine      `json:"lines,omitempty" doc:"From old to new, line by line; in lists left out"`
}

// AuditAct is something done to a server, the settings or a token.
type AuditAct struct {
	What   string            `json:"what"`
	Detail map[string]string `json:"detail,omitempty"`
}

// AuditCall is one call of a tool, its refusal or its outcome.
type AuditCall struct {
	ID          string   `json:"id"`
	Caller      string   `json:"caller"`
	Face        string   `json:"face,omitempty"`
	Class       string   `json:"class,omitempty"`
	Approved    string   `json:"approved_digest,omitempty"`
	Live        string   `json:"live_digest,omitempty"`
	ArgsSHA256  string   `json:"args_sha256,omitempty"`
	ArgsBytes   int      `json:"args_bytes,omitempty"`
	Outcome     string   `json:"outcome,omitempty"`
	ResultBytes int      `json:"result_bytes,omitempty"`
	Duration    float64  `json:"duration_ms,omitempty"`
	Refused     string   `json:"refused,omitempty"`
	Reasons     []string `json:"reasons,omitempty"`
	Rule        string   `json:"rule,omitempty" doc:"The rule of a workspace that decided, as its owner wrote it"`
	RuleAt      string   `json:"rule_at,omitempty" doc:"Where that rule stands"`
}

// entryOf shows an entry; full adds the texts of contracts.
func entryOf(e record.Entry, full bool) AuditEntry {
	v := AuditEntry{
		Seq: e.Seq, Time: e.Time.UTC(), Type: string(e.Type), Actor: Actor{string(e.Actor.Kind), e.Actor.Name},
		Server: e.Server, Incarnation: e.Incarnation, Kind: e.Kind, Name: e.Name, RequestID: e.RequestID,
		SettingsID: e.SettingsID, Prev: hex.EncodeToString(e.Prev[:]), Hash: hex.EncodeToString(e.Hash[:]),
	}
	if t := e.Transition; t != nil {
		v.Transition = &AuditTransition{
			From: t.From, To: t.To, Reason: t.Reason, Old: snapshotOf(t.Old, full), New: snapshotOf(t.New, full),
			Signals: t.Signals, Verdict: t.Verdict, Complete: t.Complete, Bundle: t.Bundle,
			Findings: auditFindings(t.Findings), Accepted: auditFindings(t.Accepted), Detail: t.Detail,
		}
	}
	if t := e.Act; t != nil {
		v.Act = &AuditAct{What: t.What, Detail: t.Detail}
	}
	if c := e.Call; c != nil {
		v.Call = &AuditCall{
			ID: c.ID, Caller: c.Caller, Face: c.Face, Class: c.Class, Approved: string(c.Approved), Live: string(c.Live),
			ArgsSHA256: c.ArgsSHA256, ArgsBytes: c.ArgsBytes, Outcome: c.Outcome, ResultBytes: c.ResultBytes,
			Duration: float64(c.Duration.Microseconds()) / 1000, Refused: c.Refused, Reasons: c.Reasons,
			Rule: c.Rule, RuleAt: c.RuleAt,
		}
	}
	return v
}

func snapshotOf(s record.Snapshot, full bool) *Contract {
	v := optionalContract(s.Contract)
	if v != nil && !full {
		v.Text = ""
	}
	return v
}

func auditFindings(fs []record.Finding) []ScanFinding {
	var out []ScanFinding
	for _, f := range fs {
		out = append(out, ScanFinding{Check: f.Check, Tier: f.Tier, Path: f.Path, Start: f.Start, End: f.End, Evidence: f.Evidence})
	}
	return out
}
