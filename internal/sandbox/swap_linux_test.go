package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSwapsBetweenPlanAndMount replaces a folder of the workspace when the mounts are
// planned and none is made. Nothing of the command may run: a secret of the home
// directory could be mounted where the folder was.
func TestSwapsBetweenPlanAndMount(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_SANDBOX") != "" {
			t.Fatal("bubblewrap is not installed; run: make prepare")
		}
		t.Skip("SKIPPED: bubblewrap is not installed; run: make prepare")
	}
	for name, swap := range map[string]func(ws, home string) error{
		"for a link to secrets": func(ws, home string) error {
			up, err := filepath.Rel(ws+"/a", home+"/.ssh")
			if err != nil {
				return err
			}
			return os.Symlink(up, ws+"/a/b")
		},
		"for a link to itself, moved": func(ws, _ string) error { return os.Symlink("moved", ws+"/a/b") },
		"for another folder": func(ws, _ string) error {
			return os.CopyFS(ws+"/a/b", os.DirFS(ws+"/a/moved"))
		},
		"for nothing": func(string, string) error { return nil },
	} {
		for _, masks := range []int{1, maskedByStage} {
			t.Run(fmt.Sprintf("%s/%d masks", name, masks), func(t *testing.T) {
				swapAfterPlan(t, masks, swap)
			})
		}
	}
}

func swapAfterPlan(t *testing.T, masks int, swap func(ws, home string) error) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, home := base+"/ws", base+"/home"
	p := Policy{Mode: ModeWorkspaceWrite, Roots: []string{ws}, Home: home, Env: []string{"PATH=/usr/bin:/bin"}}
	for _, dir := range []string{ws + "/a/b", home + "/.ssh"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range masks {
			if err := os.WriteFile(fmt.Sprintf("%s/f%d", dir, i), []byte("canary-content"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range masks {
		p.Hidden = append(p.Hidden, fmt.Sprintf("%s/a/b/f%d", ws, i))
	}
	out, err := os.Create(base + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := Command{Args: []string{"sh", "-c", "echo RAN; cat a/*/*; ls -a ~"}, Dir: ws, Stdout: out, Stderr: out}

	places, err := plan(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(ws+"/a/b", ws+"/a/moved"); err != nil {
		t.Fatal(err)
	}
	if err := swap(ws, home); err != nil {
		t.Fatal(err)
	}
	proc, err := bubblewrap{"/usr/bin/bwrap"}.launch(t.Context(), p, c, places)
	if err == nil {
		_, _ = proc.Wait()
	}
	said, readErr := os.ReadFile(out.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	if text := string(said); strings.Contains(text, "RAN") || strings.Contains(text, "canary-content") {
		t.Errorf("it ran (%v):\n%s", err, text)
	}
}
