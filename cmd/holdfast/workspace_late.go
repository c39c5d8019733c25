package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
	"github.com/holdfast-mcp/holdfast/internal/workspace"
)

// late is the tools and the desk of a workspace that is being made ready: until then
// there is the server, and it has no tools.
type late struct {
	first *dispatch.Catalogue
	tools atomic.Pointer[workspace.Tools]
	desk  atomic.Pointer[call.Desk]
}

func (l *late) Catalogue() *dispatch.Catalogue {
	if t := l.tools.Load(); t != nil {
		return t.Catalogue()
	}
	return l.first
}

func (l *late) Apply(context.Context, string, func(approval.State) (approval.Change, error)) (approval.Change, error) {
	return approval.Change{}, errors.New("the tools of a workspace can't be changed")
}

func (l *late) Do(ctx context.Context, r call.Request) (dispatch.Reply, *dispatch.Refusal, error) {
	if d := l.desk.Load(); d != nil {
		return d.Do(ctx, r)
	}
	return dispatch.Reply{}, nil, fault.New(fault.Unavailable, "the workspace is not ready yet", "call again")
}

// patientConn gives initialize at once, and everything else when the workspace is ready.
type patientConn struct {
	wire.Conn
	w *openedWorkspace
}

func (c *patientConn) Send(ctx context.Context, message []byte) error {
	err := c.Conn.Send(ctx, message)
	select {
	case c.w.answered <- struct{}{}:
	default:
	}
	return err
}

func (c *patientConn) Receive(ctx context.Context) (wire.Message, error) {
	m, err := c.Conn.Receive(ctx)
	switch {
	case errors.Is(err, io.EOF):
		return m, err
	case err != nil:
		go c.w.end()
		return m, err
	case m.Method == "initialize":
		return m, nil
	}
	select {
	case <-c.w.ready:
	case <-ctx.Done():
		return wire.Message{}, ctx.Err()
	}
	return m, c.w.err
}

// rootOutsideContainer reports whether this process may do anything on this machine.
func rootOutsideContainer() bool {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		return false
	}
	for _, sign := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(sign); err == nil {
			return false
		}
	}
	// systemd tells a container so; nothing else of the environment is to be believed,
	// but this one is of the first process.
	b, err := os.ReadFile("/proc/1/environ")
	return err != nil || !strings.Contains("\x00"+string(b), "\x00container=")
}
