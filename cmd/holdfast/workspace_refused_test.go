package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/workspace/trail"
)

// What was refused is shown with its stage, what decided and what to do; and nothing of
// what was asked for.
func TestWorkspaceRefused(t *testing.T) {
	p := newProject(t, map[string]string{"a.txt": "x\n", ".holdfast/contract.yaml": "version: 1\nrules:\n  - glob: S3CRET-c\n    read: deny\n"})
	p.user(`{"permissions": {"deny": ["Edit(*.lock)"]}, "hooks": {"PreToolUse": [{"matcher": "Glob", "hooks": [{"type": "command", "command": "echo S3CRET-h >&2; exit 2"}]}]}}`)
	if out := p.run("workspace", "log", "--refused"); !strings.Contains(out, "Nothing was refused here yet.") || !strings.Contains(out, "audit list --type call.refused") {
		t.Errorf("before the first session: %s", out)
	}
	s := p.connect()
	for _, c := range []struct {
		tool string
		args args
	}{
		{"Read", args{"file_path": "a.txt"}},
		{"Write", args{"file_path": "S3CRET-a", "content": "x"}},
		{"Write", args{"file_path": "S3CRET-b.lock", "content": "x"}},
		{"Read", args{"file_path": "S3CRET-c"}},
		{"Read", args{"file_path": "../S3CRET-d"}},
		{"Write", args{"file_path": ".git/S3CRET-e", "content": "x"}},
		{"Glob", args{"pattern": "S3CRET-f"}},
		{"Read", args{"S3CRET-g": 1}},
		{"nothing", args{}},
	} {
		callTool(t, s, c.tool, c.args)
	}
	s.Close()
	out := p.run("workspace", "log", "--refused")
	for _, want := range []string{
		"TIME +SESSION +TOOL +STAGE +WHY",
		"Write +ask +A person would be asked",
		`Write +rules +Edit\(\*\.lock\) \(user, .*settings\.json line 1\)`,
		`Read +contract +S3CRET-c \(project, .*contract\.yaml line 3\)`,
		"Read +sandbox +It reaches outside",
		`Write +rules +the protected name \.git`,
		`Glob +hooks +a hook \(user, .*settings\.json line 1\)`,
		"Read +arguments +The arguments do not fit",
		"nothing +arguments +There is no tool of this name",
		"ask +If it should be allowed: write an allow rule",
	} {
		matches(t, out, want)
	}
	if first := strings.Index(out, "nothing"); first < 0 || first > strings.Index(out, "Write") {
		t.Errorf("not the newest first: %s", out)
	}
	if strings.Count(out, "S3CRET") != 1 { // the contract's own glob
		t.Errorf("it shows what was asked for: %s", out)
	}
	var listed refusedCalls
	if err := json.Unmarshal([]byte(p.run("workspace", "log", "--refused", "--json", "-n", "3")), &listed); err != nil || len(listed.Items) != 3 {
		t.Fatalf("%v, %+v", err, listed)
	}
	if c := listed.Items[2]; c.Tool != "Glob" || c.Stage != "hooks" || c.Class != "refused_by_rules" || c.Remedy == "" || c.Session == "" || c.RuleAt == "" {
		t.Errorf("%+v", c)
	}
	files, _ := filepath.Glob(filepath.Join(p.home, ".local/state/holdfast/workspaces/*/audit/*.jsonl"))
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	p.put(files[0], strings.Replace(string(whole), "by_ask", "by_mode", 1))
	out = p.run("workspace", "log", "--refused")
	matches(t, out, "Write +mode +")
	matches(t, out, "the audit is broken at line [0-9]+: it was changed")
	for _, wrong := range [][]string{{"--refused", "--verify"}, {"--refused", "-n", "0"}} {
		if out, err := p.program(append([]string{"workspace", "log", "-C", p.dir, "--home", p.home}, wrong...)...).CombinedOutput(); err == nil {
			t.Errorf("%v: %s", wrong, out)
		}
	}
}

func matches(t *testing.T, text, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(text) {
		t.Errorf("%s\ndoes not match %s", text, pattern)
	}
}

// Every reason that a refusal can have is explained.
func TestRefusalsAreExplained(t *testing.T) {
	for _, term := range append(dispatch.Terms(), dispatch.Reason("new").Explain()) {
		for _, call := range []*record.Call{
			{Refused: term.Name},
			{Refused: string(dispatch.RefusedByRules), Reasons: []string{string(dispatch.RefusedByRules), term.Name}},
		} {
			c := explainRefusal(trail.Refusal{Session: "s", Entry: record.Entry{Time: time.Now(), Call: call}})
			if c.Reason == "" || c.Remedy == "" || c.why() == "" {
				t.Errorf("%q: %+v", term.Name, c)
			}
		}
	}
}
