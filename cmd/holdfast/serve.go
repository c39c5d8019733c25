package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/config"
)

func (a *app) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Start Holdfast", Args: takes(),
		Long: `Start Holdfast in the foreground, with its log on standard error. It reads the
configuration, starts the servers, serves agents over HTTP and this command line
over the socket of the data directory. Ctrl-C or SIGTERM ends it: calls in flight
get ten seconds, then every server is stopped. A second Ctrl-C ends it at once.`,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.setup(true)
			if err != nil {
				return err
			}
			ctx, stop := untilInterrupted(c.Context())
			defer stop()
			d, err := startDaemon(ctx, s)
			if err != nil {
				return err
			}
			defer d.stop()
			banner := a.out
			if !isTerminal(a.out) {
				banner = a.err // where its log goes
			}
			writeFields(banner, "holdfast", version, "data", d.dir, "config", d.config.Path, "agents", d.mcp)
			if d.config.Listen.AuthOff {
				a.notef("\n%s\n\n", a.styleErr(red, "WARNING: "+authOffWarning))
				d.log.Warn(authOffWarning)
			}
			return d.run(ctx, stop)
		},
	}
}

// setup reads the configuration and finds the data directory.
func (a *app) setup(tcp bool) (setup, error) {
	s := setup{configPath: a.configFile(), tcp: tcp, log: slog.New(slog.NewTextHandler(a.err, nil))}
	path := s.configPath
	if path == "" {
		path = config.DefaultPath()
	}
	s.found = look(path)
	var err error
	if s.config, err = config.Load(s.configPath, false); err != nil {
		return s, err
	}
	s.dir, err = a.dataDirectory()
	return s, err
}

// run watches the configuration until ctx ends or a listener breaks. stop gives
// the signals back, so that a second one ends the process.
func (d *daemon) run(ctx context.Context, stop func()) error {
	watching, done := context.WithCancel(ctx)
	defer done()
	go d.watch(watching)
	select {
	case err := <-d.failed:
		return err
	case <-ctx.Done():
		stop()
		d.log.Info("stopping: calls in flight get ten seconds")
		return nil
	}
}

func untilInterrupted(ctx context.Context) (context.Context, func()) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}
