package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/intake"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// offered is the only fake: what servers list is what a test says.
type offered struct {
	mu     sync.Mutex
	intake *intake.Intake
	by     map[string][]string // raw tools of a server
	when   map[string]time.Time
	logs   []string
	states map[string]admin.ServerState
}

func (o *offered) List(_ context.Context, server string) (approval.Listing, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	srv, _ := o.intake.Catalogue().Server(server)
	l := approval.Listing{Incarnation: srv.Incarnation}
	for _, raw := range o.by[server] {
		// A name is read even where the rest can't be, as the real listing does.
		var named struct{ Name string }
		_ = json.Unmarshal([]byte(raw), &named)
		c := contract.Parse([]byte(raw))
		l.Offers = append(l.Offers, approval.Offer{Kind: approval.Tool, Name: named.Name, Contract: c})
	}
	o.when[server] = time.Now()
	return l, nil
}

func (o *offered) Verified(server string) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.when[server]
}
func (o *offered) CancelCalls(string) {}

func (o *offered) State(name string) (admin.ServerState, bool) {
	s, ok := o.states[name]
	return s, ok
}
func (o *offered) Restart(string) error               { return nil }
func (o *offered) Logs(string, int) ([]string, error) { return o.logs, nil }

// offer says what a server lists from now on.
func (o *offered) offer(server string, tools ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.by[server] = tools
}

func tool(name, description string) string {
	b, _ := json.Marshal(map[string]any{"name": name, "description": description, "inputSchema": map[string]any{"type": "object"}})
	return string(b)
}

type audited struct{ *store.Store }

func (a audited) Audit(ctx context.Context, f admin.AuditFilter) ([]record.Entry, error) {
	return a.Store.Audit(ctx, store.AuditFilter(f))
}

func (a audited) Verify(ctx context.Context) (admin.Chain, error) {
	r, err := a.Store.Verify(ctx)
	return admin.Chain{Entries: r.Entries, Head: r.Head, BadSeq: r.BadSeq, Problem: r.Problem}, err
}

// home is the API over the real journeys and the real store.
type home struct {
	t       *testing.T
	offers  *offered
	store   *store.Store
	intake  *intake.Intake
	handler http.Handler
	who     record.Actor
	log     bytes.Buffer
	ready   error
	broken  error // why nothing can be written
}

func newHome(t *testing.T) *home {
	t.Helper()
	ctx := t.Context()
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "holdfast.db"))
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, store: st, who: record.Actor{Kind: record.Person, Name: "maria"}}
	h.offers = &offered{by: map[string][]string{}, when: map[string]time.Time{}, states: map[string]admin.ServerState{}}
	log := slog.New(slog.NewTextHandler(&h.log, nil))
	h.intake, err = intake.New(ctx, intake.Options{
		Store: st, Lister: h.offers,
		Swapped: func(*dispatch.Catalogue) {}, VerifyInterval: func() time.Duration { return time.Minute }, Now: time.Now, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.offers.intake = h.intake
	t.Cleanup(func() { h.intake.Close(); _ = st.Close() })
	c, err := config.Parse("holdfast.json", []byte("{}"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.intake.SetSettings(ctx, c.Law, record.Actor{Kind: record.Operator}); err != nil {
		t.Fatal(err)
	}
	h.handler = admin.New(admin.Options{
		Trust: h.intake, Servers: h.offers, Tokens: st, Audit: audited{st}, Mask: config.MaskProgram,
		Config: func() admin.Config {
			return admin.Config{Path: "holdfast.json", DefaultTrustMode: c.Law.DefaultMode, Servers: []admin.ConfigServer{}, Warnings: []string{}}
		},
		Daemon:      func() admin.Daemon { return admin.Daemon{PID: 7, DataDir: "/data", MCP: "http://127.0.0.1:1/mcp"} },
		AuditHealth: func() error { return h.broken },
		Ready:       func(context.Context) error { return h.ready },
		Version:     "test", Now: time.Now, Log: log,
	}, func(*http.Request) record.Actor { return h.who })
	return h
}

// answer is what came back.
type answer struct {
	*httptest.ResponseRecorder
	t *testing.T
}

// do sends a request; body is JSON text or a value, nil for none.
func (h *home) do(method, path string, body any) answer {
	h.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			h.t.Fatal(err)
		}
		in = bytes.NewReader(text)
	}
	r := httptest.NewRequest(method, path, in)
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	return answer{w, h.t}
}

// into reads the answer, which must have the status.
func (a answer) into(status int, v any) {
	a.t.Helper()
	if a.Code != status {
		a.t.Fatalf("status %d, want %d: %s", a.Code, status, a.Body)
	}
	if v == nil {
		return
	}
	d := json.NewDecoder(bytes.NewReader(a.Body.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		a.t.Fatalf("%v in %s", err, a.Body)
	}
}

// refused reads a problem document and checks what every one must have.
func (a answer) refused(status int, code string) admin.Problem {
	a.t.Helper()
	var p admin.Problem
	a.into(status, &p)
	if p.Code != code {
		a.t.Fatalf("code %q, want %q: %s", p.Code, code, a.Body)
	}
	if ct := a.Header().Get("Content-Type"); ct != "application/problem+json" {
		a.t.Errorf("content type %q", ct)
	}
	if p.RequestID == "" || p.RequestID != a.Header().Get("X-Request-Id") {
		a.t.Errorf("request id %q in the document, %q in the header", p.RequestID, a.Header().Get("X-Request-Id"))
	}
	if p.Status != status || p.Detail == "" || p.Type != "urn:holdfast:problem:"+code {
		a.t.Errorf("incomplete problem: %s", a.Body)
	}
	return p
}

// add adds a server that lists the tools, and looks at them.
func (h *home) add(name string, tools ...string) admin.Server {
	h.t.Helper()
	h.offers.offer(name, tools...)
	var s admin.Server
	h.do("POST", "/api/v1/servers", map[string]any{"name": name, "program": map[string]any{"command": "run-" + name}}).into(201, &s)
	h.do("POST", "/api/v1/servers/"+name+"/discover", nil).into(200, &s)
	return s
}

// release releases a server with what its preview shows.
func (h *home) release(name string) {
	h.t.Helper()
	var p admin.ReleasePreview
	h.do("GET", "/api/v1/servers/"+name+"/release", nil).into(200, &p)
	r := admin.Release{ExpectedIncarnation: p.Incarnation, Tools: []admin.SeenTool{}}
	for _, x := range p.Approves {
		r.Tools = append(r.Tools, admin.SeenTool{Kind: x.Kind, Name: x.Name, Digest: x.Digest})
	}
	h.do("POST", "/api/v1/servers/"+name+"/release", r).into(200, nil)
}

func (h *home) tool(server, name string) admin.Tool {
	h.t.Helper()
	var x admin.Tool
	h.do("GET", "/api/v1/servers/"+server+"/tools/"+name, nil).into(200, &x)
	return x
}
