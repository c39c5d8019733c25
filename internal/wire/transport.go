package wire

import (
	"context"
	"io"
	"net/http"
)

// Conn is one session's stream of messages with a peer. Send is safe for
// concurrent use; Receive is called by one goroutine. Both fail with io.EOF or
// another error once the peer is gone; Close ends both.
type Conn interface {
	Send(ctx context.Context, message []byte) error
	Receive(ctx context.Context) (Message, error)
	Close() error
}

// NewLineConn frames messages as lines (stdio). A line over max bytes or not a
// message is reported to bad and skipped when bad returns nil; else Receive fails
// with its error.
func NewLineConn(r io.Reader, w io.Writer, c io.Closer, max int, bad func(error) error) Conn {
	panic("unwritten")
}

// HTTPClient connects to a streamable HTTP server.
type HTTPClient struct {
	URL     string
	Header  http.Header // sent with every request; never logged
	Client  *http.Client
	MaxBody int // bytes of one message
}

// Dial opens a session's connection; nothing is sent before the first Send. The
// session id and protocol version are taken from the answer to initialize, the
// standing GET stream is opened after it and resumed with Last-Event-ID.
func (c HTTPClient) Dial(ctx context.Context) (Conn, error) { panic("unwritten") }

// Session is one MCP session over a Conn, from the client's or the server's side.
// Calls are matched to responses by ids of its own; what the peer sends by itself
// goes to the handlers.
type Session struct{}

// Handlers are called by the session for what the peer sends by itself. They must
// not block for long; each request is answered with what they return.
type Handlers struct {
	// Request answers a request of the peer: result or error object. Nil refuses
	// every request but ping, which the session answers itself.
	Request func(ctx context.Context, m Message) (result, errorObject []byte)
	// Notify takes notifications; progress and cancellation the session handles itself.
	Notify func(m Message)
	// Closed is called once when the connection is gone.
	Closed func(error)
}

// ClientInfo is what initialize says of us.
type ClientInfo struct {
	Name, Version string
	Capabilities  []byte // JSON object
}

// ServerInfo is what initialize said of the server.
type ServerInfo struct {
	ProtocolVersion string
	Result          []byte // the whole result as it came
}

// Connect performs the client's side of initialize on conn and gives the session.
func Connect(ctx context.Context, conn Conn, me ClientInfo, h Handlers) (*Session, ServerInfo, error) {
	panic("unwritten")
}

// Call sends a request and waits. When ctx ends first, notifications/cancelled is
// sent and ctx's error returned. With progress not nil, params._meta.progressToken
// (which must be there) is rewritten for the peer, and each notifications/progress
// of it is given as params with the original token back in place.
func (s *Session) Call(ctx context.Context, method string, params []byte, progress func(params []byte)) (Message, error) {
	panic("unwritten")
}

// Notify sends a notification.
func (s *Session) Notify(ctx context.Context, method string, params []byte) error { panic("unwritten") }

// Close ends the session (over HTTP with DELETE).
func (s *Session) Close() error { panic("unwritten") }
