// Package admin is the REST API, /api/v1: what people do, over the unix socket.
// One action a file. The OpenAPI document is generated from the handlers' types.
// Design: docs/design/rest.md.
package admin

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/intake"
)

// Trust is the catalogue and the journey of an act (intake). Apply is durable when
// it returns; act may be called again when a race was lost, so it must be pure.
type Trust interface {
	Catalogue() *dispatch.Catalogue
	Apply(ctx context.Context, server string, act func(approval.State) (approval.Change, error)) (approval.Change, error)
	Discover(ctx context.Context, server string) error
	// Findings scans everything that is approved with the signatures in force.
	Findings(ctx context.Context) []intake.Found
}

// ServerState is how a server's connection stands, as the API shows it.
type ServerState struct {
	Phase           string    // stopped, connecting, connected, backing_off
	Since           time.Time // of the phase
	Error           string    // one sentence without a secret; empty when there is none
	NextTry         time.Time // zero when none is planned
	PID             int       // 0 when there is no process
	ProtocolVersion string
	ServerName      string // as the server calls itself: foreign text
	ServerVersion   string // foreign text
	ListingError    string // why what a connected server offers could not be listed; one sentence
}

// Servers are the running upstreams (wired to upstream.Pool by cmd).
type Servers interface {
	// State is false for a server that does not run.
	State(name string) (ServerState, bool)
	Restart(name string) error
	// Logs gives the last n lines of the server's standard error: foreign text.
	Logs(name string, n int) ([]string, error)
}

// Tokens are the store's; see internal/store for the contracts of the methods.
type Tokens interface {
	CreateToken(ctx context.Context, t dispatch.Token, e record.Entry) error
	RevokeToken(ctx context.Context, nameOrID string, at time.Time, e record.Entry) error
	Tokens(ctx context.Context) ([]dispatch.Token, error)
}

// AuditFilter selects audit entries; zero fields select everything. It has the
// form of store.AuditFilter, which cmd converts to.
type AuditFilter struct {
	Server, Name string
	Types        []record.Type
	Since, Until time.Time
	Text         string
	Before       int64
	Limit        int
}

// Chain is what verifying the audit found.
type Chain struct {
	Entries int64
	Head    [32]byte
	BadSeq  int64
	Problem string
}

// Audit is the store's audit; see internal/store for the contracts of the methods.
type Audit interface {
	Audit(ctx context.Context, f AuditFilter) ([]record.Entry, error)
	Entry(ctx context.Context, seq int64) (record.Entry, error)
	Walk(ctx context.Context, from int64, f func(record.Entry) error) error
	Verify(ctx context.Context) (Chain, error)
	// Report is the last security scan of a server; nil when there is none.
	Report(ctx context.Context, server string) (*approval.Report, error)
}

// Options of the API. All but AuditHealth are required.
type Options struct {
	Trust   Trust
	Servers Servers
	Tokens  Tokens
	Audit   Audit
	// Mask gives what is run with everything secret-looking hidden.
	Mask func(approval.Program) approval.Program
	// Config is the configuration in force, already masked.
	Config func() Config
	// Daemon says what only the running process knows.
	Daemon func() Daemon
	// AuditHealth says why nothing can be written down any more; nil when all is well,
	// and where nobody can tell.
	AuditHealth func() error
	// Ready fails while the daemon can't do its work; one sentence.
	Ready   func(ctx context.Context) error
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

type api struct {
	Options
	huma huma.API
}

// New gives the handler. whoOf says who a request is from; the unix socket's is
// the person. The zero actor gets nothing but the health checks, an agent neither.
func New(o Options, whoOf func(*http.Request) record.Actor) http.Handler {
	if o.AuditHealth == nil {
		o.AuditHealth = func() error { return nil }
	}
	mux := http.NewServeMux()
	a := newAPI(o, mux)
	a.healthRoutes(mux)
	a.exportRoute(mux)
	mux.HandleFunc("/", notFound)
	return a.identify(whoOf, mux)
}

func newAPI(o Options, mux *http.ServeMux) *api {
	c := huma.DefaultConfig("Holdfast administration", "1")
	c.Info.Description = "What a person may do with a running Holdfast: servers, tool contracts, tokens, audit. " +
		"Served on the unix socket of the data directory. Errors are RFC 9457 problem documents with a stable code."
	c.DocsPath, c.SchemasPath = "", ""
	c.CreateHooks = nil
	c.RejectUnknownQueryParameters = true
	c.Formats = map[string]huma.Format{"application/json": strictJSON, "json": strictJSON}
	a := &api{Options: o, huma: humago.New(mux, c)}
	a.serverRoutes()
	a.toolRoutes()
	a.tokenRoutes()
	a.auditRoutes()
	a.stateRoutes()
	a.describeExport()
	return a
}

// OpenAPI is the document that /openapi.json serves, as indented JSON.
func OpenAPI() ([]byte, error) {
	a := newAPI(Options{}, http.NewServeMux())
	return indent(a.huma.OpenAPI())
}

// apply runs an act with the request's id in all that it writes down.
func (a *api) apply(ctx context.Context, server string, act func(approval.State) (approval.Change, error)) (approval.Change, error) {
	id := requestID(ctx)
	return a.Trust.Apply(ctx, server, func(s approval.State) (approval.Change, error) {
		c, err := act(s)
		for i := range c.Entries {
			c.Entries[i].RequestID = id
		}
		return c, err
	})
}

// stateOf is what the law reads about a server, from the catalogue in force.
func (a *api) stateOf(name string) (approval.State, error) {
	c := a.Trust.Catalogue()
	srv, ok := c.Server(name)
	if !ok {
		return approval.State{}, noServer(c, name)
	}
	s := approval.State{Settings: c.Settings(), Server: srv, Now: a.Now().UTC()}
	for _, e := range c.Entries(name) {
		s.Records = append(s.Records, e.Record)
	}
	return s, nil
}
