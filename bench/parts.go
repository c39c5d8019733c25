package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// version of MCP that everybody here speaks, so that nobody has to find out.
const version = "2025-11-25"

// echoTools are the tools of the echo server: one that only reads, and one that
// MCP's defaults make destructive.
var echoTools = []struct {
	name  string
	hints *mcp.ToolAnnotations
}{
	{"echo_read", &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)}},
	{"echo_write", nil},
}

// echo serves the echo tools.
func echo(ctx context.Context, f partFlags) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1.0.0"}, nil)
	for _, t := range echoTools {
		s.AddTool(&mcp.Tool{
			Name: t.name, Description: "Gives the text back.", Annotations: t.hints,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`),
		}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct {
				Text string `json:"text"`
			}
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil
		})
	}
	return serveSDK(ctx, f, s)
}

// forward is the floor of every gateway that is built of the official SDK: its
// server in front of one session of its client. It checks nothing. With a file to
// record in it is the floor of those that keep an audit, too: before it forwards a
// call of a tool that may change something, a line about it is on the disk.
func forward(ctx context.Context, f partFlags) error {
	var log *ledger
	if f.record != "" {
		var err error
		if log, err = openLedger(f.record); err != nil {
			return err
		}
		defer log.close()
	}
	var t mcp.Transport = &mcp.StreamableClientTransport{Endpoint: f.url, DisableStandaloneSSE: true, HTTPClient: httpClient()}
	if f.url == "" {
		t = &mcp.CommandTransport{Command: exec.CommandContext(ctx, f.command[0], f.command[1:]...)}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "forward", Version: "1.0.0"}, nil)
	up, err := client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return err
	}
	defer func() { _ = up.Close() }() // it ends with us
	s := mcp.NewServer(&mcp.Implementation{Name: "forward", Version: "1.0.0"}, nil)
	for tool, err := range up.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		effect := tool.Annotations == nil || !tool.Annotations.ReadOnlyHint
		s.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if log != nil && effect {
				if err := log.write(r.Params.Name, r.Params.Arguments); err != nil {
					return nil, err
				}
			}
			return up.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	return serveSDK(ctx, f, s)
}

// serveSDK serves s where the flags say.
func serveSDK(ctx context.Context, f partFlags, s *mcp.Server) error {
	if f.http == "" {
		err := s.Run(ctx, &mcp.StdioTransport{})
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	return serve(ctx, f.http, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{JSONResponse: true}))
}

// serve serves h on a loopback address, which it prints, until ctx ends or the
// process that started it is gone (its standard input ends then).
func serve(ctx context.Context, addr string, h http.Handler) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("%s is no loopback address", addr), l.Close())
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // whatever ends it, it is over
		_ = srv.Close()
	}()
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// httpClient keeps as many connections as there are calls at a time.
func httpClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}, Timeout: time.Minute}
}
