//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublishedClient drives a workspace by the client that is published on npm. It
// checks structured results against output schemas and fails where they differ.
func TestPublishedClient(t *testing.T) {
	needSandbox(t)
	script := filepath.Join(filepath.Dir(npm(t, "@modelcontextprotocol/server-everything").Args[0]), "../../../../client.mjs")
	a := newAttempt(t, escape{
		Setup:    `mkdir src; printf 'one\ntwo\n' > src/a.txt; printf %s key > .env`,
		Contract: "version: 1\nrules:\n  - {glob: '.env', read: deny, reason: keys stay here}\n",
	}, holdfastBinary(t), lure{})
	a.setUp()
	calls := []map[string]any{
		{"name": "Read", "arguments": map[string]any{"file_path": "src/a.txt"}},
		{"name": "Edit", "arguments": map[string]any{"file_path": "src/a.txt", "old_string": "two", "new_string": "three"}},
		{"name": "Write", "arguments": map[string]any{"file_path": "src/b.txt", "content": "three\n"}},
		{"name": "Grep", "arguments": map[string]any{"pattern": "three"}},
		{"name": "Glob", "arguments": map[string]any{"pattern": "src/*.txt"}},
		{"name": "Bash", "arguments": map[string]any{"command": "cat src/*.txt; exit 3"}},
		{"name": "Bash", "arguments": map[string]any{"command": "echo begun; sleep 60", "run_in_background": true}},
		{"name": "Read", "arguments": map[string]any{"file_path": ".env"}},
		{"name": "Read", "arguments": map[string]any{"file_path": "/etc/passwd"}},
		{"name": "Bash", "arguments": map[string]any{"command": "cat .env; echo is $?"}},
	}
	in, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("node", script, a.bin, "workspace", "-C", a.ws)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.home}
	c.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, stderr.Bytes())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(calls)+1 {
		t.Fatalf("%d answers for %d calls:\n%s", len(lines)-1, len(calls), out)
	}
	for _, name := range []string{"Read", "Write", "Edit", "Bash", "BashOutput", "KillShell", "Grep", "Glob"} {
		if !strings.Contains(lines[0], `"`+name+`"`) {
			t.Errorf("%s is not listed: %s", name, lines[0])
		}
	}
	for i, want := range []string{"two", "src/a.txt", "src/b.txt", "src/b.txt", "src/b.txt", `"exit_code":3`, "id", "keys stay here", "--add-dir", "is 1"} {
		line, failed := lines[i+1], i == 5 || i == 7 || i == 8
		if !strings.Contains(line, want) || strings.Contains(line, `"thrown"`) || strings.Contains(line, `"isError":true`) != failed {
			t.Errorf("%v: want %q, got %s", calls[i], want, line)
		}
	}
	if text, err := os.ReadFile(filepath.Join(a.ws, "src/a.txt")); err != nil || string(text) != "one\nthree\n" {
		t.Errorf("src/a.txt is %q, %v", text, err)
	}
	if strings.Contains(string(out), "key\"") {
		t.Error("what the contract hides was shown")
	}
}
