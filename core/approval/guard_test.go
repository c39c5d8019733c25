package approval

import (
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// permitted is the guard's table a second time, as section 5 of the page says it.
const permitted = `
none pending: first_seen
none approved: locked gate_off auto_approve baseline_trust scan_approved
pending pending: held vanished returned blocked unblocked
pending approved: user_approved released baseline_trust auto_approve gate_off locked scan_approved
approved approved: user_approved auto_approve gate_off locked reverted scan_approved waits update_withdrawn dismissed blocked unblocked vanished returned
approved changed: held
changed changed: held vanished returned blocked unblocked
changed approved: user_approved reverted auto_approve gate_off locked scan_approved
`

func permits(from, to, reason string) bool {
	for line := range strings.Lines(permitted) {
		head, list, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if head == from+" "+to {
			for r := range strings.FieldsSeq(list) {
				if r == reason {
					return true
				}
			}
		}
	}
	return false
}

var allReasons = []Reason{
	UserApproved, Released, BaselineTrust, AutoApprove, GateOff, Locked, ScanApproved, Reverted, FirstSeen, Held, Waits,
	UpdateWithdrawn, Dismissed, Blocked, Unblocked, Vanished, Returned, "", "made_up", "USER_APPROVED",
}

// transition builds a record before and after, as the reason would have it.
func transition(from, to Status, reason Reason) (before, after Record) {
	old, live := benign("a").Contract, wide("a").Contract
	key := Key{"srv", Tool, "a"}
	grant := Grant{Reason: UserApproved, Actor: person, Time: start}
	switch from {
	case None:
	case Pending:
		before = Record{Key: key, Status: from, Live: old}
	default:
		before = Record{Key: key, Status: from, Live: old, Approved: old, ApprovedBy: grant, Anchor: old, AnchorBy: grant}
	}
	after = before
	after.Key, after.Live, after.Status = key, live, to
	switch reason {
	case UserApproved, Released, BaselineTrust, AutoApprove, GateOff, Locked, ScanApproved:
		after = after.approvedBy(Grant{Reason: reason}, nil)
		after.Status = to
	case Reverted:
		after.Live = after.Approved
	}
	return before, after
}

func right(before, after Record) *proof {
	return &proof{live: after.Live.Digest(), approved: before.Approved.Digest(), anchor: before.Anchor.Digest(), bundle: "b1"}
}

// TestGuardEveryTransition is every old status × new status × reason × proof.
func TestGuardEveryTransition(t *testing.T) {
	statuses := []Status{None, Pending, Approved, Changed, Status(9)}
	cells, open := 0, 0
	for _, from := range statuses {
		for _, to := range statuses {
			for _, reason := range allReasons {
				before, after := transition(from, to, reason)
				other := right(before, after)
				other.live = "sha256:other"
				for name, p := range map[string]*proof{"none": nil, "of other digests": other, "right": right(before, after)} {
					cells++
					want := permits(from.String(), to.String(), string(reason)) && (reason != ScanApproved || name == "right")
					if got := guard(before, after, reason, p) == ""; got != want {
						t.Errorf("%s to %s by %q with proof %s: permitted %v, want %v: %s", from, to, reason, name, got, want, guard(before, after, reason, p))
					}
					if want {
						open++
					}
				}
			}
		}
	}
	if cells != 5*5*20*3 || open == 0 {
		t.Errorf("%d cells, %d open", cells, open)
	}
}

// TestGuardAgainstForgery changes one thing of a permitted transition each time.
func TestGuardAgainstForgery(t *testing.T) {
	third := edited("a").Contract
	for name, c := range map[string]struct {
		from, to Status
		reason   Reason
		forge    func(before, after *Record)
	}{
		"another record":                 {Pending, Approved, UserApproved, func(_, a *Record) { a.Key.Name = "b" }},
		"a block on the side":            {Pending, Approved, UserApproved, func(_, a *Record) { a.Blocked = true }},
		"a block lost":                   {Approved, Approved, UserApproved, func(b, _ *Record) { b.Blocked = true }},
		"unreadable":                     {Pending, Approved, AutoApprove, func(_, a *Record) { *a = withLive(*a, unparsable("a").Contract) }},
		"unreadable waits":               {Approved, Approved, Waits, func(_, a *Record) { a.Live = unparsable("a").Contract }},
		"another contract":               {Pending, Approved, UserApproved, func(_, a *Record) { a.Approved = third }},
		"approved on the side":           {Approved, Changed, Held, func(_, a *Record) { a.Approved = third }},
		"approved lost":                  {Approved, Approved, Vanished, func(_, a *Record) { a.Approved = contract.Contract{} }},
		"anchor on the side":             {Approved, Changed, Held, func(_, a *Record) { a.Anchor = third }},
		"anchor's grant":                 {Approved, Changed, Held, func(_, a *Record) { a.AnchorBy.Reason = Locked }},
		"auto moves the anchor":          {Approved, Approved, AutoApprove, func(_, a *Record) { a.Anchor = a.Approved }},
		"a person moves no anchor":       {Approved, Approved, UserApproved, func(b, a *Record) { a.Anchor, a.AnchorBy = b.Anchor, b.AnchorBy }},
		"an anchor in another name":      {Approved, Approved, UserApproved, func(_, a *Record) { a.AnchorBy.Reason = Locked }},
		"a first approval has no anchor": {None, Approved, GateOff, func(_, a *Record) { a.Anchor = contract.Contract{} }},
		"a revert to something else":     {Changed, Approved, Reverted, func(_, a *Record) { a.Approved, a.Live = third, third }},
		"a revert that is none":          {Changed, Approved, Reverted, func(_, a *Record) { a.Live = third }},
		"a revert to an unvouched anchor": {Changed, Approved, Reverted, func(b, a *Record) {
			*b, *a = anchored(*b, third, AutoApprove), anchored(*a, third, AutoApprove)
			a.Approved, a.Live = third, third
		}},
		"a revert beside the anchor": {Changed, Approved, Reverted, func(b, a *Record) {
			*b, *a = anchored(*b, third, Locked), anchored(*a, third, Locked)
			a.Approved = third
		}},
	} {
		before, after := transition(c.from, c.to, c.reason)
		if why := guard(before, after, c.reason, nil); why != "" {
			t.Fatalf("%s: the honest transition is forbidden: %s", name, why)
		}
		c.forge(&before, &after)
		if guard(before, after, c.reason, nil) == "" {
			t.Errorf("%s is permitted", name)
		}
	}
	before, after := transition(Changed, Approved, Reverted)
	before, after = anchored(before, third, Released), anchored(after, third, Released)
	after.Approved, after.Live = third, third
	if why := guard(before, after, Reverted, nil); why != "" {
		t.Errorf("a revert to an anchor that is vouched for: %s", why)
	}
}

func anchored(r Record, c contract.Contract, by Reason) Record {
	r.Anchor, r.AnchorBy = c, Grant{Reason: by}
	return r
}

func withLive(r Record, c contract.Contract) Record {
	r.Live, r.Approved, r.Anchor = c, c, c
	return r
}

// TestProof is every condition of a scan approval, each alone.
func TestProof(t *testing.T) {
	accepted := scan.Finding{Check: "directive.imperative", Tier: scan.Soft, Path: "/description", Start: 1, End: 2, Evidence: "SOFT1"}
	good := scan.Verdict{Outcome: scan.Review, Complete: true, Bundle: "b1", Findings: []scan.Finding{accepted}}
	type args struct {
		scans   bool
		r       Record
		signals []delta.Signal
		v       scan.Verdict
		bundle  string
	}
	before, after := transition(Changed, Changed, Held)
	after.Accepted = []scan.Finding{accepted}
	honest := func() args {
		v := good
		v.Findings = []scan.Finding{accepted}
		return args{true, after, nil, v, "b1"}
	}
	a := honest()
	p := prove(a.scans, a.r, a.signals, a.v, a.bundle)
	if p == nil || !p.covers(before, after.Live) || len(p.accepted) != 1 {
		t.Fatalf("the honest proof: %+v", p)
	}
	for name, forge := range map[string]func(*args){
		"not scan mode":         func(a *args) { a.scans = false },
		"unreadable":            func(a *args) { a.r.Live = unparsable("a").Contract },
		"a signal":              func(a *args) { a.signals = []delta.Signal{{Rule: delta.Unavailable}} },
		"declined":              func(a *args) { a.r.Declined = a.r.Live.Digest() },
		"not complete":          func(a *args) { a.v.Complete = false },
		"no bundle":             func(a *args) { a.v.Bundle, a.bundle = "", "" },
		"another bundle":        func(a *args) { a.bundle = "b2" },
		"not scanned":           func(a *args) { a.v.Outcome = scan.NotScanned },
		"an outcome of its own": func(a *args) { a.v.Outcome = scan.Dangerous },
		"clean with findings":   func(a *args) { a.v.Outcome = scan.Clean },
		"nothing accepted":      func(a *args) { a.r.Accepted = nil },
		"another check":         func(a *args) { a.v.Findings[0].Check = "x" },
		"another place":         func(a *args) { a.v.Findings[0].Path = "/title" },
		"another range":         func(a *args) { a.v.Findings[0].End = 3 },
		"other evidence":        func(a *args) { a.v.Findings[0].Evidence = "SOFT2" },
		"another tier":          func(a *args) { a.v.Findings[0].Tier, a.v.Outcome = scan.Hard, scan.Dangerous },
		"one more finding":      func(a *args) { a.v.Findings = append(a.v.Findings, scan.Finding{Check: "y", Tier: scan.Soft}) },
		"a dangerous one beside": func(a *args) {
			a.v.Findings = append(a.v.Findings, scan.Finding{Check: "y"})
			a.v.Outcome = scan.Dangerous
		},
	} {
		a := honest()
		forge(&a)
		if prove(a.scans, a.r, a.signals, a.v, a.bundle) != nil {
			t.Errorf("%s: proven", name)
		}
	}
	var none *proof
	if none.covers(before, after.Live) || (&proof{}).covers(Record{}, contract.Contract{}) {
		t.Error("no proof covers something")
	}
}

// TestGuardRefusalIsSaidAndHolds gives a pass an approval that the guard refuses.
func TestGuardRefusalIsSaidAndHolds(t *testing.T) {
	b := trusted(t, "manual", benign("a"))
	p := newPass(b.s, b.j)
	forged := p.trial(b.rec("a"), wide("a"))
	forged.reason = ScanApproved
	forged.after = forged.after.approvedBy(Grant{Reason: ScanApproved}, nil)
	settled := p.settle(forged)
	c := p.draft.done()
	if settled.after.Status != Changed || len(c.Forbidden) != 1 || len(c.Records) != 1 || c.Records[0].Status != Changed {
		t.Errorf("%+v", c)
	}
	if c.Entries[0].Type != record.TypePass || c.Entries[0].Act.What != ActForbidden || c.Entries[1].Transition.Reason != "held" {
		t.Errorf("wrote %s", reasons(c))
	}

	// A record in a state that there is not is left as it is, and is not callable.
	b.s.Records[0].Status = Status(9)
	c, err := Pass(b.s, b.listing(benign("a")), b.j)
	if err != nil || len(c.Records) != 0 || len(c.Forbidden) != 2 {
		t.Errorf("%v %+v", err, c)
	}
	// A person's act on it is refused, whole.
	b.refused(CodeForbidden)(Approve(b.s, b.review("a")))
}
