package settings

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// FuzzLayer: nothing panics, whatever a file holds; what is taken is a JSON object, and
// an error names the file.
func FuzzLayer(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{ // c` + "\n" + `"permissions": {"allow": ["Bash(make *)"], "defaultMode": "plan", "additionalDirectories": ["/x"]}, }`,
		`{"hooks": {"PreToolUse": [{"matcher": "A|B", "hooks": [{"type": "command", "command": "x", "timeout": 5}]}]}}`,
		`{"sandbox": {"mode": "read-only", "network": "host", "env": ["A"], "readable": ["~/x"]}}`, strings.Repeat("[", 100), "/*[*/{}", "\xef\xbb\xbf{}", `{"a":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, layer := range []policy.Layer{policy.User, policy.Project} {
			_, err := parseLayer(source{layer: layer, path: "s.json", present: true, data: data}, "/ws", "/h")
			if err != nil {
				if !strings.HasPrefix(err.Error(), "s.json:") {
					t.Fatalf("no place in %q", err)
				}
				continue
			}
			plain, err := hujson.Standardize(data)
			var object map[string]json.RawMessage
			if err != nil || json.Unmarshal(plain, &object) != nil || object == nil {
				t.Fatalf("%q is taken", data)
			}
		}
	})
}

// TestDepthIsBounded: the parser is never led deeper than the bound, whatever hides the
// brackets.
func TestDepthIsBounded(t *testing.T) {
	for _, c := range []struct {
		text string
		deep bool
	}{
		{strings.Repeat("[", maxDepth), false},
		{strings.Repeat("[", maxDepth+1), true},
		{strings.Repeat("[]", 1000), false},
		{`"` + strings.Repeat("[", 100) + `"`, false},
		{`"\"` + strings.Repeat("[", 100) + `"`, false},
		{"//" + strings.Repeat("[", 100), false},
		{"//" + strings.Repeat("]", 100) + "\n" + strings.Repeat("[", 100), true},
		{"/*" + strings.Repeat("[", 100), false},
		{"/*" + strings.Repeat("]", 100) + "*/" + strings.Repeat("[", 100), true},
		{"/*/" + strings.Repeat("[", 100), false},
		{`// "` + "\n" + strings.Repeat("[", 100), true},
		{`"//"` + strings.Repeat("[", 100), true},
		{"/" + strings.Repeat("[", 100), true},
		{strings.Repeat("[ /*]*/ ", 100), true},
		{strings.Repeat("[ //]\n", 100), true},
		{strings.Repeat(`["]",`, 100), true},
	} {
		if got := tooDeep([]byte(c.text)); got != c.deep {
			t.Errorf("%.40q: too deep %v", c.text, got)
		}
	}
}
