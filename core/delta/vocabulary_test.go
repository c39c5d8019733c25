package delta

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

// Every rule and reason that is declared has an entry, and every entry one of them.
func TestEverySignalIsExplained(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "signal.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	hints := []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "dispatch"}
	var want []string
	for _, h := range hints {
		want = append(want, string(HintChange)+":"+h)
	}
	for _, h := range hints[:2] { // only these have a safer side
		want = append(want, string(HintSaferFlip)+":"+h)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		prefix := ""
		switch doc := g.Doc.Text(); {
		case strings.HasPrefix(doc, "Reasons of SchemaShape"):
			prefix = string(SchemaShape) + ":"
		case strings.HasPrefix(doc, "Reasons of OutputSchema"):
			prefix = string(OutputSchema) + ":"
		}
		for _, s := range g.Specs {
			for _, v := range s.(*ast.ValueSpec).Values {
				text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, prefix+text)
			}
		}
	}
	var got []string
	for _, term := range Terms() {
		got = append(got, term.Name)
		if term.Label == "" || !strings.HasSuffix(term.Sentence, ".") {
			t.Errorf("%s is not explained: %+v", term.Name, term)
		}
		if e, found := Explain(term.Name + ":properties/x"); !found || e != term {
			t.Errorf("%s is explained as %+v", term.Name, e)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(got) < 40 || !slices.Equal(got, want) {
		t.Errorf("declared  %v\nexplained %v", want, got)
	}
	for printed, name := range map[string]string{
		"GATE-FIELD:icons": "GATE-FIELD", "GATE-SCHEMA-SHAPE:more:+7": "GATE-SCHEMA-SHAPE", "GATE-UNAVAILABLE": "GATE-UNAVAILABLE",
	} {
		if e, found := Explain(printed); !found || e.Name != name {
			t.Errorf("%s: %+v", printed, e)
		}
	}
	if e, found := Explain("SCAN-FINDING:unicode.hidden:/name"); found || e != (contract.Term{}) {
		t.Errorf("of another law: %+v", e)
	}
}
