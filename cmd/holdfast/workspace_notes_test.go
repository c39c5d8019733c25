package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The banner tells of rules above the workspace, and of a hook that never runs.
func TestWorkspaceBannerNotes(t *testing.T) {
	p := newProject(t, map[string]string{".holdfast/contract.yaml": "version: 1\n", "sub/a.txt": "x\n"})
	p.user(`{"hooks": {"PreToolUse": [{"matcher": "Shell", "hooks": [{"type": "command", "command": "true"}]}]}}`)
	above := p.dir
	p.dir = filepath.Join(p.dir, "sub")
	p.connect()
	wants(t, p.banner(), filepath.Join(above, ".holdfast")+" does not count here", "start with -C "+above+".", `the hook is for "Shell", which is the name of no tool, so that it never runs: did you mean Bash?`)
}

// Whether a tool would be offered here is told beside the decision, and does not change it.
func TestCheckTellsWhatIsNotOffered(t *testing.T) {
	p := newProject(t, nil)
	p.user(`{"permissions": {"allow": ["Bash(ls)"]}}`)
	for tool, c := range map[string]struct{ args, why string }{
		"Bash": {`{"command": "ls"}`, "Bash would not be offered here now, whatever is decided: "},
		"Grep": {`{"pattern": "x"}`, "Grep would not be offered here now, whatever is decided: ripgrep (rg) is not installed"},
		"Read": {`{"file_path": "x"}`, ""},
	} {
		for _, json := range []bool{false, true} {
			words := []string{"workspace", "check", "-C", p.dir, "--home", p.home, tool, c.args}
			if json {
				words = append(words, "--json")
			}
			cmd := p.program(words...)
			cmd.Env = append(slices.DeleteFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, "PATH=") }), "PATH="+t.TempDir())
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), "allow") {
				t.Fatalf("%s: %v: %s%s", tool, err, out, errs.String())
			}
			if noted := strings.Contains(errs.String(), "would not be offered"); noted != (c.why != "" && !json) || noted && !strings.Contains(errs.String(), c.why) {
				t.Errorf("%s, JSON %t: %s", tool, json, errs.String())
			}
		}
	}
	if _, err := os.Stat(filepath.Join(p.home, ".local")); !os.IsNotExist(err) {
		t.Errorf("check left something behind: %v", err)
	}
}
