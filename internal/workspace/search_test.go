package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

func needRg(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("rg"); err != nil {
		lacks(t, "ripgrep is not installed")
	}
}

var tree = map[string]string{
	"a.go": "package a\nfunc One() {}\n// two\n", "sub/b.go": "package b\nfunc one() {}\n", "c.ts": "one\n", ".hidden": "one\n",
	".gitignore": "ignored/\n*.log\n!keep.log\n", "ignored/x.go": "one\n", "y.log": "one\n", "keep.log": "one\n",
	".env": "one\n", "secret/s.go": "one\n", ".git/config": "one\n",
}

const denySecrets = `{"permissions":{"deny":["Read(.env*)","Read(secret)"]}}`

func TestGrep(t *testing.T) {
	needRg(t)
	for name, bash := range map[string]bool{"in the sandbox": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, setup{bash: bash, user: denySecrets, files: tree})
			a := r.call("Grep", "pattern", "one", "-i", true).ok("a.go\n", "(Left out: 2 paths that may not be read.)")
			if got := fmt.Sprint(a.Structured["files"]); got != "[.hidden a.go c.ts keep.log sub/b.go]" {
				t.Errorf("%s", got)
			}
			if a.Structured["left_out"] != 2.0 {
				t.Errorf("%+v", a.Structured)
			}
			r.call("Grep", "pattern", "one", "output_mode", "content", "path", "sub").ok("sub/b.go:2:func one() {}")
			r.call("Grep", "pattern", "One", "output_mode", "content", "-C", 1, "glob", "*.go", "-n", false).ok("a.go-package a\na.go:func One() {}\na.go-// two")
			r.call("Grep", "pattern", "one", "output_mode", "count", "path", "c.ts").ok("c.ts:1")
			r.call("Grep", "pattern", "one", "type", "go").ok("sub/b.go")
			r.call("Grep", "pattern", `package a\nfunc`, "multiline", true).ok("a.go")
			r.call("Grep", "pattern", "one", "head_limit", 1, "offset", 1).ok("c.ts", "more results")
			r.call("Grep", "pattern", "nothing like that").ok("Nothing was found.")
			r.call("Grep", "pattern", "(").fails("ripgrep refused the search")
			r.call("Grep", "pattern", "one", "path", "secret/s.go").refused(dispatch.ByRules)
			r.call("Grep", "pattern", "one", "path", "/etc").refused(dispatch.BySandbox)
		})
	}
}

// No argument is taken for an option, and no configuration file is read.
func TestGrepTakesNoOptions(t *testing.T) {
	needRg(t)
	r := newRig(t, setup{bash: true, files: map[string]string{"f": "--files\n-x\n", "rc": "--pre=./evil\n", "evil": "#!/bin/sh\ntouch made\n", "-x": "x\n"}})
	t.Setenv("RIPGREP_CONFIG_PATH", r.path("rc"))
	r.must(os.Chmod(r.path("evil"), 0o755))
	r.call("Grep", "pattern", "--files").ok("f")
	r.call("Grep", "pattern", "x", "path", "-x").ok("-x")
	r.call("Grep", "pattern", "x", "glob", "--pre=./evil")
	r.call("Grep", "pattern", "x", "type", "all --pre=./evil")
	r.call("Grep", "pattern", "--pre=./evil", "glob", "-x", "path", ".")
	r.absent("made")
}

func TestGlob(t *testing.T) {
	r := newRig(t, setup{user: denySecrets, files: tree})
	now := time.Now()
	for i, name := range []string{"c.ts", "sub/b.go", "a.go"} { // the newest first
		r.must(os.Chtimes(r.path(name), now, now.Add(time.Duration(-i)*time.Hour)))
	}
	for pattern, want := range map[string]string{
		"**/*.go": "[sub/b.go a.go]", "*.go": "[a.go]", "*": "", "**/*.{go,ts}": "[c.ts sub/b.go a.go]", "sub/**": "[sub/b.go]",
		"./*.ts": "[c.ts]", "[!b-z].go": "[a.go]", r.dir + "/sub/*.go": "[sub/b.go]", "**/x.go": "[]", "y.log": "[]", "keep.log": "[keep.log]", ".env": "[]", "**/.git/**": "[]",
	} {
		a := r.call("Glob", "pattern", pattern).ok()
		if got := fmt.Sprint(a.Structured["files"]); want != "" && got != want {
			t.Errorf("%s: %s, not %s", pattern, got, want)
		}
		if pattern == "**/*.go" && a.Structured["left_out"] != 2.0 {
			t.Errorf("%s: %+v", pattern, a.Structured)
		}
	}
	r.call("Glob", "pattern", "*.go", "path", "sub").ok("sub/b.go")
	r.call("Glob", "pattern", "x.go", "path", "ignored").ok("ignored/x.go")
	r.call("Glob", "pattern", "{a").fails("no pattern")
	r.call("Glob", "pattern", "/etc/*").refused(dispatch.BySandbox)
	if a := r.call("Glob", "pattern", "../*"); a.refusal == nil && !a.IsError {
		t.Errorf("%s", a.text())
	}
}

func TestResultsAreBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 150 {
		files[fmt.Sprintf("d/%d.txt", i)] = strings.Repeat("needle "+strings.Repeat("x", 600)+"\n", 3)
	}
	r := newRig(t, setup{files: files})
	a := r.call("Glob", "pattern", "**/*.txt").ok("more results")
	if n := len(a.Structured["files"].([]any)); n != 100 || a.Structured["truncated"] != true {
		t.Errorf("%d files, %v", n, a.Structured["truncated"])
	}
	needRg(t)
	a = r.call("Grep", "pattern", "needle", "output_mode", "content").ok("more results")
	if n := len(a.text()); n > 32_000 {
		t.Errorf("%d bytes", n)
	}
}
