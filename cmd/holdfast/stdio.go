package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/core/approval"
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
	conn := a.agent(s.config.Limits.Message)
	defer conn.Close()
	err = d.gateway.ServeConn(ctx, conn, server, func() time.Duration { return grace })
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// agent is the agent on standard input and output.
func (a *app) agent(limit int) wire.Conn {
	in := withoutBlocking(a.in, os.O_RDONLY)
	closer, _ := in.(io.Closer)
	return wire.NewAgentConn(in, withoutBlocking(a.out, os.O_WRONLY), closer, limit, a.badLine)
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
