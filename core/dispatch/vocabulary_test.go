package dispatch

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

// Every reason has an entry, and every entry a reason.
func TestEveryReasonIsExplained(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "classify.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) == 0 {
			return true
		}
		if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "Reason" {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, text)
		}
		return true
	})
	for _, term := range Terms() {
		got = append(got, term.Name)
		if term.Label == "" || !strings.HasSuffix(term.Sentence, ".") {
			t.Errorf("%s is not explained: %+v", term.Name, term)
		}
		if e := Reason(term.Name).Explain(); e != term {
			t.Errorf("%s is explained as %+v", term.Name, e)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 18 || !slices.Equal(want, got) {
		t.Errorf("declared  %v\nexplained %v", want, got)
	}
	if Reason("other").Explain() != (contract.Term{}) {
		t.Error("what is no reason explains nothing")
	}
}
