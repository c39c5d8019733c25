package upstream

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
)

// runParent is a Holdfast that is killed: it runs a stubborn server.
func runParent() {
	p := NewPool(Options{
		Expand: func(s string) (string, error) { return s, nil }, Unverified: func(string) {}, Changed: func(State) {},
		LogDir: filepath.Dir(os.Getenv("NOTES")), Log: slog.New(slog.DiscardHandler), Version: "0",
	})
	p.Sync([]Spec{{Name: "s", Incarnation: "1", Program: approval.Program{
		Type: "stdio", Command: os.Args[0], Env: map[string]string{"FAKE": "stubborn", "NOTES": os.Getenv("NOTES")},
	}}})
	time.Sleep(time.Minute)
}

// A program dies with a Holdfast that is killed and can't stop it.
func TestNoOrphans(t *testing.T) {
	h := newHouse(t, fast)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(exe)
	parent.Env = append(os.Environ(), "FAKE=parent", "NOTES="+h.notesFile("parent"))
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	started := h.awaitNotes("parent", "started", 2) // the parent and its server
	pid, err := strconv.Atoi(strings.TrimPrefix(started[1], "started "))
	if err != nil || pid == parent.Process.Pid {
		t.Fatalf("%q %v", started, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	g := group{id: pid}
	for range 500 {
		if !g.alive() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	t.Errorf("the server %d outlived Holdfast", pid)
}
