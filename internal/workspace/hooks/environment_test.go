//go:build unix

package hooks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// told is what a hook's command prints, as its reason.
func told(t *testing.T, dir, command string, modules ...string) string {
	t.Helper()
	h := pre("exec >&2; " + command + "; exit 2")
	h.Modules = modules
	return runner(t, dir, h).Before(t.Context(), read).Reason
}

// No program is looked for in the folder that hooks run in.
func TestPathOfHooks(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin:/bin":         "[/usr/bin:/bin]",
		".:/usr/bin:bin::/bin:": "[/usr/bin:/bin]",
		".":                     "[/usr/local/bin:/usr/bin:/bin]",
		"":                      "[/usr/local/bin:/usr/bin:/bin]",
	} {
		t.Setenv("PATH", path)
		if got := told(t, t.TempDir(), `echo "[$PATH]"`); !strings.Contains(got, want) {
			t.Errorf("of %q: %q", path, got)
		}
	}
}

// Python's modules come from the folders of the hook's own scripts, and not from the
// folder that hooks run in.
func TestModulesOfHooks(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_SANDBOX") != "" {
			t.Fatal("python3 is not installed; tools/prepare tools installs it")
		}
		t.Skip("SKIPPED: python3 is not installed")
	}
	t.Setenv("PYTHONPATH", ".:/somewhere")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"json.py": "print('PLANTED')\n", "tools/own.py": "print('OWN')\n", "tools/check.py": "import own, json, sys\nprint('DONE', '/somewhere' in sys.path)\n", "check.py": "import json\nprint('DONE')\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))").CombinedOutput(); err != nil {
		t.Skipf("this Python has no safe path: %s", out)
	}
	tools := filepath.Join(dir, "tools")
	if got := told(t, dir, "python3 tools/check.py", tools); strings.Contains(got, "PLANTED") || !strings.Contains(got, "OWN") || !strings.Contains(got, "DONE True") {
		t.Errorf("%q", got)
	}
	for _, command := range []string{"python3 check.py", `python3 -c 'import json; print("DONE")'`} {
		if got := told(t, dir, command); strings.Contains(got, "PLANTED") || !strings.Contains(got, "DONE") {
			t.Errorf("%s: %q", command, got)
		}
	}
}

// What settings read of a hook is enough for it to run.
func TestHookLoadsFromItsFolder(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_SANDBOX") != "" {
			t.Fatal("python3 is not installed; tools/prepare tools installs it")
		}
		t.Skip("SKIPPED: python3 is not installed")
	}
	dir := t.TempDir()
	tools := filepath.Join(dir, "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"own.py": "", "check.py": "import own\n"} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := readHook(t, dir, "python3 tools/check.py")
	if a := runner(t, dir, h).Before(t.Context(), read); a.Outcome != policy.Allowed {
		t.Error(a.Reason)
	}
}
