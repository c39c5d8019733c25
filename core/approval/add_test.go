package approval

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestAdmissionTable is QP-01: trust × default mode × gate × asked × way in × name,
// against an expectation that is written here in the words of section 3.
func TestAdmissionTable(t *testing.T) {
	looseness := map[string]int{"manual": 0, "scan": 1, "auto": 2}
	for _, trust := range []string{"", "manual", "scan", "auto", "bogus"} {
		for _, usual := range []string{"manual", "scan", "auto"} {
			for _, gateOff := range []bool{false, true} {
				for _, ask := range []Ask{AskNothing, AskMore, AskLess} {
					for _, way := range []Way{ByCLI, ByREST, ByMCP, ByImport, ByFile} {
						for _, stored := range []bool{false, true} {
							b := setup(t, usual)
							b.s.Settings.GateOff = gateOff
							if stored {
								b.ok(Add(b.s, b.addRequest(ByCLI, AskMore)))
							}
							r := b.addRequest(way, ask)
							r.Options.TrustMode = trust
							c, err := Add(b.s, r)

							mode := trust
							if mode == "" {
								mode = usual
							}
							if mode == "bogus" {
								mode = "manual"
							}
							rule := !gateOff && mode != "auto"
							want := ""
							switch {
							case trust == "bogus" && way != ByFile:
								want = CodeBadTrustMode
							case way == ByMCP && (ask == AskLess || looseness[mode] > looseness[usual]):
								want = CodeNotForAgents
							case stored && way != ByFile:
								want = CodeServerExists
							}
							name := fmt.Sprintf("trust %q default %s gate off %v ask %d way %s stored %v", trust, usual, gateOff, ask, way, stored)
							if want != "" {
								b.refused(want)(c, err)
								continue
							}
							if err != nil {
								t.Errorf("%s: refused: %v", name, err)
								continue
							}
							if stored { // the file can add a quarantine and never lift one
								if c.Server != nil && (!c.Server.Quarantined || c.Server.Incarnation != b.s.Server.Incarnation) {
									t.Errorf("%s: %+v", name, c.Server)
								}
								continue
							}
							got := *c.Server
							quarantined := rule
							if ask != AskNothing {
								quarantined = ask == AskMore
							}
							if got.Quarantined != quarantined || got.Enabled == (way == ByMCP) || got.Proposal != (way == ByMCP) ||
								got.FirstScan != (rule && ask == AskNothing && mode == "scan") ||
								got.TrustedWhenAdded != (rule && ask == AskLess) || got.BaselineDecided ||
								got.FromFile != (way == ByFile) || !got.Named || got.FileQuarantines != (way == ByFile && ask == AskMore) ||
								got.Incarnation != r.Incarnation || c.Effects.Pass == (way == ByMCP) {
								t.Errorf("%s: %+v", name, got)
							}
							said := reasons(c)
							if wantSaid := map[bool]string{true: "proposed", false: "added"}[way == ByMCP] + map[bool]string{true: " released"}[got.TrustedWhenAdded]; said != wantSaid {
								t.Errorf("%s: wrote %q, want %q", name, said, wantSaid)
							}
						}
					}
				}
			}
		}
	}
}

func TestServerNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "0": true, "brave-search": true, "a--b": true, "a-": true, strings.Repeat("a", 32): true,
		"": false, "-a": false, "a_b": false, "A": false, "a.b": false, "a b": false, "ä": false, strings.Repeat("a", 33): false, "a\n": false,
	} {
		if ValidName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
		b := setup(t, "manual")
		r := b.addRequest(ByREST, AskNothing)
		r.Name = name
		if _, err := Add(b.s, r); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAddRefusesBadRequests(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*AddRequest)
		code   string
	}{
		"no way in":           {func(r *AddRequest) { r.Way = "" }, CodeBadInput},
		"nobody":              {func(r *AddRequest) { r.Actor = nobody }, CodeForbidden},
		"a pass":              {func(r *AddRequest) { r.Actor = machine }, CodeForbidden},
		"an agent over REST":  {func(r *AddRequest) { r.Actor = agent }, CodeNotForAgents},
		"a person as agent":   {func(r *AddRequest) { r.Way = ByMCP }, CodeForbidden},
		"a person as file":    {func(r *AddRequest) { r.Way = ByFile }, CodeForbidden},
		"no identity":         {func(r *AddRequest) { r.Incarnation = "" }, CodeBadInput},
		"asks for what?":      {func(r *AddRequest) { r.Quarantine = 7 }, CodeBadInput},
		"nothing to run":      {func(r *AddRequest) { r.Program = Program{} }, CodeBadInput},
		"stdio, no command":   {func(r *AddRequest) { r.Program = Program{Type: "stdio", URL: "https://x"} }, CodeBadInput},
		"http, no URL":        {func(r *AddRequest) { r.Program = Program{Type: "http", Command: "x"} }, CodeBadInput},
		"builtin, no name":    {func(r *AddRequest) { r.Program = Program{Type: "builtin"} }, CodeBadInput},
		"no such type":        {func(r *AddRequest) { r.Program = Program{Type: "ws", URL: "ws://x"} }, CodeBadInput},
		"both":                {func(r *AddRequest) { r.Program = Program{Command: "x", URL: "https://x"} }, CodeBadInput},
		"mode in capitals":    {func(r *AddRequest) { r.Options.TrustMode = "Scan" }, CodeBadTrustMode},
		"on_hold":             {func(r *AddRequest) { r.Options.OnHold = "Keep" }, CodeBadInput},
		"timeout":             {func(r *AddRequest) { r.Options.Timeout = -time.Second }, CodeBadInput},
		"max_concurrent":      {func(r *AddRequest) { r.Options.MaxConcurrent = -1 }, CodeBadInput},
		"keep, by an agent":   {func(r *AddRequest) { r.Way, r.Actor, r.Options.OnHold = ByMCP, agent, "keep" }, CodeNotForAgents},
		"isolation, by agent": {func(r *AddRequest) { r.Way, r.Actor, r.Program.Isolation = ByMCP, agent, "none" }, CodeNotForAgents},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, "scan")
			r := b.addRequest(ByCLI, AskNothing)
			c.change(&r)
			b.refused(c.code)(Add(b.s, r))
		})
	}
	b := added(t, "scan", AskNothing)
	r := b.addRequest(ByFile, AskNothing)
	r.Name = "other"
	b.refused(CodeBadInput)(Add(b.s, r))
	r = b.addRequest(ByFile, AskNothing)
	r.Program.Command, r.Incarnation = "other", b.s.Server.Incarnation
	b.refused(CodeBadInput)(Add(b.s, r))
}

func TestAddFillsInTheType(t *testing.T) {
	b := setup(t, "scan")
	r := b.addRequest(ByREST, AskNothing)
	r.Program = Program{URL: "https://mcp.example/mcp"}
	if c := b.ok(Add(b.s, r)); c.Server.Program.Type != "http" {
		t.Errorf("%+v", c.Server.Program)
	}
	b.ok(Edit(b.s, EditRequest{Actor: person, Program: &Program{Type: "http", URL: "https://mcp.example/mcp", Args: []string{}}}))
	if !b.last.Empty() {
		t.Error("the same program, spelled out, is another one")
	}
}

// TestProposals is S42 as far as the law goes.
func TestProposals(t *testing.T) {
	proposed := func() *bench {
		b := setup(t, "scan")
		b.ok(Add(b.s, b.addRequest(ByMCP, AskNothing)))
		if s := b.s.Server; s.Enabled || !s.Proposal || s.Runs() {
			t.Fatalf("%+v", s)
		}
		return b
	}
	b := proposed()
	b.refused(CodeNotForAgents)(Enable(b.s, EnableRequest{Actor: agent, Program: b.s.Server.Program.Digest()}))
	b.refused(CodeServerExists)(Add(b.s, b.addRequest(ByMCP, AskNothing)))
	b.refused(CodeForbidden)(Pass(b.s, b.listing(benign("a")), b.j))
	b.ok(Enable(b.s, EnableRequest{Actor: person, Program: b.s.Server.Program.Digest()}))
	if s := b.s.Server; !s.Enabled || s.Proposal || !s.Quarantined || !s.FirstScan || !b.last.Effects.Pass {
		t.Errorf("%+v", s)
	}
	b.refused(CodeServerExists)(Add(b.s, b.addRequest(ByCLI, AskNothing)))
	for _, way := range []Way{ByCLI, ByREST, ByImport, ByFile} {
		b := proposed()
		old := b.s.Server
		b.ok(Add(b.s, b.addRequest(way, AskNothing)))
		if s := b.s.Server; s.Proposal || !s.Enabled || s.Incarnation == old.Incarnation || s.Version != old.Version+1 {
			t.Errorf("by %s: %+v", way, s)
		}
	}
}

func TestFileBringsUpToDate(t *testing.T) {
	b := added(t, "manual", AskLess)
	b.pass(benign("a"))
	r := b.addRequest(ByFile, AskNothing)
	b.ok(Add(b.s, r))
	b.wrote("named_again")
	r.Options.DisabledTools = []string{"x"}
	b.ok(Add(b.s, r))
	b.wrote("edited")
	if b.last.Effects.Pass || b.s.Server.Quarantined {
		t.Errorf("%+v %+v", b.last.Effects, b.s.Server)
	}
	r.Quarantine = AskMore
	b.ok(Add(b.s, r))
	b.wrote("quarantined")
	if s := b.s.Server; !s.Quarantined || !s.FileQuarantines || s.FileSource != "holdfast.json:7" || s.TrustedWhenAdded || !b.last.Effects.CancelCalls {
		t.Errorf("%+v", s)
	}
	if c := b.ok(Add(b.s, r)); !c.Empty() {
		t.Errorf("an unchanged file wrote %s", reasons(c))
	}
	b.refused(CodeQuarantinedByFile)(Release(b.s, b.releaseRequest()))
	r.FileSource = "holdfast.json:9"
	b.ok(Add(b.s, r))
	if b.s.Server.FileSource != "holdfast.json:9" {
		t.Errorf("%+v", b.s.Server)
	}
	r.Quarantine = AskLess
	b.ok(Add(b.s, r))
	if s := b.s.Server; !s.Quarantined || s.FileQuarantines || s.FileSource != "" {
		t.Errorf("%+v", s)
	}
	b.ok(Release(b.s, b.releaseRequest()))
	r.Program, r.Incarnation = Program{Command: "run", Env: map[string]string{"A": "${env:A}"}}, b.incarnation()
	b.ok(Add(b.s, r))
	b.wrote("program_changed")
	if s := b.s.Server; !s.Quarantined || s.Incarnation != r.Incarnation {
		t.Errorf("%+v", s)
	}
	b.is("a", "approved baseline_trust")
	b.refused(CodeBadInput)(Add(b.s, func() AddRequest { r.Options.OnHold = "x"; return r }()))
}

// TestFileModesCountAsManual: a bad mode in a file does not reject it.
func TestFileModesCountAsManual(t *testing.T) {
	b := setup(t, "auto")
	r := b.addRequest(ByFile, AskNothing)
	r.Options.TrustMode = "AUTO"
	c := b.ok(Add(b.s, r))
	if mode, bad := b.s.Settings.ModeOf(b.s.Server); mode != Manual || bad != "AUTO" || !b.s.Server.Quarantined {
		t.Errorf("%s %q %+v", mode, bad, b.s.Server)
	}
	if c.Entries[0].Act.Detail["counts_as_manual"] != `"AUTO"` {
		t.Errorf("%+v", c.Entries[0].Act)
	}
}

func TestEdit(t *testing.T) {
	b := added(t, "scan", AskNothing)
	b.refused(CodeNotForAgents)(Edit(b.s, EditRequest{Actor: agent, Options: &Options{}}))
	b.refused(CodeForbidden)(Edit(b.s, EditRequest{Options: &Options{}}))
	b.refused(CodeNotFound)(Edit(State{}, EditRequest{Actor: person}))
	b.refused(CodeBadTrustMode)(Edit(b.s, EditRequest{Actor: person, Options: &Options{TrustMode: "x"}}))
	b.refused(CodeBadInput)(Edit(b.s, EditRequest{Actor: person, Program: &Program{}}))
	b.refused(CodeBadInput)(Edit(b.s, EditRequest{Actor: person, Program: &Program{Command: "x"}}))
	b.refused(CodeBadInput)(Edit(b.s, EditRequest{Actor: person, Program: &Program{Command: "x"}, Incarnation: "inc1"}))
	if c := b.ok(Edit(b.s, EditRequest{Actor: person})); !c.Empty() {
		t.Error("nothing asked, something written")
	}
	b.ok(Edit(b.s, EditRequest{Actor: operator, Options: &Options{TrustMode: "bad"}}))
	if b.s.Server.FirstScan {
		t.Error("leaving scan mode did not spend the first scan")
	}
	b.ok(Edit(b.s, EditRequest{Actor: operator, Options: &Options{TrustMode: "bad", OnHold: "keep", EnabledTools: []string{"a"}, MaxConcurrent: 2, Timeout: time.Second}}))
	b.wrote("edited on_hold_keep")
}

// TestEveryFieldOfAProgramIsOne: each alone gives another incarnation.
func TestEveryFieldOfAProgramIsOne(t *testing.T) {
	base := Program{Type: "stdio", Command: "c"}
	fields := reflect.TypeFor[Program]()
	for i := range fields.NumField() {
		other := base
		switch f := reflect.ValueOf(&other).Elem().Field(i); f.Interface().(type) {
		case string:
			f.SetString("x")
		case []string:
			f.Set(reflect.ValueOf([]string{"x"}))
		case map[string]string:
			f.Set(reflect.ValueOf(map[string]string{"x": "y"}))
		default:
			t.Fatalf("field %s is of a type that this test does not know", fields.Field(i).Name)
		}
		if base.Equal(other) || len(base.differs(other)) != 1 {
			t.Errorf("%s makes no difference: %v", fields.Field(i).Name, base.differs(other))
		}
	}
	if !(Program{Command: "c", Args: []string{}}).Equal(base) {
		t.Error("a default filled in is another program")
	}
}

// TestProgramUnderEachRule: what a change of what is run does to the quarantine.
func TestProgramUnderEachRule(t *testing.T) {
	for _, c := range []struct {
		mode                            string
		gateOff, was, first             bool
		quarantined, firstScanAfterward bool
	}{
		{"manual", false, false, false, true, false},
		{"manual", false, true, false, true, false},
		{"scan", false, false, false, true, true},
		{"scan", false, true, true, true, true},
		{"scan", false, true, false, true, false},
		{"auto", false, false, false, false, false},
		{"auto", false, true, false, true, false},
		{"scan", true, false, false, false, false},
		{"scan", true, true, true, true, true},
	} {
		b := added(t, c.mode, AskNothing)
		b.s.Settings.GateOff = c.gateOff
		b.s.Server.Quarantined, b.s.Server.FirstScan, b.s.Server.TrustedWhenAdded = c.was, c.first, true
		b.ok(Edit(b.s, EditRequest{Actor: person, Program: &Program{Command: "v2"}, Incarnation: "other"}))
		if s := b.s.Server; s.Quarantined != c.quarantined || s.FirstScan != c.firstScanAfterward || s.TrustedWhenAdded {
			t.Errorf("%+v: %+v", c, s)
		}
	}
}
