// Package gateway is the MCP face: streamable HTTP and stdio, with the server,
// direct and search faces. It shows what is ready and sends every call to the one
// journey. Design: docs/design/faces.md.
package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// Tools is the catalogue, and the journey of an act for the management tools (intake).
type Tools interface {
	Catalogue() *dispatch.Catalogue
	Apply(ctx context.Context, server string, act func(approval.State) (approval.Change, error)) (approval.Change, error)
}

// Desk takes calls (call).
type Desk interface {
	Do(ctx context.Context, r call.Request) (dispatch.Reply, *dispatch.Refusal, error)
}

// Tokens finds agents by the SHA-256 of what they sent (store).
type Tokens interface {
	TokenByHash(ctx context.Context, hash [32]byte) (dispatch.Token, error)
	TouchToken(id string, at time.Time)
}

// Journal takes refusals that no journey saw (store).
type Journal interface {
	Enqueue(e record.Entry)
}

// Options of a Gateway. All are required but Origins and Hosts.
type Options struct {
	Tools   Tools
	Desk    Desk
	Tokens  Tokens
	Journal Journal
	AuthOff bool   // every HTTP caller is the local user; only for a loopback listener
	Face    string // what /mcp is: "", "direct" or "search"
	Limits  Limits
	Origins []string
	Hosts   []string
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

// Limits of the face.
type Limits struct {
	Message  int
	Sessions int // of one token
	Idle     time.Duration
}

// Gateway serves agents. Safe for concurrent use.
type Gateway struct{}

func New(o Options) (*Gateway, error) { panic("unwritten") }

// Handler serves /mcp, /mcp/direct, /mcp/search and /mcp/server/<name>. Callers
// need a token.
func (g *Gateway) Handler() http.Handler { panic("unwritten") }

// LocalHandler serves the same paths to whoever can reach it, as the local user:
// for the unix socket only.
func (g *Gateway) LocalHandler() http.Handler { panic("unwritten") }

// ServeConn serves one agent over a connection (stdio) as who. server names the
// server face; empty is what /mcp is.
func (g *Gateway) ServeConn(ctx context.Context, c wire.Conn, server string, who dispatch.Caller) error {
	panic("unwritten")
}

// Swapped is told of a new catalogue: sessions whose visible list changed get
// list_changed, at most one a second each. It does not block.
func (g *Gateway) Swapped(c *dispatch.Catalogue) { panic("unwritten") }

// Close ends every session.
func (g *Gateway) Close() { panic("unwritten") }
