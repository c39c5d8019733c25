package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// target is one way to the echo server.
type target struct {
	name     string
	tool     string
	sessions []*session
	pids     []int // the processes in the middle: neither the driver's nor the echo server's
}

// Places of the targets that others are compared with.
const (
	direct    = 0
	forwarder = 2
	recorder  = 3 // the forwarder that writes a call down first, for a write
)

// floors in the place of Holdfast's binary measures what it is compared with alone.
const floors = "none"

// stopper collects what is to be undone, last first.
type stopper []func() error

func (s *stopper) add(f func() error) { *s = append(*s, f) }

func (s *stopper) stop() error {
	var all error
	for len(*s) > 0 {
		last := (*s)[len(*s)-1]
		*s = (*s)[:len(*s)-1]
		all = errors.Join(all, last())
	}
	return all
}

// stage starts everything of one case. What it returns is to be stopped also when
// it fails.
func stage(ctx context.Context, p plan, transport string) ([]*target, func() error, error) {
	s := &stopper{}
	var targets []*target
	var err error
	switch transport {
	case "http":
		targets, err = stageHTTP(ctx, p, s)
	case "stdio":
		targets, err = stageStdio(ctx, p, s)
	default:
		err = fmt.Errorf("there is no transport %q here: http and stdio are", transport)
	}
	return targets, s.stop, err
}

// record gives a file for the forwarder that records, where Holdfast's data is too.
func record(s *stopper) (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return "", err
	}
	s.add(func() error { return os.RemoveAll(dir) })
	return filepath.Join(dir, "record"), nil
}

// httpSessions is how many agents call at a time over HTTP.
const httpSessions = 8

func stageHTTP(ctx context.Context, p plan, s *stopper) ([]*target, error) {
	me, err := os.Executable()
	if err != nil {
		return nil, err
	}
	up, err := start(ctx, s, me, "echo", "-http", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	pass, err := start(ctx, s, me, "bytes", "-http", "127.0.0.1:0", "-url", up.said)
	if err != nil {
		return nil, err
	}
	sdk, err := start(ctx, s, me, "forward", "-http", "127.0.0.1:0", "-url", up.said)
	if err != nil {
		return nil, err
	}
	file, err := record(s)
	if err != nil {
		return nil, err
	}
	recording, err := start(ctx, s, me, "forward", "-http", "127.0.0.1:0", "-record", file, "-url", up.said)
	if err != nil {
		return nil, err
	}
	type way struct {
		name, tool, url, token string
		pids                   []int
	}
	ways := []way{
		{"direct", "echo_read", up.said, "", nil},
		{"byte proxy", "echo_read", pass.said, "", []int{pass.pid}},
		{"SDK forwarder", "echo_read", sdk.said, "", []int{sdk.pid}},
		{"SDK forwarder that records, a write", "echo_write", recording.said, "", []int{recording.pid}},
	}
	if p.holdfast != floors {
		h, err := startHoldfast(ctx, p, s, server{URL: up.said, Type: "http"})
		if err != nil {
			return nil, err
		}
		ways = append(ways,
			way{"Holdfast, a read", "echo_read", h.url, h.token, []int{h.pid}},
			way{"Holdfast, a write", "echo_write", h.url, h.token, []int{h.pid}})
	}
	var targets []*target
	for _, t := range ways {
		made := &target{name: t.name, tool: t.tool, pids: t.pids}
		for range httpSessions {
			session, err := open(ctx, newHTTP(t.url, t.token))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			s.add(session.close)
			made.sessions = append(made.sessions, session)
		}
		targets = append(targets, made)
	}
	return targets, nil
}

func stageStdio(ctx context.Context, p plan, s *stopper) ([]*target, error) {
	me, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file, err := record(s)
	if err != nil {
		return nil, err
	}
	var targets []*target
	add := func(name, tool string, middle []int, command ...string) error {
		c, err := newStdio(ctx, command...)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		opened, err := open(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.add(opened.close)
		if err := within(ctx, func() error { return answers(ctx, opened, tool) }); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t := &target{name: name, tool: tool, sessions: []*session{opened}, pids: middle}
		if name != "direct" {
			t.pids = append(t.pids, c.cmd.Process.Pid)
		}
		targets = append(targets, t)
		return nil
	}
	err = errors.Join(
		add("direct", "echo_read", nil, me, "echo"),
		add("byte proxy", "echo_read", nil, me, "bytes", me, "echo"),
		add("SDK forwarder", "echo_read", nil, me, "forward", me, "echo"),
		add("SDK forwarder that records, a write", "echo_write", nil, me, "forward", "-record", file, me, "echo"))
	if err != nil || p.holdfast == floors {
		return targets, err
	}
	up := server{Command: me, Args: []string{"echo"}}
	alone, err := prepare(ctx, p, s, up)
	if err != nil {
		return nil, err
	}
	joined, err := startHoldfast(ctx, p, s, up)
	if err != nil {
		return nil, err
	}
	return targets, errors.Join(
		add("Holdfast, a read", "echo_read", nil, alone.stdio(p)...),
		add("Holdfast, joined, a read", "echo_read", []int{joined.pid}, joined.stdio(p)...),
		add("Holdfast, joined, a write", "echo_write", []int{joined.pid}, joined.stdio(p)...))
}

// process is a part that runs, and the line that it said first.
type process struct {
	pid  int
	said string
}

// start starts a part that says its address.
func start(ctx context.Context, s *stopper, command ...string) (process, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // open for as long as the part is to run
	if err != nil {
		return process{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return process{}, err
	}
	if err := cmd.Start(); err != nil {
		return process{}, err
	}
	s.add(func() error { return errors.Join(in.Close(), cmd.Wait()) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return process{}, fmt.Errorf("%s said no address: %w", strings.Join(command, " "), err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return process{cmd.Process.Pid, strings.TrimSpace(line)}, nil
}
