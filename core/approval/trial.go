package approval

import (
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// trial judges one offer against one record: docs/design/approval.md section 4. It
// asks the judge at most once for each thing, and only when it has to know.
type trial struct {
	pass    *pass
	offered contract.Contract
	before  Record
	after   Record
	same    bool // the offer equals the stored live contract
	reason  Reason
	actor   record.Actor
	proof   *proof

	verdict *scan.Verdict  // of the offer, once looked at
	signals []delta.Signal // of both comparisons, once compared
	forward []delta.Signal // of the comparison with the approved contract alone
	asked   bool
}

func (p *pass) trial(before Record, o Offer) *trial {
	t := &trial{pass: p, offered: o.Contract, before: before, after: before, actor: p.draft.actor}
	t.after.Absent = false
	t.same = before.Status != None && before.Live.Equal(o.Contract)
	if !t.same {
		t.after.Live = o.Contract
		t.after.LiveScan = scan.Verdict{}
	}
	if before.Status == None {
		t.after.Key = Key{Server: p.draft.state.Server.Name, Kind: o.Kind, Name: o.Name}
	}
	return t
}

// judge finds the cell of the table. The first that applies counts.
func (t *trial) judge() {
	known := t.before.Status == Approved || t.before.Status == Changed
	switch {
	case !t.offered.Parsable() && known:
		t.hold(Changed)
	case !t.offered.Parsable():
		t.hold(Pending)
	case !known:
		t.addition()
	case t.offered.Equal(t.before.Approved):
		t.asApproved()
	case t.offered.Equal(t.before.Anchor) && t.before.AnchorBy.vouchedFor():
		t.revert()
		t.after.Approved = t.before.Anchor // the very bytes that were vouched for
		t.after.ApprovedBy = t.before.AnchorBy
		t.after.Declined = ""
	default:
		t.difference()
	}
}

// addition judges what was never approved.
func (t *trial) addition() {
	p := t.pass
	switch {
	case t.pinned():
		t.approve(Locked)
	case p.lock != nil:
		t.hold(Pending)
	case p.gateOff:
		t.approve(GateOff)
	case p.mode == Auto:
		t.approve(AutoApprove)
	case p.baseline && !t.before.Blocked && p.scans && dangerous(t.look(), nil):
		p.keptOut = true
		t.hold(Pending)
	case p.baseline && !t.before.Blocked:
		t.approve(BaselineTrust)
	case p.scans && t.proven():
		t.approve(ScanApproved)
	default:
		t.hold(Pending)
	}
}

// asApproved judges an offer that equals the approved contract.
func (t *trial) asApproved() {
	switch {
	case t.before.Status == Changed:
		t.revert() // approved_by stays, and so does what was declined: nothing was approved anew
	case !t.same:
		t.after.Evidence = Evidence{}
		t.reason = UpdateWithdrawn
	case t.before.Absent:
		t.reason = Returned
	}
}

// difference judges another contract than the approved one.
func (t *trial) difference() {
	p := t.pass
	waits := t.before.Status == Approved
	switch {
	case t.pinned():
		t.approve(Locked)
	case p.lock != nil:
		t.hold(Changed)
	case p.gateOff:
		t.approve(GateOff)
	case p.mode == Auto:
		t.approve(AutoApprove)
	case !waits && t.same && (!p.scans || !t.hasToLook()):
		t.hold(Changed) // as it was judged before
	case p.scans && t.proven():
		t.approve(ScanApproved)
	case waits && p.keeps && t.mayWait():
		t.hold(Approved)
	default:
		t.hold(Changed)
	}
}

// pinned reports whether the lock file pins the offer.
func (t *trial) pinned() bool {
	return t.pass.lock != nil && t.pass.lock.Pins[t.after.Key] == t.offered.Digest()
}

// proven asks for the proof of a scan approval. What is not clean is not compared.
func (t *trial) proven() bool {
	v := t.look()
	if !clean(v, t.pass.bundle, t.before.Accepted) {
		return false
	}
	t.proof = prove(t.pass.scans, t.after, t.compare(), v, t.pass.bundle)
	return t.proof != nil
}

// approve makes the live contract the approved one. The anchor moves only for a
// reason that vouches, or where there is none yet.
func (t *trial) approve(r Reason) {
	d := t.pass.draft
	t.reason = r
	if r == Locked {
		t.actor = record.Actor{Kind: record.Operator, Name: t.pass.lock.Source}
	}
	if r == GateOff || r == AutoApprove {
		t.compare() // what passes without a person is written down with its signals
	}
	if t.verdict != nil {
		t.after.LiveScan = retain(t.after.LiveScan, *t.verdict)
	}
	t.after = t.after.approvedBy(d.grant(r, t.actor), nil)
}

// approvedBy gives r with its live contract approved. Accepted findings go with the
// anchor, so they are set only where the anchor moves.
func (r Record) approvedBy(g Grant, accepted []scan.Finding) Record {
	r.Status = Approved
	r.Approved, r.ApprovedBy = r.Live, g
	r.Evidence, r.Declined = Evidence{}, ""
	if g.vouchedFor() || r.Anchor.IsZero() {
		r.Anchor, r.AnchorBy, r.Accepted = r.Live, g, accepted
	}
	return r
}

// revert makes a record approved again for what was approved before.
func (t *trial) revert() {
	t.reason = Reverted
	t.after.Status = Approved
	t.after.Evidence = Evidence{}
}

// hold keeps the offer for a person: pending, changed, or (status Approved) waiting
// beside what is approved. The evidence stands while the bytes and the verdict do.
func (t *trial) hold(status Status) {
	t.after.Status = status
	moved := !t.same || status != t.before.Status
	v := t.after.LiveScan
	if t.offered.Parsable() && (t.pass.scans || t.verdict != nil) {
		v = t.look()
		t.after.LiveScan = retain(t.after.LiveScan, v)
	}
	if moved || !sameVerdict(t.after.LiveScan, t.before.LiveScan) {
		t.after.Evidence = t.evidence(v)
	} else if !t.before.Absent {
		return
	} else {
		t.reason = Returned
		return
	}
	switch {
	case t.before.Status == None:
		t.reason = FirstSeen
	case status == Approved:
		t.reason = Waits
	default:
		t.reason = Held
	}
}

// hasToLook reports whether the stored verdict does not stand for the offer: other
// bytes, never completely scanned, or under another bundle.
func (t *trial) hasToLook() bool {
	stored := t.before.LiveScan
	return !t.same || !complete(stored) || stored.Bundle != t.pass.bundle
}

// look gives the verdict on the offer: the stored one where that stands.
func (t *trial) look() scan.Verdict {
	if t.verdict == nil {
		v := t.before.LiveScan
		if t.hasToLook() {
			v = t.pass.scan(t.offered)
		}
		t.verdict = &v
	}
	return *t.verdict
}

// compare gives the signals against the approved contract and the anchor; none for
// what was never approved.
func (t *trial) compare() []delta.Signal {
	if t.asked || t.before.Status != Approved && t.before.Status != Changed {
		return t.signals
	}
	t.asked = true
	kind := t.after.Key.Kind
	t.forward = t.pass.compare(kind, t.before.Approved, t.offered)
	t.signals = t.forward
	if !t.before.Anchor.Equal(t.before.Approved) {
		t.signals = delta.Merge(t.forward, t.pass.compare(kind, t.before.Anchor, t.offered))
	}
	return t.signals
}

// step is what the guard and the audit get.
func (t *trial) step() step {
	s := step{before: t.before, after: t.after, reason: t.reason, actor: t.actor, proof: t.proof}
	switch t.reason {
	case GateOff, AutoApprove:
		s.signals = delta.Compact(t.signals, delta.MaxKept)
	case FirstSeen, Held, Waits:
		s.signals = t.after.Evidence.Signals
		s.detail = map[string]string{"held_reason": string(t.after.Evidence.Reason)}
	case Reverted:
		s.signals = t.before.Evidence.Signals // what the hold was for
	case ScanApproved:
		s.detail = map[string]string{
			"compared_approved": string(t.before.Approved.Digest()),
			"compared_anchor":   string(t.before.Anchor.Digest()),
		}
	default: // what else moves a record says all by its reason
	}
	return s
}
