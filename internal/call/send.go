package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// send runs the call and writes down how it ended, whatever happens.
func (j *journey) send(ctx context.Context) (dispatch.Reply, *dispatch.Refusal, error) {
	reply, err := j.run(ctx)

	if refused, ok := errors.AsType[*dispatch.Refusal](err); ok {
		return dispatch.Reply{}, refused, nil
	}
	if fault.KindOf(err) == fault.Unavailable {
		j.desk.o.Log.Info("call refused: the server is not connected", "call", j.r.ID, "server", j.granted.Server, "error", logged(err))
		return dispatch.Reply{}, dispatch.Refuse(j.entry, dispatch.UpstreamFailed, ""), nil
	}
	size := len(reply.Result) + len(reply.Error)
	switch {
	case err != nil:
		err = asFault(ctx, j.granted, err)
	case len(reply.Result) == 0 && len(reply.Error) == 0:
		err = fault.New(fault.Protocol, fmt.Sprintf("%s answered the call of %s with neither a result nor an error", j.granted.Server, j.granted.Tool), "")
	case size > j.desk.o.MaxResult:
		err = fault.New(fault.TooLarge,
			fmt.Sprintf("the result of %s on %s has %d bytes, more than the %d that are passed on; the call was made", j.granted.Tool, j.granted.Server, size, j.desk.o.MaxResult),
			"Ask for less, or raise limits.result in the configuration.")
	}

	if err != nil {
		j.writeOutcome(outcomeOf(err), size)
		return dispatch.Reply{}, nil, err
	}
	j.writeOutcome(outcomeOfReply(reply), size)
	return reply, nil, nil
}

// run calls the upstream. A panic there is a fault here: what was sent stays sent.
func (j *journey) run(ctx context.Context) (reply dispatch.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			// The value of a panic may quote what was being worked on, so only its type is logged.
			j.desk.o.Log.Error("call panicked", "call", j.r.ID, "server", j.granted.Server,
				"tool", j.granted.Tool, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			reply, err = dispatch.Reply{}, fault.New(fault.Internal, "Holdfast failed while the call was being made; it may have happened", "The log names the call and the place.")
		}
	}()
	return j.desk.o.Upstream.Call(ctx, j.permit, dispatch.Outgoing{Params: j.r.Params, Progress: j.r.Progress})
}

// asFault makes a fault of any error of an upstream.
func asFault(ctx context.Context, g dispatch.Granted, err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return gone(ctx, g, "while it was being made")
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, fmt.Sprintf("%s did not answer the call of %s in time; it may have happened", g.Server, g.Tool), "")
	case errors.Is(err, context.Canceled):
		return fault.Wrap(err, fault.Cancelled, fmt.Sprintf("the call of %s on %s was cancelled; it may have happened", g.Tool, g.Server), "")
	}
	return fault.Wrap(err, fault.Upstream, fmt.Sprintf("%s failed during the call of %s; it may have happened", g.Server, g.Tool), "")
}

// gone is the fault of a caller that left, or whose deadline passed.
func gone(ctx context.Context, g dispatch.Granted, when string) error {
	kind, how := fault.Cancelled, "was cancelled"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind, how = fault.Timeout, "ran out of time"
	}
	return fault.Wrap(context.Cause(ctx), kind, fmt.Sprintf("the call of %s on %s %s %s", g.Tool, g.Server, how, when), "")
}

// outcomeOf is how the audit calls a failed call.
func outcomeOf(err error) string {
	switch fault.KindOf(err) {
	case fault.Timeout:
		return "timeout"
	case fault.Cancelled:
		return "cancelled"
	case fault.Internal:
		return "unknown"
	default:
		return "error"
	}
}

// outcomeOfReply is how the audit calls an answer.
func outcomeOfReply(r dispatch.Reply) string {
	switch {
	case len(r.Error) > 0:
		return "error"
	case isToolError(r.Result):
		return "tool_error"
	default:
		return "ok"
	}
}

// isToolError reports whether a result says isError: true. The search for the name
// comes first, for nearly no result has it and some are large.
func isToolError(result []byte) bool {
	if !bytes.Contains(result, []byte("isError")) {
		return false
	}
	r := borrowReader(result)
	defer r.giveBack()
	if t, err := r.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for r.PeekKind() == '"' {
		name, err := r.ReadToken()
		if err != nil {
			return false
		}
		if name.String() == "isError" {
			t, err := r.ReadToken()
			return err == nil && t.Kind() == jsontext.True.Kind()
		}
		if r.SkipValue() != nil {
			return false
		}
	}
	return false
}

// hasEffect reports whether a class may change something.
func hasEffect(c contract.Class) bool { return c != contract.Read }
