package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// until waits until a file is there.
func (r *rig) until(name string) {
	r.t.Helper()
	for range 1000 {
		if _, err := os.Lstat(r.path(name)); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond) // another program is waited for
	}
	r.t.Fatalf("%s did not come", name)
}

// ends waits until a background command has ended and was written down.
func (r *rig) ends(id string) answer {
	r.t.Helper()
	for range 1000 {
		if a := r.call("BashOutput", "bash_id", id).ok(); a.Structured["status"] != "running" {
			return a
		}
		time.Sleep(10 * time.Millisecond) // another program is waited for
	}
	r.t.Fatal("it runs for ever")
	return answer{}
}

// rootless skips a test that says nothing when root runs it.
func rootless(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("root lists and writes every folder: TestUnprivileged runs this as another account")
	}
}

// What a command plants is not there "before" another that starts meanwhile, whichever
// ends first, and what it leaves for a later one neither.
func TestPlantedForAnother(t *testing.T) {
	const plant = "mkdir -p .vscode migrations; for f in .envrc .vscode/tasks.json migrations/1.sql repo/.git/commondir; do printf evil | tee $f; done"
	for name, order := range map[string][2]string{
		"the first ends first":  {plant + "; touch first; while ! test -e second; do sleep 0.01; done", "touch second; sleep 0.5; " + plant},
		"the second ends first": {plant + "; touch first; while ! test -e second; do sleep 0.01; done; sleep 0.5; " + plant, "touch second"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, setup{
				bash: true, user: allowBash, contract: "version: 1\nrules:\n  - {glob: \"migrations/**\", write: deny}\n",
				files: map[string]string{"repo/.git/HEAD": "ref: refs/heads/main\n", "repo/.git/objects/x": ""},
			})
			r.call("Bash", "command", order[0], "run_in_background", true).ok("bash_1")
			r.until("first")
			r.call("Bash", "command", order[1])
			r.ends("bash_1")
			r.call("Bash", "command", "true")
			for _, name := range []string{".envrc", ".vscode/tasks.json", "migrations/1.sql", "repo/.git/commondir"} {
				r.absent(name)
			}
			r.holds("repo/.git/HEAD", "ref: refs/heads/main\n")
		})
	}
}

// What is the owner's stays, also when he edits it while a command runs.
func TestOwnersStays(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{".envrc": "mine\n", ".vscode/tasks.json": "{}", "repo/.git/config": "[core]\n", "repo/.git/HEAD": "x"}})
	r.call("Bash", "command", "touch first; while ! test -e second; do sleep 0.01; done", "run_in_background", true).ok("bash_1")
	r.until("first")
	r.put(".envrc", "still mine\n")
	if a := r.call("Bash", "command", "touch second"); a.Structured["withheld"] != nil {
		t.Errorf("%+v", a.Structured)
	}
	r.ends("bash_1")
	r.holds(".envrc", "still mine\n")
	r.holds(".vscode/tasks.json", "{}")
	r.holds("repo/.git/config", "[core]\n")
}

// What the owner replaces while a command runs, no mount holds any more.
func TestReplacedWhileACommandRuns(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{".envrc": "mine\n"}})
	r.call("Bash", "command", "touch first; while ! test -e second; do sleep 0.01; done; printf evil | tee .envrc", "run_in_background", true).ok("bash_1")
	r.until("first")
	r.put("new", "mine too\n")
	r.must(os.Rename(r.path("new"), r.path(".envrc")))
	r.put("second", "")
	r.ends("bash_1")
	if b, err := os.ReadFile(r.path(".envrc")); err == nil && string(b) != "mine too\n" {
		t.Errorf(".envrc holds %q", b)
	}
}

// A folder that can't be listed is hidden whole; what a command shuts is opened again,
// and looked through.
func TestShutFolders(t *testing.T) {
	rootless(t)
	r := newRig(t, setup{
		bash: true, user: `{"permissions":{"allow":["Bash"],"deny":["Read(secret*)"]}}`,
		files: map[string]string{"d/secret": "S3CRET", "owner/secret": "S3CRET", "sub/.git/config": "[core]\n", "sub/.git/HEAD": "x"},
	})
	r.must(os.Chmod(r.path("owner"), 0))
	t.Cleanup(func() { _ = os.Chmod(r.path("owner"), 0o755) })
	for _, mode := range []string{"000", "111", "444", "644"} {
		r.call("Bash", "command", "chmod "+mode+" d sub; mkdir -p e/f; echo x | tee e/f/.envrc; chmod "+mode+" e/f; chmod "+mode+" e")
		a := r.call("Bash", "command", "chmod 755 d sub owner; cat d/sec* owner/sec*; printf evil | tee -a sub/.git/config")
		if strings.Contains(a.text(), "S3CRET") {
			t.Errorf("after chmod %s: %s", mode, a.text())
		}
		r.holds("sub/.git/config", "[core]\n")
		r.holds("d/secret", "S3CRET")
		r.must(os.Chmod(r.path("e/f"), 0o700))
		r.absent("e/f/.envrc")
	}
	r.call("Bash", "command", "chmod 000 .")
	r.call("Bash", "command", "cat d/sec*")
	r.holds("d/secret", "S3CRET")
	if info, err := os.Stat(r.path("owner")); err != nil || info.Mode().Perm() != 0 {
		t.Errorf("the owner's shut folder: %v, %v", info, err)
	}
}

// However another command moves folders and links about, nothing but what lies in the
// workspace is moved away, and nothing is said to be that is not.
func TestMovedByFoldersNotByPaths(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	outside := filepath.Join(filepath.Dir(r.dir), "outside")
	r.must(os.MkdirAll(outside, 0o755))
	names := []string{".bashrc", ".envrc", ".npmrc", ".profile"}
	for _, n := range names {
		r.must(os.WriteFile(filepath.Join(outside, n), []byte("OWNER"), 0o600))
	}
	r.must(os.Symlink(outside, r.path("link")))
	r.put("flip.py", "import ctypes,os\nl=ctypes.CDLL(None)\nos.makedirs('d',exist_ok=True)\nopen('first','w')\nwhile not os.path.exists('stop'):\n  for _ in range(500): l.renameat2(-100,b'd',-100,b'link',2)\n")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.raw(ctx, "Bash", `{"command":"python3 flip.py"}`)
	}()
	r.until("first")
	for range 12 {
		r.call("Bash", "command", fmt.Sprintf("for n in %s; do printf x | tee d/$n; done", strings.Join(names, " ")))
	}
	r.put("stop", "")
	<-ended
	for _, n := range names {
		if b, err := os.ReadFile(filepath.Join(outside, n)); err != nil || string(b) != "OWNER" {
			t.Errorf("outside, %s holds %q (%v)", n, b, err)
		}
	}
}

// A deep tree is not gone through to its end, and can't be used to hide in.
func TestDeepTrees(t *testing.T) {
	r := newRig(t, setup{bash: true, user: `{"permissions":{"allow":["Bash"],"deny":["Read(secret*)"]}}`, files: map[string]string{"a/secret": "S3CRET"}})
	r.put("deep.py", "import os\nos.mkdir('d'); os.chdir('d')\nfor i in range(3000):\n  os.mkdir('d'); os.chdir('d')\nopen('.envrc','w').write('x')\n")
	a := r.call("Bash", "command", "python3 deep.py")
	if a.Structured["withheld"] == nil {
		t.Errorf("%s", a.text())
	}
	begun := time.Now()
	if a := r.call("Bash", "command", "cat a/sec*; ls d"); strings.Contains(a.text(), "S3CRET") || time.Since(begun) > 5*time.Second {
		t.Errorf("%s after %s", a.text(), time.Since(begun))
	}
}
