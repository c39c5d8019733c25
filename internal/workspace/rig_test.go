package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/sandbox"
	"github.com/holdfast-mcp/holdfast/internal/workspace"
	"github.com/holdfast-mcp/holdfast/internal/workspace/hooks"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	code := m.Run()
	sandbox.Quit()
	os.Exit(code)
}

// rig is a workspace with every real part, and its owner's folders.
type rig struct {
	t       testing.TB
	dir     string // the workspace
	home    string
	session string // the session's folder
	o       settings.Options
	server  *workspace.Server
	desk    *call.Desk
	ledger  *ledger.Ledger
	journal *journal
	options workspace.Options // of the server
}

// journal is an audit in memory.
type journal struct {
	mu      sync.Mutex
	entries []record.Entry
	sick    error
}

func (j *journal) Append(_ context.Context, entries ...record.Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entries...)
	return j.sick
}

func (j *journal) Enqueue(e record.Entry) { _ = j.Append(context.Background(), e) }

func (j *journal) Healthy() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sick
}

// setup is what a rig is made with; files are below the workspace.
type setup struct {
	user     string // settings of the user
	contract string
	files    map[string]string
	mode     string
	bash     bool // with a sandbox
	off      bool // with --sandbox off
	noRg     bool
	trusted  bool
}

func newRig(t testing.TB, s setup) *rig {
	t.Helper()
	base := t.TempDir()
	if real, err := filepath.EvalSymlinks(base); err == nil {
		base = real
	}
	r := &rig{t: t, dir: filepath.Join(base, "project"), home: filepath.Join(base, "home"), journal: &journal{}}
	r.o = settings.Options{
		Dir: r.dir, Home: r.home, Managed: filepath.Join(base, "managed"), Config: filepath.Join(r.home, ".config", "holdfast"),
		State: filepath.Join(r.home, ".local", "state", "holdfast"), Mode: s.mode,
	}
	if s.off {
		r.o.Sandbox = "off"
	}
	r.must(os.MkdirAll(r.o.Config, 0o755))
	r.must(os.MkdirAll(r.dir, 0o755))
	if s.user != "" {
		r.must(os.WriteFile(filepath.Join(r.o.Config, "settings.json"), []byte(s.user), 0o600))
	}
	if s.contract != "" {
		r.must(os.WriteFile(filepath.Join(r.o.Config, "contract.yaml"), []byte(s.contract), 0o600))
	}
	for name, text := range s.files {
		r.put(name, text)
	}
	if s.trusted {
		review, err := settings.ReadReview(r.o)
		r.must(err)
		r.must(review.Trust(time.Now()))
	}
	r.open(s)
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// open starts the server.
// lacks skips a test that needs what is not here, and fails it where that must be here.
func lacks(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("HOLDFAST_REQUIRE_SANDBOX") != "" {
		t.Fatal(what)
	}
	t.Skip("SKIPPED: " + what)
}

func (r *rig) open(s setup) {
	r.t.Helper()
	set, err := settings.Load(r.o)
	r.must(err)
	base := workspace.Confinement(set, os.Environ())
	shell := workspace.NoShell("the test has none")
	switch {
	case s.off:
		shell = workspace.RunIn(sandbox.Unconfined(), base)
	case s.bash:
		box, d, err := sandbox.Choose(r.t.Context(), base)
		if err != nil {
			lacks(r.t, fmt.Sprintf("no sandbox here: %v", d.Causes))
		}
		shell = workspace.RunIn(box, base)
	}
	search := workspace.NoSearch("the test has none")
	if rg, err := exec.LookPath("rg"); err == nil && !s.noRg {
		search = workspace.Ripgrep(rg)
	}
	p, err := set.Policy(s.bash)
	r.must(err)
	h, err := hooks.New(set.Hooks, set.Dir, "session", set.Mode)
	r.must(err)
	j, err := judge.New(p, settings.Disk{}, h)
	r.must(err)
	r.ledger, err = ledger.Open(filepath.Join(r.o.State, "ledger"), time.Now)
	r.must(err)
	r.session = filepath.Join(r.o.State, "session")
	log := slog.New(slog.NewTextHandler(r.t.Output(), nil))
	r.options = workspace.Options{
		Name: "workspace", Session: "session", Folder: r.session, Roots: set.Roots, Policy: p, Judge: j, Hooks: h,
		Shell: shell, Search: search, Ledger: r.ledger, Now: time.Now, Log: log,
	}
	r.t.Cleanup(r.ledger.Close)
	r.serve()
}

// second is another session on the same workspace.
func (r *rig) second(o workspace.Options) *rig {
	other := *r
	other.options = o
	other.serve()
	return &other
}

func (r *rig) serve() {
	r.t.Helper()
	var err error
	r.server, err = workspace.New(r.options)
	r.must(err)
	r.desk, err = call.New(call.Options{
		Tools: r.server.Tools(), Rules: r.server, Upstream: r.server, Journal: r.journal,
		MaxArguments: judge.MaxArguments, MaxResult: 64 << 20, Now: time.Now, Log: r.options.Log,
	})
	r.must(err)
	r.t.Cleanup(r.server.Close)
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

func (r *rig) put(name, text string) {
	r.t.Helper()
	r.must(os.MkdirAll(filepath.Dir(r.path(name)), 0o755))
	r.must(os.WriteFile(r.path(name), []byte(text), 0o644))
}

func (r *rig) holds(name, want string) {
	r.t.Helper()
	got, err := os.ReadFile(r.path(name))
	if err != nil || string(got) != want {
		r.t.Errorf("%s holds %q (%v), not %q", name, got, err, want)
	}
}

func (r *rig) absent(name string) {
	r.t.Helper()
	if _, err := os.Lstat(r.path(name)); !os.IsNotExist(err) {
		r.t.Errorf("%s is there (%v)", name, err)
	}
}

// answer is what a call came to.
type answer struct {
	t       testing.TB
	Content []struct {
		Type, Text, Data, MimeType string
	}
	Structured map[string]any `json:"structuredContent"`
	IsError    bool
	refusal    *dispatch.Refusal
	err        error
}

func (a answer) text() string {
	var all []string
	for _, c := range a.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

// call calls a tool; pairs are its arguments.
func (r *rig) call(tool string, pairs ...any) answer {
	r.t.Helper()
	args := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(args)
	r.must(err)
	return r.raw(r.t.Context(), tool, string(b))
}

func (r *rig) raw(ctx context.Context, tool, args string) answer {
	r.t.Helper()
	a := answer{t: r.t}
	var reply dispatch.Reply
	reply, a.refusal, a.err = r.desk.Do(ctx, call.Request{
		Caller: dispatch.Local(), Face: dispatch.Face{Server: "workspace"}, Name: tool,
		Params: fmt.Appendf(nil, `{"name":%q,"arguments":%s}`, tool, args),
	})
	if reply.Result != nil {
		r.must(json.Unmarshal(reply.Result, &a))
	}
	return a
}

// ok wants a result that is no error, with these texts in it.
func (a answer) ok(texts ...string) answer {
	a.t.Helper()
	if a.refusal != nil || a.err != nil || a.IsError {
		a.t.Fatalf("refused %v, error %v, result %q", a.refusal, a.err, a.text())
	}
	return a.says(texts...)
}

// fails wants a result that is an error.
func (a answer) fails(texts ...string) answer {
	a.t.Helper()
	if a.refusal != nil || a.err != nil || !a.IsError {
		a.t.Fatalf("no failure: refused %v, error %v, result %q", a.refusal, a.err, a.text())
	}
	return a.says(texts...)
}

func (a answer) says(texts ...string) answer {
	a.t.Helper()
	for _, want := range texts {
		if !strings.Contains(a.text(), want) {
			a.t.Errorf("%q does not say %q", a.text(), want)
		}
	}
	return a
}

// refused wants a refusal of the stage, with these texts in it.
func (a answer) refused(stage dispatch.Reason, texts ...string) {
	a.t.Helper()
	if a.refusal == nil {
		a.t.Fatalf("not refused: error %v, result %q", a.err, a.text())
	}
	if len(a.refusal.Reasons) < 2 || a.refusal.Reasons[1] != stage {
		a.t.Errorf("refused for %v, not %v: %s", a.refusal.Reasons, stage, a.refusal.Text)
	}
	for _, want := range texts {
		if !strings.Contains(a.refusal.Text+" "+a.refusal.Remedy, want) {
			a.t.Errorf("%q does not say %q", a.refusal.Text, want)
		}
	}
}
