package hooks

import (
	"bytes"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// FuzzRead: an output that is understood is nothing or one strict JSON object, and one
// that holds the words of a refusal where they count is never milder.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", " \n", `{}`, `{"decision":"block"}`, `{"hookSpecificOutput":{"permissionDecision":"ask"}}`, `{"continue":false}`,
		`{"updatedInput":{"a":1}}`, `[]`, `{"a":1}{`, `{"decision":"approve","decision":"block"}`, "\xff", `{"decision":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		s, err := read(out)
		if err != nil {
			return
		}
		if len(bytes.TrimSpace(out)) == 0 {
			if s.outcome != policy.Allowed || s.updated != nil {
				t.Fatal("nothing was said")
			}
			return
		}
		if _, ok := Canonical(bytes.TrimSpace(out)); !ok {
			t.Fatalf("%q is no strict JSON object", out)
		}
		if s.updated != nil {
			if _, ok := Canonical(s.updated); !ok {
				t.Fatalf("%q is no input", s.updated)
			}
		}
		two, err := read(append([]byte(`{"hookSpecificOutput":{"permissionDecision":"deny"},"x":`), append(out, '}')...))
		if err == nil && two.outcome != policy.Refused {
			t.Fatal("a refusal was lost")
		}
	})
}
