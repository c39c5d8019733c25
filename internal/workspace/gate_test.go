package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/workspace"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// A server that lacks a part of its gate is none.
func TestNoServerWithoutItsGate(t *testing.T) {
	if _, err := workspace.New(workspace.Options{}); err == nil {
		t.Error("a server of nothing was made")
	}
	r := newRig(t, setup{})
	good := r.options
	for name, spoil := range map[string]func(*workspace.Options){
		"policy": func(o *workspace.Options) { o.Policy = nil }, "judge": func(o *workspace.Options) { o.Judge = nil },
		"hooks": func(o *workspace.Options) { o.Hooks = nil }, "ledger": func(o *workspace.Options) { o.Ledger = nil },
		"sandbox": func(o *workspace.Options) { o.Shell = workspace.Shell{} }, "search": func(o *workspace.Options) { o.Search = workspace.Search{} },
		"session": func(o *workspace.Options) { o.Session = "" }, "folder": func(o *workspace.Options) { o.Folder = "" },
		"roots": func(o *workspace.Options) { o.Roots = nil }, "a root": func(o *workspace.Options) { o.Roots = []string{filepath.Join(r.dir, "gone")} },
	} {
		o := good
		spoil(&o)
		if s, err := workspace.New(o); err == nil {
			s.Close()
			t.Errorf("a server without its %s was made", name)
		}
	}
}

// permit admits a call as the desk does.
func (r *rig) permit(id, tool string) (dispatch.Permit, dispatch.Granted) {
	r.t.Helper()
	p, refusal := dispatch.Admit(r.server.Tools().Catalogue(), dispatch.Request{
		CallID: id, Caller: dispatch.Local(), Face: dispatch.Face{Server: "workspace"}, Kind: approval.Tool, Name: tool,
	})
	if refusal != nil {
		r.t.Fatal(refusal)
	}
	g, _ := p.Granted()
	return p, g
}

// Nothing runs without a permit and a ruling on just these arguments, each used once.
func TestNothingRunsWithoutARuling(t *testing.T) {
	r := newRig(t, setup{mode: acceptEdits})
	args := `{"file_path":"made","content":"x"}`
	params := func(args string) dispatch.Outgoing {
		return dispatch.Outgoing{Params: []byte(`{"name":"Write","arguments":` + args + `}`)}
	}
	if _, err := r.server.Call(t.Context(), dispatch.Permit{}, params(args)); err == nil {
		t.Error("the zero permit was taken")
	}
	p, _ := r.permit("1", "Write")
	if _, err := r.server.Call(t.Context(), p, params(args)); err == nil {
		t.Error("it ran without a ruling")
	}
	for i, other := range []string{`{"file_path":"made","content":"y"}`, `{"file_path":"made" ,"content":"x"}`, `{}`, `null`} {
		p, g := r.permit(fmt.Sprint("other", i), "Write")
		if _, no := r.server.Rule(t.Context(), g, []byte(args)); no != nil {
			t.Fatal(no)
		}
		if _, err := r.server.Call(t.Context(), p, params(other)); err == nil {
			t.Errorf("it ran with other arguments: %s", other)
		}
	}
	// A ruling on one tool is none on another of the same call.
	p, g := r.permit("2", "Write")
	g.Tool = "Read"
	if _, no := r.server.Rule(t.Context(), g, []byte(`{"file_path":"made"}`)); no != nil {
		t.Fatal(no)
	}
	if _, err := r.server.Call(t.Context(), p, params(`{"file_path":"made"}`)); err == nil {
		t.Error("it ran by the ruling on another tool")
	}
	r.absent("made")
	p, g = r.permit("3", "Write")
	if _, no := r.server.Rule(t.Context(), g, []byte(args)); no != nil {
		t.Fatal(no)
	}
	if _, no := r.server.Rule(t.Context(), g, []byte(args)); no == nil {
		t.Error("two rulings were made on one call")
	}
	if _, err := r.server.Call(t.Context(), p, params(args)); err != nil {
		t.Fatal(err)
	}
	r.holds("made", "x")
	if _, err := r.server.Call(t.Context(), p, params(args)); err == nil {
		t.Error("a permit was used twice")
	}
}

// undo plans and carries out an undo with the settings in force.
func (r *rig) undo(id string) (problem string, err error) {
	r.t.Helper()
	set, err := settings.Load(r.o)
	r.must(err)
	p, err := set.Policy(true)
	r.must(err)
	files, err := workspace.OpenFiles(set.Roots, p, settings.Disk{})
	r.must(err)
	defer files.Close()
	plan, err := r.ledger.Plan(id, files)
	if err != nil || plan.Problem() != "" {
		return plan.Problem(), err
	}
	_, err = r.ledger.Undo(plan, files)
	return "", err
}

// What a command did is taken back as a whole.
func TestUndoOfACommand(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"keep": "k\n", "dir/a": "a\n", "dir/sub/b": "b\n"}})
	r.must(os.Chmod(r.path("keep"), 0o640))
	r.must(os.Symlink("keep", r.path("link")))
	id := r.call("Bash", "command", "rm -r dir link; echo x > keep; chmod 755 keep; mkdir -p new/deep; echo n > new/deep/f").ok().Structured["change"].(string)
	if problem, err := r.undo(id); problem != "" || err != nil {
		t.Fatal(problem, err)
	}
	r.holds("keep", "k\n")
	r.holds("dir/a", "a\n")
	r.holds("dir/sub/b", "b\n")
	r.absent("new")
	if target, err := os.Readlink(r.path("link")); err != nil || target != "keep" {
		t.Errorf("%q, %v", target, err)
	}
	if info, _ := os.Stat(r.path("keep")); info.Mode().Perm() != 0o640 {
		t.Errorf("%v", info.Mode())
	}
}

// A name need not be UTF-8, and neither need what a link leads to.
func TestUndoOfAnyName(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{"a": "a\n"}})
	if err := os.Symlink("to\xfe", r.path("l\xff")); err != nil {
		t.Skip("this file system takes no such names")
	}
	id := r.call("Bash", "command", `rm a l*; echo x > $'z\xff'`).ok().Structured["change"].(string)
	if problem, err := r.undo(id); problem != "" || err != nil {
		t.Fatal(problem, err)
	}
	r.holds("a", "a\n")
	r.absent("z\xff")
	if target, err := os.Readlink(r.path("l\xff")); err != nil || target != "to\xfe" {
		t.Errorf("%q, %v", target, err)
	}
}

// A command that has git ignore what it changes, or no longer ignore what was there,
// can be undone all the same: nothing is lost, and nothing that it did not make removed.
func TestUndoOfAnIgnoredChange(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash, files: map[string]string{
		"important": "mine\n", "dir/a": "a\n", "dir/b": "b\n", "sub/.gitignore": "out/\nlog\n", "sub/out/x": "x\n", "sub/log": "l\n",
	}})
	id := r.call("Bash", "command", "echo hacked > important; echo hacked > dir/a; printf 'important\ndir\n' > .gitignore; rm sub/.gitignore").ok().Structured["change"].(string)
	e, err := r.ledger.Entry(id)
	r.must(err)
	for _, c := range e.Changes {
		rel, _ := filepath.Rel(r.dir, c.Path)
		want := map[string]ledger.Kind{"important": ledger.File, "dir/a": ledger.File, ".gitignore": ledger.File, "sub/.gitignore": ledger.Absent}[rel]
		if c.After.Kind != want {
			t.Errorf("%s is %q now, and should be %q", rel, c.After.Kind, want)
		}
	}
	if len(e.Changes) != 4 {
		t.Errorf("%d changes", len(e.Changes))
	}
	if len(e.Ignored) != 0 {
		t.Errorf("ignored: %v", e.Ignored)
	}
	if problem, err := r.undo(id); problem != "" || err != nil {
		t.Fatal(problem, err)
	}
	for name, text := range map[string]string{"important": "mine\n", "dir/a": "a\n", "dir/b": "b\n", "sub/.gitignore": "out/\nlog\n", "sub/out/x": "x\n", "sub/log": "l\n"} {
		r.holds(name, text)
	}
	r.absent(".gitignore")
}

// An undo keeps to the rules: what may not be written is not, whoever asks; and what was
// changed since stays.
func TestUndoKeepsToTheRules(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"a": "old\n", "b": "old\n"}, mode: acceptEdits})
	ids := map[string]string{}
	for _, name := range []string{"a", "b"} {
		r.call("Read", "file_path", name).ok()
		ids[name] = r.call("Write", "file_path", name, "content", "new\n").ok().Structured["change"].(string)
	}
	r.must(os.WriteFile(filepath.Join(r.o.Config, "settings.json"), []byte(`{"permissions":{"deny":["Edit(a)"]}}`), 0o600))
	if problem, err := r.undo(ids["a"]); !strings.Contains(problem, "may not be written") {
		t.Errorf("%q, %v", problem, err)
	}
	r.holds("a", "new\n")
	r.put("b", "mine\n")
	if problem, err := r.undo(ids["b"]); !strings.Contains(problem, "changed since") {
		t.Errorf("%q, %v", problem, err)
	}
	r.holds("b", "mine\n")
}

// Commands that run beside each other are said to, for their changes can't be told apart.
func TestSharedChanges(t *testing.T) {
	r := newRig(t, setup{bash: true, user: allowBash})
	r.call("Bash", "command", "sleep 1; echo a > a", "run_in_background", true).ok()
	id := r.call("Bash", "command", "echo b > b").ok().Structured["change"].(string)
	if e, err := r.ledger.Entry(id); err != nil || !e.Shared {
		t.Errorf("%+v, %v", e, err)
	}
	for range 300 {
		if a := r.call("BashOutput", "bash_id", "bash_1").ok(); a.Structured["status"] == "exited" {
			e, err := r.ledger.Entry(a.Structured["change"].(string))
			if err != nil || !e.Shared || len(e.Changes) != 2 {
				t.Errorf("%+v, %v", e, err)
			}
			return
		}
		time.Sleep(20 * time.Millisecond) // another program is waited for
	}
	t.Error("the command did not end")
}
