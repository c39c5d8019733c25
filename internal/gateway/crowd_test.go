package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// still is a gateway over a catalogue that the test swaps; nothing else is there.
type still struct {
	catalogue atomic.Pointer[dispatch.Catalogue]
	desk      func(call.Request) (dispatch.Reply, *dispatch.Refusal, error)
	g         *Gateway
}

func (s *still) Catalogue() *dispatch.Catalogue { return s.catalogue.Load() }

func (s *still) Apply(context.Context, string, func(approval.State) (approval.Change, error)) (approval.Change, error) {
	return approval.Change{}, errors.New("nothing is stored here")
}

func (s *still) Do(_ context.Context, r call.Request) (dispatch.Reply, *dispatch.Refusal, error) {
	return s.desk(r)
}

func (s *still) TokenByHash(context.Context, [32]byte) (dispatch.Token, error) {
	return dispatch.Token{}, errors.New("no store")
}
func (s *still) TouchToken(string, time.Time) {}
func (s *still) Enqueue(record.Entry)         {}

func newStill(t testing.TB) *still {
	s := &still{}
	s.set()
	var err error
	s.g, err = New(Options{Tools: s, Desk: s, Tokens: s, Journal: s, Now: time.Now, Log: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// set swaps in a catalogue of servers with so many tools each; sets names them.
func (s *still) set(sets ...set) {
	var servers []approval.Server
	var records []approval.Record
	for _, x := range sets {
		servers = append(servers, approval.Server{Name: x.server, Version: 1, Incarnation: "i", Named: true, Enabled: true, Quarantined: x.quarantined})
		for i := range x.tools {
			name := fmt.Sprintf("t%04d", i)
			c := contract.Parse(fmt.Appendf(nil, `{"name":%q,"description":"does %s%s","inputSchema":{"type":"object"}}`, name, name, x.text))
			records = append(records, approval.Record{Key: approval.Key{Server: x.server, Kind: approval.Tool, Name: name}, Version: 1, Status: approval.Approved, Approved: c, Anchor: c, Live: c})
		}
	}
	s.catalogue.Store(dispatch.NewCatalogue(approval.Settings{ID: "s"}, servers, records))
	if s.g != nil {
		s.g.Swapped(s.catalogue.Load())
	}
}

type set struct {
	server      string
	tools       int
	text        string
	quarantined bool
}

// peer counts what it is told, and when.
type peer struct {
	mu   sync.Mutex
	told []time.Time
}

func (p *peer) ID() string { return "" }

func (p *peer) Notify(method string, params []byte) {
	if method != "notifications/tools/list_changed" || params != nil {
		panic(method)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, time.Now())
}

func (p *peer) times() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.told)
}

func (s *still) open(t testing.TB, at place, who dispatch.Caller) (*peer, *session) {
	t.Helper()
	p := &peer{}
	m, err := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, state, rpcErr := (*face)(s.g).Open(t.Context(), p, m, visitor{newAgent(who), at})
	if rpcErr != nil {
		t.Fatal(rpcErr.Message)
	}
	return p, state.(*session)
}

func scoped(servers ...string) dispatch.Caller {
	c := dispatch.Local()
	c.Scope.Servers = servers
	return c
}

func TestListChangedOnlyForWhatIsVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStill(t)
		defer s.g.Close()
		s.set(set{server: "a", tools: 2}, set{server: "b", tools: 2})
		all, _ := s.open(t, place{kind: faceDirect}, dispatch.Local())
		onlyB, _ := s.open(t, place{kind: faceDirect}, scoped("b"))
		serverB, _ := s.open(t, place{kind: faceServer, server: "b"}, dispatch.Local())
		search, _ := s.open(t, place{kind: faceSearch}, dispatch.Local())
		main, _ := s.open(t, place{kind: faceMain}, dispatch.Local())
		gone, left := s.open(t, place{kind: faceDirect}, dispatch.Local())
		(*face)(s.g).Closed(left)
		check := func(what string, want ...int) {
			t.Helper()
			time.Sleep(5 * time.Second)
			for i, p := range []*peer{all, onlyB, serverB, search, main, gone} {
				if got := p.times(); got != want[i] {
					t.Errorf("%s: session %d was told %d times, want %d", what, i, got, want[i])
				}
			}
		}
		s.set(set{server: "a", tools: 2}, set{server: "b", tools: 2})
		check("the same again", 0, 0, 0, 0, 0, 0)
		s.set(set{server: "a", tools: 3}, set{server: "b", tools: 2})
		check("a tool of a", 1, 0, 0, 0, 1, 0)
		s.set(set{server: "a", tools: 3}, set{server: "b", tools: 2, text: "!"})
		check("a text of b", 2, 1, 1, 0, 2, 0)
		s.set(set{server: "a", tools: 3, quarantined: true}, set{server: "b", tools: 2, text: "!"})
		check("a quarantined", 3, 1, 1, 0, 3, 0)
		s.set(set{server: "a", tools: 39, quarantined: true}, set{server: "b", tools: 2, text: "!"})
		check("more of what nobody sees", 3, 1, 1, 0, 3, 0)
		s.set(set{server: "a", tools: 39}, set{server: "b", tools: 2, text: "!"})
		check("41 tools: /mcp becomes search", 4, 1, 1, 0, 4, 0)
		s.set(set{server: "a", tools: 50}, set{server: "b", tools: 2, text: "!"})
		check("search stays as it is", 5, 1, 1, 0, 4, 0)
		s.set(set{server: "a", tools: 38}, set{server: "b", tools: 2, text: "!"})
		check("40 tools: /mcp is direct again", 6, 1, 1, 0, 5, 0)
	})
}

func TestListChangedAtMostOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStill(t)
		defer s.g.Close()
		s.set(set{server: "a", tools: 1})
		p, x := s.open(t, place{kind: faceDirect}, dispatch.Local())
		for i := range 100 { // ten seconds
			s.set(set{server: "a", tools: 2 + i})
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		if n := p.times(); n < 9 || n > 12 {
			t.Errorf("told %d times in ten seconds", n)
		}
		for i := 1; i < len(p.told); i++ {
			if gap := p.told[i].Sub(p.told[i-1]); gap < tellEvery {
				t.Errorf("told again after %v", gap)
			}
		}
		// There and back within the time it takes to settle is no change.
		n := p.times()
		s.set(set{server: "a", tools: 5})
		s.set(set{server: "a", tools: 101})
		time.Sleep(5 * time.Second)
		if p.times() != n {
			t.Error("told of a change that was taken back")
		}
		// Who listed the new tools already is not told of them.
		s.set(set{server: "a", tools: 7})
		if _, rpcErr := s.g.list(x, nil); rpcErr != nil {
			t.Fatal(rpcErr)
		}
		time.Sleep(5 * time.Second)
		if p.times() != n {
			t.Error("told of what was listed")
		}
		s.g.Close()
		s.set(set{server: "a", tools: 8})
		time.Sleep(5 * time.Second)
		if p.times() != n {
			t.Error("told after Close")
		}
	})
}
