package approval

import (
	"slices"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// passage is one row of the guard's table.
type passage struct{ from, to Status }

// passages is every transition that there is, with the reasons that permit it. What
// is not in it does not happen: docs/design/approval.md section 5.
var passages = map[passage][]Reason{
	{None, Pending}:  {FirstSeen},
	{None, Approved}: {Locked, GateOff, AutoApprove, BaselineTrust, ScanApproved},

	{Pending, Pending}:  {Held, Vanished, Returned, Blocked, Unblocked},
	{Pending, Approved}: {UserApproved, Released, BaselineTrust, AutoApprove, GateOff, Locked, ScanApproved},

	{Approved, Approved}: {
		UserApproved, AutoApprove, GateOff, Locked, Reverted, ScanApproved, // another contract, or a person again
		Waits, UpdateWithdrawn, Dismissed, Blocked, Unblocked, Vanished, Returned,
	},
	{Approved, Changed}: {Held},

	{Changed, Changed}:  {Held, Vanished, Returned, Blocked, Unblocked},
	{Changed, Approved}: {UserApproved, Reverted, AutoApprove, GateOff, Locked, ScanApproved},
}

// approves are the reasons that make the live contract the approved one. Reverted
// does so too where the live contract is the anchor.
var approves = []Reason{UserApproved, Released, BaselineTrust, AutoApprove, GateOff, Locked, ScanApproved}

// vouches are the reasons that move an anchor, and for which it may be reverted to.
var vouches = []Reason{UserApproved, Released, BaselineTrust, Locked}

func (g Grant) vouchedFor() bool { return slices.Contains(vouches, g.Reason) }

// guard says why a transition is forbidden; empty where it is permitted. Nothing
// gets into a Change without it, so that a fault elsewhere in this package can't
// approve what the table does not.
func guard(before, after Record, reason Reason, p *proof) string {
	switch {
	case !slices.Contains(passages[passage{before.Status, after.Status}], reason):
		return before.Status.String() + " to " + after.Status.String() + " by " + quote(string(reason)) + " is no transition"
	case before.Status != None && before.Key != after.Key:
		return "a record never becomes another one"
	case reason == ScanApproved && !p.covers(before, after.Live):
		return "a scan approval needs its proof, of these very contracts"
	case before.Blocked != after.Blocked && reason != Blocked && reason != Unblocked:
		return "only a person blocks and unblocks"
	case (after.Status == Approved || reason == Waits) && !after.Live.Parsable():
		return "nobody approves what can't be read, and it may not wait"
	}
	if why := guardApproved(before, after, reason); why != "" {
		return why
	}
	return guardAnchor(before, after, reason)
}

// guardApproved watches over the approved contract.
func guardApproved(before, after Record, reason Reason) string {
	switch {
	case slices.Contains(approves, reason):
		if !after.Approved.Equal(after.Live) {
			return "what is approved is the live contract and no other"
		}
	case same(before.Approved, after.Approved):
		if reason == Reverted && !after.Approved.Equal(after.Live) {
			return "what is reverted to is the live contract and no other"
		}
	case reason != Reverted || !before.AnchorBy.vouchedFor() ||
		!after.Approved.Equal(before.Anchor) || !after.Approved.Equal(after.Live):
		return "only an approval, or a revert to an anchor that is vouched for, replaces the approved contract"
	}
	return ""
}

// guardAnchor watches over the anchor.
func guardAnchor(before, after Record, reason Reason) string {
	switch {
	case slices.Contains(vouches, reason), before.Anchor.IsZero() && slices.Contains(approves, reason):
		if !after.Anchor.Equal(after.Approved) || after.AnchorBy.Reason != reason {
			return "the anchor is what was approved last, and by whom"
		}
	case !same(before.Anchor, after.Anchor) || before.AnchorBy != after.AnchorBy:
		return "only a person, a baseline, a release or a lock file moves an anchor"
	}
	return ""
}

// same reports whether both are one contract, or both none.
func same(a, b contract.Contract) bool { return a.Equal(b) || a.IsZero() && b.IsZero() }
