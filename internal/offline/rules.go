package offline

import (
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// ruleOf is the term of a signal, under which the vocabulary of the product explains
// it too. What the server chose is no part of its name.
func ruleOf(s delta.Signal) contract.Term {
	if t, known := delta.Explain(s.String()); known {
		return t
	}
	return contract.Term{Name: string(s.Rule), Label: "definition changed", Sentence: "The definition is not what was approved, so that the change is held."}
}

// checkOf is the term of a finding.
func checkOf(check string) contract.Term {
	for _, t := range ownChecks {
		if t.Name == check {
			return t
		}
	}
	if t, known := scan.Explain(check); known {
		return t
	}
	return contract.Term{Name: check, Label: "something found", Sentence: "The scan found something in a text."}
}

// incomplete is said where not every check ran.
var incomplete = contract.Term{
	Name: "scan.incomplete", Label: "not completely scanned",
	Sentence: "A check of the scan did not run to its end, so nobody can tell that the texts are clean.",
}

// ownChecks are what this room finds itself.
var ownChecks = []contract.Term{
	{Name: Unreadable, Label: "can't be read", Sentence: "The definition can't be read in exactly one way, so nobody can tell what it says, and it can't be approved."},
	{Name: Nameless, Label: "has no name", Sentence: "Without a name this is no tool, so the input is perhaps not what it was taken for."},
}
