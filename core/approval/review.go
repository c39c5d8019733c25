package approval

import (
	"slices"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// Seen names one record and the digest of its live contract that a person saw.
type Seen struct {
	Kind   Kind
	Name   string
	Digest contract.Digest
}

// ReviewRequest is a person's act on records. Every field is required but Report;
// for BlockTools the digests of Seen are not looked at.
type ReviewRequest struct {
	Actor       record.Actor
	Incarnation string // expected
	Tools       []Seen
	Report      *Report // the last one stored for the server, nil when there is none; Approve accepts what it showed
}

// Approve makes the live contracts the approved ones and the anchors, as a person
// saw them. All or nothing.
func Approve(s State, r ReviewRequest) (Change, error) {
	shown := r.Report.of(s.Server)
	return review(s, r, "approve tools", true, func(d *draft, before Record) (step, error) {
		accepted := shown.shown(before)
		if before.Anchor.Equal(before.Live) {
			accepted = union(before.Accepted, accepted)
		}
		after := before.approvedBy(d.grant(UserApproved, r.Actor), accepted)
		return step{before: before, after: after, reason: UserApproved, signals: before.Evidence.Signals}, nil
	})
}

// Block sets tools aside at once, whatever their definition is by now: a server that
// changes its tools on every listing must not be able to keep a person from it.
func Block(s State, r ReviewRequest) (Change, error) {
	return review(s, r, "block tools", false, func(_ *draft, before Record) (step, error) {
		after := before
		after.Blocked = true
		return step{before: before, after: after, reason: Blocked}, nil
	})
}

// Unblock takes a block back. It gives no approval.
func Unblock(s State, r ReviewRequest) (Change, error) {
	return review(s, r, "unblock tools", true, func(_ *draft, before Record) (step, error) {
		after := before
		after.Blocked = false
		return step{before: before, after: after, reason: Unblocked}, nil
	})
}

// Dismiss declines waiting updates: they leave the queue and no scan approves them.
// Everything else stays.
func Dismiss(s State, r ReviewRequest) (Change, error) {
	return review(s, r, "dismiss updates", true, func(_ *draft, before Record) (step, error) {
		if !before.Waiting() {
			return step{}, refuse(CodeNothingWaits,
				"no update waits for "+describe(s.Server.Name, before.Key.Kind, before.Key.Name),
				"See what waits with: holdfast tool list --status review")
		}
		after := before
		after.Declined = before.Live.Digest()
		return step{before: before, after: after, reason: Dismissed, signals: before.Evidence.Signals}, nil
	})
}

// review is what the four acts have in common: a person, the very server, records
// that exist and, but for a block, the digests that were seen. A refusal of one is a
// refusal of all.
func review(s State, r ReviewRequest, verb string, digests bool, decide func(*draft, Record) (step, error)) (Change, error) {
	if err := may(r.Actor, verb, record.Person); err != nil {
		return Change{}, err
	}
	if err := expect(s, r.Incarnation); err != nil {
		return Change{}, err
	}
	records, err := s.find(r.Tools, digests)
	if err != nil {
		return Change{}, err
	}
	d := begin(s, s.Server.Name, r.Actor)
	for _, before := range records {
		st, err := decide(d, before)
		if err != nil {
			return Change{}, err
		}
		settled := st.reason == UserApproved && st.before.decided() && len(st.before.Accepted) == len(st.after.Accepted) ||
			st.reason != UserApproved && st.before.Blocked == st.after.Blocked && st.before.Declined == st.after.Declined
		if settled {
			continue // it is so already
		}
		st.actor = r.Actor
		d.move(st)
	}
	return d.whole()
}

// decided reports whether a person approved exactly the live contract: then to do so
// again moves nothing.
func (r Record) decided() bool {
	by := func(g Grant) bool { return g.Reason == UserApproved || g.Reason == Released }
	return r.Status == Approved && r.Live.Equal(r.Approved) && r.Live.Equal(r.Anchor) && by(r.ApprovedBy) && by(r.AnchorBy)
}

// whole gives the Change of an act: all of it, or a refusal where the guard did not
// let one transition through.
func (d *draft) whole() (Change, error) {
	if len(d.change.Forbidden) > 0 {
		return Change{}, refuse(CodeForbidden, "this would be a transition that is not allowed: "+d.change.Forbidden[0],
			"Nothing was changed; please report it as a fault of Holdfast.")
	}
	return d.done(), nil
}

// find gives the records that were seen, in the order asked. It refuses what is
// unknown, named twice or, with digests, not any more what was seen, or unreadable:
// nobody can have seen what it says.
func (s State) find(tools []Seen, digests bool) ([]Record, error) {
	if len(tools) == 0 {
		return nil, refuse(CodeBadInput, "no tool was named", "Name at least one; see them with: holdfast tool list --status review")
	}
	found := make([]Record, 0, len(tools))
	asked := make(map[named]bool, len(tools))
	of := s.byName()
	for _, seen := range tools {
		key := named{seen.Kind, seen.Name}
		what := describe(s.Server.Name, seen.Kind, seen.Name)
		i, known := of[key]
		switch {
		case !known:
			return nil, refuse(CodeNotFound, "nothing is known of "+what, "See what there is with: holdfast tool list")
		case asked[key]:
			return nil, refuse(CodeBadInput, "the request names "+what+" twice", "Name it once.")
		case digests && !seen.is(s.Records[i]):
			return nil, refuse(CodeReviewOutOfDate, "the definition of "+what+" is not the one that was looked at",
				"Look at it again with: holdfast tool list --status review")
		case digests && !s.Records[i].Live.Parsable():
			return nil, refuse(CodeUnparsable, "nobody can decide on "+what+", because its definition can't be read: "+s.Records[i].Live.Problem(),
				"The server has to correct it; until then it stays held, and it can be blocked.")
		}
		asked[key] = true
		found = append(found, s.Records[i])
	}
	return found, nil
}

func (s State) byName() map[named]int {
	of := make(map[named]int, len(s.Records))
	for i, r := range s.Records {
		of[named{r.Key.Kind, r.Key.Name}] = i
	}
	return of
}

// is reports whether r's live contract is what was seen.
func (n Seen) is(r Record) bool {
	return n.Kind == r.Key.Kind && n.Name == r.Key.Name && n.Digest != "" && n.Digest == r.Live.Digest()
}

func union(a, b []scan.Finding) []scan.Finding {
	all := slices.Clone(a)
	for _, f := range b {
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}
