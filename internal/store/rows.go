package store

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// The stored forms of values, as JSON. They are types of their own so that what is
// on disk does not change when a law's or the API's type does, and so that nil and
// empty lists stay what they are: two equal Programs are one incarnation.

type grantRow struct {
	Reason approval.Reason `json:"reason"`
	Actor  record.Actor    `json:"actor"`
	Time   time.Time       `json:"time"`
}

type findingRow struct {
	Check    string    `json:"check"`
	Tier     scan.Tier `json:"tier"`
	Path     string    `json:"path"`
	Start    int       `json:"start"`
	End      int       `json:"end"`
	Evidence string    `json:"evidence"`
}

type verdictRow struct {
	Outcome  scan.Outcome `json:"outcome"`
	Complete bool         `json:"complete"`
	Bundle   string       `json:"bundle"`
	Findings []findingRow `json:"findings"`
}

type evidenceRow struct {
	Reason  approval.HeldReason `json:"reason"`
	Signals []string            `json:"signals"`
	Verdict verdictRow          `json:"verdict"`
}

type programRow struct {
	Type      string            `json:"type"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Cwd       string            `json:"cwd"`
	URL       string            `json:"url"`
	Isolation string            `json:"isolation"`
	Env       map[string]string `json:"env"`
	Headers   map[string]string `json:"headers"`
}

type optionsRow struct {
	TrustMode     string        `json:"trust_mode"`
	OnHold        string        `json:"on_hold"`
	EnabledTools  []string      `json:"enabled_tools"`
	DisabledTools []string      `json:"disabled_tools"`
	Timeout       time.Duration `json:"timeout_ns"`
	MaxConcurrent int           `json:"max_concurrent"`
}

type serverRow struct {
	Program          programRow `json:"program"`
	Options          optionsRow `json:"options"`
	FromFile         bool       `json:"from_file"`
	Named            bool       `json:"named"`
	Proposal         bool       `json:"proposal"`
	Enabled          bool       `json:"enabled"`
	Quarantined      bool       `json:"quarantined"`
	FileQuarantines  bool       `json:"file_quarantines"`
	FileSource       string     `json:"file_source"`
	FirstScan        bool       `json:"first_scan"`
	TrustedWhenAdded bool       `json:"trusted_when_added"`
	BaselineDecided  bool       `json:"baseline_decided"`
	Created          time.Time  `json:"created"`
}

type pinRow struct {
	Server string          `json:"server"`
	Kind   approval.Kind   `json:"kind"`
	Name   string          `json:"name"`
	Digest contract.Digest `json:"digest"`
}

type lockRow struct {
	Source string   `json:"source"`
	Pins   []pinRow `json:"pins"`
}

type settingsRow struct {
	GateOff     bool           `json:"gate_off"`
	DefaultMode string         `json:"default_mode"`
	OnHold      string         `json:"on_hold"`
	Unannotated contract.Class `json:"unannotated"`
	Lock        *lockRow       `json:"lock"`
}

type reportedRow struct {
	Kind     approval.Kind   `json:"kind"`
	Name     string          `json:"name"`
	Digest   contract.Digest `json:"digest"`
	Complete bool            `json:"complete"`
	Hard     bool            `json:"hard"`
	Findings []findingRow    `json:"findings"`
}

type reportRow struct {
	Incarnation string        `json:"incarnation"`
	Time        time.Time     `json:"time"`
	Tools       []reportedRow `json:"tools"`
}

type tokenRow struct {
	Scope       scopeRow             `json:"scope"`
	Permissions dispatch.Permissions `json:"permissions"`
}

type scopeRow struct {
	Servers []string `json:"servers"`
	Tools   []string `json:"tools"`
}

// each converts a list; nil stays nil.
func each[A, B any](list []A, f func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = f(a)
	}
	return out
}

func grantOut(g approval.Grant) grantRow {
	g.Time = g.Time.UTC()
	return grantRow(g)
}

func findingsOut(list []scan.Finding) []findingRow {
	return each(list, func(f scan.Finding) findingRow { return findingRow(f) })
}

func findingsIn(list []findingRow) []scan.Finding {
	return each(list, func(f findingRow) scan.Finding { return scan.Finding(f) })
}

func verdictOut(v scan.Verdict) verdictRow {
	return verdictRow{Outcome: v.Outcome, Complete: v.Complete, Bundle: v.Bundle, Findings: findingsOut(v.Findings)}
}

func (v verdictRow) in() scan.Verdict {
	return scan.Verdict{Outcome: v.Outcome, Complete: v.Complete, Bundle: v.Bundle, Findings: findingsIn(v.Findings)}
}

func evidenceOut(e approval.Evidence) evidenceRow {
	return evidenceRow{Reason: e.Reason, Signals: e.Signals, Verdict: verdictOut(e.Verdict)}
}

func (e evidenceRow) in() approval.Evidence {
	return approval.Evidence{Reason: e.Reason, Signals: slices.Clone(e.Signals), Verdict: e.Verdict.in()}
}

func reportedOut(t approval.ReportedTool) reportedRow {
	return reportedRow{Kind: t.Kind, Name: t.Name, Digest: t.Digest, Complete: t.Complete, Hard: t.Hard, Findings: findingsOut(t.Findings)}
}

func (t reportedRow) in() approval.ReportedTool {
	return approval.ReportedTool{Kind: t.Kind, Name: t.Name, Digest: t.Digest, Complete: t.Complete, Hard: t.Hard, Findings: findingsIn(t.Findings)}
}

func serverOut(s approval.Server) serverRow {
	return serverRow{
		Program: programRow(s.Program), Options: optionsRow(s.Options),
		FromFile: s.FromFile, Named: s.Named, Proposal: s.Proposal, Enabled: s.Enabled,
		Quarantined: s.Quarantined, FileQuarantines: s.FileQuarantines, FileSource: s.FileSource,
		FirstScan: s.FirstScan, TrustedWhenAdded: s.TrustedWhenAdded, BaselineDecided: s.BaselineDecided,
		Created: s.Created.UTC(),
	}
}

func (r serverRow) in(name, incarnation string, version int64) approval.Server {
	return approval.Server{
		Name: name, Version: version, Incarnation: incarnation,
		Program: approval.Program(r.Program), Options: approval.Options(r.Options),
		FromFile: r.FromFile, Named: r.Named, Proposal: r.Proposal, Enabled: r.Enabled,
		Quarantined: r.Quarantined, FileQuarantines: r.FileQuarantines, FileSource: r.FileSource,
		FirstScan: r.FirstScan, TrustedWhenAdded: r.TrustedWhenAdded, BaselineDecided: r.BaselineDecided,
		Created: r.Created,
	}
}

// encode gives the stored text of a row. A text that is not UTF-8 is refused,
// for JSON would keep it as another one.
func encode(row any) (string, error) {
	b, err := json.Marshal(row)
	if err != nil {
		return "", internal("a value can't be stored: %v", err)
	}
	// Marshal writes this escape for what is not UTF-8, or as part of "\\ufffd".
	if bytes.Contains(b, []byte(`\ufffd`)) {
		back := reflect.New(reflect.TypeOf(row))
		if err := json.Unmarshal(b, back.Interface()); err != nil || !reflect.DeepEqual(back.Elem().Interface(), row) {
			return "", internal("a value can't be stored: it has a text that is not UTF-8")
		}
	}
	return string(b), nil
}

func decode(text string, into any) error { return json.Unmarshal([]byte(text), into) }
