package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxPeerRequests = 32              // of the peer being answered at once; more are dropped
	cancelTimeout   = 5 * time.Second // for sending notifications/cancelled
	keptIDs         = 1024            // of calls given up, whose late responses are no fault
)

// Session is one MCP session over a Conn, from the client's side. Calls are
// matched to responses by ids of its own; what the peer sends by itself goes to
// the handlers. Safe for concurrent use.
type Session struct {
	conn     Conn
	handlers Handlers
	ctx      context.Context // ends with the session
	cancel   context.CancelFunc
	work     sync.WaitGroup // every goroutine of the session

	mu      sync.Mutex
	lastID  uint64
	pending map[uint64]*pendingCall
	givenUp map[uint64]bool
	oldest  []uint64 // of givenUp, in order
	serving map[string]context.CancelFunc
	ended   bool
	err     error // why it ended

	faults faults
}

type pendingCall struct {
	answer  chan answer // one
	listing bool        // a tools/list, whose answer may be read a second time

	mu       sync.Mutex // held while progress runs
	progress func(params []byte)
	token    []byte // the caller's
}

type answer struct {
	m   Message
	err error
}

// Handlers are called by the session for what the peer sends by itself. They must
// not block for long, nor close the session; each request is answered with what
// they return. All may be nil.
type Handlers struct {
	// Request answers a request of the peer: result or error object. Nil refuses
	// every request but ping, which the session answers itself. ctx ends when the
	// peer cancels the request or the session ends.
	Request func(ctx context.Context, m Message) (result, errorObject []byte)
	// Notify takes notifications, in order; progress and cancellation the session handles itself.
	Notify func(m Message)
	// Gap is told that messages of the peer may have been missed: a standing stream
	// broke and could not be resumed where it ended.
	Gap func()
	// Report is told what the peer did wrong and was ignored. The error repeats
	// nothing that the peer sent. Of one kind of fault the first is told at once, then
	// one a minute, with the number of those that were not.
	Report func(error)
	// Closed is called once when the connection is gone; with ErrClosed after Close.
	Closed func(error)
}

// ClientInfo is what initialize says of us.
type ClientInfo struct {
	Name, Version string
	Capabilities  []byte // JSON object; nil is the empty one
}

// ServerInfo is what initialize said of the server.
type ServerInfo struct {
	ProtocolVersion string
	Result          []byte // the whole result as it came
}

// RefusedError says that the peer answered a request of the session's own
// (initialize) with an error. Object is the error object as it came: a peer's
// text; Error repeats its code only.
type RefusedError struct {
	Method string
	Object []byte
}

func (e *RefusedError) Error() string {
	return e.Method + " was answered with error " + string(member(e.Object, "code"))
}

// Connect performs the client's side of initialize on conn and gives the session.
// When it fails, conn is closed; Closed is called in any case.
func Connect(ctx context.Context, conn Conn, me ClientInfo, h Handlers) (*Session, ServerInfo, error) {
	s := &Session{
		conn: conn, handlers: h, pending: map[uint64]*pendingCall{}, givenUp: map[uint64]bool{},
		serving: map[string]context.CancelFunc{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if c, ok := conn.(sessionConn); ok {
		c.watch(s.lost, s.reread, s.gap)
	}
	s.work.Go(s.receive)
	info, err := s.initialize(ctx, me)
	if err != nil {
		s.Close()
		return nil, ServerInfo{}, err
	}
	return s, info, nil
}

func (s *Session) initialize(ctx context.Context, me ClientInfo) (ServerInfo, error) {
	if me.Capabilities == nil {
		me.Capabilities = []byte("{}")
	}
	params := fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"clientInfo":{"name":%s,"version":%s}}`,
		Quote(Versions[0]), me.Capabilities, Quote(me.Name), Quote(me.Version))
	m, err := s.call(ctx, "initialize", params, nil, nil)
	if err != nil {
		return ServerInfo{}, err
	}
	if m.Error != nil {
		return ServerInfo{}, &RefusedError{"initialize", m.Error}
	}
	version, ok := text(member(m.Result, "protocolVersion"))
	if !ok {
		return ServerInfo{}, errors.New("the server's answer to initialize names no protocol version")
	}
	if !slices.Contains(Versions, version) {
		if strings.Trim(version, "0123456789-") != "" || len(version) > 10 {
			return ServerInfo{}, fmt.Errorf("the server names a protocol version that is none; it has to be one of %v", Versions)
		}
		return ServerInfo{}, fmt.Errorf("the server speaks MCP %q, which is not one of %v", version, Versions)
	}
	if err := s.Notify(ctx, "notifications/initialized", nil); err != nil {
		return ServerInfo{}, err
	}
	return ServerInfo{version, m.Result}, nil
}

// member gives the value of a member; empty when there is none.
func member(obj []byte, path ...string) []byte {
	s, _ := Find(obj, path...)
	return obj[s.Start:s.End]
}

// Call sends a request and waits. When ctx ends first, notifications/cancelled is
// sent and ctx's error returned. With progress not nil, params._meta.progressToken
// (which must be there) is rewritten for the peer, and each notifications/progress
// of it is given as params with the original token back in place; progress is
// called in order, by one goroutine, never after Call has returned, and must not
// block for long. The answer to tools/list may be Loose, no other is. An error response is no error of Call. What is returned beside
// ctx's error: an error of which NotSent is true, or one that leaves open whether
// the peer acted.
func (s *Session) Call(ctx context.Context, method string, params []byte, progress func(params []byte)) (Message, error) {
	var token []byte
	span, ok := Find(params, "_meta", "progressToken")
	if ok {
		token = bytes.Clone(span.of(params))
	} else if progress != nil {
		return Message{}, &notSent{errors.New("progress was asked for without a progress token")}
	}
	return s.call(ctx, method, params, progress, token)
}

func (s *Session) call(ctx context.Context, method string, params []byte, progress func([]byte), token []byte) (Message, error) {
	if err := ctx.Err(); err != nil {
		return Message{}, &notSent{err}
	}
	p := &pendingCall{answer: make(chan answer, 1), listing: method == "tools/list", progress: progress, token: token}
	n, err := s.register(p)
	if err != nil {
		return Message{}, &notSent{err}
	}
	id := strconv.AppendUint(nil, n, 10)
	if token != nil {
		// Also when nobody asked for progress: two callers' tokens may be the same.
		span, _ := Find(params, "_meta", "progressToken")
		params = Splice(params, Edit{span, id})
	}
	err = s.send(ctx, outgoing{NewRequest(id, method, params), Request, id, method})
	if err != nil && ctx.Err() == nil {
		s.forget(n, p)
		select {
		case a := <-p.answer: // it was answered all the same, or there is a better reason
			return a.m, a.err
		default:
			return Message{}, err
		}
	}
	if err == nil {
		select {
		case a := <-p.answer:
			p.stop()
			return a.m, a.err
		case <-ctx.Done():
		}
	}
	s.giveUp(n, p, NotSent(err), method != "initialize", ctx.Err())
	if NotSent(err) {
		return Message{}, err
	}
	return Message{}, ctx.Err()
}

func (s *Session) send(ctx context.Context, o outgoing) error {
	if c, ok := s.conn.(sessionConn); ok {
		return c.send(ctx, o)
	}
	return s.conn.Send(ctx, o.raw)
}

// register gives a call its id, which is its progress token too.
func (s *Session) register(p *pendingCall) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, s.err
	}
	s.lastID++
	s.pending[s.lastID] = p
	return s.lastID, nil
}

// stop makes sure that progress runs no more.
func (p *pendingCall) stop() {
	p.mu.Lock()
	p.progress = nil
	p.mu.Unlock()
}

// forget takes a call out, and remembers that a response to it would be late.
func (s *Session) forget(n uint64, p *pendingCall) {
	s.mu.Lock()
	if s.pending[n] == p {
		delete(s.pending, n)
		if s.givenUp[n] = true; len(s.oldest) == keptIDs {
			delete(s.givenUp, s.oldest[0])
			s.oldest = append(s.oldest[:0], s.oldest[1:]...)
		}
		s.oldest = append(s.oldest, n)
	}
	s.mu.Unlock()
	p.stop()
}

// giveUp ends a call whose context ended: MCP 2025-11-25, cancellation.
func (s *Session) giveUp(n uint64, p *pendingCall, unsent, tell bool, why error) {
	s.forget(n, p)
	id := strconv.AppendUint(nil, n, 10)
	s.start(func() {
		if tell && !unsent {
			reason := "the caller cancelled the request"
			if errors.Is(why, context.DeadlineExceeded) {
				reason = "the request took too long"
			}
			ctx, cancel := context.WithTimeout(s.ctx, cancelTimeout)
			defer cancel()
			params := fmt.Appendf(nil, `{"requestId":%s,"reason":%s}`, id, Quote(reason))
			_ = s.Notify(ctx, "notifications/cancelled", params) // nobody is left to tell of a failure
		}
		if c, ok := s.conn.(sessionConn); ok {
			c.abandon(id)
		}
	})
}

// start runs f in a goroutine of the session, unless the session has ended.
func (s *Session) start(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.work.Go(f)
	return true
}

// Notify sends a notification.
func (s *Session) Notify(ctx context.Context, method string, params []byte) error {
	return s.send(ctx, outgoing{NewNotification(method, params), Notification, nil, method})
}

// Close ends the session (over HTTP with DELETE), and what it was doing: when it
// returns, Closed has been called and no goroutine of it is left, but for one that
// reads from what closing does not end (see NewLineConn).
func (s *Session) Close() error {
	s.end(ErrClosed)
	err := s.conn.Close()
	s.work.Wait()
	return err
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// end fails everything that waits. The first reason stands.
func (s *Session) end(err error) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended, s.err = true, err
	pending := s.pending
	s.pending = map[uint64]*pendingCall{}
	s.mu.Unlock()
	s.cancel() // first: who is answered finds the session done
	for _, p := range pending {
		p.answer <- answer{err: err}
	}
}
