package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Real servers of the official SDK as peers.

func sdkServer(t *testing.T) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "progress", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
		}
		return &mcp.CallToolResult{}, nil
	})
	started := make(chan struct{}, 10)
	s.AddTool(&mcp.Tool{Name: "hang", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		started <- struct{}{}
		<-ctx.Done()
		started <- struct{}{}
		return nil, ctx.Err()
	})
	s.AddTool(&mcp.Tool{Name: "await-hang", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-started:
			return &mcp.CallToolResult{}, nil
		case <-time.After(10 * time.Second):
			return nil, fmt.Errorf("it did not come")
		}
	})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		roots, err := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // deprecated in 2026-07-28, alive in the revisions with sessions
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: roots.Roots[0].URI}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "change", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(&mcp.Tool{Name: "new", InputSchema: schema}, nil)
		return &mcp.CallToolResult{}, nil
	})
	return s
}

// dialers connect to a real server in every way there is.
func dialers(t *testing.T) map[string]func(t *testing.T) Conn {
	overHTTP := func(o *mcp.StreamableHTTPOptions) func(*testing.T) Conn {
		return func(t *testing.T) Conn {
			s := sdkServer(t)
			h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
			t.Cleanup(h.Close)
			conn, err := HTTPClient{URL: h.URL, Header: http.Header{"X-Secret": {"s3cret"}}}.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return conn
		}
	}
	return map[string]func(t *testing.T) Conn{
		"pipe": func(t *testing.T) Conn {
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			ss, err := sdkServer(t).Connect(context.Background(), &mcp.IOTransport{Reader: inR, Writer: outW}, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { ss.Close() })
			return NewLineConn(outR, inW, closers{outR, inW}, 0, nil)
		},
		"http events":    overHTTP(&mcp.StreamableHTTPOptions{}),
		"http json":      overHTTP(&mcp.StreamableHTTPOptions{JSONResponse: true}),
		"http resumable": overHTTP(&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}),
		"http stateless": overHTTP(&mcp.StreamableHTTPOptions{Stateless: true}),
	}
}

func TestSDKServers(t *testing.T) {
	for name, dial := range dialers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closed := make(chan error, 2)
			notes := make(chan string, 10)
			s, info, err := Connect(t.Context(), dial(t), ClientInfo{Name: "t", Version: "0", Capabilities: []byte(`{"roots":{}}`)}, Handlers{
				Request: func(_ context.Context, m Message) (result, errorObject []byte) {
					if m.Method != "roots/list" {
						return nil, NewErrorObject(CodeMethodNotFound, "no", nil)
					}
					return []byte(`{"roots":[{"uri":"file:///here"}]}`), nil
				},
				Notify: func(m Message) { notes <- m.Method },
				Report: func(err error) { t.Errorf("reported: %v", err) },
				Closed: func(err error) { closed <- err },
			})
			if err != nil {
				t.Fatal(err)
			}
			if info.ProtocolVersion != Versions[0] || !strings.Contains(string(info.Result), `"sdk"`) {
				t.Errorf("info %s %s", info.ProtocolVersion, info.Result)
			}
			call := func(tool, arguments string) string {
				t.Helper()
				m, err := s.Call(t.Context(), "tools/call", []byte(`{"name":"`+tool+`","arguments":`+arguments+`}`), nil)
				if err != nil {
					t.Fatalf("%s: %v", tool, err)
				}
				return string(m.Result) + string(m.Error)
			}
			if got := call("echo", `{ "x" : 9007199254740993, "e":1e2}`); !strings.Contains(got, `{ \"x\" : 9007199254740993, \"e\":1e2}`) {
				t.Errorf("echo: %s", got)
			}
			if name != "http json" { // the SDK sends no progress in answers of JSON
				testProgress(t, s)
			}
			m, err := s.Call(t.Context(), "tools/list", nil, nil)
			if err != nil || !strings.Contains(string(m.Result), `"name":"hang"`) {
				t.Errorf("list: %v", err)
			}
			m, err = s.Call(t.Context(), "tools/call", []byte(`{"name":"none"}`), nil)
			if err != nil || m.Error == nil {
				t.Errorf("unknown tool: %s %v", m.Result, err)
			}
			if !strings.Contains(name, "stateless") {
				testCancel(t, s, call)
				if name != "http json" {
					if got := call("ask", "{}"); !strings.Contains(got, "file:///here") {
						t.Errorf("ask: %s", got)
					}
				}
				call("change", "{}")
				if got := <-notes; got != "notifications/tools/list_changed" {
					t.Errorf("notified of %s", got)
				}
			}
			if err := s.Close(); err != nil && name != "pipe" {
				t.Error(err)
			}
			if err := <-closed; err != ErrClosed {
				t.Errorf("closed: %v", err)
			}
			if _, err := s.Call(t.Context(), "ping", nil, nil); err != ErrClosed && !NotSent(err) {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}

func testProgress(t *testing.T, s *Session) {
	t.Helper()
	var got []string
	m, err := s.Call(t.Context(), "tools/call", []byte(`{"_meta":{"progressToken" : "my \u0041"},"name":"progress"}`), func(p []byte) { got = append(got, string(p)) })
	if err != nil || m.Result == nil {
		t.Fatalf("progress: %s %v", m.Error, err)
	}
	if len(got) != 3 || !strings.Contains(got[2], `"progressToken":"my \u0041"`) {
		t.Errorf("progress: %q", got)
	}
}

func testCancel(t *testing.T, s *Session, call func(tool, arguments string) string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.Call(ctx, "tools/call", []byte(`{"name":"hang","arguments":{}}`), nil)
		done <- err
	}()
	call("await-hang", "{}") // it runs
	cancel()
	if err := <-done; err != context.Canceled {
		t.Errorf("cancelled call: %v", err)
	}
	if got := call("await-hang", "{}"); strings.Contains(got, "isError") { // the server was told
		t.Errorf("after cancel: %s", got)
	}
}
