package wire

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Defaults of an HTTPServer, for fields that are zero.
const (
	DefaultMaxSessions = 64
	DefaultIdle        = 30 * time.Minute
)

// Peer is the server's side of one agent session, as a face sees it.
type Peer interface {
	// ID is the session's id: unguessable, empty over stdio.
	ID() string
	// Notify sends a notification on the session's standing stream. It does not
	// wait: without a stream, or when the agent does not read, one with params is
	// dropped; one without (list_changed) is kept, once a method, until it can go.
	Notify(method string, params []byte)
}

// Exchange is one request of an agent being answered.
type Exchange struct {
	Peer    Peer
	Message Message
	// Notify sends a notification that belongs to this request (progress): over
	// HTTP it turns the answer into an event stream. It does not wait: for an agent
	// that does not read the oldest are dropped. After the answer it does nothing.
	Notify func(method string, params []byte)
}

// Face answers what agents send. Methods may be called concurrently.
type Face interface {
	// Open is called for initialize. It gives the result, and the value that the
	// session carries. who is what Authenticate gave.
	Open(ctx context.Context, p Peer, m Message, who any) (result []byte, session any, err *RPCError)
	// Request answers any other request but ping. ctx ends when the agent cancels or
	// leaves, or the session ends.
	Request(ctx context.Context, session any, x Exchange) (result []byte, err *RPCError)
	// Notify takes a notification; cancellation the transport handles itself. It
	// must not block: what the agent sends next waits for it.
	Notify(session any, m Message)
	// Closed is called once when the session ended. Its requests were cancelled and
	// may still be ending.
	Closed(session any)
}

// RPCError is a JSON-RPC error to answer with.
type RPCError struct {
	Code    int
	Message string
	Data    []byte
	Raw     []byte // when set, the whole error object as an upstream sent it
}

func (e *RPCError) object() []byte {
	if e.Raw != nil {
		return e.Raw
	}
	return NewErrorObject(e.Code, e.Message, e.Data)
}

// HTTPServer serves one Face as a streamable HTTP endpoint (MCP 2025-11-25,
// transports; docs/design/wire.md, "Server side"). It must not be copied, and its
// fields not be changed, once it serves. Safe for concurrent use.
type HTTPServer struct {
	Face Face
	// Authenticate checks a request, right after its Host and Origin, and says who
	// it is; the value must be comparable: a session belongs to who opened it. An
	// error is answered with 401 and one sentence, the same for every error. Nil refuses
	// everybody. It is asked again while a standing stream is open.
	Authenticate func(*http.Request) (who any, err error)
	// Owner says whose sessions are counted together; nil: who's.
	Owner       func(who any) any
	MaxBody     int           // bytes of one POST; 0: DefaultMaxMessage
	InFlight    int           // bytes of one owner's requests that are not answered yet; 0: DefaultInFlight
	AllInFlight int           // of everybody's; 0: DefaultAllInFlight
	MaxSessions int           // of one owner; 0: DefaultMaxSessions
	Idle        time.Duration // after which an unused session ends; 0: DefaultIdle
	Origins     []string      // allowed Origin values beside same-origin and none
	Hosts       []string      // allowed Host names beside loopback ones; "*" allows any (a unix socket)

	table sessionTable
	load  load
}

// ServeHTTP answers POST, GET and DELETE.
func (s *HTTPServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.local(w, r) {
		return
	}
	if r.Method == http.MethodOptions && r.Header.Get("Origin") != "" {
		w.WriteHeader(http.StatusNoContent) // a preflight; what it may do stands in the header
		return
	}
	who, ok := s.authenticate(r)
	if !ok {
		w.Header().Set("Www-Authenticate", "Bearer")
		reject(w, http.StatusUnauthorized, "a token is needed, as Authorization: Bearer TOKEN; what came is none, or an unknown, expired or revoked one")
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, who)
	case http.MethodGet:
		s.stand(w, r, who)
	case http.MethodDelete:
		s.remove(w, r, who)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		reject(w, http.StatusMethodNotAllowed, "only GET, POST and DELETE are answered here")
	}
}

func (s *HTTPServer) authenticate(r *http.Request) (who any, ok bool) {
	if s.Authenticate == nil {
		return nil, false
	}
	who, err := s.Authenticate(r)
	return who, err == nil
}

// Close ends every session and its streams, cancels what is being answered, and
// opens no more.
func (s *HTTPServer) Close() {
	for _, x := range s.table.take() {
		s.end(x)
	}
}

// flight is one request being answered.
type flight struct {
	id        []byte
	cancel    context.CancelCauseFunc
	cancelled bool // by the agent
}

// Causes of a request's context.
var (
	errCancelled = &cause{"the agent cancelled the request"}
	errLeft      = &cause{"the agent left before the answer"}
	errEnded     = &cause{"the session ended"}
)

type cause struct{ what string }

func (c *cause) Error() string { return c.what }
func (c *cause) Unwrap() error { return context.Canceled }

// maxFlights is how many requests of one session are answered at once.
const maxFlights = 128

// flights are the requests of one session that are being answered. Two may have
// one id: over HTTP each answer goes its own way, and real clients reuse ids.
type flights struct {
	mu    sync.Mutex
	ended bool
	all   []*flight
}

// add takes a request in, unless the session ended or has too many.
func (f *flights) add(x *flight) (ok, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended || len(f.all) >= maxFlights {
		return false, f.ended
	}
	f.all = append(f.all, x)
	return true, false
}

func (f *flights) remove(x *flight) (cancelled bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.all, x); i >= 0 {
		last := len(f.all) - 1
		f.all[i], f.all[last] = f.all[last], nil
		f.all = f.all[:last]
	}
	return x.cancelled
}

// cancel cancels what a notifications/cancelled names.
func (f *flights) cancel(m Message) {
	id, ok := Find(m.Params, "requestId")
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.all {
		if string(x.id) == string(id.of(m.Params)) {
			x.cancelled = true
			x.cancel(errCancelled)
		}
	}
}

// end cancels all and takes no more; it reports whether it was the first to.
func (f *flights) end(why error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	f.ended = true
	for _, x := range f.all {
		x.cancel(why)
	}
	return true
}
