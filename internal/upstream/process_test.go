//go:build unix

package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gone fails unless a process group is gone.
func gone(t *testing.T, pid int) {
	t.Helper()
	g := group{id: pid}
	if g.alive() {
		t.Errorf("the process group %d is alive", pid)
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

func TestStopIsQuickForTheWilling(t *testing.T) {
	h := newHouse(t, usual)
	h.Sync([]Spec{h.fake("plain")})
	pid := h.phase("plain", Connected).PID
	began := time.Now()
	h.Close()
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
	gone(t, pid)
}

func TestStopEndsTheStubborn(t *testing.T) {
	short := fast
	short.eof, short.term = 100*time.Millisecond, 100*time.Millisecond
	h := newHouse(t, short)
	h.Sync([]Spec{h.fake("stubborn"), h.fake("doublefork"), h.fake("silent")})
	pids := []int{h.phase("stubborn", Connected).PID, h.phase("doublefork", Connected).PID}
	h.awaitNotes("doublefork", "started", 2) // the child, which ignores SIGTERM
	h.Sync(nil)
	h.phase("doublefork", Stopped)
	h.phase("stubborn", Stopped)
	h.Close()
	for _, pid := range pids {
		gone(t, pid)
	}
}

// What a program leaves behind when it ends by itself is ended too, and does not
// keep the session open.
func TestTheLeftBehind(t *testing.T) {
	short := fast
	short.eof, short.term = 100*time.Millisecond, 100*time.Millisecond
	h := newHouse(t, short)
	h.Sync([]Spec{h.fake("doublefork")})
	pid := h.phase("doublefork", Connected).PID
	h.awaitNotes("doublefork", "started", 2)
	_ = syscall.Kill(pid, syscall.SIGKILL) // the program, not its child, which holds stdout open
	s := h.phase("doublefork", BackingOff)
	if !strings.Contains(s.Error, "signal: killed") {
		t.Errorf("%s", s.Error)
	}
	gone(t, pid)
}

func TestLoudServer(t *testing.T) {
	patient := fast
	patient.initialize = 20 * time.Second
	h := newHouse(t, patient)
	h.Sync([]Spec{h.fake("loud")})
	l := h.list("loud") // it is not held up by 25 MB of stderr
	if _, err := h.call(t.Context(), "loud", l, "echo"); err != nil {
		t.Error(err)
	}
	h.Close()
	var size int64
	files, _ := filepath.Glob(filepath.Join(h.dir, "logs", "*"))
	for _, f := range files {
		info, _ := os.Stat(f)
		size += info.Size()
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f, info.Mode())
		}
	}
	if len(files) == 0 || len(files) > 2 || size > 2*maxLogFile {
		t.Errorf("%d files of %d bytes", len(files), size)
	}
	lines, err := h.Logs("loud", 10_000)
	text := strings.Join(lines, "\n")
	if err != nil || !strings.Contains(text, "All work and no play") || !strings.Contains(text, "were not kept") {
		t.Errorf("%v, %d lines", err, len(lines))
	}
	if lines, _ := h.Logs("loud", 1); len(lines) != 1 || !strings.Contains(lines[0], "holdfast: ended") {
		t.Errorf("last line %q", lines)
	}
}

func TestEnvironmentOfAProgram(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "leak")
	t.Setenv("HTTPS_PROXY", "http://user:leak@proxy:1")
	t.Setenv("LC_ALL", "C")
	h := newHouse(t, fast)
	out := filepath.Join(h.dir, "env")
	spec := h.fake("sh")
	spec.Program.Command, spec.Program.Args = "sh", []string{"-c", `env > "$1"; pwd >> "$1"; echo "$0" >> "$1"`, "${env:OWN_TOKEN}", out}
	spec.Program.Cwd = "/"
	h.Sync([]Spec{spec})
	h.phase("sh", BackingOff)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PATH=", "HTTPS_PROXY=http://proxy:1\n", "LC_ALL=C\n", "OWN_TOKEN=hunter2-hunter2\n", "\n/\nhunter2-hunter2\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if strings.Contains(string(text), "leak") || strings.Contains(string(text), "GITHUB") {
		t.Errorf("leaks: %s", text)
	}
}
