package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

func TestListingsThatCantBeTaken(t *testing.T) {
	b := trusted(t, "manual", benign("a"))
	many := make([]Offer, MaxTools+1)
	for i := range many {
		many[i] = Offer{Tool, fmt.Sprint(i), benign("a").Contract}
	}
	big := contract.Parse(fmt.Appendf(nil, `{"name":"x","description":"%s"}`, strings.Repeat("x", contract.MaxBytes-100)))
	huge := make([]Offer, 65)
	for i := range huge {
		huge[i] = Offer{Tool, fmt.Sprint(i), big}
	}
	for name, c := range map[string]struct {
		offers []Offer
		code   string
	}{
		"too many":     {many, CodeTooLarge},
		"too large":    {huge, CodeTooLarge},
		"a name twice": {[]Offer{benign("a"), benign("b"), wide("b")}, CodeProtocol},
		"no such kind": {[]Offer{{"resource", "a", benign("a").Contract}}, CodeBadInput},
		"no kind":      {[]Offer{{"", "a", benign("a").Contract}}, CodeBadInput},
	} {
		t.Run(name, func(t *testing.T) { b.refused(c.code)(Pass(b.s, b.listing(c.offers...), b.j)) })
	}
	b.refused(CodeServerReplaced)(Pass(b.s, Listing{Incarnation: ""}, b.j))
	b.refused(CodeNotFound)(Pass(State{}, Listing{}, b.j))

	full := b.s
	for i := range MaxRecords {
		full.Records = append(full.Records, Record{Key: Key{"srv", Tool, fmt.Sprint("old", i)}, Status: Pending, Absent: true})
	}
	b.refused(CodeTooLarge)(Pass(full, b.listing(), b.j))
	full.Records = full.Records[:MaxRecords]
	b.refused(CodeTooLarge)(Pass(full, b.listing(benign("a"), benign("new")), b.j))
	if c, err := Pass(full, b.listing(benign("a")), b.j); err != nil || !c.Empty() {
		t.Errorf("a listing of what is known: %v", err)
	}
	if _, err := Pass(full, b.listing(many[:MaxTools]...), b.j); err == nil {
		t.Error("more than 20,000 records")
	}
	if c, err := Pass(b.s, b.listing(many[:MaxTools]...), b.j); err != nil || len(c.Records) != MaxTools+1 {
		t.Errorf("the limit itself: %v, %d records", err, len(c.Records))
	}
}

func TestKindsAreRecordsOfTheirOwn(t *testing.T) {
	of := func(k Kind, rest string) Offer {
		o := tool("a", rest)
		o.Kind = k
		return o
	}
	instructions := func(text string) Offer {
		return Offer{Instructions, "", contract.Parse(fmt.Appendf(nil, `{"instructions":%q}`, text))}
	}
	b := trusted(t, "scan", of(Tool, ""), of(Prompt, `,"arguments":[{"name":"x"}]`), of(Template, `,"uriTemplate":"a/{b}"`), instructions("be kind"))
	if len(b.s.Records) != 4 {
		t.Fatalf("%d records", len(b.s.Records))
	}
	b.pass(of(Tool, ""), of(Prompt, `,"arguments":[{"name":"x"}],"title":"T","description":"D"`),
		of(Template, `,"uriTemplate":"a/{b}/{c}","na\\me":1`), instructions("be nice"))
	want := map[Kind]string{
		Tool:         "approved baseline_trust",
		Prompt:       "approved scan_approved anchored baseline_trust",
		Template:     "changed baseline_trust held structural",
		Instructions: "approved scan_approved anchored baseline_trust",
	}
	for _, r := range b.s.Records {
		if got := state(r); got != want[r.Key.Kind] {
			t.Errorf("the %s is %s, want %s", r.Key.Kind, got, want[r.Key.Kind])
		}
		if r.Key.Kind == Template && !slices.Equal(r.Evidence.Signals, []string{`GATE-FIELD:na\\me`, "GATE-FIELD:uriTemplate"}) {
			t.Errorf("signals %q", r.Evidence.Signals)
		}
	}
	if b.j.compares != 0 {
		t.Error("what is no tool was compared as one")
	}
	// The words of a refusal name the kind.
	for k, word := range map[Kind]string{Tool: "tool", Prompt: "prompt", Template: "resource template", Instructions: "instructions"} {
		r := b.review()
		r.Tools = []Seen{{k, "none", ""}}
		_, err := Approve(b.s, r)
		if err == nil || !strings.Contains(err.Error(), "the "+word+` "none"`) {
			t.Errorf("%s: %v", k, err)
		}
	}
}

// TestWithoutAJudge everything that needs one is held, and nothing waits.
func TestWithoutAJudge(t *testing.T) {
	for _, mode := range []string{"manual", "scan"} {
		b := trusted(t, mode, benign("a"))
		b.j = nil
		b.s.Settings.OnHold = OnHoldKeep
		b.pass(edited("a"), benign("b"))
		if mode == "scan" {
			b.is("a", "changed baseline_trust held structural")
			b.is("b", "pending held scan_coverage")
			if got := b.rec("b").Evidence.Signals; !slices.Equal(got, []string{"SCAN-COVERAGE"}) {
				t.Errorf("signals %v", got)
			}
		} else {
			b.is("a", "changed baseline_trust held manual")
			b.is("b", "pending held first_seen")
		}
		if got := b.rec("a").Evidence.Signals; got[0] != "GATE-UNAVAILABLE" {
			t.Errorf("signals %v", got)
		}
		b.still(edited("a"), benign("b"))
	}
	b := added(t, "scan", AskNothing)
	b.j = nil
	b.pass(benign("a"))
	if !b.s.Server.Quarantined || !b.s.Server.FirstScan {
		t.Error("a scan that nobody made counted")
	}
	b = added(t, "scan", AskNothing)
	b.j.bundle = ""
	b.pass(benign("a"))
	b.is("a", "pending held scan_coverage")
}

// TestScanLooksOnlyWhenItHasTo counts what a pass asks for.
func TestScanLooksOnlyWhenItHasTo(t *testing.T) {
	b := added(t, "scan", AskNothing)
	b.pass(benign("a"), soft("b"))
	if b.j.scans != 2 || b.j.compares != 0 {
		t.Errorf("%d scans, %d comparisons", b.j.scans, b.j.compares)
	}
	b.quiet(benign("a"), soft("b"))
	b.pass(wide("a"), soft("b")) // one new contract: one scan, one comparison
	if b.j.scans != 3 || b.j.compares != 1 {
		t.Errorf("%d scans, %d comparisons", b.j.scans, b.j.compares)
	}
	b.j.bundle = "b2" // what is held is looked at again, what is approved is not
	b.pass(wide("a"), soft("b"))
	if b.j.scans != 5 {
		t.Errorf("%d scans", b.j.scans)
	}
	b.wrote("a:changed>changed:held b:pending>pending:held")
	if got := b.rec("b").LiveScan.Bundle; got != "b2" {
		t.Errorf("scanned under %s", got)
	}
	b.quiet(wide("a"), soft("b"))
	m := trusted(t, "manual", benign("a"))
	m.j.unasked = t
	m.pass(benign("a"), benign("b"))
}

// TestLookingAgainAndLearningLess writes nothing: what was known stays known.
func TestLookingAgainAndLearningLess(t *testing.T) {
	b := trusted(t, "scan", benign("a"))
	b.pass(danger("a"))
	b.is("a", "changed baseline_trust held scan_findings")
	b.j.bundle, b.j.partial = "b2", true
	b.still(danger("a"))
	if v := b.rec("a").LiveScan; v.Bundle != "b1" || v.Outcome != scan.Dangerous {
		t.Errorf("%+v", v)
	}
	b.j.partial = false
	b.pass(danger("a"))
	b.wrote("a:changed>changed:held")
	if v := b.rec("a").LiveScan; v.Bundle != "b2" {
		t.Errorf("%+v", v)
	}
}

// TestRetain: a scan that could not be made makes no finding unknown.
func TestRetain(t *testing.T) {
	clean, hard := verdictOf("clean"), verdictOf("hard")
	partial, none := verdictOf("partial"), scan.Verdict{}
	hardPartial := hard
	hardPartial.Complete = false
	for name, c := range map[string]struct{ stored, fresh, want scan.Verdict }{
		"complete wins":              {hard, clean, clean},
		"nothing over complete":      {hard, none, hard},
		"partial over nothing":       {none, partial, partial},
		"partial over complete":      {clean, partial, clean},
		"partial over known danger":  {hardPartial, partial, hardPartial},
		"danger over partial":        {partial, hardPartial, hardPartial},
		"danger that is only said":   {scan.Verdict{Outcome: scan.Dangerous}, none, scan.Verdict{Outcome: scan.Dangerous}},
		"a hard finding over danger": {hardPartial, hardPartial, hardPartial},
	} {
		if got := retain(c.stored, c.fresh); !sameVerdict(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestScanModeAfterManual looks at what nobody had looked at.
func TestScanModeAfterManual(t *testing.T) {
	b := added(t, "manual", AskNothing)
	b.pass(benign("a"), soft("b"))
	b.s.Settings.DefaultMode = "scan"
	b.pass(benign("a"), soft("b"))
	b.is("a", "approved scan_approved")
	b.is("b", "pending held scan_findings")
	b.s.Settings.DefaultMode = "manual" // the evidence stands while the bytes do
	b.quiet(benign("a"), soft("b"))
	b.is("b", "pending held scan_findings")
}

func TestApprovedUnknownIsHeld(t *testing.T) {
	b := trusted(t, "scan", benign("a"))
	b.s.Records[0].Approved = contract.Contract{} // a record of old that has none
	b.pass(edited("a"))
	b.is("a", "changed baseline_trust held structural")
	if got := b.rec("a").Evidence.Signals; !slices.Equal(got, []string{"GATE-SCHEMA-SHAPE:approved-unknown:#"}) {
		t.Errorf("signals %v", got)
	}
}

func TestLeftOutIsReported(t *testing.T) {
	b := added(t, "manual", AskNothing)
	l := b.listing(benign("a"))
	for i := range 30 {
		l.LeftOut = append(l.LeftOut, fmt.Sprintf("entry %d has \x1b no name", i))
	}
	b.ok(Pass(b.s, l, b.j))
	e := b.last.Entries[len(b.last.Entries)-1]
	if e.Type != record.TypePass || e.Act.What != ActLeftOut || e.Act.Detail["left_out"] != "30" || len(e.Act.Detail) != 21 || strings.Contains(e.Act.Detail["1"], "\x1b") {
		t.Errorf("%+v", e.Act)
	}
	if c := b.ok(Pass(b.s, l, b.j)); !c.Empty() {
		t.Error("the same fault is told again")
	}
	b.pass(benign("a"), Offer{Kind: Tool, Name: "z"})
	b.is("z", "pending held structural") // an offer that nobody read
}

func TestLegible(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", `a\b`: `a\\b`, "a\nb": `a\u{A}b`, "\u202ex\u200b": `\u{202E}x\u{200B}`, "a\u2028b": `a\u{2028}b`, "größe": "größe",
	} {
		if got := legible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := quote(strings.Repeat("x", 200) + "\x1b"); len(got) > 130 {
		t.Errorf("quoted in %d bytes", len(got))
	}
}

// TestEvidenceIsCutAndEscaped puts foreign names into evidence.
func TestEvidenceIsCutAndEscaped(t *testing.T) {
	b := trusted(t, "scan", benign("x"))
	evil := scan.Verdict{Outcome: scan.Dangerous, Complete: true, Bundle: "b1"}
	for i := range 40 {
		evil.Findings = append(evil.Findings, scan.Finding{Check: "c", Path: fmt.Sprintf("/properties/%02d\nGATE-FORGED", i)})
	}
	c := b.ok(Pass(b.s, b.listing(benign("x"), benign("a")), scripted{verdict: evil}))
	got := c.Records[0].Evidence.Signals
	if len(got) != delta.MaxKept || got[15] != "SCAN-FINDING:more:+25" || strings.Contains(strings.Join(got, ""), "\n") {
		t.Errorf("%d: %q", len(got), got)
	}
	if len(c.Entries[0].Transition.Findings) != 40 {
		t.Error("the audit has not all findings")
	}
}

// TestRefusedIsAnError that errors.As finds.
func TestRefusedIsAnError(t *testing.T) {
	_, err := ParseMode("x")
	if r, ok := errors.AsType[*Refused](fmt.Errorf("wrapped: %w", err)); !ok || r.Error() != r.What {
		t.Errorf("%v", err)
	}
}
