package upstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// errCancelCalls is the cause of calls that CancelCalls ended.
var errCancelCalls = errors.New("calls to the server were cancelled")

// Call sends one call under a permit, which it spends first: against the server's
// name, its incarnation, and the contracts of the last complete listing of the
// connection that the call goes over. It never sends a call twice. A
// *dispatch.Refusal and a fault of the kind fault.Unavailable say that nothing was
// sent; of any other fault, the sentence says whether the call may have happened.
func (p *Pool) Call(ctx context.Context, permit dispatch.Permit, out dispatch.Outgoing) (dispatch.Reply, error) {
	g, ok := permit.Granted()
	if !ok {
		return refuse(permit.Spend("", "", nil))
	}
	s, err := p.server(g.Server)
	if err != nil {
		_, refusal := permit.Spend("", "", nil) // used up; nothing of the name runs
		return refuse(dispatch.Granted{}, refusal)
	}
	s.mu.Lock()
	timeout, turns := s.spec.Timeout, s.turns
	s.mu.Unlock()
	limited, release := context.WithTimeout(ctx, timeout)
	defer release()
	// From here on CancelCalls reaches the call, also while it waits for its turn.
	whole, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	defer s.takeOff(s.inFlight(cancel))
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-whole.Done():
		return dispatch.Reply{}, ended(whole, fmt.Sprintf("the call of %s was given up while it waited for its turn on %s; nothing was sent", g.Tool, s.name), context.Cause(whole))
	}
	c := s.now()
	if c == nil {
		if _, refusal := permit.Spend(s.name, s.incarnation, func(approval.Kind, string) contract.Digest { return g.Live }); refusal != nil {
			return refuse(g, refusal)
		}
		f := s.notConnected(s.snapshot())
		f.What += "; nothing was sent"
		return dispatch.Reply{}, f
	}
	return c.call(whole, ctx, permit, out)
}

func refuse(_ dispatch.Granted, r *dispatch.Refusal) (dispatch.Reply, error) {
	if r == nil {
		return dispatch.Reply{}, fault.New(fault.Internal, "a permit allowed what it can't allow; nothing was sent", "")
	}
	return dispatch.Reply{}, r
}

// inFlight takes a call on the list of those that CancelCalls cancels.
func (s *server) inFlight(cancel context.CancelCauseFunc) *callInFlight {
	f := &callInFlight{cancel}
	s.mu.Lock()
	s.calls[f] = true
	s.mu.Unlock()
	return f
}

func (s *server) takeOff(f *callInFlight) {
	s.mu.Lock()
	delete(s.calls, f)
	s.mu.Unlock()
}

func (s *server) cancelCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.calls {
		f.cancel(errCancelCalls)
	}
}

// call spends the permit and sends. ctx is the caller's context with the time limit
// of the call, and ends with CancelCalls.
func (c *connection) call(ctx, caller context.Context, permit dispatch.Permit, out dispatch.Outgoing) (dispatch.Reply, error) {
	g, refusal := permit.Spend(c.server.name, c.server.incarnation, c.digest)
	if refusal != nil {
		return dispatch.Reply{}, refusal
	}
	params, err := addressed(out.Params, g.Tool)
	if err != nil {
		return dispatch.Reply{}, err
	}
	progress := out.Progress
	if _, ok := wire.Find(params, "_meta", "progressToken"); !ok {
		progress = nil
	}
	m, err := c.session.Call(ctx, "tools/call", params, progress)
	if err != nil {
		return dispatch.Reply{}, c.callFailed(ctx, caller, g, err)
	}
	return dispatch.Reply{Result: m.Result, Error: m.Error}, nil
}

// digest is what the server offers under a name, as far as it is known now: a
// contract counts from its listing until the server announces a change.
func (c *connection) digest(kind approval.Kind, name string) contract.Digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.verified.IsZero() {
		return ""
	}
	return c.held[held{kind, name}]
}

// addressed gives params with the permit's tool as name. Members that a careless
// server could take for the name or the arguments are refused: what was admitted is
// what must run.
func addressed(params []byte, tool string) ([]byte, error) {
	if len(params) == 0 {
		params = []byte("{}")
	}
	var name wire.Span
	var seen, members int
	confusing := false
	wire.Members(params, func(n string, value wire.Span) bool {
		members++
		if n == "name" {
			name = value
			seen++
		}
		confusing = confusing || mistakable(n)
		return true
	})
	switch {
	case params[0] != '{' || seen > 1:
		return nil, fault.New(fault.BadInput, "the params of the call are not an object with one name; nothing was sent", "")
	case confusing:
		return nil, fault.New(fault.BadInput, "the params of the call have a member that differs from a known one only in how it is written, so that servers may read it differently; nothing was sent", "Write the members exactly as MCP names them.")
	case seen == 1:
		return wire.Splice(params, wire.Edit{Span: name, With: wire.Quote(tool)}), nil
	}
	insert := append([]byte(`"name":`), wire.Quote(tool)...)
	if members > 0 {
		insert = append(insert, ',')
	}
	return wire.Splice(params, wire.Edit{Span: wire.Span{Start: 1, End: 1}, With: insert}), nil
}

// mistakable reports whether readers that ignore case, or what follows a NUL, would
// take a member for one that it is not. Whoever admitted the call has looked too.
func mistakable(name string) bool { return dispatch.Mistakable(name) }

// callFailed explains why there is no answer, and whether the call may have happened.
func (c *connection) callFailed(ctx, caller context.Context, g dispatch.Granted, err error) error {
	name := c.server.name
	kind, happened := fault.Upstream, "; the call may have happened"
	if wire.NotSent(err) {
		kind, happened = fault.Unavailable, "; nothing was sent"
	}
	if ctx.Err() != nil {
		switch {
		case errors.Is(context.Cause(ctx), errCancelCalls):
			return fault.Wrap(err, fault.Cancelled, fmt.Sprintf("the call of %s was cancelled because %s is no longer to be called%s", g.Tool, name, happened), "")
		case caller.Err() == nil:
			return fault.Wrap(err, fault.Timeout, fmt.Sprintf("%s did not answer the call of %s within its time limit and was told to stop%s", name, g.Tool, happened), "Raise the server's timeout if its tools need longer.")
		}
		return ended(caller, fmt.Sprintf("the call of %s on %s was given up by the caller%s", g.Tool, name, happened), err)
	}
	if _, ok := errors.AsType[*wire.TooLongError](err); ok {
		return fault.Wrap(err, fault.TooLarge, fmt.Sprintf("the answer of %s to the call of %s is over %d bytes and was not taken%s", name, g.Tool, wire.DefaultMaxMessage, happened), "Ask for less.")
	}
	if _, ok := errors.AsType[*wire.SyntaxError](err); ok {
		return fault.Wrap(err, fault.Protocol, fmt.Sprintf("%s answered the call of %s with what is no valid message: %v%s", name, g.Tool, err, happened), "")
	}
	if h, ok := errors.AsType[*wire.HTTPError](err); ok {
		return fault.Wrap(err, fault.Upstream, fmt.Sprintf("the call of %s on %s failed: %v%s", g.Tool, name, err, happened), httpHint(h.Status))
	}
	c.announced() // it may be another server that answers next
	return fault.Wrap(err, kind, fmt.Sprintf("the connection to %s failed during the call of %s: %s%s", name, g.Tool, c.reason(err), happened), "")
}

// reason is a short cause for the connection's end, with the program's last words.
func (c *connection) reason(err error) string {
	select {
	case <-c.session.Done():
		<-c.gone // at once after Done
		if f, ok := errors.AsType[*fault.Error](c.why()); ok {
			return f.What
		}
	default:
	}
	return c.secrets.clean(err.Error())
}
