package approval

import (
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

var heldTerms = []contract.Term{
	{Name: string(HeldStructural), Label: "structural change", Sentence: "The definition changed in a way that needs a look."},
	{Name: string(HeldNotLocked), Label: "not in the lock file", Sentence: "The lock file does not pin this definition."},
	{Name: string(HeldScanFindings), Label: "scan findings", Sentence: "The scan found something in its texts."},
	{Name: string(HeldScanCoverage), Label: "scan incomplete", Sentence: "The scan could not look at everything, so nobody can tell that its texts are clean."},
	{Name: string(HeldDeclined), Label: "declined", Sentence: "A person dismissed this very update."},
	{Name: string(HeldFirstSeen), Label: "first seen", Sentence: "It was seen for the first time, and in manual mode a person decides."},
	{Name: string(HeldManual), Label: "manual mode", Sentence: "In manual mode a person decides about every change."},
}

var reasonTerms = []contract.Term{
	{Name: string(UserApproved), Label: "approved by a person", Sentence: "A person looked at this definition and approved it."},
	{Name: string(Released), Label: "released", Sentence: "A person released the server, and this definition with it."},
	{Name: string(BaselineTrust), Label: "baseline", Sentence: "The server was trusted when it was added, and this is what it offered first."},
	{Name: string(AutoApprove), Label: "approved in auto mode", Sentence: "The server is in trust mode auto, where everything is approved."},
	{Name: string(GateOff), Label: "approved, gate off", Sentence: "The gate was off, so everything was approved."},
	{Name: string(Locked), Label: "pinned by the lock file", Sentence: "The lock file pins exactly this definition."},
	{Name: string(ScanApproved), Label: "approved by the scan", Sentence: "Nothing more is asked or accepted than was approved, and the scan found nothing."},
	{Name: string(Reverted), Label: "back to what was approved", Sentence: "The server went back to a definition that was approved before."},
	{Name: string(FirstSeen), Label: "first seen", Sentence: "It was listed for the first time."},
	{Name: string(Held), Label: "held", Sentence: "The definition is not what was approved, and waits for a person."},
	{Name: string(Waits), Label: "update waits", Sentence: "A new definition waits for a person, and the approved one stays in use."},
	{Name: string(UpdateWithdrawn), Label: "update withdrawn", Sentence: "The server no longer offers the update that waited."},
	{Name: string(Dismissed), Label: "update dismissed", Sentence: "A person declined the update that waited."},
	{Name: string(Blocked), Label: "blocked", Sentence: "A person blocked it."},
	{Name: string(Unblocked), Label: "unblocked", Sentence: "A person took the block away."},
	{Name: string(Vanished), Label: "no longer listed", Sentence: "The server does not list it any more."},
	{Name: string(Returned), Label: "listed again", Sentence: "The server lists it again, as it was."},
}

var scanTerms = []contract.Term{
	{Name: string(ScanFinding), Label: "scan finding", Sentence: "The scan found something in a text."},
	{Name: string(ScanCoverage), Label: "scan incomplete", Sentence: "The texts could not be scanned completely, so nobody can tell that they are clean."},
}

// HeldTerms are the words for why a contract is held.
func HeldTerms() []contract.Term { return append([]contract.Term(nil), heldTerms...) }

// ReasonTerms are the words for why a record changed.
func ReasonTerms() []contract.Term { return append([]contract.Term(nil), reasonTerms...) }

// SignalTerms are the words that printed signals of a hold begin with: the gate's,
// the scan's two, and each check under SCAN-FINDING.
func SignalTerms() []contract.Term {
	all := append(delta.Terms(), scanTerms...)
	for _, t := range scan.Terms() {
		t.Name = string(ScanFinding) + ":" + t.Name
		all = append(all, t)
	}
	return all
}

// Explain gives the term of a held reason; what is none explains nothing.
func (r HeldReason) Explain() contract.Term { return termOf(heldTerms, string(r)) }

// Explain gives the term of a reason; what is none explains nothing.
func (r Reason) Explain() contract.Term { return termOf(reasonTerms, string(r)) }

// ExplainSignal gives the term of a printed signal of a hold; what is none explains
// nothing.
func ExplainSignal(printed string) contract.Term {
	if t, found := delta.Explain(printed); found {
		return t
	}
	rule, rest, _ := strings.Cut(printed, ":")
	check, _, _ := strings.Cut(rest, ":")
	if t, found := scan.Explain(check); found && rule == string(ScanFinding) {
		t.Name = rule + ":" + t.Name
		return t
	}
	return termOf(scanTerms, rule)
}

func termOf(terms []contract.Term, name string) contract.Term {
	for _, t := range terms {
		if t.Name == name {
			return t
		}
	}
	return contract.Term{}
}
