package wire

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// lastWords is how long what is being answered may still take once the agent
// closed its side: `printf ... | holdfast stdio` wants its answers.
const lastWords = 2 * time.Second

// How many answers, and bytes of them, may wait for an agent to read them.
const (
	maxUnread      = 1024
	maxUnreadBytes = 256 << 20
)

var errUnread = errors.New("the agent sends requests and does not read the answers")

// ServeConn serves one Face over a Conn (stdio) until it ends or ctx does: nil when
// the agent closed its side. Requests are answered as they are done; notifications
// are taken in the order in which they came. It returns when nothing of the session
// runs any more, and leaves c open.
func ServeConn(ctx context.Context, c Conn, f Face, who any) error {
	return (&HTTPServer{Face: f}).ServeConn(ctx, c, who, func() time.Duration { return lastWords })
}

// ServeConn serves one session over a connection beside those over HTTP: it counts as
// one of its owner's, and so does what it has in flight. linger says, when the agent
// closed its side, how long what is being answered may still take.
func (s *HTTPServer) ServeConn(ctx context.Context, c Conn, who any, linger func() time.Duration) error {
	x := &connServer{server: s, conn: c, who: who, box: newOutbox()}
	if l, ok := c.(*lineConn); ok {
		x.box.direct = l.sendNow
	}
	x.ctx, x.stop = context.WithCancelCause(ctx)
	defer x.stop(nil)
	x.box.most, x.box.over = maxUnreadBytes, func() { x.stop(errUnread) }
	writing, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	written := make(chan struct{})
	go func() {
		defer close(written)
		x.write(writing)
	}()
	err := Each(x.ctx, c, x.take)
	if errors.Is(err, io.EOF) {
		err = nil
		late := time.AfterFunc(linger(), func() { x.flights.end(errEnded) })
		x.work.Wait()
		late.Stop()
	}
	if errors.Is(err, context.Canceled) {
		err = context.Cause(x.ctx) // ctx ended, or the agent reads no more
	}
	x.flights.end(errEnded)
	x.work.Wait()
	x.box.close()
	late := time.AfterFunc(lastWords, giveUp) // an agent that does not read holds nobody
	<-written
	late.Stop()
	if x.opened {
		s.Face.Closed(x.state)
		s.table.mu.Lock()
		s.table.leave(s.ownerOf(who))
		s.table.mu.Unlock()
	}
	return err
}

type connServer struct {
	server  *HTTPServer
	conn    Conn
	who     any
	ctx     context.Context
	stop    context.CancelCauseFunc
	box     *outbox
	flights flights
	work    sync.WaitGroup

	// of the goroutine that receives
	opened bool
	state  any
}

func (s *connServer) ID() string                          { return "" }
func (s *connServer) Notify(method string, params []byte) { s.box.note(method, params) }

func (s *connServer) take(m Message) error {
	if s.box.waiting() > maxUnread {
		return errUnread
	}
	switch {
	case m.Kind == Request:
		s.request(m)
	case m.Kind == Notification && m.Method == "notifications/cancelled":
		s.flights.cancel(m)
	case m.Kind == Notification && s.opened:
		s.server.Face.Notify(s.state, m)
	}
	return nil
}

func (s *connServer) request(m Message) {
	switch {
	case m.Method == "ping":
		s.box.put(NewResult(m.ID, nil))
	case m.Method == "initialize" && s.opened:
		s.box.put(NewError(m.ID, CodeInvalidRequest, "the session was initialized before", nil))
	case m.Method == "initialize":
		s.open(m)
	case !s.opened:
		s.box.put(NewError(m.ID, CodeInvalidRequest, "the session is not open: begin with initialize", nil))
	default:
		s.start(m)
	}
}

// open answers initialize.
func (s *connServer) open(m Message) {
	owner := s.server.ownerOf(s.who)
	if !s.server.room(owner) {
		s.box.put(NewError(m.ID, CodeInvalidRequest, tooManySessions, nil))
		return
	}
	result, state, rpcErr := s.server.Face.Open(s.ctx, s, m, s.who)
	if s.opened = rpcErr == nil; s.opened {
		s.state = state
	} else {
		s.server.table.mu.Lock()
		s.server.table.leave(owner)
		s.server.table.mu.Unlock()
	}
	s.box.put(reply(m.ID, result, rpcErr))
}

// start answers a request in a goroutine of its own.
func (s *connServer) start(m Message) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	x := &flight{id: m.ID, cancel: cancel}
	held := s.server.share(s.who)
	if problem := held.take(perRequest + len(m.Params)); problem != "" {
		cancel(nil)
		s.box.put(NewError(m.ID, codeBusy, problem, nil))
		return
	}
	if ok, _ := s.flights.add(x); !ok {
		cancel(nil)
		held.giveBack()
		s.box.put(NewError(m.ID, codeBusy, tooManyFlights(), nil))
		return
	}
	state := s.state
	s.work.Go(func() {
		defer cancel(nil)
		defer held.giveBack()
		var over sync.Mutex // guards done: nothing of a request follows its answer
		done := false
		notify := func(method string, params []byte) {
			over.Lock()
			defer over.Unlock()
			if !done {
				s.box.note(method, params)
			}
		}
		result, rpcErr := s.server.Face.Request(ctx, state, Exchange{Peer: s, Message: m, Notify: notify})
		over.Lock()
		defer over.Unlock()
		done = true
		if cancelled := s.flights.remove(x); !cancelled { // who cancelled wants no answer
			s.box.put(reply(m.ID, result, rpcErr))
		}
	})
}

// write writes what waits until the box is closed. An agent that is gone ends the
// session.
func (s *connServer) write(writing context.Context) {
	broken := false
	for {
		items, open := s.box.take()
		for _, p := range items {
			if broken {
				break
			}
			if err := s.conn.Send(writing, p.raw); err != nil {
				broken = true
				s.stop(err)
			}
		}
		if !open {
			if l, ok := s.conn.(*lineConn); ok {
				l.flush(writing)
			}
			return
		}
		<-s.box.wake
	}
}

// AnswerTo gives the message that answers bytes which are no message, for the bad
// function of NewLineConn; nil when err is not of that kind.
func AnswerTo(err error) []byte {
	if bad, ok := errors.AsType[*SyntaxError](err); ok {
		return NewError(bad.ID, bad.Code, notMessage(bad), nil)
	}
	if long, ok := errors.AsType[*TooLongError](err); ok {
		return NewError(nil, CodeInvalidRequest, long.Error(), nil)
	}
	return nil
}

func notMessage(bad *SyntaxError) string { return "this is no JSON-RPC message: " + bad.Error() }
