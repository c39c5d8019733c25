package offline

import (
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// rule is what a result is about, as a SARIF log explains it: in the words of the
// vocabulary that the product has everywhere.
type rule struct{ id, short, full string }

// ruleOf names the rule of a signal. Names of fields are the server's, so that they
// are no part of it.
func ruleOf(s delta.Signal) rule {
	t, found := delta.Explain(s.String())
	if !found {
		t = contract.Term{Name: string(s.Rule), Label: "held", Sentence: "The change is held."}
	}
	return ruleFrom(strings.Replace(t.Name, ":", "/", 1), t)
}

func ruleFrom(id string, t contract.Term) rule {
	return rule{id, strings.ToUpper(t.Label[:1]) + t.Label[1:], t.Sentence}
}

// checkRule names the rule of a finding.
func checkRule(check string) rule {
	if t, found := ownChecks[check]; found {
		return ruleFrom(check, t)
	}
	t, found := scan.Explain(check)
	if !found {
		t = contract.Term{Label: "scan finding", Sentence: "The scan found something in a text."}
	}
	return ruleFrom(check, t)
}

// ownChecks are those of this room: of what is no tool at all.
var ownChecks = map[string]contract.Term{
	Unreadable: {Label: "unreadable", Sentence: "The definition can't be read in exactly one way, so that nobody can tell what it says, and it can't be approved."},
	Nameless:   {Label: "nameless", Sentence: "Without a name this is no tool, so that the input is perhaps not what it was taken for."},
}
