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
