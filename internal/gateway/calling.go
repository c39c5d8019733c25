package gateway

import (
	"context"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// call answers tools/call: by one of our own tools, or by the one journey.
func (g *Gateway) call(ctx context.Context, s *session, x wire.Exchange) ([]byte, *wire.RPCError) {
	params := x.Message.Params
	span, ok := wire.Find(params, "name")
	var name string
	if ok {
		name, ok = wire.Text(params[span.Start:span.End])
	}
	if !ok {
		return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: "tools/call needs params.name, a string"}
	}
	// At /mcp both kinds of names are taken: which of them is listed depends on how
	// many tools are ready, and may change between the list and the call.
	searching := s.at.kind == faceSearch || s.at.kind == faceMain && g.o.Face != faceDirect
	if searching {
		if own, ok := ownTools[name]; ok {
			return own(g, ctx, s, x)
		}
	}
	names := s.at.names()
	if s.at.kind == faceSearch || s.at.kind == faceMain && g.o.Face == faceSearch {
		names = dispatch.Face{} // nothing but our own tools has a name here
	}
	return g.forward(ctx, s, x, call.Request{Face: names, Name: name, Params: params})
}

// forward sends a call to the desk and gives its answer: the bytes of the server,
// a refusal or a fault.
func (g *Gateway) forward(ctx context.Context, s *session, x wire.Exchange, r call.Request) ([]byte, *wire.RPCError) {
	r.Caller = s.agent.now()
	if _, ok := wire.Find(r.Params, "_meta", "progressToken"); ok {
		r.Progress = func(params []byte) { x.Notify("notifications/progress", params) }
	}
	reply, refusal, err := g.o.Desk.Do(ctx, r)
	switch {
	case refusal != nil:
		return g.refused(r, refusal), nil
	case err != nil:
		return g.failed(r, err), nil
	case reply.Error != nil:
		return nil, &wire.RPCError{Raw: reply.Error}
	}
	return reply.Result, nil
}

// variant calls a tool by its full name from the search face. The variant says
// what the caller thinks the tool does; the gate refuses one that is milder than
// what it is.
func variant(class contract.Class) ownTool {
	return func(g *Gateway, ctx context.Context, s *session, x wire.Exchange) ([]byte, *wire.RPCError) {
		a := readCall(x.Message.Params)
		name := a.text("name", required)
		arguments := a.object("arguments")
		if problem := a.problem(); problem != "" {
			return g.badArguments(s, x, problem), nil
		}
		params := append([]byte(nil), `{"name":`...)
		params = append(params, wire.Quote(name)...)
		if arguments != nil {
			params = append(append(params, `,"arguments":`...), arguments...)
		}
		if meta, ok := wire.Find(x.Message.Params, "_meta"); ok {
			params = append(append(params, `,"_meta":`...), x.Message.Params[meta.Start:meta.End]...)
		}
		params = append(params, '}')
		return g.forward(ctx, s, x, call.Request{Face: dispatch.Face{Direct: true}, Name: name, Variant: class, Params: params})
	}
}
