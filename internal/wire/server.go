package wire

import (
	"context"
	"net/http"
	"time"
)

// Peer is the server's side of one agent session, as a face sees it.
type Peer interface {
	// ID is the session's id: unguessable, empty over stdio.
	ID() string
	// Notify sends a notification on the session's standing stream, or drops it
	// when there is none.
	Notify(method string, params []byte)
}

// Exchange is one request of an agent being answered.
type Exchange struct {
	Peer    Peer
	Message Message
	// Notify sends a notification that belongs to this request (progress): over
	// HTTP it turns the answer into an event stream.
	Notify func(method string, params []byte)
}

// Face answers what agents send. Methods may be called concurrently.
type Face interface {
	// Open is called for initialize. It gives the result, and the value that the
	// session carries. who is what Authenticate gave.
	Open(ctx context.Context, p Peer, m Message, who any) (result []byte, session any, err *RPCError)
	// Request answers any other request but ping. ctx ends when the agent cancels or leaves.
	Request(ctx context.Context, session any, x Exchange) (result []byte, err *RPCError)
	// Notify takes a notification; cancellation the transport handles itself.
	Notify(session any, m Message)
	// Closed is called when the session ended.
	Closed(session any)
}

// RPCError is a JSON-RPC error to answer with.
type RPCError struct {
	Code    int
	Message string
	Data    []byte
	Raw     []byte // when set, the whole error object as an upstream sent it
}

// HTTPServer serves one Face as a streamable HTTP endpoint.
type HTTPServer struct {
	Face Face
	// Authenticate checks a request before anything else and says who it is; the
	// value must be comparable: a session belongs to who opened it. An error is
	// answered with 401, without a body that tells anything.
	Authenticate func(*http.Request) (who any, err error)
	MaxBody      int           // bytes of one POST
	MaxSessions  int           // of one caller
	Idle         time.Duration // after which an unused session ends
	Origins      []string      // allowed Origin values beside same-origin and none
	Hosts        []string      // allowed Host names beside loopback ones
}

func (s *HTTPServer) ServeHTTP(w http.ResponseWriter, r *http.Request) { panic("unwritten") }

// ServeConn serves one Face over a Conn (stdio) until it ends.
func ServeConn(ctx context.Context, c Conn, f Face, who any) error { panic("unwritten") }
