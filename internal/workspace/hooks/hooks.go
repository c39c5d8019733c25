// Package hooks runs the owner's hook commands around a call. A hook can refuse, ask or
// change the input, never loosen; every failure refuses. Design:
// docs/design/workspace.md section 6.
package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// Runner runs hooks. Immutable, safe for concurrent use. The nil Runner refuses.
type Runner struct {
	hooks   []hook
	dir     string
	session string
	mode    policy.Mode
	env     []string
}

// hook is one with its matcher read.
type hook struct {
	settings.Hook
	matcher settings.Matcher
}

// New makes a runner of what the settings say. dir is where hooks run, the workspace's
// real path; session and mode are told to them. Their environment is this process's,
// with CLAUDE_PROJECT_DIR set to dir, which existing hooks use to find their files; and
// programs and Python's modules are not looked for in the folder that they run in.
func New(hooks []settings.Hook, dir, session string, mode policy.Mode) (*Runner, error) {
	if dir == "" || mode == "" {
		return nil, fault.New(fault.Internal, "hooks need a directory and a mode", "")
	}
	r := &Runner{dir: dir, session: session, mode: mode, env: environment(os.Environ(), dir)}
	for _, h := range hooks {
		m, err := settings.ParseMatcher(h.Matcher)
		if err != nil {
			return nil, fault.Wrap(err, fault.BadInput, fmt.Sprintf("%s:%d: the matcher %s", h.At.File, h.At.Line, err), "")
		}
		if h.Timeout <= 0 || strings.TrimSpace(h.Command) == "" {
			return nil, fault.New(fault.BadInput, fmt.Sprintf("%s:%d: a hook without a command or a time to run", h.At.File, h.At.Line), "")
		}
		r.hooks = append(r.hooks, hook{h, m})
	}
	return r, nil
}

// Call is what hooks are told.
type Call struct {
	ID    string
	Tool  string
	Input []byte // the arguments, one JSON object
}

// Answer is the most restrictive of all answers. The zero Answer refuses.
type Answer struct {
	Outcome policy.Outcome // Allowed: no hook objects
	Reason  string         // why not, and which hook
	At      policy.Place
	Updated []byte // the changed input; nil when none changed it, and when a hook refuses
}

// Before runs the PreToolUse hooks that match, in parallel on the same input, and waits
// for all. It returns soon after ctx ends, which refuses.
func (r *Runner) Before(ctx context.Context, c Call) Answer {
	if r == nil {
		return Answer{Reason: "there is nothing to run hooks with"}
	}
	matching, results := r.run(ctx, settings.PreToolUse, c, nil)
	answers := make([]Answer, len(results))
	for n, res := range results {
		answers[n] = res.before(matching[n], c.Input)
	}
	return strictest(answers)
}

// strictest joins the answers: the first of the most restrictive, and the input that
// hooks changed, if they agree on it.
func strictest(answers []Answer) Answer {
	worst := Answer{Outcome: policy.Allowed}
	var updated []byte
	var by policy.Place
	for _, a := range answers {
		if a.Outcome < worst.Outcome {
			worst = a
		}
		if a.Updated == nil {
			continue
		}
		if updated != nil && !same(updated, a.Updated) {
			return Answer{Reason: "two hooks change the input differently, " + where(by) + " and " + where(a.At), At: a.At}
		}
		updated, by = a.Updated, a.At
	}
	if worst.Outcome == policy.Refused {
		worst.Updated = nil
		return worst
	}
	worst.Updated = updated
	if worst.Outcome == policy.Allowed {
		worst.At = by
	}
	return worst
}

func same(a, b []byte) bool {
	x, xok := Canonical(a)
	y, yok := Canonical(b)
	return xok && yok && bytes.Equal(x, y)
}

// After runs the PostToolUse hooks; response is the result. It gives what they add to
// the result, one text each: they come too late to refuse anything.
func (r *Runner) After(ctx context.Context, c Call, response []byte) []string {
	if r == nil {
		return nil
	}
	matching, results := r.run(ctx, settings.PostToolUse, c, response)
	var all []string
	for n, res := range results {
		if text := res.after(matching[n]); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// run runs every hook of the event that matches, in parallel.
func (r *Runner) run(ctx context.Context, event settings.Event, c Call, response []byte) ([]hook, []result) {
	var matching []hook
	for _, h := range r.hooks {
		if h.Event == event && h.matcher.Match(c.Tool) {
			matching = append(matching, h)
		}
	}
	if len(matching) == 0 {
		return nil, nil
	}
	input := r.input(event, c, response)
	results := make([]result, len(matching))
	var all sync.WaitGroup
	for n, h := range matching {
		all.Go(func() { results[n] = r.one(ctx, h, input) })
	}
	all.Wait()
	return matching, results
}

// one runs one hook, after a look at the files that its command names.
func (r *Runner) one(ctx context.Context, h hook, input []byte) result {
	for _, f := range h.Files {
		if err := f.Check(); err != nil {
			return result{err: fmt.Errorf("the script %s can't be trusted: %w", f.Path, plain(err))}
		}
	}
	within, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	res := execute(within, command{text: h.Command, dir: r.dir, env: h.environment(r.env), input: input})
	if errors.Is(res.err, context.DeadlineExceeded) && ctx.Err() == nil {
		res.err = fmt.Errorf("it did not end in %s", h.Timeout)
	}
	return res
}

// input is what a hook reads from its standard input.
func (r *Runner) input(event settings.Event, c Call, response []byte) []byte {
	var b bytes.Buffer
	text := func(key, value string) {
		quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(value, "\uFFFD"))
		if err != nil {
			quoted = []byte(`""`) // what is valid UTF-8 can be quoted
		}
		fmt.Fprintf(&b, "%q:%s,", key, quoted)
	}
	b.WriteByte('{')
	text("session_id", r.session)
	text("cwd", r.dir)
	text("permission_mode", string(r.mode))
	text("hook_event_name", string(event))
	text("tool_name", c.Tool)
	text("tool_use_id", c.ID)
	if event == settings.PostToolUse {
		if v := jsontext.Value(response); v.IsValid() {
			fmt.Fprintf(&b, `"tool_response":%s,`, response)
		} else {
			text("tool_response", string(response))
		}
	}
	fmt.Fprintf(&b, `"tool_input":%s}`, c.Input)
	return b.Bytes()
}

func where(p policy.Place) string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// plain is an error without the path that the caller names.
func plain(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	return err
}
