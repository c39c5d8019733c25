package intake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// signatures is a bundle with one rule, which finds the word.
func signatures(t testing.TB, version, word string) *scan.Bundle {
	t.Helper()
	b, err := scan.ParseBundle(fmt.Appendf(nil, `{"format":1,"version":%q,"rules":[{"id":"word","title":"A word","tier":"hard","pattern":%q}]}`, version, word))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// In scan mode the pass decides: what is harmless passes with its proof, what asks
// for more is held with what it asks for, what is poisoned with what was found.
func TestScanModeDecides(t *testing.T) {
	r := newRoom(t)
	r.bundle.Store(signatures(t, "one", "xyzzy"))
	r.add("mail", approval.Options{})
	with := func(text, properties string) approval.Offer {
		return approval.Offer{Kind: approval.Tool, Name: "send", Contract: contract.Parse(fmt.Appendf(nil,
			`{"name":"send","description":%q,"inputSchema":{"type":"object","properties":{"to":{"type":"string"}%s}}}`, text, properties))}
	}
	r.offer("mail", with("Sends a mail.", ""))
	r.discover("mail")
	if srv, _ := r.i.Catalogue().Server("mail"); srv.Quarantined || r.statuses("mail") != "send approved" {
		t.Fatalf("the first clean scan: quarantined %v, %s", srv.Quarantined, r.statuses("mail"))
	}
	r.offer("mail", with("Sends a mail to one person.", ""))
	r.discover("mail")
	last := r.audit(record.TypeTransition)[0]
	tr := last.Transition
	if tr.Reason != "scan_approved" || tr.Verdict != "clean" || !tr.Complete || tr.Bundle != r.bundle.Load().Version() || len(tr.Signals) != 0 ||
		!strings.Contains(string(tr.Old.Contract.Raw()), "a mail.") || !strings.Contains(string(tr.New.Contract.Raw()), "one person") {
		t.Errorf("a harmless change: %+v", tr)
	}
	held := func(offer approval.Offer, reason approval.HeldReason, signal string) {
		t.Helper()
		r.offer("mail", offer)
		r.discover("mail")
		e, _ := r.i.Catalogue().Find(approval.Key{Server: "mail", Kind: approval.Tool, Name: "send"})
		if v := e.Record.Evidence; e.Record.Status != approval.Changed || v.Reason != reason || len(v.Signals) == 0 || v.Signals[0] != signal {
			t.Errorf("%s, %s: %q", e.Record.Status, v.Reason, v.Signals)
		}
	}
	held(with("Sends a mail to one person.", `,"bcc":{"type":"string","default":"x"}`), approval.HeldStructural, "GATE-SCHEMA-SHAPE:new-property:properties/bcc")
	held(with("Sends a mail. xyzzy", ""), approval.HeldScanFindings, "SCAN-FINDING:bundle.word:/description")
	r.bundle.Store(nil)
	held(with("Sends a mail, quickly.", ""), approval.HeldScanCoverage, "SCAN-COVERAGE")
}

// Another bundle has the servers looked at again, but for those about which no scan
// decides; it takes no approval back.
func TestBundleChanged(t *testing.T) {
	r := newRoom(t)
	r.add("held", approval.Options{})
	r.add("manual", approval.Options{TrustMode: "manual"})
	for _, name := range []string{"held", "manual"} {
		r.offer(name, tool("t", "xyzzy"))
		r.discover(name)
	}
	before := r.shelf.count("manual")
	r.bundle.Store(signatures(t, "two", "plugh"))
	r.i.BundleChanged()
	r.quiet()
	if r.statuses("held") != "t approved" || r.shelf.count("manual") != before {
		t.Errorf("held: %s; manual was listed %d times", r.statuses("held"), r.shelf.count("manual")-before)
	}
	r.bundle.Store(signatures(t, "three", "xyzzy"))
	r.i.BundleChanged()
	r.quiet()
	if r.statuses("held") != "t approved" {
		t.Errorf("a new bundle took an approval back: %s", r.statuses("held"))
	}
	if found := r.i.Findings(t.Context()); len(found) != 1 || found[0].Key.Server != "held" || found[0].Findings[0].Check != "bundle.word" {
		t.Errorf("and what it finds there is told: %+v", found)
	}
	if err := r.approve("held", "t"); err != nil {
		t.Fatal(err)
	}
	r.same()
}

// A scan is prepared once for a catalogue and a bundle, and not before it is needed.
func TestScansArePreparedOnce(t *testing.T) {
	r := newRoom(t)
	c, one, two := r.i.Catalogue(), signatures(t, "one", "x"), signatures(t, "two", "x")
	var s scanners
	first := s.of(c, one, "a")()
	if s.of(c, one, "a")() != first {
		t.Error("prepared twice for the same")
	}
	if s.of(c, one, "b")() == first || s.of(c, two, "a")() == first || s.of(c.WithSettings(settings("auto")), one, "a")() == first {
		t.Error("one scan for different neighbours or signatures")
	}
	prepared := false
	r.bundle.Store(one)
	r.add("a", approval.Options{})
	r.offer("a", tool("t", "1"))
	r.discover("a")
	c = r.i.Catalogue()
	r.i.scanners.of(c, one, "a")
	r.i.scanners.by["a"] = func() *scan.Scanner { prepared = true; return scan.New(one, nil) }
	r.discover("a")
	if prepared {
		t.Error("a pass that changed nothing prepared a scan")
	}
	r.offer("a", tool("t", "2"))
	r.discover("a")
	if !prepared {
		t.Error("a pass that changed something did not use the prepared scan")
	}
}

// A fault of the gate holds the one change, and is told.
func TestFaultyGateHolds(t *testing.T) {
	r := newRoom(t)
	j := judge{log: r.i.o.Log, gate: func(_, _ contract.Contract) []delta.Signal { panic("a fault") }}
	if got := j.Compare(contract.Contract{}, contract.Contract{}); len(got) != 1 || got[0].Rule != delta.Unavailable {
		t.Errorf("%v", got)
	}
	if log := r.log.String(); !strings.Contains(log, "a fault") {
		t.Errorf("the log: %s", log)
	}
}
