package settings

import (
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// Whatever is wrong with a contract's YAML is said in our words, with a line of the file:
// the parser's own, and its name, are never shown.
func TestSyntaxIsSaidInOurWords(t *testing.T) {
	whole := "version: 1\nrules:\n  - glob: \"a\"\n    read: deny\n    reason: 'b'\n  - {glob: c, read: [d]}\n"
	parsers := []string{"yaml:", "did not find", "could not find", "found ", "token", "scanning", "..."}
	check := func(text string) {
		t.Helper()
		if err := yaml.Unmarshal([]byte(text), &yaml.Node{}); err == nil {
			return
		}
		_, err := ParseContract(policy.Project, "c", []byte(text))
		if err == nil {
			t.Fatalf("%q is taken", text)
		}
		_, said, _ := strings.Cut(strings.ReplaceAll(err.Error(), `"..."`, ""), ": ")
		said = strings.ReplaceAll(strings.ReplaceAll(said, "'...'", ""), "(nothing after --- or ...)", "")
		for _, p := range parsers {
			if strings.Contains(said, p) {
				t.Errorf("%q: %s", text, err)
			}
		}
		if at := PlaceOf(err); at.Line < 1 || at.Line > 1+strings.Count(text, "\n") {
			t.Errorf("%q: line %d", text, at.Line)
		}
	}
	for i := range len(whole) {
		check(whole[:i] + whole[i+1:])
		for _, put := range []string{"\t", "*", "&", "!", "%", "@", "`", "|", ">", "?", "-", ":", ": ", "[", "]", "{", "}", "\"", "'", "\\", "\n", " ", "#", "\x01", ",", "---\n"} {
			check(whole[:i] + put + whole[i:])
		}
	}
	r := &contractReader{reader{source: source{path: "c", data: []byte("a")}}}
	r.syntax(errors.New("yaml: line 9: something new"))
	if r.err() == nil || r.err().Error() != "c:1: "+unlikely {
		t.Error(r.err())
	}
}
