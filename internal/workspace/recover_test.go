package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
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

// What was there when a session died is the owner's, whatever bytes its name has.
func TestNamesThatAreNoText(t *testing.T) {
	s := setup{bash: true, user: allowBash}
	if runtime.GOOS == "darwin" {
		t.Skip("names are text here")
	}
	s.files = map[string]string{"b\xfcro/.npmrc": "mine", "b\xfcro/a": ""}
	r := newRig(t, s)
	r.crashed()
	r.put("b\xfcro/.envrc", "evil")
	r.open(s)
	r.holds("b\xfcro/.npmrc", "mine")
	r.absent("b\xfcro/.envrc")
}

// A session that lives does not take over what a command made of one that died meanwhile.
func TestSessionThatDiesBesideAnother(t *testing.T) {
	s := setup{bash: true, user: allowBash, files: map[string]string{"repo/.git/HEAD": "x", ".npmrc": "mine"}}
	r := newRig(t, s)
	own, err := ledger.Open(filepath.Join(r.o.State, "ledger"), time.Now)
	r.must(err)
	t.Cleanup(own.Close)
	o := r.options
	o.Session, o.Folder, o.Ledger = "another", o.Folder+"-2", own
	other := r.second(o)
	other.call("Bash", "command", "true").ok()
	left := r.crashed()
	r.put(".envrc", "evil")
	r.put("repo/.git/hooks/post-checkout", "evil")
	other.call("Bash", "command", "true").ok()
	r.absent(".envrc")
	r.absent("repo/.git/hooks/post-checkout")
	r.holds(".npmrc", "mine")
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("%s is still there", left)
	}
}

// What a link of the owner's leads to is his, also when he made the link after a session
// died; what was missing then, and what a command can have put there, is not.
func TestLinksWhenASessionDied(t *testing.T) {
	s := setup{bash: true, user: allowBash, files: map[string]string{"conf/a": "mine", "conf/b": "mine", ".vscode/x": ""}}
	r := newRig(t, s)
	r.must(os.Symlink("conf/a", r.path(".npmrc")))
	r.must(os.Symlink("../gone", r.path(".vscode/gone")))
	left := r.crashed()
	r.put("gone", "evil")
	r.open(s)
	r.holds("conf/a", "mine")
	r.absent("gone")
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("%s is still there", left)
	}

	left = r.crashed()
	r.must(os.Symlink("conf/b", r.path(".envrc")))
	r.must(os.Chtimes(left, time.Now(), time.Now().Add(-time.Hour)))
	r.open(s)
	r.holds(".envrc", "mine")
	r.holds("conf/b", "mine")
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
