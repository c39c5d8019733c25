package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/gateway"
	"github.com/holdfast-mcp/holdfast/internal/sandbox"
	"github.com/holdfast-mcp/holdfast/internal/wire"
	"github.com/holdfast-mcp/holdfast/internal/workspace"
	"github.com/holdfast-mcp/holdfast/internal/workspace/hooks"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// Limits of a workspace's calls. A file of 10 MiB becomes longer as JSON, and longer
// again as an image.
const (
	workspaceArguments = judge.MaxArguments
	workspaceResult    = 64 << 20
	workspaceMessage   = 64 << 20
)

// Names in the state directory.
const (
	workspacesName = "workspaces"
	sessionsName   = "sessions"
	ledgerName     = "ledger"
	auditName      = "audit"
	withheldName   = "withheld" // of a session, in its folder
)

// oldSession is how long what was moved away by a session is kept.
const oldSession = ledger.MaxAge

// workspaceJournal is the audit that a workspace is served with.
type workspaceJournal struct {
	call.Journal
	place string // for the banner
	close func() error
}

// openedWorkspace is a workspace with everything wired, for one connection.
type openedWorkspace struct {
	settings  *settings.Settings
	name      string
	session   string
	state     string // of this workspace, with its ledger and its sessions
	server    *workspace.Server
	ledger    *ledger.Ledger
	gateway   *gateway.Gateway
	journal   workspaceJournal
	shell     workspace.Shell
	search    workspace.Search
	diagnosis sandbox.Diagnosis
	box       string // the sandbox's name
	log       *slog.Logger

	answered chan struct{} // holds one when something was sent to the peer

	late  late
	ready chan struct{} // closed when what is below is set, and all that is above
	err   error         // why nothing can be served
}

// workspaceState is where the state of a workspace lies.
func workspaceState(s *settings.Settings) string {
	sum := sha256.Sum256([]byte(s.Dir))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, filepath.Base(s.Dir))
	return filepath.Join(s.State, workspacesName, cut(name, 40)+"-"+hex.EncodeToString(sum[:8]))
}

// openWorkspace settles what counts, and opens what every call needs. journal makes the
// audit; environ is what the workspace's commands may get of. What takes longer, the
// probe of the sandbox above all, is done meanwhile: initialize is answered, and nothing
// else before it is done.
func openWorkspace(ctx context.Context, o settings.Options, name string, environ []string, log *slog.Logger, journal func(state, session string) (workspaceJournal, error)) (_ *openedWorkspace, err error) {
	w := &openedWorkspace{name: name, session: strings.ToLower(rand.Text()), log: log, ready: make(chan struct{}), answered: make(chan struct{}, 1)}
	if w.settings, err = settings.Load(o); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	w.state = workspaceState(w.settings)
	if w.ledger, err = ledger.Open(filepath.Join(w.state, ledgerName), time.Now); err != nil {
		return nil, err
	}
	if w.journal, err = journal(w.state, w.session); err != nil {
		return nil, err
	}
	w.late.first = dispatch.NewCatalogue(approval.Settings{}, []approval.Server{{Name: name, Version: 1, Named: true, Enabled: true}}, nil)
	w.gateway, err = gateway.New(gateway.Options{
		Tools: &w.late, Desk: &w.late, Tokens: noTokens{}, Journal: w.journal, Face: "direct",
		Version: version, Now: time.Now, Log: w.log,
	})
	if err != nil {
		return nil, err
	}
	go w.prepare(ctx, environ)
	return w, nil
}

// settled is when a session is no longer one that only asks something and leaves.
const settled = 5 * time.Second

// headStart is how long the answer to initialize may take before the rest is begun: both
// at once would be later for everybody.
const headStart = 30 * time.Millisecond

// prepare does what takes longer: it probes the sandbox and wires the rest.
func (w *openedWorkspace) prepare(ctx context.Context, environ []string) {
	defer close(w.ready)
	select {
	case <-w.answered:
	case <-time.After(headStart):
	}
	if w.err = w.chooseShell(ctx, workspace.Confinement(w.settings, environ)); w.err == nil {
		w.chooseSearch(environ)
		w.err = w.wire()
	}
}

// chooseShell settles how commands are run, if at all.
func (w *openedWorkspace) chooseShell(ctx context.Context, base sandbox.Policy) error {
	if w.settings.Sandbox.Mode == "off" {
		p, err := w.settings.Policy(false)
		if err != nil {
			return err
		}
		w.box, w.shell = sandbox.Unconfined().Name(), workspace.RunIn(sandbox.Unconfined(), base)
		if p.HoldsFiles() {
			w.shell = workspace.NoShell("the sandbox is off, and a contract or a rule denies files: a command could not be held to it")
		}
		return nil
	}
	box, diagnosis, err := sandbox.Choose(ctx, base)
	w.diagnosis = diagnosis
	if err != nil {
		w.shell = workspace.NoShell(err.Error())
		return nil
	}
	w.box, w.shell = box.Name(), workspace.RunIn(box, base)
	return nil
}

// chooseSearch finds ripgrep: one that the peer could have written is not taken.
func (w *openedWorkspace) chooseSearch(environ []string) {
	w.search = workspace.NoSearch("ripgrep (rg) is not installed, or not in PATH")
	for _, e := range environ {
		dirs, ok := strings.CutPrefix(e, "PATH=")
		for _, dir := range filepath.SplitList(dirs) {
			if !ok || !filepath.IsAbs(dir) {
				continue
			}
			program, err := exec.LookPath(filepath.Join(dir, "rg"))
			if err != nil {
				continue
			}
			real, err := filepath.EvalSymlinks(program)
			if err == nil && !inAny(real, w.settings.Roots) && !inAny(real, w.settings.Sandbox.Writable) {
				w.search = workspace.Ripgrep(real)
				return
			}
		}
	}
}

// inAny reports whether a path lies in one of the folders.
func inAny(path string, folders []string) bool {
	for _, f := range folders {
		if rel, err := filepath.Rel(f, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// wire makes the server and the one way to it: the face, the desk, the server.
func (w *openedWorkspace) wire() error {
	s := w.settings
	shell, _ := w.shell.Offered()
	p, err := s.Policy(shell && w.box != sandbox.Unconfined().Name())
	if err != nil {
		return err
	}
	runner, err := hooks.New(s.Hooks, s.Dir, w.session, s.Mode)
	if err != nil {
		return err
	}
	j, err := judge.New(p, settings.Disk{}, runner)
	if err != nil {
		return err
	}
	if w.server, err = workspace.New(workspace.Options{
		Name: w.name, Session: w.session, Folder: w.folder(), Roots: s.Roots, Policy: p, Judge: j, Hooks: runner,
		Shell: w.shell, Search: w.search, Ledger: w.ledger, Now: time.Now, Log: w.log,
	}); err != nil {
		return err
	}
	desk, err := call.New(call.Options{
		Tools: w.server.Tools(), Rules: w.server, Upstream: w.server, Journal: w.journal,
		MaxArguments: workspaceArguments, MaxResult: workspaceResult, Now: time.Now, Log: w.log,
	})
	if err != nil {
		return err
	}
	w.late.desk.Store(desk)
	w.late.tools.Store(w.server.Tools())
	return nil
}

func (w *openedWorkspace) folder() string { return filepath.Join(w.state, sessionsName, w.session) }

// serve serves the one connection until it ends or ctx does. It returns when everything
// that its calls started is gone.
func (w *openedWorkspace) serve(ctx context.Context, c wire.Conn) error {
	tidying := time.AfterFunc(settled, w.tidy)
	defer tidying.Stop()
	err := w.gateway.ServeConn(ctx, &patientConn{Conn: c, w: w}, w.name, func() time.Duration { return disconnected })
	<-w.ready
	if w.server != nil {
		w.server.Close()
	}
	w.journal.Enqueue(w.entry("workspace_closed", map[string]string{"session": w.session}))
	if w.err != nil {
		return w.err
	}
	return err
}

// end ends what runs, and does not wait for it.
func (w *openedWorkspace) end() {
	if <-w.ready; w.server != nil {
		w.server.End()
	}
}

// opened writes down what the session goes by.
func (w *openedWorkspace) opened() {
	w.journal.Enqueue(w.entry("workspace_opened", map[string]string{
		"directory": w.settings.Dir, "mode": string(w.settings.Mode), "sandbox": w.sandboxWord(), "session": w.session,
	}))
}

// entry is an audit entry about the workspace itself.
func (w *openedWorkspace) entry(what string, detail map[string]string) record.Entry {
	return record.Entry{
		Time: time.Now().UTC().Truncate(time.Microsecond), Type: record.TypeServer, Actor: record.Actor{Kind: record.Holdfast},
		Server: w.name, Incarnation: w.session, Act: &record.Act{What: what, Detail: detail},
	}
}

// tidy removes what is too old; nobody waits for it.
func (w *openedWorkspace) tidy() {
	if err := w.ledger.Prune(); err != nil {
		w.log.Warn("old entries of the change ledger could not be removed", "error", err)
	}
	sessions := filepath.Join(w.state, sessionsName)
	list, _ := os.ReadDir(sessions)
	for _, d := range list {
		info, err := d.Info()
		if err == nil && d.Name() != w.session && time.Since(info.ModTime()) > oldSession {
			_ = os.RemoveAll(filepath.Join(sessions, d.Name()))
		}
	}
}

// close gives everything back. Outputs go with the session; what was moved away stays.
func (w *openedWorkspace) close() {
	if w.gateway != nil {
		<-w.ready
	}
	if w.gateway != nil {
		w.gateway.Close()
	}
	if w.server != nil {
		w.server.Close()
	}
	_ = os.RemoveAll(filepath.Join(w.folder(), "output"))
	_ = os.Remove(w.folder()) // when nothing is left in it
	if w.ledger != nil {
		w.ledger.Close()
	}
	if w.journal.close != nil {
		if err := w.journal.close(); err != nil {
			w.log.Error("the audit did not close cleanly", "error", err)
		}
	}
}

// noTokens is the tokens of a face that is served over one connection alone.
type noTokens struct{}

func (noTokens) TokenByHash(context.Context, [32]byte) (dispatch.Token, error) {
	return dispatch.Token{}, fault.New(fault.NotFound, "there are no tokens here", "")
}

func (noTokens) TouchToken(string, time.Time) {}
