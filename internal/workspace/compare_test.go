package workspace_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/workspace"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

// entry is what a call changed.
func (r *rig) entry(a answer) ledger.Entry {
	r.t.Helper()
	e, err := r.ledger.Entry(fmt.Sprint(a.Structured["change"]))
	r.must(err)
	return e
}

// changed are the paths that an entry says were changed.
func (r *rig) changed(e ledger.Entry) (names []string) {
	for _, c := range e.Changes {
		rel, _ := filepath.Rel(r.dir, c.Path)
		names = append(names, rel)
	}
	return names
}

// A file that is changed through memory keeps its times; so does one that is changed twice
// within one tick of a coarse clock.
func TestChangeThroughMemory(t *testing.T) {
	lacksPython(t)
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"a.txt": "OWNER CONTENT\n", "m.py": `
import mmap, os, time
f = open("a.txt", "r+b")
m = mmap.mmap(f.fileno(), 0)
m[0:1] = m[0:1]
open("mapped", "w").close()
while not os.path.exists("looked"): time.sleep(0.01)
m[0:5] = b"EVIL!"
open("done", "w").close()
`}})
	r.call("Bash", "command", "true").ok()
	r.call("Bash", "command", "python3 m.py", "run_in_background", true).ok()
	r.waitFor("mapped")
	r.call("Bash", "command", "touch looked").ok()
	r.waitFor("done")
	r.call("Bash", "command", "rm -f mapped looked done").ok()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(r.call("BashOutput", "bash_id", "bash_1").ok().text(), "exited"); {
		if time.Now().After(end) {
			t.Fatal("it does not end")
		}
	}
	r.holds("a.txt", "EVIL! CONTENT\n")
	entries, _, err := r.ledger.Entries(10)
	r.must(err)
	for _, e := range entries { // the last change first: which call saw it depends on who was faster
		for _, c := range e.Changes {
			if filepath.Base(c.Path) != "a.txt" || c.After.SHA256 != ledger.Describe([]byte("EVIL! CONTENT\n"), 0).SHA256 {
				continue
			}
			if was, err := r.ledger.Content(c.Before); err != nil || string(was) != "OWNER CONTENT\n" {
				t.Errorf("%q %v", was, err)
			}
			return
		}
	}
	t.Error("no entry has the change")
}

func lacksPython(t *testing.T) {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "python3")); err == nil {
			return
		}
	}
	lacks(t, "python3 is not installed")
}

func (r *rig) waitFor(name string) {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(r.path(name)); err == nil {
			return
		}
		if time.Now().After(end) {
			r.t.Fatal(name, "did not come")
		}
	}
}

// What was followed before a command had git ignore it is followed further.
func TestIgnoredInOneCallChangedInTheNext(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"src/main.c": "mine\n", "log": "l\n"}})
	r.call("Bash", "command", "printf 'src/\nlog\n' > .gitignore").ok()
	e := r.entry(r.call("Bash", "command", "echo evil > src/main.c; echo x > src/new.c; rm log").ok())
	if got := fmt.Sprint(r.changed(e)); got != "[log src/main.c]" || fmt.Sprint(e.Ignored) != "[src]" {
		t.Fatalf("changed %s, ignored %v", got, e.Ignored)
	}
	problem, err := r.undo(e.ID)
	if problem != "" || err != nil {
		t.Fatal(problem, err)
	}
	r.holds("src/main.c", "mine\n")
	r.holds("log", "l\n")
}

// More ignored paths than are listed are counted.
func TestManyIgnored(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{".gitignore": "*.log\n"}})
	e := r.entry(r.call("Bash", "command", "for i in {1..230}; do : > $i.log; done").ok())
	if len(e.Ignored) != 200 || e.IgnoredMore != 30 {
		t.Errorf("%d listed, %d more", len(e.Ignored), e.IgnoredMore)
	}
}

// An undo of a file that is too large to be kept destroys nothing that came later.
func TestUndoOfLargeFiles(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	id := r.call("Bash", "command", "head -c 12000000 /dev/zero > big").ok().Structured["change"].(string)
	big := bytes.Repeat([]byte{0}, 12_000_000)
	copy(big, "the owner's")
	r.must(os.WriteFile(r.path("big"), big, 0o644))
	if problem, _ := r.undo(id); !strings.Contains(problem, "changed since") {
		t.Errorf("%q", problem)
	}
	r.must(os.WriteFile(r.path("big"), make([]byte, 12_000_000), 0o644))
	if problem, err := r.undo(id); problem != "" || err != nil {
		t.Fatal(problem, err)
	}
	r.absent("big")
	// The undo can't be taken back: what it removed was not kept, and it says so.
	entries, _, err := r.ledger.Entries(1)
	r.must(err)
	if problem, _ := r.undo(entries[0].ID); !strings.Contains(problem, "more than") {
		t.Errorf("%q", problem)
	}
	r.absent("big")
	// Of what is even larger nothing is known.
	huge := r.call("Bash", "command", "truncate -s 300M huge").ok().Structured["change"].(string)
	if problem, _ := r.undo(huge); !strings.Contains(problem, "not known") {
		t.Errorf("%q", problem)
	}
}

// A file becomes a folder, and the other way round.
func TestUndoOfKinds(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"a": "a\n", "d/x": "x\n", "d/y/z": "z\n", "e/f": "f\n"}})
	id := r.call("Bash", "command", "rm a; mkdir a; echo n > a/n; rm -r d; echo d > d; rm -r e; ln -s a e").ok().Structured["change"].(string)
	problem, err := r.undo(id)
	if err != nil {
		t.Fatal(err)
	}
	if problem != "" { // a link stands where a folder was: that is told, and nothing is done
		r.holds("a/n", "n\n")
		if !strings.Contains(problem, "link") {
			t.Fatal(problem)
		}
		r.must(os.Remove(r.path("e")))
		id = r.call("Bash", "command", "rm -r a d; echo a > a; mkdir -p d/y; echo x > d/x; echo z > d/y/z").ok().Structured["change"].(string)
		if problem, err := r.undo(id); problem != "" || err != nil {
			t.Fatal(problem, err)
		}
		r.holds("a/n", "n\n")
		r.holds("d", "d\n")
		return
	}
	r.holds("a", "a\n")
	r.holds("d/y/z", "z\n")
	r.holds("e/f", "f\n")
}

// The room of copies that are of no use any more is used again.
func TestCopiesAreRepacked(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"keep": "mine\n"}})
	workspace.MostCopies(r.server, 1<<20)
	for i := range 12 {
		r.call("Bash", "command", fmt.Sprintf("head -c 200000 /dev/zero | tr '\\0' '%c' > churn", 'a'+i)).ok()
	}
	if n := workspace.Copies(r.server); n > 1<<20 {
		t.Errorf("%d bytes", n)
	}
	e := r.entry(r.call("Bash", "command", "echo evil > keep; echo x > churn").ok())
	for _, c := range e.Changes {
		if !c.Before.Kept {
			t.Errorf("%s was not kept: %s", c.Path, c.Before.Why)
		}
	}
	if problem, err := r.undo(e.ID); problem != "" || err != nil {
		t.Fatal(problem, err)
	}
	r.holds("keep", "mine\n")
}

// What is ignored tells nothing of a file that may not be read.
func TestIgnoreFollowsNoLink(t *testing.T) {
	r := newRig(t, setup{bash: true, user: `{"permissions":{"allow":["Bash"],"deny":["Read(.env)"]}}`, files: map[string]string{".env": "4711\n", "sub/4711": "", "sub/4712": ""}})
	for _, at := range []string{".gitignore", "sub/.gitignore"} {
		to := strings.Repeat("../", strings.Count(at, "/")) + ".env"
		r.must(os.Symlink(to, r.path(at)))
	}
	r.call("Glob", "pattern", "*", "path", "sub").ok("sub/4711", "sub/4712")
	r.call("Glob", "pattern", "**/47*").ok("sub/4711", "sub/4712")
}

// Many patterns take no long time and no large memory: what is over a limit is not read.
func TestManyPatterns(t *testing.T) {
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("n/n/n/f%d", i)] = ""
	}
	lines := strings.Repeat("*[a-z]*[0-9]*x\n", 4000)
	for _, at := range []string{"", "n/", "n/n/", "n/n/n/"} {
		files[at+".gitignore"] = lines
	}
	files[".gitignore"] = "f7\n"
	r := newRig(t, setup{bash: true, user: allowBash, files: files})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	r.call("Bash", "command", "true").ok()
	r.call("Glob", "pattern", "n/n/n/f8").ok("f8")
	r.call("Glob", "pattern", "n/n/n/f7").ok("No file")
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20 || time.Since(begun) > 10*time.Second {
		t.Errorf("%d MB, %s", used>>20, time.Since(begun))
	}
}
