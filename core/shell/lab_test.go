//go:build unix

package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// marker is a program that writes down how it was called, and answers by turns. Read by a
// shell as a script, which rules do not look through, it does nothing.
const marker = `#!/bin/sh
case $0 in */m[0-9]) ;; *) return 0 2>/dev/null || exit 0;; esac
printf '%s\0' "${0##*/}" "$@" '
' >>"$HOLDFAST_LOG"
case $# in 0|2) exit 0;; esac
exit 1
`

// through runs the program of its own name, so that a script can call that by a path which it
// may also overwrite.
const through = `#!/bin/sh
exec "${0##*/}" "$@"
`

// homeDir is no folder at all.
const homeDir = "/nonexistent-home"

// lab is a folder in which scripts are run, with the programs that they may call.
type lab struct {
	bash, root string
	tasks      *json.Encoder // to the runner
	done       *json.Decoder
}

// task is a script that the runner runs.
type task struct {
	Script, Dir, Bash string
	Env               []string
}

func newLab(t testing.TB) lab {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_SANDBOX") != "" {
			t.Fatal("bash is not installed")
		}
		t.Skip("BASH IS MISSING: nothing is compared with it")
	}
	l := lab{bash: bash, root: t.TempDir()}
	bin := filepath.Join(l.root, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"m1", "m2", "m3", "m4", "m5"} {
		if err := os.WriteFile(filepath.Join(bin, m), []byte(marker), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range []string{"bash", "sh", "env", "timeout", "nice", "xargs", "find", "cat"} {
		if path, err := exec.LookPath(tool); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.start(t)
	if calls, made := l.run(t, -1, "m1 a; echo > f"); len(calls) != 1 || len(made) != 1 {
		t.Fatalf("the lab does not work: %q, %q", calls, made)
	}
	return l
}

const labRole = "HOLDFAST_LAB_RUNNER"

// TestMain makes this program the runner where it is started as that.
func TestMain(m *testing.M) {
	if os.Getenv(labRole) != "" {
		runTasks()
		return
	}
	os.Exit(m.Run())
}

// start starts the runner: confined, for random scripts write wherever they may.
func (l *lab) start(t testing.TB) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_SANDBOX") != "" {
			t.Fatal("bubblewrap is not installed; run: make prepare")
		}
		t.Skip("SKIPPED: random scripts are not run without bubblewrap; run: make prepare")
	}
	cmd := exec.Command(bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", os.TempDir(),
		"--ro-bind", self, self, "--bind", l.root, l.root, "--chdir", "/", self)
	cmd.Env = append(os.Environ(), labRole+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	l.tasks, l.done = json.NewEncoder(in), json.NewDecoder(out)
}

// ask has the runner run a script.
func (l lab) ask(t testing.TB, k task) {
	t.Helper()
	k.Bash = l.bash
	var done bool
	if err := errors.Join(l.tasks.Encode(k), l.done.Decode(&done)); err != nil || !done {
		t.Fatalf("the runner of scripts failed: %v", err)
	}
}

// runTasks is the runner.
func runTasks() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var k task
		if in.Decode(&k) != nil {
			return
		}
		k.run()
		if out.Encode(true) != nil {
			return
		}
	}
}

func (k task) run() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.Bash, "--noprofile", "--norc", "-c", "--", k.Script)
	cmd.Dir, cmd.Env = k.Dir, k.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 100 * time.Millisecond
	_ = cmd.Run() // scripts fail in every way
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	}
}

// run runs a script and gives the calls and the files that it made.
func (l lab) run(t testing.TB, n int, script string) (calls [][]string, made []string) {
	t.Helper()
	// The workspace lies deep in the lab, so that ".." stays in it.
	top := filepath.Join(l.root, fmt.Sprint("run", n))
	dir := filepath.Join(top, "u", "v", "ws")
	log := filepath.Join(l.root, fmt.Sprint("log", n))
	for _, d := range []string{"a/a", "a/b", "b/a"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "m1"), []byte(marker), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "p"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"bash", "sh", "env", "xargs"} {
		if err := os.WriteFile(filepath.Join(dir, "p", tool), []byte(through), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	defer os.RemoveAll(top)
	defer os.Remove(log)
	l.ask(t, task{Script: script, Dir: dir, Env: []string{"PATH=" + filepath.Join(l.root, "bin"), "HOLDFAST_LOG=" + log, "HOME=" + homeDir, "LC_ALL=C.UTF-8"}})
	text, _ := os.ReadFile(log) //nolint:errcheck // no log: nothing was called
	for entry := range strings.SplitSeq(string(text), "\x00\n\x00") {
		if entry != "" {
			calls = append(calls, strings.Split(entry, "\x00"))
		}
	}
	_ = filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && !d.IsDir() && rel != "m1" && !strings.HasPrefix(rel, "p/") {
			made = append(made, rel)
		}
		return nil
	})
	return calls, made
}

// parses asks bash whether a script parses.
func (l lab) parses(t testing.TB, script string) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), l.bash, "--noprofile", "--norc", "-n", "-c", "--", script)
	var out bytes.Buffer
	cmd.Stderr = &out
	return cmd.Run() == nil && !strings.Contains(out.String(), "error")
}
