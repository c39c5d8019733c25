// Package workspace serves Read, Write, Edit, Bash, Grep and Glob in one project
// directory. A tool runs under two things that are made for one call and used once: the
// Permit of core/dispatch, and the ruling of internal/workspace/judge on exactly the
// arguments that are run. Design: docs/design/workspace.md.
package workspace

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/sandbox"
	"github.com/holdfast-mcp/holdfast/internal/workspace/hooks"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

// Options of a Server. All are required.
type Options struct {
	Name    string // of the server, as permits name it
	Session string // random: permits of another session are refused
	Folder  string // of the session, private: outputs, and what was moved away
	Roots   []string
	Policy  *policy.Policy
	Judge   *judge.Judge
	Hooks   *hooks.Runner // the judge's own, for PostToolUse
	Shell   Shell
	Search  Search
	Ledger  *ledger.Ledger
	Now     func() time.Time
	Log     *slog.Logger
}

// Shell says how Bash is run, or that it is not offered. The zero Shell says neither
// and is refused.
type Shell struct {
	box  sandbox.Sandbox
	base sandbox.Policy
	why  string
}

// RunIn offers Bash, run by box. base is the policy of every call but for what depends
// on the files that are there: Hidden and ReadOnly are filled in for each.
func RunIn(box sandbox.Sandbox, base sandbox.Policy) Shell { return Shell{box: box, base: base} }

// NoShell does not offer Bash. why is a sentence.
func NoShell(why string) Shell { return Shell{why: why} }

// Offered reports whether Bash is offered, and if not, why.
func (s Shell) Offered() (ok bool, why string) { return s.box != nil, s.why }

// mounts reports whether a command finds what it may not write held by mounts.
func (s Shell) mounts() bool { return s.box != nil && s.box.Name() != sandbox.Unconfined().Name() }

// Search says which ripgrep Grep runs, or that Grep is not offered. The zero Search
// says neither and is refused.
type Search struct{ program, why string }

// Ripgrep offers Grep by the program at an absolute path.
func Ripgrep(program string) Search { return Search{program: program} }

// NoSearch does not offer Grep. why is a sentence.
func NoSearch(why string) Search { return Search{why: why} }

// Offered reports whether Grep is offered, and if not, why.
func (s Search) Offered() (ok bool, why string) { return s.program != "", s.why }

// Server runs the tools of one connection. Safe for concurrent use.
type Server struct {
	o       Options
	tree    *tree
	tools   *Tools
	held    map[string]contract.Digest // what is offered, by tool
	outputs *outputs
	shells  shells
	guards  guards
	places  chan struct{} // of commands that a call waits for
	looks   chan struct{} // of searches
	base    *baseline

	life context.Context // ends with Close: whatever runs ends with it
	end  context.CancelFunc
	work sync.WaitGroup // calls and background commands

	mu      sync.Mutex
	rulings map[string]ruled // of calls that were ruled on and did not run yet
	seen    map[string]mark  // what a file held when it was read, by its real path
	busy    map[string]*turn // files that are being changed
	moved   int              // paths that were moved away
}

// New makes a server. It fails when something is missing, and when a root or the
// session's folder can't be opened.
func New(o Options) (*Server, error) {
	shell, noShell := o.Shell.Offered()
	search, noSearch := o.Search.Offered()
	switch {
	case o.Policy == nil || o.Judge == nil || o.Hooks == nil:
		return nil, errors.New("a workspace needs a policy, a judge and a hook runner")
	case o.Ledger == nil:
		return nil, errors.New("a workspace needs a ledger: what is not written down is not changed")
	case !shell && noShell == "", !search && noSearch == "":
		return nil, errors.New("a workspace needs a sandbox and a search program, or the reasons why Bash and Grep are not offered")
	case len(o.Roots) == 0 || o.Name == "" || o.Session == "" || !filepath.IsAbs(o.Folder) || o.Now == nil || o.Log == nil:
		return nil, errors.New("a workspace needs its roots, a name, a session with its folder, a clock and a log")
	}
	s := &Server{
		o: o, held: map[string]contract.Digest{}, rulings: map[string]ruled{},
		seen: map[string]mark{}, busy: map[string]*turn{},
	}
	s.tools = s.catalogue(shell, search)
	var err error
	if s.outputs, err = openOutputs(o.Folder); err != nil {
		return nil, err
	}
	if s.tree, err = openTree(o.Roots); err != nil {
		s.outputs.close()
		return nil, err
	}
	s.base = newBaseline(s)
	s.life, s.end = context.WithCancel(context.Background())
	s.places = make(chan struct{}, maxForeground)
	s.looks = make(chan struct{}, maxSearches)
	s.recover()
	return s, nil
}

// End ends everything that runs, and nothing more begins. It does not wait.
func (s *Server) End() { s.end() }

// Close ends everything that runs, and returns when it is gone.
func (s *Server) Close() {
	s.end()
	s.work.Wait()
	s.bequeath()
	s.base.close()
	s.tree.close()
	s.outputs.close()
}

// Rule is step 6 of a call (call.Rules): the judge's ruling on it. What is allowed is
// kept for the one Call of the same id, until ctx ends.
func (s *Server) Rule(ctx context.Context, g dispatch.Granted, arguments []byte) ([]byte, *dispatch.Objection) {
	r := s.ruling(ctx, g, arguments)
	if r.Outcome != policy.Allowed || r.Input == nil || len(r.Arguments) == 0 {
		return nil, objection(r.Decision)
	}
	s.mu.Lock()
	_, twice := s.rulings[g.CallID]
	if g.CallID != "" && !twice {
		s.rulings[g.CallID] = ruled{g.Tool, r}
	}
	s.mu.Unlock()
	if g.CallID == "" || twice {
		return nil, objection(policy.Decision{Stage: policy.StageArguments, Reason: "the call has no id of its own"})
	}
	context.AfterFunc(ctx, func() { s.take(g.CallID) })
	return r.Arguments, nil
}

// ruling asks the judge, but for outputs of this session, which lie outside the roots
// and which Read alone reaches: by whom the workspace may be read, and past the hooks.
func (s *Server) ruling(ctx context.Context, g dispatch.Granted, arguments []byte) judge.Ruling {
	in, err := judge.Decode(g.Tool, arguments)
	read, ok := in.(*judge.ReadInput)
	if err != nil || !ok || !s.outputs.has(read.FilePath) {
		r := s.o.Judge.Rule(ctx, g.CallID, g.Tool, arguments)
		_, write := r.Input.(*judge.WriteInput)
		_, edit := r.Input.(*judge.EditInput)
		_, view := r.Input.(*judge.ReadInput)
		if r.Outcome == policy.Allowed && (write || edit || view) {
			if d, refused := s.aside(r.Decision, !view); refused {
				return judge.Ruling{Decision: d}
			}
		}
		return r
	}
	d := s.o.Policy.Judge(policy.Call{Tool: policy.Read, Path: s.o.Roots[0]}, lexical{})
	if d.Outcome == policy.Allowed {
		answer := s.o.Hooks.Before(ctx, hooks.Call{ID: g.CallID, Tool: g.Tool, Input: arguments})
		if answer.Outcome != policy.Allowed || answer.Updated != nil {
			d = policy.Decision{Outcome: policy.Refused, Stage: policy.StageHooks, At: answer.At, Reason: answer.Reason}
		}
	}
	if d.Outcome != policy.Allowed {
		return judge.Ruling{Decision: d}
	}
	d.Paths = nil
	return judge.Ruling{Decision: d, Input: in, Arguments: arguments}
}

// lexical resolves nothing: it is asked about real paths alone.
type lexical struct{}

func (lexical) Real(path string) (string, error) { return filepath.Clean(path), nil }

// stages are how refusals and the audit name what decided.
var stages = map[policy.Stage]dispatch.Reason{
	policy.StageArguments: dispatch.ByArguments,
	policy.StageSandbox:   dispatch.BySandbox,
	policy.StageContract:  dispatch.ByContract,
	policy.StageRules:     dispatch.ByRules,
	policy.StageMode:      dispatch.ByMode,
	policy.StageHooks:     dispatch.ByHooks,
	policy.StageAsk:       dispatch.ByAsk,
}

func objection(d policy.Decision) *dispatch.Objection {
	o := &dispatch.Objection{Stage: stages[d.Stage], Reason: d.Reason, Remedy: d.Remedy, Rule: d.Rule}
	if d.At.Layer != policy.NoLayer {
		o.RuleAt = d.At.String()
	}
	return o
}

// ruled is a ruling and the tool that it is on.
type ruled struct {
	tool string
	judge.Ruling
}

// take gives the ruling of a call, once.
func (s *Server) take(id string) (ruled, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.rulings[id]
	delete(s.rulings, id)
	return r, ok
}

// Call runs a tool (call.Upstream): it spends the permit, and takes the ruling that was
// made for the permit's call. Without one, or with one on other arguments, nothing runs.
func (s *Server) Call(ctx context.Context, permit dispatch.Permit, out dispatch.Outgoing) (dispatch.Reply, error) {
	g, refusal := permit.Spend(s.o.Name, s.o.Session, s.digest)
	if refusal != nil {
		return dispatch.Reply{}, refusal
	}
	r, ok := s.take(g.CallID)
	if !ok || r.tool != g.Tool || r.Outcome != policy.Allowed || r.Input == nil || !sameArguments(out.Params, r.Arguments) {
		return dispatch.Reply{}, dispatch.Object(s.tools.entry(g.Tool), dispatch.Objection{
			Reason: "there is no ruling on this call, so that nothing was run", Remedy: "Call again.",
		})
	}
	if err := s.begin(); err != nil {
		return dispatch.Reply{}, err
	}
	defer s.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	result := s.run(ctx, g.CallID, r.Ruling)
	if err := ctx.Err(); err != nil && result.failed {
		return dispatch.Reply{}, err
	}
	encoded := result.encode()
	if result.added = s.o.Hooks.After(ctx, hooks.Call{ID: g.CallID, Tool: g.Tool, Input: r.Arguments}, encoded); len(result.added) > 0 {
		encoded = result.encode()
	}
	return dispatch.Reply{Result: encoded}, nil
}

// begin counts a call among those that Close waits for.
func (s *Server) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return fault.New(fault.Unavailable, "the workspace is closed", "")
	}
	s.work.Add(1)
	return nil
}

// run runs what was ruled on.
func (s *Server) run(ctx context.Context, id string, r judge.Ruling) result {
	switch in := r.Input.(type) {
	case *judge.ReadInput:
		return s.read(in, r.Paths)
	case *judge.WriteInput:
		return s.write(ctx, id, in, r.Paths)
	case *judge.EditInput:
		return s.edit(ctx, id, in, r.Paths)
	case *judge.BashInput:
		return s.bash(ctx, id, in)
	case *judge.BashOutputInput:
		return s.bashOutput(in)
	case *judge.KillShellInput:
		return s.killShell(in)
	case *judge.GrepInput:
		return s.search(ctx, func() result { return s.grep(ctx, in, r.Paths) })
	case *judge.GlobInput:
		return s.search(ctx, func() result { return s.glob(ctx, in, r.Paths) })
	}
	return failure("there is no such tool")
}

// maxSearches are the searches that run at once: each holds every folder on its way open,
// and further ones wait for a place.
const maxSearches = 4

func (s *Server) search(ctx context.Context, run func() result) result {
	select {
	case s.looks <- struct{}{}:
		defer func() { <-s.looks }()
		return run()
	case <-ctx.Done():
		return failure("The search was given up before it began: %d run already.", maxSearches)
	}
}

// privateFolder makes a folder that is the user's alone.
func privateFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fault.Wrap(err, fault.Storage, "a folder of the session can't be made: "+plain(err), "Is the disk full, or the state directory not yours?")
	}
	return nil
}

// plain is the reason of a failed operation on a file, without its path and verb.
func plain(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
