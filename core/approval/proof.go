package approval

import (
	"slices"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// proof is what a scan approval stands on. Only prove makes one: in scan mode with
// the gate on, of a clean and complete verdict, with no signal against the approved
// contract and the anchor. It holds the digests it is about, and is worth nothing
// for others.
type proof struct {
	live, approved, anchor contract.Digest // approved and anchor are empty at a first approval
	bundle                 string
	accepted               []scan.Finding // accepted findings that were needed
}

// prove gives the proof that r's live contract may be approved by the scan, nil when
// it may not. signals are those of both comparisons.
func prove(scans bool, r Record, signals []delta.Signal, v scan.Verdict, bundle string) *proof {
	declined := r.Declined != "" && r.Declined == r.Live.Digest()
	if !scans || !r.Live.Parsable() || len(signals) > 0 || declined || !clean(v, bundle, r.Accepted) {
		return nil
	}
	return &proof{
		live:     r.Live.Digest(),
		approved: r.Approved.Digest(),
		anchor:   r.Anchor.Digest(),
		bundle:   v.Bundle,
		accepted: slices.Clone(v.Findings),
	}
}

// covers reports whether p is the proof for approving live on the record before.
func (p *proof) covers(before Record, live contract.Contract) bool {
	return p != nil && p.bundle != "" && p.live != "" && p.live == live.Digest() &&
		p.approved == before.Approved.Digest() && p.anchor == before.Anchor.Digest()
}

// complete reports whether every check ran, with a bundle.
func complete(v scan.Verdict) bool {
	return v.Complete && v.Bundle != "" && v.Outcome != scan.NotScanned
}

// clean reports whether v says, under this bundle and completely, that nothing was
// found but what is accepted. A verdict that contradicts itself is not clean.
func clean(v scan.Verdict, bundle string, accepted []scan.Finding) bool {
	return complete(v) && v.Bundle == bundle && consistent(v) && len(unaccepted(v, accepted)) == 0
}

// consistent reports whether the outcome is the one that the findings make.
func consistent(v scan.Verdict) bool {
	worst := scan.Clean
	for _, f := range v.Findings {
		if f.Tier != scan.Soft {
			worst = scan.Dangerous
		} else if worst == scan.Clean {
			worst = scan.Review
		}
	}
	return v.Outcome == worst
}

// unaccepted are the findings of v that no person accepted: a finding is accepted
// only if all of it is equal.
func unaccepted(v scan.Verdict, accepted []scan.Finding) []scan.Finding {
	var left []scan.Finding
	for _, f := range v.Findings {
		if !slices.Contains(accepted, f) {
			left = append(left, f)
		}
	}
	return left
}

// dangerous reports whether v has a hard finding that is not accepted, or claims
// danger without showing it.
func dangerous(v scan.Verdict, accepted []scan.Finding) bool {
	if v.Outcome == scan.Dangerous && !consistent(v) {
		return true
	}
	return slices.ContainsFunc(unaccepted(v, accepted), func(f scan.Finding) bool { return f.Tier != scan.Soft })
}

func sameVerdict(a, b scan.Verdict) bool {
	return a.Outcome == b.Outcome && a.Complete == b.Complete && a.Bundle == b.Bundle &&
		slices.Equal(a.Findings, b.Findings)
}

// retain is what is stored after a scan looked again at the same bytes: the new
// verdict, unless it tells less than the stored one. A scan that could not be made
// must not make a known finding unknown.
func retain(stored, fresh scan.Verdict) scan.Verdict {
	switch {
	case complete(fresh):
		return fresh
	case complete(stored), dangerous(stored, nil) && !dangerous(fresh, nil):
		return stored
	}
	return fresh
}
