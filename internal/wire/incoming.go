package wire

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// receive takes what the peer sends until the connection ends.
func (s *Session) receive() {
	err := Each(s.ctx, s.conn, func(m Message) error {
		s.received(m)
		return nil
	})
	s.end(err)
	s.conn.Close()
	s.reportRest()
	if s.handlers.Closed != nil {
		s.handlers.Closed(s.err)
	}
}

// received takes one message. Nothing in it waits for the peer.
func (s *Session) received(m Message) {
	switch m.Kind {
	case Response:
		s.answered(m)
	case Request:
		s.serve(m)
	case Notification:
		s.notified(m)
	case Invalid: // Parse gives none
	}
}

func (s *Session) gap() {
	if s.handlers.Gap != nil {
		s.handlers.Gap()
	}
}

// take gives the call of an id that the peer wrote, which then no longer waits.
func (s *Session) take(id []byte) (p *pendingCall, late bool) {
	n, ok := ownID(id)
	if !ok {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p = s.pending[n]
	delete(s.pending, n)
	return p, s.givenUp[n]
}

// ownID reads an id or progress token in exactly the spelling that we write.
func ownID(id []byte) (uint64, bool) {
	n, err := strconv.ParseUint(string(id), 10, 64)
	return n, err == nil && id[0] != '0' && id[0] != '+'
}

func (s *Session) answered(m Message) {
	p, late := s.take(m.ID)
	switch {
	case p != nil:
		p.answer <- answer{m: m}
	case late:
	case m.ID == nil || isNull(m.ID):
		s.report(errors.New("the peer sent an error that belongs to no request"))
	default:
		s.report(errors.New("the peer sent a response to a request that is not open: one that was answered before, or never sent"))
	}
}

// lost fails the call whose answer can't be read or will not come.
func (s *Session) lost(id []byte, err error) {
	if p, _ := s.take(id); p != nil {
		p.answer <- answer{err: err}
	}
}

func (s *Session) notified(m Message) {
	switch m.Method {
	case "notifications/progress":
		s.progressed(m)
	case "notifications/cancelled":
		s.mu.Lock()
		cancel := s.serving[string(member(m.Params, "requestId"))]
		s.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	default:
		if s.handlers.Notify != nil {
			s.handlers.Notify(m)
		}
	}
}

func (s *Session) progressed(m Message) {
	span, ok := Find(m.Params, "progressToken")
	if !ok {
		s.report(errors.New("the peer sent progress without a token"))
		return
	}
	n, ok := ownID(span.of(m.Params))
	if !ok {
		s.report(errors.New("the peer sent progress with a token that is not ours"))
		return
	}
	s.mu.Lock()
	p := s.pending[n]
	s.mu.Unlock()
	if p == nil {
		return // of a call that is over
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.progress != nil {
		p.progress(Splice(m.Params, Edit{span, p.token}))
	}
}

// serve answers a request of the peer, in a goroutine: sending may have to wait
// for the peer to read.
func (s *Session) serve(m Message) {
	id := string(m.ID)
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	_, twice := s.serving[id]
	full := len(s.serving) >= maxPeerRequests
	if !twice && !full && !s.ended {
		s.serving[id] = cancel
	}
	s.mu.Unlock()
	switch {
	case twice:
		cancel()
		s.report(errors.New("the peer sent a request with the id of one that is being answered"))
		return
	case full:
		cancel()
		s.report(fmt.Errorf("the peer sent a request while %d of its requests were being answered", maxPeerRequests))
		return
	}
	started := s.start(func() {
		defer cancel()
		if reply := s.reply(ctx, m); ctx.Err() == nil { // one that was cancelled is not answered
			_ = s.send(s.ctx, outgoing{reply, Response, nil, ""}) // the session ends if the peer is gone
		}
		s.mu.Lock()
		delete(s.serving, id)
		s.mu.Unlock()
	})
	if !started {
		cancel()
	}
}

func (s *Session) reply(ctx context.Context, m Message) []byte {
	if m.Method == "ping" {
		return NewResult(m.ID, nil)
	}
	if s.handlers.Request == nil {
		return NewError(m.ID, CodeMethodNotFound, "Method not found", nil)
	}
	result, errorObject := s.handlers.Request(ctx, m)
	if errorObject != nil {
		return newErrorObject(m.ID, errorObject)
	}
	return NewResult(m.ID, result)
}
