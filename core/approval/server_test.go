package approval

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
)

func TestModes(t *testing.T) {
	for _, word := range []string{"manual", "scan", "auto"} {
		m, err := ParseMode(word)
		if err != nil || m.String() != word {
			t.Errorf("%s: %s %v", word, m, err)
		}
	}
	for _, word := range []string{"", "Manual", "SCAN", "auto ", "none"} {
		_, err := ParseMode(word)
		r, _ := err.(*Refused)
		if r == nil || r.Code != CodeBadTrustMode || !strings.Contains(r.Hint, "manual, scan or auto") {
			t.Errorf("%q: %v", word, err)
		}
	}
	if Mode(9).String() != "manual" {
		t.Error("a mode that is none is not manual")
	}
	for s, want := range map[Status]string{None: "none", Pending: "pending", Approved: "approved", Changed: "changed", 9: "status 9"} {
		if s.String() != want {
			t.Errorf("%d: %s", s, s)
		}
	}
	for _, c := range []struct {
		own, usual string
		want       Mode
		bad        string
	}{
		{"", "", Manual, ""},
		{"", "scan", Scan, ""},
		{"auto", "scan", Auto, ""},
		{"Auto", "scan", Manual, "Auto"},
		{"", "skan", Manual, "skan"},
		{"manual", "skan", Manual, ""},
	} {
		mode, bad := Settings{DefaultMode: c.usual}.ModeOf(Server{Options: Options{TrustMode: c.own}})
		if mode != c.want || bad != c.bad {
			t.Errorf("%+v: %s %q", c, mode, bad)
		}
	}
	for _, c := range []struct {
		own, usual string
		want       bool
	}{
		{"", "", false},
		{"", "keep", true},
		{"block", "keep", false},
		{"keep", "block", true},
		{"kept", "keep", false},
	} {
		if got := (Settings{OnHold: c.usual}).Keeps(Server{Options: Options{OnHold: c.own}}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestWhoMay is every act on a server by every kind of actor, and on none.
func TestWhoMay(t *testing.T) {
	acts := map[string]struct {
		may string
		do  func(State, record.Actor) (Change, error)
	}{
		"quarantine": {"person agent operator", Quarantine},
		"enable":     {"person", func(s State, a record.Actor) (Change, error) { return Enable(s, EnableRequest{Actor: a}) }},
		"disable":    {"person agent", Disable},
		"remove":     {"person", Remove},
		"drop":       {"operator", Dropped},
		"edit": {"person operator", func(s State, a record.Actor) (Change, error) {
			return Edit(s, EditRequest{Actor: a, Options: &Options{}})
		}},
		"approve": {"person", func(s State, a record.Actor) (Change, error) { return Approve(s, reviewBy(s, a)) }},
		"block":   {"person", func(s State, a record.Actor) (Change, error) { return Block(s, reviewBy(s, a)) }},
		"unblock": {"person", func(s State, a record.Actor) (Change, error) { return Unblock(s, reviewBy(s, a)) }},
		"dismiss": {"person", func(s State, a record.Actor) (Change, error) { return Dismiss(s, reviewBy(s, a)) }},
		"release": {"person", func(s State, a record.Actor) (Change, error) {
			return Release(s, ReleaseRequest{Actor: a, Incarnation: s.Server.Incarnation, Tools: reviewBy(s, a).Tools})
		}},
		"security approve": {"person", func(s State, a record.Actor) (Change, error) {
			return SecurityApprove(s, ReleaseRequest{Actor: a, Incarnation: s.Server.Incarnation, Tools: reviewBy(s, a).Tools}, true)
		}},
	}
	for name, act := range acts {
		for _, actor := range []record.Actor{person, agent, operator, machine, nobody, {Kind: "someone"}} {
			b := added(t, "manual", AskNothing)
			b.pass(benign("a"))
			b.s.Server.FromFile = true
			s := b.s
			if name == "dismiss" {
				s.Records[0].Status, s.Records[0].Approved = Approved, edited("a").Contract
			}
			c, err := act.do(s, actor)
			if slices.Contains(strings.Fields(act.may), string(actor.Kind)) {
				if err != nil {
					t.Errorf("%s may not %s: %v", actor.Kind, name, err)
				}
				continue
			}
			code := CodeForbidden
			if actor.Kind == record.Agent {
				code = CodeNotForAgents
			}
			b.refused(code)(c, err)
		}
		if name != "edit" {
			b := setup(t, "manual")
			who := person
			if act.may == "operator" {
				who = operator
			}
			b.refused(CodeNotFound)(act.do(b.s, who))
		}
	}
}

func reviewBy(s State, a record.Actor) ReviewRequest {
	r := ReviewRequest{Actor: a, Incarnation: s.Server.Incarnation}
	for _, rec := range s.Records {
		r.Tools = append(r.Tools, Seen{rec.Key.Kind, rec.Key.Name, rec.Live.Digest()})
	}
	return r
}

func TestQuarantineEndsPermissions(t *testing.T) {
	b := added(t, "scan", AskLess)
	b.ok(Quarantine(b.s, person))
	if s := b.s.Server; !s.Quarantined || s.TrustedWhenAdded || s.FirstScan || !b.last.Effects.CancelCalls {
		t.Errorf("%+v", s)
	}
	if c := b.ok(Quarantine(b.s, person)); !c.Empty() || c.Effects.CancelCalls {
		t.Error("twice")
	}
	b.ok(Release(b.s, b.releaseRequest()))
	b.pass(benign("a")) // no baseline: the quarantine ended it
	b.is("a", "approved scan_approved")
}

func TestEnableDisableRemove(t *testing.T) {
	b := trusted(t, "manual", benign("a"))
	if c := b.ok(Enable(b.s, EnableRequest{Actor: person})); !c.Empty() {
		t.Error("enabled twice")
	}
	b.ok(Disable(b.s, agent))
	b.wrote("disabled")
	if b.s.Server.Enabled || b.s.Server.Runs() || !b.last.Effects.CancelCalls || b.last.Effects.Pass {
		t.Errorf("%+v %+v", b.s.Server, b.last.Effects)
	}
	if c := b.ok(Disable(b.s, person)); !c.Empty() {
		t.Error("disabled twice")
	}
	b.is("a", "approved baseline_trust")
	b.ok(Enable(b.s, EnableRequest{Actor: person}))
	if !b.s.Server.Runs() || !b.last.Effects.Pass {
		t.Errorf("%+v", b.s.Server)
	}
	b.ok(Remove(b.s, person))
	b.wrote("removed")
	if !b.last.Remove || !b.last.Effects.CancelCalls || b.s.Server.Version != 0 {
		t.Errorf("%+v", b.last)
	}
}

func TestSettingsChanged(t *testing.T) {
	key := Key{"s", Tool, "t"}
	lock := func(d contract.Digest) *Lock { return &Lock{Source: "l", Pins: map[Key]contract.Digest{key: d}} }
	base := Settings{ID: "1", DefaultMode: "scan", OnHold: "block", Unannotated: contract.Write}
	for name, c := range map[string]struct {
		change func(*Settings)
		want   string
	}{
		"nothing":           {func(*Settings) {}, ""},
		"another name only": {func(s *Settings) { s.ID = "2" }, ""},
		"gate off":          {func(s *Settings) { s.GateOff = true }, "gate_off settings_changed"},
		"looser mode":       {func(s *Settings) { s.DefaultMode = "auto" }, "trust_mode_loosened settings_changed"},
		"stricter mode":     {func(s *Settings) { s.DefaultMode = "manual" }, "settings_changed"},
		"bad mode":          {func(s *Settings) { s.DefaultMode = "AUTO" }, "settings_changed"},
		"keep":              {func(s *Settings) { s.OnHold = "keep" }, "on_hold_keep settings_changed"},
		"lower class":       {func(s *Settings) { s.Unannotated = contract.Read }, "unannotated_lowered settings_changed"},
		"higher class":      {func(s *Settings) { s.Unannotated = contract.Destructive }, "settings_changed"},
		"a lock":            {func(s *Settings) { s.Lock = lock("d") }, "settings_changed"},
		"all": {func(s *Settings) {
			*s = Settings{GateOff: true, DefaultMode: "auto", OnHold: "keep", Unannotated: contract.Read}
		}, "gate_off trust_mode_loosened on_hold_keep unannotated_lowered settings_changed"},
	} {
		after := base
		c.change(&after)
		entries := SettingsChanged(base, after, operator, start)
		if got := reasons(Change{Entries: entries}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		for _, e := range entries {
			if e.Type != record.TypeSettings || e.Actor != operator || e.SettingsID != after.ID || e.Time.IsZero() {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
	locked := base
	locked.Lock = lock("d")
	for name, c := range map[string]struct {
		after Settings
		want  string
	}{
		"the lock is gone":    {base, "lock_removed settings_changed"},
		"the same lock":       {func() Settings { s := base; s.Lock = lock("d"); return s }(), ""},
		"another pin":         {func() Settings { s := base; s.Lock = lock("e"); return s }(), "settings_changed"},
		"gate back on, first": {func() Settings { s := locked; s.Unannotated = contract.NoClass; return s }(), "settings_changed"},
	} {
		if got := reasons(Change{Entries: SettingsChanged(locked, c.after, operator, start)}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := SettingsChanged(Settings{}, Settings{ID: "1", DefaultMode: "scan"}, operator, start); len(got) != 0 {
		t.Errorf("the defaults are a change: %+v", got)
	}
	if got := SettingsChanged(Settings{}, Settings{ID: "1", DefaultMode: "auto"}, operator, start); len(got) != 2 {
		t.Errorf("a first setting that loosens: %+v", got)
	}
}
