package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// server is the echo server as holdfast.json names it.
type server struct {
	Type    string   `json:"type,omitempty"`
	URL     string   `json:"url,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// The operator's first word on a new server: its first tools are trusted with it.
	Quarantined bool `json:"quarantined"`
}

// daemon is a Holdfast that runs, with its echo server released.
type daemon struct {
	pid    int
	config string // its file
	url    string // of the echo server's face
	token  string
}

// patience is how long a start may take.
const patience = 20 * time.Second

// prepare makes a data directory and a configuration that names the echo server.
func prepare(ctx context.Context, p plan, s *stopper, up server) (daemon, error) {
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return daemon{}, err
	}
	if p.keep {
		fmt.Fprintln(os.Stderr, "bench: data directory:", dir)
	} else {
		s.add(func() error { return os.RemoveAll(dir) })
	}
	addr, err := freeAddress(ctx)
	if err != nil {
		return daemon{}, err
	}
	d := daemon{config: filepath.Join(dir, "holdfast.json"), url: "http://" + addr + "/mcp/server/echo"}
	file, err := json.MarshalIndent(map[string]any{
		"listen": addr, "data_dir": filepath.Join(dir, "data"), "mcpServers": map[string]server{"echo": up},
	}, "", "  ")
	if err != nil {
		return d, err
	}
	return d, os.WriteFile(d.config, file, 0o600)
}

// stdio is the command that an agent starts.
func (d daemon) stdio(p plan) []string {
	return []string{p.holdfast, "stdio", "--config", d.config, "--server", "echo"}
}

// startHoldfast starts the daemon as a user does, with a data directory of its
// own, and waits until the echo server's tools can be called.
func startHoldfast(ctx context.Context, p plan, s *stopper, up server) (daemon, error) {
	d, err := prepare(ctx, p, s, up)
	if err != nil {
		return d, err
	}
	cmd := exec.CommandContext(ctx, p.holdfast, "serve", "--config", d.config)
	log, err := os.Create(filepath.Join(filepath.Dir(d.config), "serve.log"))
	if err != nil {
		return d, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return d, err
	}
	d.pid = cmd.Process.Pid
	s.add(func() error {
		_ = cmd.Process.Signal(os.Interrupt) // where there is none, the context ends it
		return errors.Join(cmd.Wait(), log.Close())
	})
	if err := within(ctx, func() error { return d.ready(ctx, p.holdfast) }); err != nil {
		said, _ := os.ReadFile(log.Name())
		return d, fmt.Errorf("%w; it said: %.1000s", err, said)
	}
	return d, nil
}

// within tries until it works, for as long as a start may take.
func within(ctx context.Context, try func() error) error {
	end := time.Now().Add(patience)
	for {
		err := try()
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// answers sees whether a tool can be called.
func answers(ctx context.Context, s *session, tool string) error {
	_, err := s.tool(ctx, tool, "ready")
	return err
}

// ready makes a token, once, and sees whether the tools can be called with it.
func (d *daemon) ready(ctx context.Context, binary string) error {
	if d.token == "" {
		out, err := exec.CommandContext(ctx, binary, "token", "create", "bench", "--config", d.config,
			"--servers", "echo", "--permissions", "read,write,destructive", "--json").Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return fmt.Errorf("holdfast token create: %w: %s", err, exit.Stderr)
			}
			return err
		}
		var made struct {
			Secret string `json:"secret"`
		}
		if err := json.Unmarshal(out, &made); err != nil {
			return fmt.Errorf("holdfast token create said %.200s: %w", out, err)
		}
		d.token = made.Secret
	}
	s, err := open(ctx, newHTTP(d.url, d.token))
	if err != nil {
		return err
	}
	return errors.Join(answers(ctx, s, "echo_write"), s.close())
}

// freeAddress gives a loopback address that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
