// Package e2e holds the tests through everything: real rooms, published servers
// and an official client.
package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/gateway"
	"github.com/holdfast-mcp/holdfast/internal/intake"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/upstream"
)

var person = record.Actor{Kind: record.Person, Name: "ann"}

// journal is the store's audit, which can be made to fail.
type journal struct {
	*store.Store
	broken atomic.Pointer[error]
}

func (j *journal) Append(ctx context.Context, entries ...record.Entry) error {
	if err := j.broken.Load(); err != nil {
		return *err
	}
	return j.Store.Append(ctx, entries...)
}

// stand is Holdfast, wired of its rooms on one data directory.
type stand struct {
	t       *testing.T
	dir     string
	store   *store.Store
	journal *journal
	pool    *upstream.Pool
	intake  *intake.Intake
	gateway *gateway.Gateway
	http    *httptest.Server
	log     logs

	bundle       atomic.Pointer[scan.Bundle] // the signatures in force
	maxArguments int
	verify       atomic.Int64 // verify_interval
}

// logs keeps what was logged, for the end of a failed test.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{t: t, dir: t.TempDir(), maxArguments: 1 << 20}
	s.verify.Store(int64(5 * time.Minute))
	s.bundle.Store(scan.Embedded())
	s.start()
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("the log:\n%s", s.log.String())
		}
	})
	if err := s.intake.SetSettings(t.Context(), law(nil), person); err != nil {
		t.Fatal(err)
	}
	return s
}

// law is the default settings, but for a change.
func law(change func(*approval.Settings)) approval.Settings {
	s := approval.Settings{DefaultMode: "scan", OnHold: "block", Unannotated: contract.Destructive}
	if change != nil {
		change(&s)
	}
	s.ID = config.SettingsID(s)
	return s
}

// start wires the rooms, as cmd/holdfast does.
func (s *stand) start() {
	s.t.Helper()
	must := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	log := slog.New(slog.NewTextHandler(&s.log, nil))
	var err error
	s.store, err = store.Open(s.t.Context(), filepath.Join(s.dir, "holdfast.db"))
	must(err)
	s.journal = &journal{Store: s.store}
	wired := make(chan struct{})
	s.pool = upstream.NewPool(upstream.Options{
		Expand: config.Expand, Changed: func(upstream.State) {}, LogDir: s.dir, Log: log, Version: "e2e",
		Unverified: func(server string) {
			<-wired
			_ = s.intake.Discover(context.Background(), server)
		},
	})
	s.intake, err = intake.New(s.t.Context(), intake.Options{
		Store: s.store, Lister: s.pool, Bundle: s.bundle.Load, Swapped: func(c *dispatch.Catalogue) { <-wired; s.swapped(c) },
		VerifyInterval: func() time.Duration { return time.Duration(s.verify.Load()) }, Now: time.Now, Log: log,
	})
	must(err)
	desk, err := call.New(call.Options{
		Tools: s.intake, Rules: call.Ungoverned{}, Upstream: s.pool, Journal: s.journal, MaxArguments: s.maxArguments, MaxResult: 16 << 20, Now: time.Now, Log: log,
	})
	must(err)
	s.gateway, err = gateway.New(gateway.Options{
		Tools: s.intake, Desk: desk, Tokens: s.store, Journal: s.store, Version: "e2e", Now: time.Now, Log: log,
	})
	must(err)
	close(wired)
	s.swapped(s.intake.Catalogue())
	s.http = httptest.NewServer(s.gateway.Handler())
}

// swapped keeps servers running and agents informed, as cmd/holdfast does.
func (s *stand) swapped(c *dispatch.Catalogue) {
	var specs []upstream.Spec
	for _, srv := range c.Servers() {
		if srv.Runs() {
			specs = append(specs, upstream.Spec{
				Name: srv.Name, Incarnation: srv.Incarnation, Program: srv.Program,
				Timeout: srv.Options.Timeout, MaxConcurrent: srv.Options.MaxConcurrent,
			})
		}
	}
	s.pool.Sync(specs)
	s.gateway.Swapped(c)
}

func (s *stand) stop() {
	s.gateway.Close()
	s.http.CloseClientConnections()
	s.http.Close()
	s.pool.Close()
	s.intake.Close()
	if report, err := s.store.Verify(context.Background()); err != nil || report.BadSeq != 0 {
		s.t.Errorf("the audit does not verify: %+v, %v", report, err)
	}
	if err := s.store.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *stand) restart(between func()) {
	s.t.Helper()
	s.stop()
	if between != nil {
		between()
	}
	s.start()
}

// apply runs an act that must succeed.
func (s *stand) apply(server string, act func(approval.State) (approval.Change, error)) {
	s.t.Helper()
	if _, err := s.intake.Apply(s.t.Context(), server, act); err != nil {
		s.t.Fatalf("%s: %v", server, err)
	}
}

func (s *stand) add(name string, p approval.Program, options approval.Options) {
	s.t.Helper()
	s.apply(name, func(st approval.State) (approval.Change, error) {
		return approval.Add(st, approval.AddRequest{Name: name, Way: approval.ByCLI, Actor: person, Program: p, Options: options, Incarnation: rand.Text()})
	})
}

// discover takes a pass; the first one waits for the server to start.
func (s *stand) discover(server string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	if err := s.intake.Discover(ctx, server); err != nil {
		s.t.Fatalf("%s can't be listed: %v", server, err)
	}
}

// release approves everything that waits and lifts the quarantine, as a person does
// who saw all of it.
func (s *stand) release(server string) {
	s.t.Helper()
	s.apply(server, func(st approval.State) (approval.Change, error) {
		r := approval.ReleaseRequest{Actor: person, Incarnation: st.Server.Incarnation}
		for _, x := range approval.PreviewRelease(st, nil).Approves {
			r.Tools = append(r.Tools, approval.Seen{Kind: x.Key.Kind, Name: x.Key.Name, Digest: x.Live.Digest()})
		}
		return approval.Release(st, r)
	})
}

// review runs a person's act on one tool as it is listed now.
func (s *stand) review(server, tool string, act func(approval.State, approval.ReviewRequest) (approval.Change, error)) {
	s.t.Helper()
	s.apply(server, func(st approval.State) (approval.Change, error) {
		return act(st, approval.ReviewRequest{Actor: person, Incarnation: st.Server.Incarnation, Tools: []approval.Seen{
			{Kind: approval.Tool, Name: tool, Digest: s.entry(server, tool).Record.Live.Digest()},
		}})
	})
}

func (s *stand) entry(server, tool string) dispatch.Entry {
	s.t.Helper()
	e, ok := s.intake.Catalogue().Find(approval.Key{Server: server, Kind: approval.Tool, Name: tool})
	if !ok {
		s.t.Fatalf("there is no record of %s on %s", tool, server)
	}
	return e
}

// trusted adds a server about which a person decides, who approves all that it lists.
func (s *stand) trusted(name string, p approval.Program) {
	s.t.Helper()
	s.add(name, p, approval.Options{TrustMode: "manual"})
	s.discover(name)
	s.release(name)
}

// token makes a token and gives its secret.
func (s *stand) token(name string, change func(*dispatch.Token)) string {
	s.t.Helper()
	raw := make([]byte, 32)
	_, _ = rand.Read(raw)
	secret := "holdfast_" + strings.NewReplacer("+", "-", "/", "_").Replace(encode(raw))
	t := dispatch.Token{
		ID: rand.Text(), Name: name, Hash: sha256.Sum256([]byte(secret)), Created: time.Now().UTC(),
		Scope:       dispatch.Scope{Servers: []string{"*"}, Tools: []string{"*"}},
		Permissions: dispatch.Permissions{Read: true, Write: true, Destructive: true},
	}
	if change != nil {
		change(&t)
	}
	e := record.Entry{Time: time.Now().UTC(), Type: record.TypeToken, Actor: person, Act: &record.Act{What: "token_created", Detail: map[string]string{"name": name}}}
	if err := s.store.CreateToken(s.t.Context(), t, e); err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// session is an official client of Holdfast at a path, with its tape.
func (s *stand) session(secret, path string) (*mcp.ClientSession, *tape) {
	s.t.Helper()
	return connectHTTP(s.t, s.http.URL+path, http.Header{"Authorization": {"Bearer " + secret}})
}

func (s *stand) agent(path string) (*mcp.ClientSession, *tape) {
	s.t.Helper()
	return s.session(s.token(rand.Text(), nil), path)
}

// audit lists entries, newest first, with all that was enqueued before.
func (s *stand) audit(f store.AuditFilter) []record.Entry {
	s.t.Helper()
	mark := record.Entry{Time: time.Now().UTC(), Type: record.TypePass, Actor: person, Act: &record.Act{What: "looked_at"}}
	if err := s.store.Append(s.t.Context(), mark); err != nil {
		s.t.Fatal(err)
	}
	f.Limit = 10_000
	list, err := s.store.Audit(s.t.Context(), f)
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// npm is a published server of testdata/npm as a program. Without it the test is
// skipped, and fails where HOLDFAST_REQUIRE_NPM is set.
func npm(t *testing.T, pkg string, args ...string) approval.Program {
	t.Helper()
	main, err := filepath.Abs(filepath.Join("..", "..", "testdata", "npm", "node_modules", filepath.FromSlash(pkg), "dist", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	node := os.Getenv("HOLDFAST_NODE")
	if node == "" {
		node = "node"
	}
	if _, err := os.Stat(main); err != nil {
		missing := fmt.Sprintf("SKIPPED: %s is not installed in testdata/npm; run: make prepare", pkg)
		if os.Getenv("HOLDFAST_REQUIRE_NPM") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return approval.Program{Type: "stdio", Command: node, Args: append([]string{main}, args...)}
}
