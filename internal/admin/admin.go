// Package admin is the REST API, /api/v1: what people do, over the unix socket.
// One action a file. The OpenAPI document is generated from the handlers' types.
// Design: docs/design/faces.md.
package admin

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
)

// Trust is the catalogue and the journey of an act (intake).
type Trust interface {
	Catalogue() *dispatch.Catalogue
	Apply(ctx context.Context, server string, act func(approval.State) (approval.Change, error)) (approval.Change, error)
	Discover(ctx context.Context, server string) error
}

// ServerState is how a server's connection stands, as the API shows it.
type ServerState struct {
	Phase           string
	Since           time.Time
	Error           string
	PID             int
	ProtocolVersion string
	ServerName      string
	ServerVersion   string
}

// Servers are the running upstreams (wired to upstream.Pool by cmd).
type Servers interface {
	State(name string) (ServerState, bool)
	Restart(name string) error
	Logs(name string, n int) ([]string, error)
}

// Tokens and Audit are the store's, declared here with just what is used; see
// internal/store for the contracts of the methods.
type Tokens interface {
	CreateToken(ctx context.Context, t dispatch.Token, e record.Entry) error
	RevokeToken(ctx context.Context, nameOrID string, at time.Time, e record.Entry) error
	Tokens(ctx context.Context) ([]dispatch.Token, error)
}

// Options of the API.
type Options struct {
	Trust   Trust
	Servers Servers
	Tokens  Tokens
	// Audit ... (to be declared by the room)
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

// New gives the handler. whoOf says who a request is from; the unix socket's is
// the person.
func New(o Options, whoOf func(*http.Request) record.Actor) http.Handler { panic("unwritten") }
