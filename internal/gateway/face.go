package gateway

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// face is the Gateway as the wire sees it.
type face Gateway

// session is one session of an agent.
type session struct {
	visitor
	peer wire.Peer
	told told // of the crowd
}

// Open answers initialize.
func (f *face) Open(_ context.Context, p wire.Peer, m wire.Message, who any) ([]byte, any, *wire.RPCError) {
	g, v := (*Gateway)(f), who.(visitor)
	span, ok := wire.Find(m.Params, "protocolVersion")
	var asked string
	if ok {
		asked, ok = wire.Text(m.Params[span.Start:span.End])
	}
	if !ok {
		return nil, nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: "initialize needs params.protocolVersion, a string"}
	}
	version := wire.Versions[0]
	if slices.Contains(wire.Versions, asked) {
		version = asked
	}
	c, caller := g.o.Tools.Catalogue(), v.agent.now()
	if v.at.kind == faceServer {
		// A server that is outside the scope is one that does not exist.
		if _, ok := c.Server(v.at.server); !ok || !scopeHas(caller, v.at.server) {
			return nil, nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: "there is no server " + strconv.Quote(v.at.server) + " here; its name stands in the address of this endpoint"}
		}
	}
	s := &session{visitor: v, peer: p}
	g.crowd.enter(s)
	see := g.look(s)
	result := append([]byte(nil), `{"protocolVersion":`...)
	result = append(result, wire.Quote(version)...)
	result = append(result, `,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"holdfast","title":"Holdfast","version":`...)
	result = append(result, wire.Quote(g.o.Version)...)
	result = append(result, `},"instructions":`...)
	result = append(result, wire.Quote(instructions(v.at, see))...)
	return append(result, '}'), s, nil
}

// look gives what a session sees now, and notes that it was told.
func (g *Gateway) look(s *session) view {
	c := g.o.Tools.Catalogue()
	see := g.viewOf(c, s.at, s.agent.now())
	g.crowd.listed(s, see.mark(s.at))
	if g.o.Tools.Catalogue() != c {
		g.crowd.stir(g) // it may have been told of the newer one already, and of this again now
	}
	return see
}

func instructions(at place, see view) string {
	const refused = " A refused call says why and what a person can do about it; calling again does not help."
	switch {
	case see.search:
		return "Tools of many servers stand behind this one. Find them with retrieve_tools, read a contract with describe_tool, and call it with the call_tool_ variant that call_with names." + refused
	case at.kind == faceServer:
		return "These are the approved tools of the server " + at.server + "." + refused
	}
	return "These are the approved tools of all servers, each named server__tool." + refused
}

// Request answers what an agent asks.
func (f *face) Request(ctx context.Context, state any, x wire.Exchange) (result []byte, rpcErr *wire.RPCError) {
	g, s := (*Gateway)(f), state.(*session)
	defer func() {
		if p := recover(); p != nil {
			// The value of a panic may quote what was being worked on: only its type is logged.
			g.o.Log.Error("a request panicked", "method", bounded(x.Message.Method, maxKept), "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			result, rpcErr = nil, &wire.RPCError{Code: wire.CodeInternal, Message: "Holdfast failed; the log says where"}
		}
	}()
	switch x.Message.Method {
	case "tools/list":
		return g.list(s, x.Message.Params)
	case "tools/call":
		return g.call(ctx, s, x)
	}
	return nil, &wire.RPCError{Code: wire.CodeMethodNotFound, Message: "this method is not served here; tools/list and tools/call are"}
}

// Notify takes a notification; none of them asks for anything here.
func (f *face) Notify(any, wire.Message) {}

// Closed forgets a session.
func (f *face) Closed(state any) { (*Gateway)(f).crowd.leave(state.(*session)) }
