package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/intake"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

var person = record.Actor{Kind: record.Person, Name: "ann"}

// upstreams stand in for the servers alone: what they list is set by the test, and
// what they are sent is kept. Store, intake, desk and gateway are the real ones.
type upstreams struct {
	mu      sync.Mutex
	listed  map[string][]string // raw definitions by server
	taken   map[string]time.Time
	held    map[approval.Key]contract.Digest
	incs    map[string]string
	calls   []string // server, tool and params
	answer  func(ctx context.Context, tool string, out dispatch.Outgoing) (dispatch.Reply, error)
	catalog func() *dispatch.Catalogue
}

func (u *upstreams) List(_ context.Context, server string) (approval.Listing, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	srv, ok := u.catalog().Server(server)
	if !ok {
		return approval.Listing{}, errors.New("no such server")
	}
	l := approval.Listing{Incarnation: srv.Incarnation}
	for _, raw := range u.listed[server] {
		c := contract.Parse([]byte(raw))
		span, _ := wire.Find([]byte(raw), "name")
		name, _ := wire.Text([]byte(raw)[span.Start:span.End])
		l.Offers = append(l.Offers, approval.Offer{Kind: approval.Tool, Name: name, Contract: c})
		u.held[approval.Key{Server: server, Kind: approval.Tool, Name: name}] = c.Digest()
	}
	u.taken[server], u.incs[server] = time.Now(), srv.Incarnation
	return l, nil
}

func (u *upstreams) Verified(server string) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.taken[server]
}

func (u *upstreams) CancelCalls(string) {}

func (u *upstreams) Call(ctx context.Context, p dispatch.Permit, out dispatch.Outgoing) (dispatch.Reply, error) {
	g, _ := p.Granted()
	u.mu.Lock()
	inc := u.incs[g.Server]
	_, refused := p.Spend(g.Server, inc, func(k approval.Kind, name string) contract.Digest {
		return u.held[approval.Key{Server: g.Server, Kind: k, Name: name}]
	})
	if refused != nil {
		u.mu.Unlock()
		return dispatch.Reply{}, refused
	}
	u.calls = append(u.calls, fmt.Sprintf("%s %s %s", g.Server, g.Tool, out.Params))
	answer := u.answer
	u.mu.Unlock()
	if answer != nil {
		return answer(ctx, g.Tool, out)
	}
	return dispatch.Reply{Result: fmt.Appendf(nil, `{ "content":[{"type":"text","text":"called %s"}], "vendor":9007199254740993 }`, g.Tool)}, nil
}

func (u *upstreams) sent() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.calls)
}

// rig is a whole Holdfast but for its servers.
type rig struct {
	t      testing.TB
	store  *store.Store
	intake *intake.Intake
	up     *upstreams
	g      *Gateway
	http   *httptest.Server
	log    *syncBuffer
	now    func() time.Time
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newRig(t testing.TB, options ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, log: &syncBuffer{}, now: time.Now, up: &upstreams{
		listed: map[string][]string{}, taken: map[string]time.Time{}, held: map[approval.Key]contract.Digest{}, incs: map[string]string{},
	}}
	var err error
	r.store, err = store.Open(t.Context(), filepath.Join(t.TempDir(), "holdfast.db"))
	r.must(err)
	t.Cleanup(func() { r.store.Close() })
	log := slog.New(slog.NewTextHandler(r.log, nil))
	var swapped func(*dispatch.Catalogue)
	r.intake, err = intake.New(t.Context(), intake.Options{
		Store: r.store, Lister: r.up,
		Swapped: func(c *dispatch.Catalogue) {
			if swapped != nil {
				swapped(c)
			}
		},
		VerifyInterval: func() time.Duration { return time.Hour }, Now: func() time.Time { return r.now() }, Log: log,
	})
	r.must(err)
	t.Cleanup(r.intake.Close)
	r.up.catalog = r.intake.Catalogue
	r.must(r.intake.SetSettings(t.Context(), approval.Settings{ID: "settings:1", DefaultMode: "manual", OnHold: "block", Unannotated: contract.Destructive}, record.Actor{Kind: record.Operator}))
	desk, err := call.New(call.Options{Tools: r.intake, Rules: call.Ungoverned{}, Upstream: r.up, Journal: r.store, MaxArguments: 1 << 20, MaxResult: 1 << 20, Now: time.Now, Log: log})
	r.must(err)
	o := Options{
		Tools: r.intake, Desk: desk, Tokens: r.store, Journal: r.store, Version: "test",
		Now: func() time.Time { return r.now() }, Log: log,
	}
	for _, f := range options {
		f(&o)
	}
	r.g, err = New(o)
	r.must(err)
	swapped = r.g.Swapped
	r.http = httptest.NewServer(r.g.Handler())
	t.Cleanup(func() {
		r.g.Close()
		r.http.Close()
	})
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// add adds a server that a person trusts, with its tools.
func (r *rig) add(server string, tools ...string) {
	r.t.Helper()
	r.up.mu.Lock()
	r.up.listed[server] = tools
	r.up.mu.Unlock()
	_, err := r.intake.Apply(r.t.Context(), server, func(s approval.State) (approval.Change, error) {
		return approval.Add(s, approval.AddRequest{
			Name: server, Way: approval.ByCLI, Actor: person, Program: approval.Program{Command: "/bin/" + server, Env: map[string]string{"SECRET": "env-value"}},
			Quarantine: approval.AskLess, Incarnation: rand.Text(),
		})
	})
	r.must(err)
	r.must(r.intake.Discover(r.t.Context(), server))
}

// list has a server list other tools, and takes them.
func (r *rig) list(server string, tools ...string) {
	r.t.Helper()
	r.up.mu.Lock()
	r.up.listed[server] = tools
	r.up.mu.Unlock()
	r.must(r.intake.Discover(r.t.Context(), server))
}

// token creates a token and gives its secret.
func (r *rig) token(name string, scope dispatch.Scope, p dispatch.Permissions, change ...func(*dispatch.Token)) string {
	r.t.Helper()
	var b [32]byte
	rand.Read(b[:])
	secret := tokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	t := dispatch.Token{ID: "tok-" + name, Name: name, Hash: sha256.Sum256([]byte(secret)), Scope: scope, Permissions: p, Created: r.now()}
	for _, f := range change {
		f(&t)
	}
	r.must(r.store.CreateToken(r.t.Context(), t, record.Entry{Time: r.now(), Type: record.TypeToken, Actor: person, Act: &record.Act{What: "token_created"}}))
	return secret
}

var (
	everything = dispatch.Scope{Servers: []string{"*"}, Tools: []string{"*"}}
	allClasses = dispatch.Permissions{Read: true, Write: true, Destructive: true}
)

// agent is one MCP session over HTTP, by hand.
type httpAgent struct {
	r       *rig
	url     string
	secret  string
	session string
}

func (r *rig) connect(path, secret string) *httpAgent {
	r.t.Helper()
	a := &httpAgent{r: r, url: r.http.URL + path, secret: secret}
	status, body := a.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if status != 200 || a.session == "" {
		r.t.Fatalf("initialize at %s: %d %s", path, status, body)
	}
	if status, body = a.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != 202 {
		r.t.Fatalf("initialized: %d %s", status, body)
	}
	return a
}

func (a *httpAgent) post(body string) (int, string) {
	a.r.t.Helper()
	req, err := http.NewRequestWithContext(a.r.t.Context(), "POST", a.url, strings.NewReader(body))
	a.r.must(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if a.secret != "" {
		req.Header.Set("Authorization", "Bearer "+a.secret)
	}
	if a.session != "" {
		req.Header.Set("Mcp-Session-Id", a.session)
	}
	resp, err := http.DefaultClient.Do(req)
	a.r.must(err)
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	a.r.must(err)
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		a.session = id
	}
	return resp.StatusCode, b.String()
}

// ask sends a request with id 1 and gives the whole answer.
func (a *httpAgent) ask(method, params string) string {
	a.r.t.Helper()
	status, body := a.post(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`)
	if status != 200 {
		a.r.t.Fatalf("%s: %d %s", method, status, body)
	}
	return body
}

func (a *httpAgent) call(name, arguments string) string {
	a.r.t.Helper()
	return a.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
}

// tool is a definition in a spelling of its own.
func tool(name, description, hints string, more ...string) string {
	extra := ""
	if len(more) > 0 {
		extra = more[0]
	}
	return fmt.Sprintf(`{ "description":%q, "name":%q, "vendor":{"z":1.0,"a":9007199254740993},
 "inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"Where it is."},"depth":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}},"required":["path"]},"annotations":%s%s}`, description, name, hints, extra)
}

const (
	reads    = `{"readOnlyHint":true}`
	writes   = `{"destructiveHint":false}`
	destroys = `{"destructiveHint":true}`
)

// files is a small server.
func files() []string {
	return []string{
		tool("read_file", "Reads a file. Text only.", reads),
		tool("writeFile", "Writes a file to disk.", writes),
		tool("delete_tree", "Deletes a directory and all that is below it.", destroys),
	}
}
