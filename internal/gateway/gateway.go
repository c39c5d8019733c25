// Package gateway is the MCP face: streamable HTTP and stdio, with the server,
// direct and search faces. It shows what is ready and sends every call to the one
// journey. Design: docs/design/faces.md.
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
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

// Tokens finds agents by the SHA-256 of what they sent (store). It is asked for
// every request, so that a revoked token is refused at once.
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
	Origins []string // of web pages that may connect
	Hosts   []string // names beside those of the loopback that requests may be for
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

// Limits of the face. Zero fields are wire's defaults.
type Limits struct {
	Message  int           // bytes of one message
	Sessions int           // of one token
	Idle     time.Duration // after which an unused session ends
}

// Gateway serves agents. Safe for concurrent use.
type Gateway struct {
	o       Options
	agents  agents
	public  *wire.HTTPServer // with tokens
	local   *wire.HTTPServer // for the local user
	crowd   crowd            // the open sessions, and what they were told
	indexes indexes          // of the search face

	proposing sync.Mutex // one proposal of a server at a time
}

// New makes a gateway. It fails when an option is missing or is none of its values.
func New(o Options) (*Gateway, error) {
	switch {
	case o.Tools == nil || o.Desk == nil || o.Tokens == nil || o.Journal == nil || o.Now == nil || o.Log == nil:
		return nil, errors.New("the gateway lacks one of its rooms")
	case o.Face != "" && o.Face != faceDirect && o.Face != faceSearch:
		return nil, errors.New(`the face of /mcp is neither "direct" nor "search"`)
	}
	g := &Gateway{o: o}
	g.agents.local = newAgent(dispatch.Local())
	g.public = g.server(g.authenticate, o.Hosts)
	if o.AuthOff {
		g.public.Authenticate = g.localUser
	}
	// A web page can't reach a unix socket, and its clients name any host.
	g.local = g.server(g.localUser, []string{"*"})
	return g, nil
}

func (g *Gateway) server(authenticate func(*http.Request) (any, error), hosts []string) *wire.HTTPServer {
	return &wire.HTTPServer{
		Face:         (*face)(g),
		Authenticate: authenticate,
		Owner:        func(who any) any { return who.(visitor).agent },
		MaxBody:      g.o.Limits.Message,
		MaxSessions:  g.o.Limits.Sessions,
		Idle:         g.o.Limits.Idle,
		Origins:      g.o.Origins,
		Hosts:        hosts,
	}
}

// Handler serves /mcp, /mcp/direct, /mcp/search and /mcp/server/<name>. Callers
// need a token.
func (g *Gateway) Handler() http.Handler { return paths(g.public) }

// LocalHandler serves the same paths to whoever can reach it, as the local user:
// for the unix socket only.
func (g *Gateway) LocalHandler() http.Handler { return paths(g.local) }

func paths(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := placeOf(r.URL.Path); !ok {
			http.Error(w, "MCP is served at /mcp, /mcp/direct, /mcp/search and /mcp/server/<name>", http.StatusNotFound)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// ServeConn serves one agent over a connection (stdio) as the local user, until the
// agent leaves or ctx ends. server names the server face; empty is what /mcp is.
// linger says, when the agent closed its side, how long what it had asked may take.
func (g *Gateway) ServeConn(ctx context.Context, c wire.Conn, server string, linger func() time.Duration) error {
	at := place{kind: faceMain}
	if server != "" {
		at = place{kind: faceServer, server: server}
	}
	return g.local.ServeConn(ctx, c, visitor{g.agents.local, at}, linger)
}

// Swapped is told of a new catalogue: sessions whose visible list changed get
// list_changed, at most one a second each. It does not block.
func (g *Gateway) Swapped(*dispatch.Catalogue) { g.crowd.stir(g) }

// Close ends every session.
func (g *Gateway) Close() {
	g.crowd.close()
	g.public.Close()
	g.local.Close()
	g.indexes.close()
}
