package dispatch

import (
	"sync/atomic"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Permit allows one call, once. The zero Permit allows nothing. Copies share the
// one use. Safe for concurrent use.
type Permit struct{ p *permit }

type permit struct {
	granted Granted
	recall  *atomic.Bool // of the server, when the permit was given
	spent   atomic.Bool
}

// Granted is what a permit was given for.
type Granted struct {
	CallID      string
	Caller      Caller
	Server      string
	Incarnation string
	Kind        approval.Kind
	Tool        string
	Approved    contract.Digest
	Live        contract.Digest
	Class       contract.Class
}

// Granted tells what the permit is for, without spending it; ok is false for the
// zero Permit.
func (p Permit) Granted() (g Granted, ok bool) {
	if p.p == nil {
		return Granted{}, false
	}
	return p.p.granted, true
}

// Spend uses the permit up for a server of this incarnation that now holds the
// live contract held(tool). It fails, and nothing may run, when the permit is zero,
// was used, is of another server or incarnation (foreign), was recalled, or when the
// held digest is not the one that was judged (stale: tool_changed). A failed Spend
// uses it up. Whoever can cancel calls in flight registers the call before it spends
// the permit: then a call is recalled, or cancelled, or came before.
func (p Permit) Spend(server, incarnation string, held func(approval.Kind, string) contract.Digest) (Granted, *Refusal) {
	if p.p == nil {
		return Granted{}, badPermit(Granted{}, "there is no permit for it")
	}
	g := p.p.granted
	if p.p.spent.Swap(true) {
		return Granted{}, badPermit(g, "its permit was used already")
	}
	if g.Server != server || g.Incarnation != incarnation {
		return Granted{}, badPermit(g, "what is run for the server was changed after the call was admitted")
	}
	if p.p.recall.Load() {
		return Granted{}, badPermit(g, "the server was quarantined, disabled or changed after the call was admitted")
	}
	if held == nil || g.Live == "" || held(g.Kind, g.Tool) != g.Live {
		return Granted{}, stale(g)
	}
	return g, nil
}

// Outgoing is what goes out under a permit: the params of tools/call as they
// came. The upstream puts the permit's tool in the place of params.name.
type Outgoing struct {
	Params   []byte
	Progress func(params []byte) // nil when the caller asked for none; params as the server sent them but for the caller's progress token
}

// Reply is what came back, as bytes of the server: exactly one of the two is set.
type Reply struct {
	Result []byte // result of the JSON-RPC response
	Error  []byte // error object of the JSON-RPC response
}
