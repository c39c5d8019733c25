package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

const (
	tokenPrefix = "holdfast_"
	tokenLength = 43          // characters after the prefix: 256 bits
	touchEvery  = time.Minute // between notes of when a token was last used
	reportEvery = time.Minute // between audit entries of one refused token
)

// agent is one caller. A token is one agent, however many sessions it has, and
// what it may do is read anew with every request.
type agent struct {
	caller  atomic.Pointer[dispatch.Caller]
	touched atomic.Int64 // nanoseconds since 1970
}

func newAgent(c dispatch.Caller) *agent {
	a := &agent{}
	a.caller.Store(&c)
	return a
}

// now is who the agent is by its last request.
func (a *agent) now() dispatch.Caller { return *a.caller.Load() }

// visitor is an agent at a place: to whom a session belongs.
type visitor struct {
	agent *agent
	at    place
}

// agents are those whose tokens were good when they were last used.
type agents struct {
	local *agent

	mu       sync.Mutex
	byToken  map[string]*agent    // by the token's id
	reported map[string]time.Time // refused tokens that the audit has; "" is any unknown one
}

func (g *Gateway) localUser(r *http.Request) (any, error) {
	at, _ := placeOf(r.URL.Path)
	return visitor{g.agents.local, at}, nil
}

// authenticate looks the token up for every request. A token is found by the
// SHA-256 of what was sent, so that how long the search takes says nothing of it.
func (g *Gateway) authenticate(r *http.Request) (any, error) {
	secret, ok := bearer(r.Header)
	if !ok {
		return nil, fault.New(fault.Unauthorized, "no token was sent", "")
	}
	hash := sha256.Sum256([]byte(secret))
	t, err := g.o.Tokens.TokenByHash(r.Context(), hash)
	if err != nil {
		if fault.KindOf(err) == fault.NotFound {
			g.reportToken("")
		} else if r.Context().Err() == nil {
			g.o.Log.Error("a token could not be looked up, and was refused", "err", err)
		}
		return nil, err
	}
	if subtle.ConstantTimeCompare(t.Hash[:], hash[:]) != 1 {
		return nil, fault.New(fault.Unauthorized, "the token is another one", "")
	}
	now := g.o.Now()
	caller := t.Caller(now)
	a := g.agents.of(t.ID, caller)
	if a == nil {
		g.reportToken(t.Name)
		return nil, fault.New(fault.Unauthorized, "the token is expired or revoked", "")
	}
	if last := a.touched.Load(); now.UnixNano()-last >= int64(touchEvery) && a.touched.CompareAndSwap(last, now.UnixNano()) {
		g.o.Tokens.TouchToken(t.ID, now)
	}
	at, _ := placeOf(r.URL.Path)
	return visitor{a, at}, nil
}

// of gives the agent of a token and what it may do now; nil when that is nothing.
func (s *agents) of(token string, caller dispatch.Caller) *agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.byToken[token]
	if caller.Name == "" {
		if a != nil {
			a.caller.Store(&caller) // for what is still open
			delete(s.byToken, token)
		}
		return nil
	}
	if a != nil {
		a.caller.Store(&caller)
		return a
	}
	if s.byToken == nil {
		s.byToken = map[string]*agent{}
	}
	a = newAgent(caller)
	s.byToken[token] = a
	return a
}

// bearer gives the token that a request carries, if it looks like one.
func bearer(h http.Header) (string, bool) {
	v := h["Authorization"]
	if len(v) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(v[0], " ")
	token = strings.TrimLeft(token, " ")
	secret, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok || len(secret) != tokenLength || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	for _, c := range []byte(secret) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return "", false
		}
	}
	return token, true
}

// reportToken writes a refused token down, one at a time: whoever has none must
// not be able to fill the audit.
func (g *Gateway) reportToken(name string) {
	now := g.o.Now()
	s := &g.agents
	s.mu.Lock()
	last, known := s.reported[name]
	due := !known || now.Sub(last) >= reportEvery
	if due {
		if s.reported == nil {
			s.reported = map[string]time.Time{}
		}
		s.reported[name] = now
	}
	s.mu.Unlock()
	if due {
		g.journalRefusal(visitor{}, name, "", "", string(dispatch.TokenInvalid))
	}
}

// journalRefusal writes down a refusal that no journey saw. The audit is for ever, and
// an agent chose these names: a server is written only if there is one of that name,
// and no name is written at any length.
func (g *Gateway) journalRefusal(who visitor, caller, server, tool, class string) {
	c := g.o.Tools.Catalogue()
	if _, ok := c.Server(server); !ok {
		server = ""
	}
	caller = bounded(caller, maxKept)
	g.o.Journal.Enqueue(record.Entry{
		Time:       g.o.Now().UTC().Truncate(time.Microsecond),
		Type:       record.TypeRefusal,
		Actor:      record.Actor{Kind: record.Agent, Name: caller},
		Server:     server,
		Name:       bounded(tool, maxKept),
		SettingsID: c.Settings().ID,
		Call:       &record.Call{Caller: caller, Face: who.at.kind, Refused: class, Reasons: []string{class}},
	})
}

// scopeHas reports whether a server stands in the caller's scope.
func scopeHas(who dispatch.Caller, server string) bool {
	for _, s := range who.Scope.Servers {
		if s == "*" || s == server {
			return true
		}
	}
	return false
}

// inScope reports whether the caller may know of an entry, ready or not. The gate
// is asked, so that there is one answer.
func inScope(c *dispatch.Catalogue, who dispatch.Caller, e dispatch.Entry) bool {
	_, refusal := dispatch.Admit(c, dispatch.Request{
		Caller: who, Face: dispatch.Face{Direct: true}, Kind: e.Record.Key.Kind, Name: e.Direct,
	})
	return refusal == nil || refusal.Server != ""
}
