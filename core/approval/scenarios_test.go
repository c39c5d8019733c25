package approval

import (
	"slices"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// The scenarios that the law alone can play, several passes each. What happens to
// calls, over restarts and on faces is played where those are.
//
// The page says scan for some of them; all others are manual, and what is approved
// comes from a baseline.

func TestS01ManualAddWaits(t *testing.T) {
	b := added(t, "manual", AskNothing)
	b.pass(benign("a"))
	b.wrote("a:none>pending:first_seen")
	b.is("a", "pending held first_seen")
	b.quiet(benign("a"))
	b.quiet(benign("a"))
	if !b.s.Server.Quarantined || b.s.Server.BaselineDecided {
		t.Error("not quarantined, or a baseline")
	}
}

func TestS02ReleaseApprovesWhatWaits(t *testing.T) {
	b := added(t, "manual", AskNothing)
	b.pass(benign("a"), benign("b"))
	b.ok(Release(b.s, b.releaseRequest("a", "b")))
	b.wrote("released a:pending>approved:released b:pending>approved:released")
	b.is("a", "approved released")
	if b.s.Server.Quarantined || b.s.Server.BaselineDecided {
		t.Error("quarantined, or a release decided the baseline")
	}
	b.pass(benign("a"), benign("b"))
	b.wrote("baseline_decided")
	b.quiet(benign("a"), benign("b"))
}

func TestS03ReleaseLeavesChanged(t *testing.T) {
	b := trusted(t, "manual", benign("a"))
	b.ok(Quarantine(b.s, person))
	b.pass(wide("a"))
	b.is("a", "changed baseline_trust held manual")
	b.ok(Release(b.s, b.releaseRequest()))
	b.is("a", "changed baseline_trust held manual")
	b.wrote("released")
}

func TestS04BaselineOnce(t *testing.T) {
	b := added(t, "manual", AskLess)
	b.pass(benign("a"), danger("b"))
	b.wrote("a:none>approved:baseline_trust b:none>approved:baseline_trust baseline_decided")
	b.is("b", "approved baseline_trust")
	b.quiet(benign("a"), danger("b"))
}

func TestS05AdditionAfterTheBaseline(t *testing.T) {
	b := trusted(t, "manual", benign("a"))
	b.pass(benign("a"), benign("b"))
	b.is("b", "pending held first_seen")
	b.is("a", "approved baseline_trust")
}

func TestS06S07ChangeHeldThenReverted(t *testing.T) {
	b := trusted(t, "manual", benign("a"))
	b.pass(wide("a"))
	b.wrote("a:approved>changed:held")
	b.is("a", "changed baseline_trust held manual")
	if got := b.rec("a").Evidence.Signals; !slices.Equal(got, []string{"GATE-SCHEMA-SHAPE:type:properties/to"}) {
		t.Errorf("signals %v", got)
	}
	b.quiet(wide("a"))
	b.quiet(wide("a"))
	b.pass(benign("a"))
	b.wrote("a:changed>approved:reverted")
	b.is("a", "approved baseline_trust")
	if r := b.rec("a"); r.Evidence.Reason != "" || !r.Live.Equal(r.Approved) {
		t.Errorf("evidence %+v", r.Evidence)
	}
}

func TestS08S29WideningHeldInScanMode(t *testing.T) {
	b := trusted(t, "scan", benign("a"))
	b.pass(wide("a"))
	b.is("a", "changed baseline_trust held structural")
	b.quiet(wide("a"))
	b.pass(benign("a"))
	b.is("a", "approved baseline_trust")
}

func TestS09S10ApproveMovesTheAnchor(t *testing.T) {
	b := trusted(t, "manual", benign("a"))
	b.pass(wide("a"))
	b.ok(Approve(b.s, b.review("a")))
	b.wrote("a:changed>approved:user_approved")
	b.is("a", "approved user_approved")
	b.quiet(wide("a"))
	b.pass(benign("a")) // the old contract is a change now
	b.is("a", "changed user_approved held manual")
	b.pass(edited("a"))
	b.is("a", "changed user_approved held manual")
}

func TestS11S12AdditionsInScanMode(t *testing.T) {
	b := trusted(t, "scan", benign("a"))
	b.pass(benign("a"), benign("b"), danger("c"))
	b.wrote("b:none>approved:scan_approved c:none>pending:first_seen")
	b.is("b", "approved scan_approved")
	b.is("c", "pending held scan_findings")
	if got := b.rec("c").Evidence.Signals; !slices.Equal(got, []string{"SCAN-FINDING:phrase.injection:/description"}) {
		t.Errorf("signals %v", got)
	}
	b.quiet(benign("a"), benign("b"), danger("c"))
}

func TestS13ChangeToDangerousInScanMode(t *testing.T) {
	b := trusted(t, "scan", benign("a"))
	b.pass(danger("a"))
	b.is("a", "changed baseline_trust held scan_findings")
	b.quiet(danger("a"))
}

func TestS14AutoApprovesWithBeforeAndAfter(t *testing.T) {
	b := added(t, "auto", AskNothing)
	b.pass(benign("a"))
	b.is("a", "approved auto_approve")
	b.pass(tool("a", `,"description":"HARD"`+toWide+readOnly))
	b.wrote("a:approved>approved:auto_approve")
	e := b.last.Entries[0].Transition
	if !e.Old.Contract.Equal(benign("a").Contract) || e.New.Contract.Description() != "HARD" || len(e.Signals) == 0 {
		t.Errorf("before %s after %s signals %v", e.Old.Contract.Digest(), e.New.Contract.Digest(), e.Signals)
	}
	if b.j.scans != 0 {
		t.Error("auto asked for a scan")
	}
}

func TestS15CleanRecordOnAQuarantinedServer(t *testing.T) {
	b := added(t, "scan", AskNothing)
	b.ok(Quarantine(b.s, person))
	b.pass(benign("a"))
	b.is("a", "approved scan_approved")
	if !b.s.Server.Quarantined {
		t.Error("a clean scan lifted a person's quarantine")
	}
	b.quiet(benign("a"))
	b.ok(Release(b.s, b.releaseRequest()))
	b.is("a", "approved scan_approved")
}

func TestS16AutoOverThreePasses(t *testing.T) {
	b := added(t, "auto", AskNothing)
	for _, o := range []Offer{benign("a"), wide("a"), danger("a")} {
		b.pass(o)
		b.is("a", "approved auto_approve")
		if !b.rec("a").Approved.Equal(o.Contract) {
			t.Error("another contract is approved")
		}
	}
	if !b.rec("a").Anchor.Equal(benign("a").Contract) {
		t.Error("auto moved the anchor")
	}
}

func TestS17S33GateOff(t *testing.T) {
	b := trusted(t, "scan", benign("a"))
	b.pass(wide("a"))
	b.is("a", "changed baseline_trust held structural")
	b.s.Settings.GateOff = true // a switch alone changes nothing
	b.is("a", "changed baseline_trust held structural")
	b.pass(wide("a"), danger("b"))
	b.is("a", "approved gate_off anchored baseline_trust")
	b.is("b", "approved gate_off")
	if got := b.last.Entries[0].Transition.Signals; len(got) == 0 {
		t.Error("an approval with the gate off is written down without its signals")
	}
	b.s.Settings.GateOff = false
	b.quiet(wide("a"), danger("b"))
	wider := tool("a", `,"description":"Sends anything."`+toWide+readOnly) // silent against what is approved
	b.pass(wider, danger("b"))
	b.is("a", "changed gate_off anchored baseline_trust held structural")
	b.pass(benign("a"), danger("b")) // the anchor is vouched for
	b.is("a", "approved baseline_trust")
}

func TestS21S22QuarantineOfAnApprovedServer(t *testing.T) {
	b := trusted(t, "manual", benign("a"))
	b.pass(benign("a"), benign("b"))
	b.ok(Quarantine(b.s, agent))
	b.pass(wide("a"), benign("b"), benign("c"))
	b.ok(Release(b.s, b.releaseRequest("b", "c")))
	b.is("a", "changed baseline_trust held manual")
	b.is("b", "approved released")
	b.is("c", "approved released")
}

func TestS24BlockAndUnblock(t *testing.T) {
	b := trusted(t, "manual", benign("a"))
	b.ok(Block(b.s, b.review("a")))
	b.is("a", "approved baseline_trust blocked")
	b.quiet(benign("a"))
	b.pass(wide("a"))
	b.is("a", "changed baseline_trust blocked held manual")
	if b.rec("a").InReview() {
		t.Error("a blocked tool is in the queue")
	}
	b.pass(benign("a"))
	b.ok(Unblock(b.s, b.review("a")))
	b.is("a", "approved baseline_trust")
}

func TestS25ApproveOnAQuarantinedServer(t *testing.T) {
	b := added(t, "manual", AskNothing)
	b.pass(benign("a"))
	b.ok(Approve(b.s, b.review("a")))
	b.is("a", "approved user_approved")
	if !b.s.Server.Quarantined {
		t.Error("an approval released the server")
	}
}

func TestS26S27FileDoesNotLiftAQuarantine(t *testing.T) {
	b := added(t, "manual", AskNothing)
	for _, ask := range []Ask{AskNothing, AskLess} {
		b.ok(Add(b.s, b.addRequest(ByFile, ask)))
		if !b.s.Server.Quarantined {
			t.Errorf("the file lifted it, saying %d", ask)
		}
		if c := b.ok(Add(b.s, b.addRequest(ByFile, ask))); !c.Empty() {
			t.Errorf("an unchanged file wrote %s", reasons(c))
		}
	}
	b.ok(Release(b.s, b.releaseRequest()))
	b.ok(Quarantine(b.s, person))
	b.ok(Add(b.s, b.addRequest(ByFile, AskLess)))
	if !b.s.Server.Quarantined {
		t.Error("the file lifted a person's quarantine")
	}
}

func TestS28TextEditInScanMode(t *testing.T) {
	b := trusted(t, "scan", benign("a"))
	b.pass(edited("a"))
	b.wrote("a:approved>approved:scan_approved")
	b.is("a", "approved scan_approved anchored baseline_trust")
	e := b.last.Entries[0].Transition
	if len(e.Signals) != 0 || e.Verdict != "clean" || !e.Complete || e.Bundle != "b1" || e.Detail["compared_anchor"] != string(benign("a").Contract.Digest()) {
		t.Errorf("%+v", e)
	}
	b.quiet(edited("a"))
}

func TestS29DispatchDrift(t *testing.T) {
	explicit := tool("a", toString+`,"annotations":{"readOnlyHint":false,"destructiveHint":true}`)
	bare := tool("a", toString)
	b := trusted(t, "scan", explicit)
	b.s.Settings.Unannotated = contract.Read
	b.pass(bare)
	b.is("a", "changed baseline_trust held structural")
	if got := b.rec("a").Evidence.Signals; !slices.Equal(got, []string{delta.Signal{Rule: delta.HintChange, Reason: "dispatch", Old: "destructive", New: "read"}.String()}) {
		t.Errorf("signals %v", got)
	}
}

func TestS29TangledShowsEveryRule(t *testing.T) {
	b := trusted(t, "scan", benign("a"))
	tangled := tool("a", `,"description":"SOFT1"`+toWide)
	var signals []delta.Signal
	for i := range 20 {
		signals = append(signals, shape("type", "properties/p"+string(rune('a'+i))))
	}
	signals = delta.Merge(signals, []delta.Signal{
		{Rule: delta.HintChange, Reason: "readOnlyHint", Old: "true", New: "false"}, {Rule: delta.OutputSchema, Reason: "added"},
	})
	b.j.answer(benign("a").Contract, tangled.Contract, signals...)
	b.pass(tangled)
	got := b.rec("a").Evidence.Signals
	if len(got) != 16 || got[0] != signals[0].String() || got[13] != "GATE-SCHEMA-SHAPE:more:+8" ||
		got[14] != "GATE-OUTPUT-SCHEMA:added" || got[15] != "SCAN-FINDING:directive.imperative:/description" {
		t.Errorf("%d signals: %q", len(got), got)
	}
}

func TestS30S31VanishAndReturn(t *testing.T) {
	b := trusted(t, "manual", benign("a"), benign("b"))
	b.pass(benign("b"))
	b.wrote("a:approved>approved:vanished")
	b.is("a", "approved baseline_trust absent")
	b.quiet(benign("b"))
	b.pass(benign("a"), benign("b"))
	b.wrote("a:approved>approved:returned")
	b.is("a", "approved baseline_trust")
	b.pass(benign("b"))
	b.pass(wide("a"), benign("b"))
	b.wrote("a:approved>changed:held")
	b.is("a", "changed baseline_trust held manual")
	b.pass(benign("b"))
	b.is("a", "changed baseline_trust absent held manual")
	b.pass(wide("a"), benign("b"))
	b.wrote("a:changed>changed:returned")
}

func TestS32AutoToManualAndBack(t *testing.T) {
	b := added(t, "auto", AskNothing)
	b.pass(benign("a"))
	b.ok(Edit(b.s, EditRequest{Actor: person, Options: &Options{TrustMode: "manual"}}))
	b.is("a", "approved auto_approve")
	b.pass(wide("a"))
	b.is("a", "changed auto_approve held manual")
	b.ok(Edit(b.s, EditRequest{Actor: person, Options: &Options{TrustMode: "auto"}}))
	b.wrote("edited trust_mode_loosened")
	b.is("a", "changed auto_approve held manual")
	b.pass(wide("a"))
	b.is("a", "approved auto_approve")
	if !b.rec("a").Anchor.Equal(benign("a").Contract) {
		t.Error("the anchor is not the first contract")
	}
}

func TestS37TwoSilentSteps(t *testing.T) {
	dropped := tool("a", `,"description":"Sends."`+`,"inputSchema":{"type":"object","properties":{"to":{"type":"string"}}}`+readOnly)
	readded := tool("a", `,"description":"Sends."`+`,"inputSchema":{"type":"object","properties":{"to":{"type":"string"},"cc":{}}}`+readOnly)
	b := trusted(t, "scan", benign("a"))
	b.j.answer(benign("a").Contract, dropped.Contract)
	b.j.answer(dropped.Contract, readded.Contract)
	b.j.answer(benign("a").Contract, readded.Contract, shape("type", "properties/cc"))
	b.pass(dropped)
	b.is("a", "approved scan_approved anchored baseline_trust")
	b.pass(readded)
	b.is("a", "changed scan_approved anchored baseline_trust held structural")
	b.ok(Approve(b.s, b.review("a")))
	if r := b.rec("a"); !r.Anchor.Equal(readded.Contract) {
		t.Error("a person's approval did not move the anchor")
	}
}

func TestS38EmptyFirstListing(t *testing.T) {
	b := added(t, "scan", AskNothing)
	b.quiet()
	if !b.s.Server.Quarantined || !b.s.Server.FirstScan {
		t.Error("an empty listing counted")
	}
	b.pass(benign("a"))
	b.wrote("a:none>approved:scan_approved released baseline_decided")
	b.is("a", "approved scan_approved")
	if b.s.Server.Quarantined || b.s.Server.FirstScan || b.s.Server.TrustedWhenAdded {
		t.Errorf("%+v", b.s.Server)
	}
}

func TestS39ReleasedBeforeItListedAnything(t *testing.T) {
	b := added(t, "manual", AskNothing)
	b.ok(Release(b.s, b.releaseRequest()))
	b.pass(benign("a"))
	b.is("a", "pending held first_seen")
}

func TestS40OnlyTheFirstScanReleases(t *testing.T) {
	for name, spend := range map[string]func(*bench){
		"an unclean one":        func(b *bench) { b.pass(benign("a"), soft("b")) },
		"a person's quarantine": func(b *bench) { b.ok(Quarantine(b.s, person)) },
		"an agent's quarantine": func(b *bench) { b.ok(Quarantine(b.s, agent)) },
		"the file's quarantine": func(b *bench) { b.ok(Add(b.s, b.addRequest(ByFile, AskMore))) },
		"another mode": func(b *bench) {
			b.ok(Edit(b.s, EditRequest{Actor: person, Options: &Options{TrustMode: "manual"}}))
			b.ok(Edit(b.s, EditRequest{Actor: person, Options: &Options{TrustMode: "scan"}}))
		},
		"another default mode": func(b *bench) {
			b.s.Settings.DefaultMode = "manual"
			b.pass()
			b.wrote("first_scan_spent")
			b.s.Settings.DefaultMode = "scan"
		},
		"a release and a quarantine": func(b *bench) {
			b.ok(Release(b.s, b.releaseRequest()))
			b.ok(Quarantine(b.s, person))
		},
		"something unreadable": func(b *bench) { b.pass(benign("a"), unparsable("b")) },
		"an entry without a name": func(b *bench) {
			l := b.listing(benign("a"))
			l.LeftOut = []string{"entry 2: its name is a number"}
			b.ok(Pass(b.s, l, b.j))
			b.wrote("a:none>approved:scan_approved first_scan_spent baseline_decided left_out")
		},
		"nothing but an entry without a name": func(b *bench) {
			b.pass(Offer{Kind: Tool, Contract: contract.Parse([]byte(`{}`))})
			b.wrote("first_scan_spent left_out")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := added(t, "scan", AskNothing)
			b.t = t
			spend(b)
			if !b.s.Server.Quarantined || b.s.Server.FirstScan {
				t.Fatalf("spent by %s: %+v", name, b.s.Server)
			}
			b.pass(benign("a"), benign("b"))
			b.pass(benign("a"), benign("b"))
			if !b.s.Server.Quarantined {
				t.Error("a later clean scan released the server")
			}
		})
	}
	b := added(t, "scan", AskNothing)
	b.j.partial = true
	b.pass(benign("a")) // no check ran completely: it does not count
	b.is("a", "pending held scan_coverage")
	b.still(benign("a"))
	b.j.partial = false
	b.pass(benign("a"))
	b.is("a", "approved scan_approved")
	if b.s.Server.Quarantined {
		t.Error("the first complete scan was clean and did not release")
	}
	if c, err := Add(State{Settings: b.s.Settings}, b.addRequest(ByCLI, AskMore)); err != nil || c.Server.FirstScan {
		t.Error("a quarantine that was asked for when adding may be lifted by a scan")
	}
}

func TestS41ReleaseLeavesBlockedAndAbsent(t *testing.T) {
	b := added(t, "manual", AskNothing)
	b.pass(benign("a"), benign("b"), benign("c"))
	b.ok(Block(b.s, b.review("a")))
	b.pass(benign("a"), benign("c"))
	b.refused(CodeReviewOutOfDate)(Release(b.s, b.releaseRequest("a", "b", "c")))
	b.ok(Release(b.s, b.releaseRequest("c")))
	b.is("a", "pending blocked held first_seen")
	b.is("b", "pending absent held first_seen")
	b.ok(Unblock(b.s, b.review("a")))
	b.pass(benign("a"), benign("b"), benign("c"))
	b.is("a", "pending held first_seen")
	b.is("b", "pending held first_seen")
}

func TestS43UnparsableInEveryMode(t *testing.T) {
	for _, mode := range []string{"manual", "scan", "auto"} {
		for _, off := range []bool{false, true} {
			b := added(t, "auto", AskNothing)
			b.pass(benign("a"))
			b.s.Settings.DefaultMode, b.s.Settings.GateOff = mode, off
			b.pass(unparsable("a"), unparsable("b"), benign("c"))
			b.is("a", "changed auto_approve held structural")
			b.is("b", "pending held structural")
			if got := b.rec("b").Evidence.Signals; !slices.Equal(got, []string{"GATE-SCHEMA-SHAPE:unparsable:#"}) {
				t.Errorf("signals %v", got)
			}
			b.still(unparsable("a"), unparsable("b"), benign("c"))
			b.refused(CodeUnparsable)(Approve(b.s, b.review("b")))
			b.refused(CodeUnparsable)(Approve(b.s, b.review("a", "b")))
			b.refused(CodeUnparsable)(Unblock(b.s, b.review("a")))
			b.refused(CodeUnparsable)(Dismiss(b.s, b.review("a")))
			b.pass(tool("a", `,"name":"thrice"`), unparsable("b"), benign("c"))
			b.wrote("a:changed>changed:held")
			b.pass(benign("a"), unparsable("b"), benign("c"))
			b.is("a", "approved auto_approve")
		}
	}
}

func TestS44ChangeOfWhatIsRun(t *testing.T) {
	for _, mode := range []string{"manual", "scan"} {
		b := trusted(t, mode, benign("a"), benign("b"))
		b.ok(Block(b.s, b.review("b")))
		old := b.s.Server.Incarnation
		b.ok(Edit(b.s, EditRequest{Actor: person, Program: &Program{Command: "run", Args: []string{"v2"}}, Incarnation: b.incarnation()}))
		s := b.s.Server
		if !s.Quarantined || s.Incarnation == old || s.TrustedWhenAdded || !s.BaselineDecided || s.FirstScan != (mode == "scan") {
			t.Errorf("%s: %+v", mode, s)
		}
		if e := b.last.Effects; !e.CancelCalls || !e.Restart || !e.Pass {
			t.Errorf("effects %+v", e)
		}
		b.is("a", "approved baseline_trust")
		b.is("b", "approved baseline_trust blocked")
		b.refused(CodeServerReplaced)(Pass(b.s, Listing{Incarnation: old}, b.j))
		b.pass(benign("a"), benign("b"))
		if b.s.Server.Quarantined != (mode == "manual") {
			t.Errorf("%s: quarantined %v after a clean first scan", mode, b.s.Server.Quarantined)
		}
	}
	// Where its first scan had failed, another program does not give another one.
	b := added(t, "scan", AskNothing)
	b.pass(soft("a"))
	b.ok(Edit(b.s, EditRequest{Actor: operator, Program: &Program{Command: "other"}, Incarnation: b.incarnation()}))
	if !b.s.Server.Quarantined || b.s.Server.FirstScan {
		t.Errorf("%+v", b.s.Server)
	}
}

func TestS45FileDropsAndNamesAgain(t *testing.T) {
	b := setup(t, "manual")
	b.ok(Add(b.s, b.addRequest(ByFile, AskNothing)))
	b.pass(benign("a"))
	b.ok(Dropped(b.s, operator))
	b.wrote("dropped")
	if b.s.Server.Named || !b.last.Effects.CancelCalls || b.s.Server.Runs() {
		t.Errorf("%+v", b.s.Server)
	}
	b.refused(CodeForbidden)(Pass(b.s, b.listing(benign("a")), b.j))
	if c := b.ok(Dropped(b.s, operator)); !c.Empty() {
		t.Error("dropped twice")
	}
	b.refused(CodeServerExists)(Add(b.s, b.addRequest(ByCLI, AskNothing)))
	b.ok(Add(b.s, b.addRequest(ByFile, AskLess)))
	b.wrote("named_again")
	if !b.s.Server.Quarantined || !b.s.Server.Named || b.s.Server.Incarnation != "inc1" {
		t.Errorf("%+v", b.s.Server)
	}
	b.is("a", "pending held first_seen")
}

func TestS46S51StaleDigests(t *testing.T) {
	b := trusted(t, "manual", benign("a"))
	b.pass(wide("a"))
	stale := b.review("a")
	b.pass(edited("a"))
	b.refused(CodeReviewOutOfDate)(Approve(b.s, stale))
	b.refused(CodeReviewOutOfDate)(Unblock(b.s, stale))
	b.refused(CodeReviewOutOfDate)(Dismiss(b.s, stale))
	b.ok(Block(b.s, stale))
	b.is("a", "changed baseline_trust blocked held manual")
}

func TestS47RevertWashesNothingOff(t *testing.T) {
	b := added(t, "auto", AskNothing)
	b.pass(benign("a"))
	b.s.Settings.DefaultMode = "manual"
	b.pass(wide("a"))
	b.pass(benign("a"))
	b.wrote("a:changed>approved:reverted")
	b.is("a", "approved auto_approve")
}

func TestS49AcceptedFindings(t *testing.T) {
	b := trusted(t, "scan", benign("x"))
	b.pass(benign("x"), soft("a"))
	b.is("a", "pending held scan_findings")
	b.ok(Approve(b.s, b.review("a")))
	if got := b.rec("a").Accepted; len(got) != 1 || got[0].Evidence != "SOFT1" {
		t.Errorf("accepted %+v", got)
	}
	b.pass(benign("x"), softEdited("a"))
	b.is("a", "approved scan_approved anchored user_approved")
	if got := b.last.Entries[0].Transition.Accepted; len(got) != 1 || got[0].Tier != "soft" {
		t.Errorf("accepted findings that were used: %+v", got)
	}
	b.pass(benign("x"), softOther("a"))
	b.is("a", "changed scan_approved anchored user_approved held scan_findings")
}

func TestS50DangerousIsNoBaseline(t *testing.T) {
	b := added(t, "scan", AskLess)
	b.pass(benign("a"), danger("b"))
	b.wrote("a:none>approved:baseline_trust b:none>pending:first_seen baseline_decided")
	b.is("b", "pending held scan_findings")
	b.s.Settings.DefaultMode = "manual"
	b.quiet(benign("a"), danger("b"))

	alone := added(t, "scan", AskLess)
	alone.pass(danger("b"))
	alone.is("b", "pending held scan_findings")
	if !alone.s.Server.BaselineDecided {
		t.Error("the baseline is still open")
	}
	alone.s.Settings.DefaultMode = "manual"
	alone.pass(danger("b"), benign("a"))
	alone.is("a", "pending held first_seen")
	alone.is("b", "pending held scan_findings")
}

func TestS52RevertToTheAnchor(t *testing.T) {
	b := added(t, "manual", AskNothing)
	b.pass(wide("a"))
	b.ok(Approve(b.s, b.review("a")))
	b.s.Settings.DefaultMode = "scan"
	b.j.answer(wide("a").Contract, benign("a").Contract) // narrowing is silent
	b.pass(benign("a"))
	b.is("a", "approved scan_approved anchored user_approved")
	b.pass(wide("a"))
	b.wrote("a:approved>approved:reverted")
	b.is("a", "approved user_approved")

	for _, mode := range []string{"auto", "gate off"} {
		b := added(t, "auto", AskNothing)
		b.s.Settings.GateOff = mode == "gate off"
		b.pass(benign("a"))
		b.pass(wide("a"))
		b.s.Settings.GateOff, b.s.Settings.DefaultMode = false, "manual"
		b.pass(benign("a"))
		if r := b.rec("a"); r.Status != Changed {
			t.Errorf("an anchor that %s set is reverted to", mode)
		}
	}
}

func TestLockFile(t *testing.T) {
	pin := func(o Offer) *Lock {
		return &Lock{Source: "holdfast.lock", Pins: map[Key]contract.Digest{{"srv", Tool, o.Name}: o.Contract.Digest()}}
	}
	for _, mode := range []string{"manual", "scan", "auto"} {
		for _, off := range []bool{false, true} {
			b := added(t, mode, AskLess)
			b.s.Settings.GateOff = off
			b.s.Settings.Lock = pin(benign("a"))
			b.pass(benign("a"), benign("b"), unparsable("c"))
			b.is("a", "approved locked")
			b.is("b", "pending held not_locked")
			b.is("c", "pending held structural")
			if who := b.rec("a").ApprovedBy.Actor; who.Kind != record.Operator || who.Name != "holdfast.lock" {
				t.Errorf("approved by %+v", who)
			}
			b.pass(edited("a"), benign("b"), unparsable("c"))
			b.is("a", "changed locked held not_locked")
			b.still(edited("a"), benign("b"), unparsable("c"))
			b.pass(benign("a"), benign("b"), unparsable("c"))
			b.is("a", "approved locked")
			b.wrote("a:changed>approved:reverted")
			b.s.Settings.Lock = pin(wide("a"))
			b.pass(wide("a"), benign("b"), unparsable("c"))
			b.wrote("a:approved>approved:locked")
			b.s.Settings.Lock = pin(unparsable("c"))
			b.pass(wide("a"), benign("b"), unparsable("c"))
			b.is("c", "pending held structural")
		}
	}
	b := added(t, "scan", AskNothing)
	b.s.Settings.Lock = pin(benign("a"))
	b.pass(benign("a"))
	if !b.s.Server.Quarantined {
		t.Error("a scan released a server under a lock file")
	}
}

// TestRevertToTheAnchorIsThatVeryContract: its bytes, who vouched for it, and as an
// approval it forgets what was declined.
func TestRevertToTheAnchorIsThatVeryContract(t *testing.T) {
	b := trusted(t, "scan", benign("a"))
	b.pass(edited("a"))
	b.is("a", "approved scan_approved anchored baseline_trust")
	b.s.Settings.OnHold = OnHoldKeep
	b.pass(soft("a"))
	b.ok(Dismiss(b.s, b.review("a")))
	b.is("a", "approved scan_approved anchored baseline_trust waiting declined held scan_findings")
	spelled := Offer{Tool, "a", contract.Parse([]byte(`{"description":"Sends.","name":"a"` + readOnly + toString + `}`))}
	if !spelled.Contract.Equal(benign("a").Contract) {
		t.Fatal("the two are not equal")
	}
	b.pass(spelled)
	b.is("a", "approved baseline_trust")
	if got := string(b.rec("a").Approved.Raw()); got != string(benign("a").Contract.Raw()) {
		t.Errorf("approved are the bytes %s, and nobody vouched for them", got)
	}
}

// TestOneTimePermissionsNeedTheirState: a flag that is left where it can't be used
// opens nothing.
func TestOneTimePermissionsNeedTheirState(t *testing.T) {
	b := added(t, "manual", AskNothing)
	b.s.Server.TrustedWhenAdded = true // and quarantined
	b.pass(benign("a"))
	b.is("a", "pending held first_seen")

	b = added(t, "scan", AskLess)
	b.s.Server.FirstScan = true // and not quarantined
	b.pass(benign("a"))
	if !b.s.Server.FirstScan {
		t.Error("a first scan was counted that could release nothing")
	}
	b.ok(Quarantine(b.s, person))
	b.s.Records[0].LiveScan = scan.Verdict{}
	b.quiet(benign("a")) // nothing is to be found out any more
}
