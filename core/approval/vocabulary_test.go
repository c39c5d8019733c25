package approval

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// declared gives the constants of a type in a file of this package.
func declared(t *testing.T, name, kind string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) == 0 {
			return true
		}
		named := false
		switch x := v.Type.(type) {
		case *ast.Ident:
			named = x.Name == kind
		case *ast.SelectorExpr:
			named = x.Sel.Name == kind
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok && named {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, text)
		}
		return true
	})
	return found
}

// Every constant has an entry, and every entry a constant.
func TestEveryReasonIsExplained(t *testing.T) {
	for kind, c := range map[string]struct {
		file  string
		terms []contract.Term
	}{
		"HeldReason": {"state.go", HeldTerms()},
		"Reason":     {"state.go", ReasonTerms()},
		"Rule":       {"evidence.go", scanTerms},
	} {
		var names []string
		for _, term := range c.terms {
			names = append(names, term.Name)
			if term.Label == "" || !strings.HasSuffix(term.Sentence, ".") {
				t.Errorf("%s is not explained: %+v", term.Name, term)
			}
		}
		want := declared(t, c.file, kind)
		slices.Sort(want)
		slices.Sort(names)
		if len(want) < 2 || !slices.Equal(want, names) {
			t.Errorf("%s: declared  %v\nexplained %v", kind, want, names)
		}
	}
	if HeldStructural.Explain().Label == "" || ScanApproved.Explain().Label == "" || Reason("other").Explain() != (contract.Term{}) {
		t.Error("a reason explains itself, and what is none nothing")
	}
}

func TestSignalsAreExplained(t *testing.T) {
	for printed, name := range map[string]string{
		"GATE-SCHEMA-SHAPE:new-required:bcc":         "GATE-SCHEMA-SHAPE:new-required",
		"GATE-FIELD:x":                               "GATE-FIELD",
		"SCAN-FINDING:unicode.hidden:/description":   "SCAN-FINDING:unicode.hidden",
		"SCAN-FINDING:bundle.some-rule:/description": "SCAN-FINDING:bundle.some-rule",
		"SCAN-FINDING:something.new:/description":    "SCAN-FINDING",
		"SCAN-FINDING:more:+3":                       "SCAN-FINDING",
		"SCAN-COVERAGE":                              "SCAN-COVERAGE",
		"NOTHING:unicode.hidden":                     "",
	} {
		if got := ExplainSignal(printed); got.Name != name || (got.Sentence == "") != (name == "") {
			t.Errorf("%s: %+v", printed, got)
		}
	}
	seen := map[string]bool{}
	for _, term := range SignalTerms() {
		if seen[term.Name] {
			t.Errorf("%s is there twice", term.Name)
		}
		seen[term.Name] = true
		if got := ExplainSignal(term.Name); got != term {
			t.Errorf("%s is explained as %+v", term.Name, got)
		}
	}
}
