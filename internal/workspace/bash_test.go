package workspace_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

const allowBash = `{"permissions":{"allow":["Bash"]}}`

func TestBash(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"a.txt": "old\n"}})
	a := r.call("Bash", "command", "pwd; echo out; echo err >&2; cat; exit 3").fails(r.dir+"\nout\nerr\n", "(exit code 3)")
	if a.Structured["exit_code"] != 3.0 || a.Structured["timed_out"] != false || a.Structured["truncated"] != false {
		t.Errorf("%+v", a.Structured)
	}
	r.call("Bash", "command", "cd /; X=1").ok()
	r.call("Bash", "command", "pwd; echo [$X]").ok(r.dir + "\n[]")
	r.call("Bash", "command", "kill -9 $$").fails("137")
}

// The environment is an allow-list, and no descriptor is open.
func TestBashEnvironment(t *testing.T) {
	t.Setenv("MY_SECRET_TOKEN", "s3cret")
	t.Setenv("PATH", ".:bin:"+os.Getenv("PATH"))
	r := newRig(t, setup{bash: true, user: allowBash})
	a := r.call("Bash", "command", "env; ls /proc/self/fd; cat /proc/1/environ").ok()
	if strings.Contains(a.text(), "s3cret") || strings.Contains(a.text(), "PATH=.:") {
		t.Errorf("%s", a.text())
	}
}

func TestBashTimeout(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	begun := time.Now()
	a := r.call("Bash", "command", "echo begun; (setsid sleep 4711.5 &) ; sleep 4711.6", "timeout", 300).fails("begun", "ran out of time")
	if a.Structured["timed_out"] != true || a.Structured["exit_code"] != nil || time.Since(begun) > 5*time.Second {
		t.Errorf("%+v after %s", a.Structured, time.Since(begun))
	}
	gone(t, "4711.")
}

// gone wants that within a second no process has the word in its command line.
func gone(t *testing.T, word string) {
	t.Helper()
	if left := eventually(func() []string { return processes(word) }); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// eventually asks for a second, until nothing is left.
func eventually(what func() []string) (left []string) {
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if left = what(); len(left) == 0 {
			return nil
		}
	}
	return left
}

func processes(word string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range all {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), word) && !strings.Contains(string(b), "bwrap") {
			found = append(found, strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return found
}

// doubleFork is a command with a child that left its group and its session, and a
// grandchild whose parent is gone.
func doubleFork(word string) string {
	return fmt.Sprintf("(setsid bash -c 'sleep %s1 & disown; exec sleep %s2' & ) ; nohup setsid sleep %s3 >/dev/null 2>&1 & sleep %s4", word, word, word, word)
}

func TestCancelEndsEverything(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan answer, 1)
	go func() { done <- r.raw(ctx, "Bash", fmt.Sprintf(`{"command":%q}`, doubleFork("815."))) }()
	running(t, "815.", 4)
	cancel()
	begun := time.Now()
	gone(t, "815.")
	if a := <-done; fault.KindOf(a.err) != fault.Cancelled || time.Since(begun) > 2*time.Second {
		t.Errorf("%v, %v after %s", a.err, a.text(), time.Since(begun))
	}
}

// running waits until so many processes have the word in their command line.
func running(t *testing.T, word string, n int) {
	t.Helper()
	for range 500 {
		if len(processes("sleep\x00"+word)) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond) // other programs are waited for
	}
	t.Fatalf("of %d, these run: %q", n, processes(word))
}

func TestCloseEndsEverything(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	r.call("Bash", "command", doubleFork("816."), "run_in_background", true).ok("bash_1")
	running(t, "816.", 4)
	r.server.Close()
	gone(t, "816.")
	if a := r.call("Read", "file_path", "x"); fault.KindOf(a.err) != fault.Unavailable && a.refusal == nil {
		t.Errorf("a closed server answers: %+v", a)
	}
}

func TestLongOutput(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	a := r.call("Bash", "command", "seq 1 100000").ok("1\n2\n3\n", "99999\n100000", "are left out here; the whole is in ")
	if n := len([]rune(a.Structured["output"].(string))); n > 31_000 || a.Structured["truncated"] != true {
		t.Errorf("%d characters, truncated %v", n, a.Structured["truncated"])
	}
	file, _ := a.Structured["output_file"].(string)
	r.call("Read", "file_path", file, "offset", 50000, "limit", 1).ok("50000→50000")
	r.call("Read", "file_path", filepath.Join(filepath.Dir(file), "9.txt")).refused(dispatch.BySandbox)
	r.call("Write", "file_path", file, "content", "x").refused(dispatch.BySandbox)
	r.call("Bash", "command", "cat "+file).fails("No such file")
	short := r.call("Bash", "command", "printf 'x%.0s' $(seq 1 40000)").ok("the whole is in")
	if short.Structured["output_file"] == nil {
		t.Errorf("%+v", short.Structured)
	}
}

func TestBackground(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	for i := range 8 {
		r.call("Bash", "command", "echo begun; sleep 30; echo ended", "run_in_background", true).ok(fmt.Sprintf("bash_%d", i+1))
	}
	r.call("Bash", "command", "true", "run_in_background", true).fails("8 commands run in the background")
	r.call("KillShell", "shell_id", "bash_2").ok("killed")
	r.call("Bash", "command", "echo one; echo two; sleep 0.2; echo three; exit 4", "run_in_background", true).ok("bash_9")
	all := ""
	for range 200 {
		a := r.call("BashOutput", "bash_id", "bash_9", "filter", "^t").ok()
		all += a.Structured["output"].(string)
		if a.Structured["status"] == "exited" {
			if a.Structured["exit_code"] != 4.0 || a.Structured["change"] == nil {
				t.Errorf("%+v", a.Structured)
			}
			break
		}
		time.Sleep(20 * time.Millisecond) // another program is waited for
	}
	if all != "two\nthree\n" {
		t.Errorf("the output was %q", all)
	}
	r.call("BashOutput", "bash_id", "bash_77").fails("no background command of that id")
	r.call("KillShell", "shell_id", "1").fails("no background command")
	r.call("BashOutput", "bash_id", "bash_1", "filter", "(").fails("no regular expression")
}

// Of commands that have ended no descriptor is kept, and their output can still be read.
func TestEndedCommandsKeepNothingOpen(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not list descriptors")
		}
		return len(list)
	}
	run := func(n int) {
		id := fmt.Sprintf("bash_%d", n)
		r.call("Bash", "command", "seq 100000; echo THE END", "run_in_background", true).ok()
		for range 500 {
			if strings.Contains(r.call("BashOutput", "bash_id", id, "filter", "NOTHING").text(), "exited") {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("%s does not end", id)
	}
	run(1)
	before := open()
	for n := 2; n <= 7; n++ {
		run(n)
	}
	if after := open(); after > before+2 {
		t.Errorf("%d descriptors are open, and %d were", after, before)
	}
	a := r.call("Bash", "command", "seq 100000; echo THE END").ok("1\n2\n3\n", "THE END")
	if file, _ := a.Structured["output_file"].(string); file == "" {
		t.Errorf("no file: %v", a.Structured)
	} else {
		r.call("Read", "file_path", file, "limit", 2).ok("1→1", "2→2")
	}
}

// What a command changed is written down by comparing the tree, and can be undone.
func TestLedgerOfCommands(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{
		"keep": "k\n", "change": "old\n", "remove/x": "x\n", "touch": "t\n", ".gitignore": "*.log\nout/\n", "out/big": "1", "a.log": "1",
	}})
	id := r.call("Bash", "command", "echo new > change; rm -r remove; mkdir made; echo m > made/m; ln -s keep link; touch touch; echo l > b.log; chmod 700 keep").ok().Structured["change"].(string)
	e, err := r.ledger.Entry(id)
	r.must(err)
	got := map[string]string{}
	for _, c := range e.Changes {
		rel, _ := filepath.Rel(r.dir, c.Path)
		got[rel] = string(c.Before.Kind) + " to " + string(c.After.Kind)
	}
	want := map[string]string{
		"change": "file to file", "remove": "folder to absent", "remove/x": "file to absent", "made": "absent to folder", "made/m": "absent to file",
		"link": "absent to link", "keep": "file to file",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("changed %v\nwant    %v", got, want)
	}
	if fmt.Sprint(e.Ignored) != "[b.log]" {
		t.Errorf("ignored %v", e.Ignored)
	}
	for _, c := range e.Changes {
		if c.Before.Kind == ledger.File {
			if _, err := r.ledger.Content(c.Before); err != nil {
				t.Errorf("%s: %v", c.Path, err)
			}
		}
	}
}

// Denied and protected paths that a command makes are moved away and told, whatever
// their names lead to.
func TestWithheld(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		lacks(t, "git is not installed")
	}
	r := newRig(t, setup{bash: true, user: `{"permissions":{"allow":["Bash"],"deny":["Read(.env*)"]}}`, files: map[string]string{"repo/.git/HEAD": "ref: refs/heads/main\n", "repo/.git/objects/x": ""}})
	script := "import os\nos.makedirs('d/.vscode'); open('d/.vscode/tasks.json','w').write('x')\nopen('.env.local','w').write('KEY=1')\nos.symlink('/etc','.idea')\nopen('repo/.git/config','w').write('x')\nopen('repo/.git/objects/y','w').write('x')\nopen('ok','w').write('x')\n"
	r.put("make.py", script)
	if _, err := exec.LookPath("python3"); err != nil {
		lacks(t, "python3 is not installed")
	}
	a := r.call("Bash", "command", "python3 make.py && git init -q sub")
	for _, name := range []string{"d/.vscode", ".env.local", ".idea", "repo/.git/config", "sub/.git"} {
		r.absent(name)
		if !strings.Contains(fmt.Sprint(a.Structured["withheld"]), name) {
			t.Errorf("%s was not told: %v, %s", name, a.Structured["withheld"], a.text())
		}
	}
	r.holds("ok", "x")
	r.holds("repo/.git/objects/y", "x")
	kept, _ := filepath.Glob(filepath.Join(r.session, "withheld", "*"))
	if len(kept) != 5 {
		t.Errorf("kept: %v", kept)
	}
	r.call("Read", "file_path", kept[0]).refused(dispatch.BySandbox)
}

// What may not be read is masked in a command, and what may not be written is read-only.
func TestBashIsHeldToTheRules(t *testing.T) {
	r := newRig(t, setup{
		bash: true, trusted: true, mode: "bypassPermissions", files: map[string]string{".env": "KEY=1\n", "gen/a.lock": "l\n", "secret/k": "SECRET\n"},
		contract: "version: 1\nrules:\n  - {glob: \".env*\", read: deny}\n  - {glob: \"*.lock\", write: deny}\n  - {glob: secret, read: deny}\n",
	})
	a := r.call("Bash", "command", `f=.en; cat ${f}v; cat sec*/k; cp -r . /tmp/copy; grep -r SECRET /tmp/copy; for l in gen/*; do echo x > $l; done; mv secret elsewhere; true`)
	if a.refusal == nil && (strings.Contains(a.text(), "KEY=1") || strings.Contains(a.text(), "SECRET\n")) {
		t.Errorf("%s", a.text())
	}
	r.holds("gen/a.lock", "l\n")
	r.holds("secret/k", "SECRET\n")
}

// Without a sandbox there is no Bash, in the list or by its name.
func TestNoShell(t *testing.T) {
	r := newRig(t, setup{user: allowBash, noRg: true})
	for _, tool := range []string{"Bash", "BashOutput", "KillShell", "Grep"} {
		a := r.call(tool, "command", "touch made")
		if a.refusal == nil || a.refusal.Class != dispatch.ToolUnknown {
			t.Fatalf("%s: %+v", tool, a)
		}
		if want := "The tools here are Read, Write, Edit, Glob. " + tool + " is not offered here: the test has none."; a.refusal.Remedy != want {
			t.Errorf("%q, want %q", a.refusal.Remedy, want)
		}
	}
	if a := r.call("ReadFile"); a.refusal == nil || !strings.HasSuffix(a.refusal.Text, `did you mean "Read"?`) || a.refusal.Remedy != "The tools here are Read, Write, Edit, Glob." {
		t.Errorf("%+v", a.refusal)
	}
	r.absent("made")
}

// What a command hides from the time and size of a file is written down and undone all
// the same; what it only touches is not.
func TestHiddenChange(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"a.txt": "old\n", "b.txt": "same\n"}})
	r.call("Bash", "command", "true").ok()
	a := r.call("Bash", "command", "touch -r a.txt t; printf 'new\\n' >a.txt; touch -r t a.txt; rm t; touch b.txt; chmod 600 b.txt; chmod 644 b.txt").ok()
	e, err := r.ledger.Entry(fmt.Sprint(a.Structured["change"]))
	r.must(err)
	if len(e.Changes) != 1 || e.Changes[0].Path != r.path("a.txt") {
		t.Fatalf("%+v", e.Changes)
	}
	if was, err := r.ledger.Content(e.Changes[0].Before); err != nil || string(was) != "old\n" {
		t.Errorf("%q %v", was, err)
	}
}

// Of many background commands that ended only the last are remembered.
func TestOldBackgroundCommandsAreForgotten(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	for i := range 36 {
		r.call("Bash", "command", fmt.Sprintf("echo out%d", i+1), "run_in_background", true).ok()
		id := fmt.Sprintf("bash_%d", i+1)
		if left := eventually(func() []string {
			if strings.Contains(r.call("BashOutput", "bash_id", id).ok().text(), "running") {
				return []string{id}
			}
			return nil
		}); left != nil {
			t.Fatal(left)
		}
	}
	r.call("BashOutput", "bash_id", "bash_1").fails("no background command")
	r.call("BashOutput", "bash_id", "bash_36").ok("exited")
	r.call("BashOutput", "bash_id", "bash_8").ok("exited")
}
