package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

func (a *app) stdioCommand() *cobra.Command {
	var server string
	c := &cobra.Command{
		Use: "stdio", Short: "Serve one agent on standard input and output", Args: takes(),
		Long: `Serve one agent on standard input and output, for clients that start their servers
themselves. It joins the Holdfast that runs on the data directory; when there is
none it runs on its own as long as the agent stays, and the command line reaches it
in the meantime.`,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := untilInterrupted(c.Context())
			defer stop()
			return a.stdio(ctx, server)
		},
	}
	c.Flags().StringVar(&server, "server", "", "serve this server alone, its tools under their own names")
	return c
}

func (a *app) stdio(ctx context.Context, server string) error {
	if server != "" && !approval.ValidName(server) {
		return usage(fmt.Sprintf("--server %q can't be the name of a server", visible(cut(server, 80))), "see the servers with: holdfast server list")
	}
	dir, err := a.dataDirectory()
	if err != nil {
		return err
	}
	socket := socketPath(dir)
	if reachable(socket) {
		return a.bridge(ctx, socket, server)
	}
	s, err := a.setup(false)
	if err != nil {
		return err
	}
	d, err := startDaemon(ctx, s)
	if errors.Is(err, errLocked) && waitReachable(ctx, socket) {
		return a.bridge(ctx, socket, server) // another one was just starting
	}
	if err != nil {
		return err
	}
	defer d.stop()
	watching, done := context.WithCancel(ctx)
	defer done()
	go d.watch(watching)
	conn := newAgentConn(a.in, a.out, s.config.Limits.Message, a.badLine)
	defer conn.Close()
	err = d.gateway.ServeConn(ctx, conn, server, dispatch.Local())
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// badLine reports a line of the agent that is no message, and goes on.
func (a *app) badLine(err error) error {
	a.notef("holdfast: the agent sent a line that is no message: %s\n", visible(err.Error()))
	return nil
}

func reachable(socket string) bool {
	c, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

func waitReachable(ctx context.Context, socket string) bool {
	for range 50 {
		if reachable(socket) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(100 * time.Millisecond):
		}
	}
	return false
}

// bridge carries messages between the agent's lines and the daemon's MCP endpoint
// on the socket, byte for byte.
func (a *app) bridge(ctx context.Context, socket, server string) error {
	url := "http://localhost/mcp"
	if server != "" {
		url += "/server/" + segment(server)
	}
	daemon, err := wire.HTTPClient{URL: url, Client: &http.Client{Transport: socketTransport(socket)}}.Dial(ctx)
	if err != nil {
		return err
	}
	b := &bridge{agent: newAgentConn(a.in, a.out, 0, a.badLine), daemon: daemon}
	defer b.agent.Close()
	defer b.daemon.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	back := make(chan error, 1)
	go func() { back <- b.toAgent(ctx) }()
	forth := make(chan error, 1)
	go func() { forth <- b.toDaemon(ctx) }()
	select {
	case err = <-back:
	case err = <-forth:
	case <-ctx.Done():
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return fault.Wrap(err, fault.Unavailable, "the connection to Holdfast is gone: "+plain(err), "`holdfast status` shows whether it runs; start the agent again")
}

type bridge struct{ agent, daemon wire.Conn }

// toDaemon carries until the agent leaves. A request is not waited for, so that
// others overtake it; but initialize is, for it names the session of what follows.
func (b *bridge) toDaemon(ctx context.Context) error {
	for {
		m, err := b.agent.Receive(ctx)
		if err != nil {
			return err
		}
		if m.Kind != wire.Request {
			if err := b.daemon.Send(ctx, m.Raw); err != nil && ctx.Err() == nil && m.Kind == wire.Response {
				return err
			}
			continue
		}
		if m.Method == "initialize" {
			b.send(ctx, m)
		} else {
			go b.send(ctx, m)
		}
	}
}

// send carries one request; when it can't, the agent gets an answer all the same.
func (b *bridge) send(ctx context.Context, m wire.Message) {
	if err := b.daemon.Send(ctx, m.Raw); err != nil && ctx.Err() == nil {
		_ = b.agent.Send(ctx, wire.NewError(m.ID, wire.CodeInternal, "Holdfast could not be reached, or refused the request", nil))
	}
}

func (b *bridge) toAgent(ctx context.Context) error {
	for {
		m, err := b.daemon.Receive(ctx)
		if err != nil {
			return err
		}
		if err := b.agent.Send(ctx, m.Raw); err != nil {
			return err
		}
	}
}
