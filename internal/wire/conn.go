package wire

import (
	"context"
	"errors"
	"fmt"
)

// Conn is one session's stream of messages with a peer. Send is safe for
// concurrent use; the message must not be changed afterwards, also when Send
// failed. Receive is called by one goroutine. Both fail with io.EOF or another
// error once the peer is gone; Close ends both.
type Conn interface {
	Send(ctx context.Context, message []byte) error
	Receive(ctx context.Context) (Message, error)
	Close() error
}

var (
	// ErrClosed is given after our own Close.
	ErrClosed = errors.New("the connection is closed")
	// ErrSessionGone is given when an HTTP server no longer knows the session.
	ErrSessionGone = errors.New("the server no longer knows the session")
)

// TooLongError says that a message was over the limit; it was read past, not held.
type TooLongError struct{ Limit int } // bytes

func (e *TooLongError) Error() string {
	return fmt.Sprintf("a message is longer than the limit of %d bytes", e.Limit)
}

// LineError is what NewLineConn reports of a line that is no message. Head is
// how the line begins (at most 256 bytes): a peer's text, for a log only.
type LineError struct {
	Head []byte
	Err  error // *SyntaxError or *TooLongError
}

func (e *LineError) Error() string { return "a line is no message: " + e.Err.Error() }
func (e *LineError) Unwrap() error { return e.Err }

// NotSent reports whether err says that a message can't have reached the peer.
// When it is false, the peer may have acted on it.
func NotSent(err error) bool {
	_, ok := errors.AsType[*notSent](err)
	return ok
}

type notSent struct{ err error }

func (e *notSent) Error() string { return e.err.Error() }
func (e *notSent) Unwrap() error { return e.err }

// outgoing is a message of which the sender knows the parts: a Session need not
// have its own messages parsed again.
type outgoing struct {
	raw    []byte
	kind   Kind
	id     []byte // of a Request
	method string
}

// sessionConn is what the connections of this package give a Session beyond Conn.
type sessionConn interface {
	Conn
	// watch sets, before the first Send, whom to tell of requests that will not be
	// answered, of messages that may have been missed, and whom to ask whether bytes
	// that Parse refused are an answer all the same (to the request of that id, if
	// one is given).
	watch(lost func(id []byte, err error), reread func(raw, id []byte) bool, gap func())
	send(ctx context.Context, o outgoing) error
	// abandon gives up waiting for the answer to a request.
	abandon(id []byte)
}

// Each gives every message of a connection to take, one after the other, until take
// fails, the connection ends or ctx does, and then the reason. Nothing else receives
// from the connection meanwhile or afterwards. take must not block for long. It runs in
// the goroutine that reads, which spares a hand-over a message.
func Each(ctx context.Context, c Conn, take func(Message) error) error {
	if d, ok := c.(deliverer); ok {
		return d.each(ctx, take)
	}
	for {
		m, err := c.Receive(ctx)
		if err == nil {
			err = take(m)
		}
		if err != nil {
			return err
		}
	}
}

// deliverer is a connection that gives its messages where they are read.
type deliverer interface {
	each(ctx context.Context, take func(Message) error) error
}
