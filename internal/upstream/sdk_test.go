package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// A real server of the official SDK, over stdio (FAKE=sdk) and HTTP.
func sdkServer(calls *atomic.Int64, pageSize int) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1.8"}, &mcp.ServerOptions{PageSize: pageSize})
	for i := range 5 {
		tool := &mcp.Tool{Name: fmt.Sprintf("t%d", i), InputSchema: json.RawMessage(`{"type":"object","z":1,"a":9007199254740993}`)}
		s.AddTool(tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			calls.Add(1)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Params.Name + string(r.Params.Arguments)}}}, nil
		})
	}
	s.AddTool(&mcp.Tool{Name: "grow", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(&mcp.Tool{Name: "new", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		return &mcp.CallToolResult{}, nil
	})
	return s
}

func runSDK() {
	if err := sdkServer(new(atomic.Int64), 2).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		note(err.Error())
	}
}

func TestRealServers(t *testing.T) {
	calls := new(atomic.Int64)
	overHTTP := func(o *mcp.StreamableHTTPOptions) Spec {
		shared := sdkServer(calls, 2)
		srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return shared }, o))
		t.Cleanup(srv.Close)
		return Spec{Incarnation: "1", Program: approval.Program{Type: "http", URL: srv.URL}}
	}
	specs := map[string]Spec{
		"events": overHTTP(&mcp.StreamableHTTPOptions{}), "json": overHTTP(&mcp.StreamableHTTPOptions{JSONResponse: true}),
		"stateless": overHTTP(&mcp.StreamableHTTPOptions{Stateless: true}),
	}
	h := newHouse(t, fast) // after the servers: it has to be closed before them
	specs["sdk"] = h.fake("sdk")
	var all []Spec
	for name, spec := range specs {
		spec.Name = name
		all = append(all, spec)
	}
	h.Sync(all)
	for _, spec := range all {
		name := spec.Name
		l := h.list(name)
		if len(l.Offers) != 6 || !strings.Contains(string(l.Offers[1].Contract.Raw()), `{"type":"object","z":1,"a":9007199254740993}`) {
			t.Errorf("%s: %d tools, the second is %s", name, len(l.Offers), l.Offers[1].Contract.Raw())
		}
		reply, err := h.Call(t.Context(), h.permit(name, l, "t0"), dispatch.Outgoing{Params: []byte(`{"arguments":{"n":9007199254740993},"name":"t1"}`)})
		if err != nil || !strings.Contains(string(reply.Result), `t0{\"n\":9007199254740993}`) {
			t.Errorf("%s: %s %v", name, reply.Result, err)
		}
		if name == "stateless" {
			continue // it announces nothing
		}
		h.mu.Lock()
		told := h.told[name]
		h.mu.Unlock()
		if _, err := h.call(t.Context(), name, l, "grow"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		h.until(name+" announces a change", func() bool { return h.told[name] > told })
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls for 3 permits", n)
	}
}

// An HTTP server that is replaced behind its address is connected to again.
func TestHTTPServerIsReplaced(t *testing.T) {
	handler := func() http.Handler {
		s := sdkServer(new(atomic.Int64), 0)
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	}
	var now atomic.Value
	now.Store(handler())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().(http.Handler).ServeHTTP(w, r) }))
	t.Cleanup(srv.Close)
	h := newHouse(t, fast)
	h.Sync([]Spec{{Name: "web", Incarnation: "1", Program: approval.Program{Type: "http", URL: srv.URL}}})
	l := h.list("web")
	now.Store(handler()) // it knows no sessions of the old one
	_, err := h.call(t.Context(), "web", l, "t0")
	faulty(t, err, fault.Upstream, "no longer knows the session")
	h.connected("web", 2)
	if !h.Verified("web").IsZero() {
		t.Error("verified after a reconnect")
	}
	l = h.list("web")
	if _, err := h.call(t.Context(), "web", l, "t0"); err != nil {
		t.Error(err)
	}
	// When it is gone altogether, the listing says so and the connection is made again.
	srv.CloseClientConnections()
	srv.Close()
	_, err = h.call(t.Context(), "web", l, "t0")
	if k := fault.KindOf(err); k != fault.Upstream && k != fault.Unavailable {
		if _, ok := err.(*dispatch.Refusal); !ok { // the gap in the standing stream was first
			t.Errorf("got %v", err)
		}
	}
	if !h.Verified("web").IsZero() {
		t.Error("verified, although it is gone")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := h.List(ctx, "web"); err == nil {
		t.Error("a server that is gone was listed")
	}
	s := h.phase("web", BackingOff)
	if !strings.Contains(s.Error, "web") || strings.Contains(s.Error, "http://") {
		t.Errorf("%+v", s)
	}
}
