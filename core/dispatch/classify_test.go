package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
)

// rows is section 2 of docs/design/dispatch.md, written a second time: a reason
// and when it fails. Text of the record: the status, and "blocked" after it.
var rows = []struct {
	reason string
	fails  func(found, enabled, quarantined, denied bool, record string) bool
}{
	{"server_not_configured", func(found, _, _, _ bool, _ string) bool { return !found }},
	{"server_quarantined", func(found, _, quarantined, _ bool, _ string) bool { return found && quarantined }},
	{"server_disabled", func(found, enabled, _, _ bool, _ string) bool { return found && !enabled }},
	{"tool_denied_by_config", func(found, _, _, denied bool, _ string) bool { return found && denied }},
	{"tool_unknown", func(found, _, _, _ bool, record string) bool { return found && record == "none" }},
	{"tool_blocked", func(found, _, _, _ bool, record string) bool { return found && strings.HasSuffix(record, " blocked") }},
	{"tool_changed", func(found, _, _, _ bool, record string) bool { return found && strings.HasPrefix(record, "changed") }},
	{"tool_pending", func(found, _, _, _ bool, record string) bool { return found && strings.HasPrefix(record, "pending") }},
}

func TestClassifyEveryCell(t *testing.T) {
	status := map[string]approval.Status{"none": approval.None, "pending": approval.Pending, "approved": approval.Approved, "changed": approval.Changed}
	both := []bool{false, true}
	cells, ready := 0, 0
	for _, found := range both {
		for _, enabled := range both {
			for _, quarantined := range both {
				for _, gate := range both {
					for _, denied := range both {
						for _, mode := range []string{"", "manual", "scan", "auto"} {
							for _, record := range []string{"none", "pending", "pending blocked", "approved", "approved blocked", "changed", "changed blocked"} {
								cells++
								var want []string
								for _, row := range rows {
									if row.fails(found, enabled, quarantined, denied, record) {
										want = append(want, row.reason)
									}
								}
								class := "ready"
								if len(want) > 0 {
									class = want[0]
								} else {
									ready++
								}
								word, _, blocked := strings.Cut(record, " ")
								got, reasons := Classify(Situation{
									Found: found, Enabled: enabled, Quarantined: quarantined, Denied: denied,
									GateOn: gate, TrustMode: mode, Status: status[word], Blocked: blocked,
								})
								if string(got) != class || fmt.Sprint(reasons) != fmt.Sprint(want) {
									t.Errorf("found %v enabled %v quarantined %v gate %v denied %v mode %q record %s: %s %v, want %s %v",
										found, enabled, quarantined, gate, denied, mode, record, got, reasons, class, want)
								}
							}
						}
					}
				}
			}
		}
	}
	if cells != 896 || ready != 8 {
		t.Errorf("%d cells of which %d are ready; the table has 896 and 8", cells, ready)
	}
}

func TestClassifyRefusesZeroAndUnknown(t *testing.T) {
	if got, _ := Classify(Situation{}); got != ServerNotConfigured {
		t.Errorf("the zero Situation is %s", got)
	}
	open := Situation{Found: true, Enabled: true, Status: approval.Status(99)}
	if got, reasons := Classify(open); got != ToolUnknown || !slices.Equal(reasons, []Reason{ToolUnknown}) {
		t.Errorf("a status that is none is %s %v", got, reasons)
	}
	open.Status, open.Blocked = approval.None, true // a block cannot be of a record that is not there
	if got, reasons := Classify(open); got != ToolUnknown || len(reasons) != 1 {
		t.Errorf("no record, blocked: %s %v", got, reasons)
	}
}

func TestSituationOfWhatIsStored(t *testing.T) {
	broken := approvedTool("s", "t")
	broken.Approved = contract.Parse([]byte("{"))
	absent := approvedTool("s", "t")
	absent.Absent = true
	zero := approvedTool("s", "t")
	zero.Approved = contract.Contract{}
	for name, c := range map[string]struct {
		server approval.Server
		record approval.Record
		want   Reason
	}{
		"ready":               {running("s"), approvedTool("s", "t"), Ready},
		"dropped by the file": {with(running("s"), func(s *approval.Server) { s.Named = false }), approvedTool("s", "t"), ServerNotConfigured},
		"proposal":            {with(running("s"), func(s *approval.Server) { s.Proposal = true }), approvedTool("s", "t"), ServerDisabled},
		"zero server":         {approval.Server{}, approvedTool("s", "t"), ServerNotConfigured},
		"absent":              {running("s"), absent, ToolUnknown},
		"approved unreadable": {running("s"), broken, ToolChanged},
		"approved nothing":    {running("s"), zero, ToolChanged},
		"not in the list": {
			with(running("s"), func(s *approval.Server) { s.Options.EnabledTools = []string{"other"} }),
			approvedTool("s", "t"), ToolDeniedByConfig,
		},
		"in the list": {
			with(running("s"), func(s *approval.Server) { s.Options.EnabledTools = []string{"other", "t*"} }),
			approvedTool("s", "t"), Ready,
		},
		"in both lists": {
			with(running("s"), func(s *approval.Server) {
				s.Options.EnabledTools, s.Options.DisabledTools = []string{"t"}, []string{"?"}
			}),
			approvedTool("s", "t"), ToolDeniedByConfig,
		},
		"a prompt is not in the lists of tools": {
			with(running("s"), func(s *approval.Server) { s.Options.EnabledTools = []string{"other"} }),
			with(approvedTool("s", "t"), func(r *approval.Record) { r.Key.Kind = approval.Prompt }), Ready,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := Classify(situation(approval.Settings{}, c.server, c.record)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func with[T any](v T, change func(*T)) T {
	change(&v)
	return v
}

// running is a server that may be called.
func running(name string) approval.Server {
	return approval.Server{
		Name: name, Version: 1, Incarnation: name + "-1", Named: true, Enabled: true,
		Program: approval.Program{Type: "stdio", Command: "x", Args: []string{"a"}, Env: map[string]string{"K": "v"}},
	}
}

// define is a tool's definition.
func define(name, rest string) contract.Contract {
	return contract.Parse(fmt.Appendf(nil, `{"title":"T","name":%q,"inputSchema":{"type":"object"}%s}`, name, rest))
}

// approvedTool is a record of an approved, read-only tool.
func approvedTool(server, name string) approval.Record {
	c := define(name, `,"annotations":{"readOnlyHint":true}`)
	return approval.Record{
		Key: approval.Key{Server: server, Kind: approval.Tool, Name: name}, Version: 1,
		Status: approval.Approved, Approved: c, Anchor: c, Live: c,
	}
}
