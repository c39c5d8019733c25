package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// ended is the fault of a context that ended: late when its time was over.
func ended(ctx context.Context, late string, cause error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.Wrap(cause, fault.Timeout, late, "")
	}
	return fault.Wrap(cause, fault.Cancelled, late, "")
}

// explainStart says why a server could not be connected to.
func (c *connection) explainStart(ctx context.Context, err error) error {
	name := c.server.name
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.Wrap(err, fault.Cancelled, fmt.Sprintf("connecting to %s was given up", name), "")
	}
	if _, broken := errors.AsType[*os.PathError](err); c.process != nil && (broken || errors.Is(err, io.EOF) || errors.Is(err, wire.ErrClosed)) {
		return c.explainExit(err)
	}
	if c.builtin != nil {
		if why := c.builtin.why(); why != nil {
			return fault.Wrap(why, fault.KindOf(why), fmt.Sprintf("%s could not be started: %v", name, why), fault.HintOf(why))
		}
	}
	var f *fault.Error
	if line, ok := errors.AsType[*wire.LineError](err); ok {
		f = fault.Wrap(line, fault.Protocol, fmt.Sprintf("%s writes text to its standard output that is no MCP message, over and over", name), "Check that the command starts an MCP server over stdio.")
	} else if refused, ok := errors.AsType[*wire.RefusedError](err); ok {
		f = fault.Wrap(c.secrets.saying(err, itSaid, textAt(refused.Object, "message")), fault.Upstream, fmt.Sprintf("%s refused to begin a session: error %d", name, code(refused.Object)), "See the server's log.")
	} else if h, ok := errors.AsType[*wire.HTTPError](err); ok {
		f = fault.Wrap(err, fault.Upstream, fmt.Sprintf("%s could not be connected to: %v", name, err), httpHint(h.Status))
	} else if errors.Is(err, context.DeadlineExceeded) {
		f = fault.Wrap(c.lastWords(err), fault.Timeout, fmt.Sprintf("%s did not answer initialize within %s", name, c.server.pool.timing.initialize), "Check that the command starts an MCP server over stdio, or that the url is that of an MCP server.")
	} else {
		reason, cause := c.secrets.cause(err)
		f = fault.Wrap(cause, fault.Upstream, name+" could not be connected to"+reason, "Check that the server runs and that its url is right.")
	}
	return f
}

func (c *connection) explainExit(err error) error {
	how, ok := c.process.ended()
	if !ok {
		how = "it closed its standard output"
	}
	return fault.Wrap(c.lastWords(err), fault.Upstream, fmt.Sprintf("the program of %s ended before it had answered initialize (%s)", c.server.name, how),
		"Run the command by hand to see what it needs; its log has all that it wrote.")
}

const itSaid = "; it said: "

// lastWords puts the last line of the program behind a cause.
func (c *connection) lastWords(err error) error {
	if c.process == nil {
		return err
	}
	return c.secrets.saying(err, itSaid, c.process.lastWords())
}

func httpHint(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "Check the server's headers: it does not accept the credentials."
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return "Check the server's url: no MCP server answers there."
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return "The server asks to be left alone for a while; try again later."
	}
	return ""
}
