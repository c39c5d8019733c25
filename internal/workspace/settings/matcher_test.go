package settings

import (
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// A hook for a tool that nobody has is told of, with the one that was probably meant; one
// for another client's tools is not.
func TestMatcherCautions(t *testing.T) {
	for matcher, want := range map[string]string{
		"": "", "*": "", "Bash": "", "Write|Edit|MultiEdit": "", "mcp__.*": "", "mcp__memory__.*|Bash": "", "WebFetch": "",
		"Task": "", "NotebookEdit": "", ".*": "", "Read.*": "", "(Bash|Edit)": "", "Bash(Output)?": "",
		"bash":        `"bash" Bash?`,
		"Shell":       `"Shell" Bash?`,
		"Bash|edit":   `"edit" Edit?`,
		"bash|Wirte":  `"bash" Bash?; "Wirte" Write?`,
		"mcp__x|Shel": `"Shel" the tools are`,
		"bash.*":      `"bash.*" Bash?`,
		"(read|grep)": `"(read|grep)" the tools are`,
		"send_mail":   `"send_mail" the tools are`,
	} {
		s := &Settings{Hooks: []Hook{
			{Matcher: matcher, At: policy.Place{File: "f", Line: 3}},
			{Matcher: matcher, At: policy.Place{File: "f", Line: 3}},
		}}
		var got []string
		for _, c := range s.MatcherCautions() {
			name, near, ok := strings.Cut(strings.TrimPrefix(c, "f:3: the hook is for "), ", which is the name of no tool, so that it never runs: ")
			if !ok {
				t.Fatal(c)
			}
			near = strings.TrimPrefix(near, "did you mean ")
			got = append(got, name+" "+near[:min(len(near), len("the tools are"))])
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q: %q, want %q", matcher, got, want)
		}
	}
}
