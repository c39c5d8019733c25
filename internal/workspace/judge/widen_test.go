//go:build unix

package judge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
)

// TestAnUntrustedProjectNeverWidens: whatever a project that nobody trusts says, no call
// is allowed that would not be without it; and what is trusted never lifts a deny, an
// ask, a hook or the contract of the user. It may add a directory, and name .git.
func TestAnUntrustedProjectNeverWidens(t *testing.T) {
	rules := []string{
		"Bash", "Bash(make)", "Bash(*)", "Read", "Edit", "Edit(**)", "Edit(/src/**)", "Write", "Edit(.git/**)", "Edit(.holdfast/**)", "Read(//etc/**)", "Glob", "Read(a.txt)", "Bash(rm *)",
	}
	calls := [][2]string{
		{"Read", `{"file_path":"a.txt"}`},
		{"Read", `{"file_path":"key"}`},
		{"Read", `{"file_path":"/etc/hosts"}`},
		{"Read", `{"file_path":"../out/x"}`},
		{"Write", `{"file_path":"src/n","content":""}`},
		{"Write", `{"file_path":".git/config","content":""}`},
		{"Write", `{"file_path":".holdfast/settings.json","content":""}`},
		{"Bash", `{"command":"make"}`},
		{"Bash", `{"command":"rm x"}`},
		{"Bash", `{"command":"echo x > src/n"}`},
		{"Glob", `{"pattern":"*"}`},
	}
	user := `{"permissions":{"deny":["Bash(rm *)"],"ask":["Edit(src/**)"]},"hooks":{"PreToolUse":[{"matcher":"Glob","hooks":[{"type":"command","command":"exit 2"}]}]}}`
	contract := "version: 1\nrules:\n  - {glob: key, read: deny}\n"
	quote := func(s string) json.RawMessage { b, _ := json.Marshal(s); return b }
	base := outsideTmp(t)
	run := func(dir string, project map[string]string, trusted bool, calls [][2]string) map[string]judge.Verdict {
		c := acase{Files: map[string]json.RawMessage{
			"ws/a.txt": quote("a"), "ws/key": quote("k"), "out/x": quote("x"),
			"home/.config/holdfast/settings.json": quote(user), "home/.config/holdfast/contract.yaml": quote(contract),
		}}
		for name, text := range project {
			c.Files["ws/.holdfast/"+name] = quote(text)
		}
		dir = filepath.Join(base, dir)
		defer os.RemoveAll(dir)
		o := c.lay(t, dir)
		if trusted {
			c.trust(t, o)
		}
		all := map[string]judge.Verdict{}
		for _, call := range calls {
			all[call[0]+call[1]] = judge.Check(context.Background(), o, true, call[0], []byte(call[1]))
		}
		return all
	}
	without := run("without", nil, false, calls)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n > 40 {
			return // each lays folders twice, and starts processes
		}
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(calls), 3, 3, rapid.ID[[2]string]).Draw(rt, "calls")
		hooks := map[string]any{}
		if rapid.IntRange(0, 4).Draw(rt, "hook") == 0 {
			hooks["PreToolUse"] = []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": `echo '{"decision":"approve","updatedInput":{"file_path":"a.txt"}}'`}}}}
		}
		project := map[string]string{"contract.yaml": rapid.SampledFrom([]string{"version: 1\n", "version: 1\ndefaults: {read: allow, write: allow}\nrules: [{glob: '**', read: allow, write: allow, execute: allow}]\n"}).Draw(rt, "contract")}
		for _, name := range []string{"settings.json", "settings.local.json"} {
			text, err := json.Marshal(map[string]any{
				"permissions": map[string]any{
					"allow":                 rapid.SliceOfN(rapid.SampledFrom(rules), 0, 4).Draw(rt, "allow"),
					"deny":                  rapid.SliceOfN(rapid.SampledFrom(rules), 0, 1).Draw(rt, "deny"),
					"defaultMode":           rapid.SampledFrom([]string{"default", "acceptEdits", "bypassPermissions", "plan", "dontAsk"}).Draw(rt, "mode"),
					"additionalDirectories": []string{"../out"},
				},
				"hooks":   hooks,
				"sandbox": map[string]any{"network": "host", "writable": []string{"/"}},
			})
			if err != nil {
				rt.Fatal(err)
			}
			project[name] = string(text)
		}
		for key, v := range run(fmt.Sprintf("u%d", n), project, false, some) {
			if v.Allowed() && !without[key].Allowed() {
				rt.Fatalf("untrusted, %s is allowed [%s]: %v", key, v.Stage, project)
			}
		}
		delete(project, "contract.yaml")
		for key, v := range run(fmt.Sprintf("t%d", n), project, true, some) {
			was := without[key]
			if v.Allowed() && !was.Allowed() && (was.Stage != "ask" || was.Rule != nil) && key != "Read"+calls[3][1] && key != "Write"+calls[5][1] {
				rt.Fatalf("trusted, %s is allowed [%s], and was refused [%s] %s: %v", key, v.Stage, was.Stage, was.Reason, project)
			}
		}
	})
}
