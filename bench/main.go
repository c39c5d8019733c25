// Command bench measures what Holdfast adds to a tool call. In one run, in turns,
// it calls one echo server direct, through a proxy that only reads each envelope
// and passes the bytes on, through a forwarder built of the official SDK that
// checks nothing (once plain, and for a write once with a record), and through
// Holdfast as a user runs it.
//
// Each is a process of its own; traffic stays on the loopback interface. How to
// read the figures stands in docs/performance.md, which -write renews.
//
// The first argument may name one of the parts, which the run starts by itself:
//
//	bench echo    [-http ADDR]                     the echo server, over stdio without -http
//	bench forward [-http ADDR] [-record FILE] (-url U | COMMAND)  the forwarder of the official SDK
//	bench bytes   [-http ADDR] (-url U | COMMAND)  the proxy that passes bytes on
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parts are the processes that a run is made of.
var parts = map[string]func(context.Context, partFlags) error{
	"echo":    echo,
	"forward": forward,
	"bytes":   passBytes,
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		if part, ok := parts[args[0]]; ok {
			f, err := parsePart(args[0], args[1:])
			if err != nil {
				return err
			}
			return part(ctx, f)
		}
	}
	return measure(ctx, args)
}

// partFlags say where a part listens and what it stands in front of.
type partFlags struct {
	http    string   // loopback address; empty: stdio
	url     string   // of the upstream, over streamable HTTP
	command []string // of the upstream, over stdio
	record  string   // the file in which the forwarder writes calls down
}

func parsePart(name string, args []string) (partFlags, error) {
	var f partFlags
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.StringVar(&f.http, "http", "", "loopback address to listen on; empty: stdio")
	fs.StringVar(&f.url, "url", "", "URL of the upstream")
	fs.StringVar(&f.record, "record", "", "file in which the forwarder writes a call down before it forwards it")
	if err := fs.Parse(args); err != nil {
		return f, err
	}
	f.command = fs.Args()
	if name != "echo" && (f.url == "") == (len(f.command) == 0) {
		return f, fmt.Errorf("%s needs either -url or the command of an upstream", name)
	}
	return f, nil
}

// plan is what a run measures.
type plan struct {
	holdfast   string // its binary
	rounds     int
	concurrent int // calls at a time in a block of throughput
	transports []string
	payloads   []int   // bytes
	effort     float64 // scales the number of calls in a block
	write      bool
	page       string // docs/performance.md
	keep       bool   // keep the data directories
}

func measure(ctx context.Context, args []string) error {
	p := plan{transports: []string{"http", "stdio"}, payloads: []int{200, 100_000}}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&p.holdfast, "holdfast", filepath.Join("bin", "holdfast"), "the binary to measure (make build makes it); none measures the floors alone")
	fs.IntVar(&p.rounds, "rounds", 9, "turns that everything gets")
	fs.IntVar(&p.concurrent, "c", 16, "calls at a time when throughput is measured")
	fs.Float64Var(&p.effort, "effort", 1, "scales the number of calls")
	fs.BoolVar(&p.write, "write", false, "renew the figures in docs/performance.md")
	fs.StringVar(&p.page, "page", filepath.Join("docs", "performance.md"), "the page that -write renews")
	fs.BoolVar(&p.keep, "keep", false, "keep Holdfast's data directories, and say where they are")
	only := fs.String("transport", "", "http or stdio alone")
	payload := fs.Int("payload", 0, "bytes of one payload alone")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%q is no part of a run: echo, forward and bytes are", fs.Arg(0))
	}
	if *only != "" {
		p.transports = []string{*only}
	}
	if *payload > 0 {
		p.payloads = []int{*payload}
	}
	if p.holdfast != floors {
		var err error
		if p.holdfast, err = filepath.Abs(p.holdfast); err != nil {
			return err
		}
		if _, err := os.Stat(p.holdfast); err != nil {
			return errors.New("there is no Holdfast at " + p.holdfast + ": make build makes bin/holdfast")
		}
	}
	start := time.Now()
	cases, err := compareAll(ctx, p)
	if err != nil {
		return err
	}
	for _, c := range cases {
		printCase(os.Stdout, c)
	}
	fmt.Printf("%d rounds, %s\n", p.rounds, time.Since(start).Round(time.Second))
	if p.write {
		return writePage(p.page, p, cases)
	}
	return nil
}
