//go:build unix

package settings_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// filesOf gives the files that a user's hook names, as "path" with "*" for a script and
// "?" for one that is missing, relative to the world.
func filesOf(t *testing.T, base string, o settings.Options, command string) []string {
	t.Helper()
	quoted, _ := json.Marshal(command)
	lay(t, base, userFile, fmt.Sprintf(`{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": %s}]}]}}`, quoted))
	var all []string
	for _, f := range load(t, o).Hooks[0].Files {
		name, err := filepath.Rel(base, f.Path)
		if err != nil || strings.HasPrefix(name, "..") {
			name = f.Path
		}
		if f.Script {
			name += "*"
		}
		if f.Missing {
			name += "?"
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func TestFilesThatHooksName(t *testing.T) {
	o, base := world(t, map[string]string{
		"ws/tools/check.py": "pass\n", "ws/tools/x": "#!/bin/sh\n", "ws/README.md": "r\n", "ws/log.txt": "l\n", "ws/a b.sh": "", "home/bin/guard": "#!/bin/sh\n", "ws/tools/data.csv": "1\n",
	})
	if err := os.Symlink("tools/check.py", filepath.Join(base, "ws/link.py")); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"exit 0":                              "",
		"tools/check.py":                      "ws/tools/check.py*",
		"./tools/check.py --strict":           "ws/tools/check.py*",
		"python3 tools/check.py":              "ws/tools/check.py*",
		"python3 link.py":                     "ws/tools/check.py*",
		`"$CLAUDE_PROJECT_DIR"/tools/x`:       "ws/tools/x*",
		"${CLAUDE_PROJECT_DIR}/tools/x a":     "ws/tools/x*",
		"~/bin/guard":                         "home/bin/guard*",
		"$HOME/bin/guard":                     "home/bin/guard*",
		"cd tools && ./x":                     "ws/tools/x* ws/x*?",
		"cd tools; python3 check.py":          "ws/check.py*? ws/tools/check.py*",
		"grep -q x README.md && exit 2":       "ws/README.md",
		`bash -c "python3 tools/check.py -v"`: "ws/tools/check.py*",
		`sh -c 'sh -c "tools/x"'`:             "ws/tools/x*",
		"FOO=tools/x env":                     "ws/tools/x*",
		"run --config=tools/data.csv":         "ws/tools/data.csv",
		"sh 'a b.sh'":                         "ws/a b.sh* ws/b.sh*?",
		"sh a\\ b.sh":                         "ws/a b.sh* ws/b.sh*?",
		"echo hi >> log.txt":                  "",
		"jq . >>log.txt 2>&1":                 "",
		"sort < log.txt":                      "ws/log.txt",
		"gen.py":                              "ws/gen.py*?",
		"node ./gen":                          "ws/gen?",
		"echo '{\"updatedInput\":{\"a\":\"src/a.ts\"}}'": "",
		"ls *.py tools/[c]heck.py $X/y":                  "",
		"cat /dev/null /dev/stdin":                       "",
	} {
		if got := strings.Join(filesOf(t, base, o, command), " "); got != want {
			t.Errorf("%s\nnames %q, want %q", command, got, want)
		}
	}
}

func TestHookFileCheck(t *testing.T) {
	o, base := world(t, map[string]string{"ws/x.sh": "a", "ws/data": "d"})
	lay(t, base, userFile, `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "sh x.sh; sh later.sh; cat data"}]}]}}`)
	s := load(t, o)
	check := func() string {
		var failed []string
		for _, f := range s.Hooks[0].Files {
			if f.Check() != nil {
				failed = append(failed, filepath.Base(f.Path))
			}
		}
		return strings.Join(failed, " ")
	}
	if got := check(); got != "" {
		t.Errorf("changed at once: %s", got)
	}
	lay(t, base, "ws/data", "other")
	lay(t, base, "ws/later.sh", "")
	lay(t, base, "ws/x.sh", "b")
	if got := check(); got != "x.sh later.sh" {
		t.Errorf("changed: %s", got)
	}
	for _, path := range []string{"ws/x.sh", "ws/later.sh", "ws/data"} {
		if p, err := s.Policy(true); err != nil || p == nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(s.Hooks[0].Files, func(f settings.HookFile) bool { return f.Path == filepath.Join(base, path) }) {
			t.Errorf("%s is not protected", path)
		}
	}
}

// userHooks writes the user's hooks, and reads the settings.
func userHooks(t *testing.T, base string, o settings.Options, commands ...string) *settings.Settings {
	t.Helper()
	var list []string
	for _, c := range commands {
		quoted, _ := json.Marshal(c)
		list = append(list, fmt.Sprintf(`{"type": "command", "command": %s}`, quoted))
	}
	lay(t, base, userFile, fmt.Sprintf(`{"permissions": {"allow": ["Edit"]}, "hooks": {"PreToolUse": [{"hooks": [%s]}]}}`, strings.Join(list, ", ")))
	return load(t, o)
}

// The folder of a script is protected as it is: what lies beside it may be loaded.
func TestFoldersOfHookScripts(t *testing.T) {
	o, base := world(t, map[string]string{"ws/tools/check.py": "", "ws/root.py": "", "ws/notes/x.md": "", "ws/extra/deep/x.sh": "", "out/own.py": "", "out/sub/y": ""})
	o.AddDirs = []string{filepath.Join(base, "ws/extra/deep")}
	s := userHooks(t, base, o, "python3 tools/check.py", "python3 root.py", "grep -q x notes/x.md", "sh extra/deep/x.sh", "python3 "+base+"/out/own.py", "sh src/later.sh")
	p, err := s.Policy(true)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]policy.Outcome{
		"tools/new.py": policy.Refused, "tools/check.py": policy.Refused, "tools/sub/new": policy.Refused, "tools": policy.Refused, "root.py": policy.Refused,
		"notes/x.md": policy.Refused, "extra/deep/x.sh": policy.Refused, "src/later.sh": policy.Refused,
		"new.py": policy.Allowed, "notes/new": policy.Allowed, "extra/deep/new": policy.Allowed, "src/new": policy.Allowed, "tools2/new": policy.Allowed,
	} {
		d := p.Judge(policy.Call{Tool: policy.Write, Path: filepath.Join(base, "ws", path)}, settings.Disk{})
		if d.Outcome != want {
			t.Errorf("%s: %v, %s", path, d.Outcome, d.Reason)
		}
	}
	for n, want := range []string{"ws/tools", "", "", "", "out", ""} {
		got := strings.Join(s.Hooks[n].Modules, " ")
		if want != "" {
			want = filepath.Join(base, want)
		}
		if got != want {
			t.Errorf("hook %d has modules in %q, not %q", n, got, want)
		}
	}
}

func TestHookCautions(t *testing.T) {
	o, base := world(t, map[string]string{"ws/tools/check.py": "", "ws/root.py": "", "out/own.py": ""})
	for command, want := range map[string]string{
		"python3 tools/check.py":          "",
		"python3 " + base + "/out/own.py": "",
		"jq -e .tool_name":                "",
		"echo make go npm":                "",
		"grep -q -m 1 x":                  "",
		"python3 root.py":                 "root.py, which lies in the workspace's own folder",
		"make lint":                       "runs make,",
		"/usr/bin/make lint":              "runs make,",
		"true && npx prettier":            "runs npx,",
		"CI=1 npm run lint | tee x":       "runs npm,",
		"env CI=1 timeout 5 cargo check":  "runs cargo,",
		`bash -c "cd x && yarn lint"`:     "runs yarn,",
		"make a; npm b; make c":           "runs make, npm,",
		"go vet ./...":                    "runs go,",
		"python3 -m black -":              "runs python -m,",
		"python3.12 -B -Im black":         "runs python -m,",
		base + "/out/nowhere --x":         "nowhere, which is not there: every call",
		"tools/check.py a":                "check.py, which can't be executed",
		"/bin/sh -c true":                 "",
		"$HOME/bin/x || /no/where":        "x, which is not there",
	} {
		got := strings.Join(userHooks(t, base, o, command).HookCautions(), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
