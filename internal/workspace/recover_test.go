package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// crashed makes the rig's session one that died while a command ran, and gives the file
// that tells of it.
func (r *rig) crashed() string {
	r.t.Helper()
	running := filepath.Join(r.o.State, "ledger", "running")
	r.call("Bash", "command", "touch first; while ! test -e second; do sleep 0.01; done", "run_in_background", true).ok("bash_1")
	r.until("first")
	held, _ := filepath.Glob(filepath.Join(running, "*.json"))
	if len(held) != 1 {
		r.t.Fatalf("held: %v", held)
	}
	b, err := os.ReadFile(held[0])
	r.must(err)
	r.server.Close()
	if _, err := os.Lstat(held[0]); !os.IsNotExist(err) {
		r.t.Errorf("a session that closed left %s", held[0])
	}
	r.ledger.Close()
	r.must(os.WriteFile(held[0], b, 0o600)) // nobody's lock is on it
	return held[0]
}

// What a command made of a session that was killed is moved away by the next one.
func TestSessionThatDied(t *testing.T) {
	s := setup{bash: true, user: allowBash, files: map[string]string{".vscode/tasks.json": "{}", "repo/.git/HEAD": "x", "d/.envrc": "mine\n"}}
	r := newRig(t, s)
	left := r.crashed()
	r.put(".envrc", "evil")
	r.put("repo/.git/hooks/post-checkout", "evil")
	r.must(os.Chmod(r.path("d"), 0))
	r.open(s)
	r.absent(".envrc")
	r.absent("repo/.git/hooks/post-checkout")
	r.must(os.Chmod(r.path("d"), 0o755))
	r.holds("d/.envrc", "mine\n")
	r.holds(".vscode/tasks.json", "{}")
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("%s is still there", left)
	}
	if kept, _ := filepath.Glob(filepath.Join(r.session, "withheld", "*")); len(kept) != 2 {
		t.Errorf("kept: %v", kept)
	}
}

// What came long after the session died is the owner's.
func TestLongAfterASessionDied(t *testing.T) {
	s := setup{bash: true, user: allowBash}
	r := newRig(t, s)
	left := r.crashed()
	r.put(".envrc", "mine")
	r.must(os.Chtimes(left, time.Now(), time.Now().Add(-time.Hour)))
	r.open(s)
	r.holds(".envrc", "mine")
	r.call("Bash", "command", "true").ok()
	r.holds(".envrc", "mine")
}

// What came to be while another session's command runs is not the owner's.
func TestPlantedByAnotherSession(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	o := r.options
	o.Session, o.Folder = "another", o.Folder+"-2"
	r.call("Bash", "command", "printf evil | tee .envrc; touch first; while ! test -e second; do sleep 0.01; done", "run_in_background", true).ok("bash_1")
	r.until("first")
	other := r.second(o)
	other.call("Bash", "command", "touch second; sleep 0.5; printf evil | tee .envrc")
	r.ends("bash_1")
	r.absent(".envrc")
}

// Of commands that calls wait for only so many run at once; the others wait.
func TestForegroundCommandsWait(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	done := make(chan answer)
	for range 20 {
		go func() {
			done <- r.raw(t.Context(), "Bash", `{"command":"touch started-$$-$RANDOM$RANDOM; while ! test -e go; do sleep 0.05; done"}`)
		}()
	}
	started := func() int { all, _ := filepath.Glob(r.path("started-*")); return len(all) }
	for range 1000 {
		if started() >= 6 {
			break
		}
		time.Sleep(10 * time.Millisecond) // other programs are waited for
	}
	time.Sleep(300 * time.Millisecond) // for one too many
	if n := started(); n != 6 {
		t.Errorf("%d commands run", n)
	}
	r.put("go", "")
	var all []string
	for range 20 {
		a := <-done
		if a.refusal != nil || a.err != nil || a.IsError {
			all = append(all, fmt.Sprint(a.refusal, a.err, a.text()))
		}
	}
	if len(all) > 0 {
		t.Errorf("%s", strings.Join(all, "\n"))
	}
}
