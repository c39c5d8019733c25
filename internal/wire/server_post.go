package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	bodyTime  = 30 * time.Second // for an agent to send a body
	wholeBody = 64 << 10         // bytes for which room is made on the word of Content-Length
	bigBody   = 64 << 10         // bytes from which an answer gets a time limit: less fits into the socket's buffers
)

// post takes one message.
func (s *HTTPServer) post(w http.ResponseWriter, r *http.Request, who any) {
	if !isJSON(r.Header) {
		reject(w, http.StatusUnsupportedMediaType, "the Content-Type must be application/json")
		return
	}
	plain, stream := accepted(r.Header)
	if !plain && !stream {
		reject(w, http.StatusNotAcceptable, "the header Accept must name application/json and text/event-stream")
		return
	}
	held := s.share(who)
	defer held.giveBack()
	raw := s.body(w, r, held)
	if raw == nil {
		return
	}
	m, err := Parse(raw)
	if err != nil {
		bad, _ := errors.AsType[*SyntaxError](err)
		refuse(w, http.StatusBadRequest, bad.ID, bad.Code, notMessage(bad))
		return
	}
	if m.Kind == Request && m.Method == "initialize" {
		s.open(w, r, who, m)
		return
	}
	if !spoken(w, r, m.ID) {
		return
	}
	x := s.find(w, r, who, m.ID)
	if x == nil {
		return
	}
	defer x.release()
	switch {
	case m.Kind == Request && m.Method == "ping":
		respond(w, m.ID, nil, nil)
	case m.Kind == Request:
		s.answer(w, r, x, m, plain, stream)
	case m.Kind == Notification && m.Method == "notifications/cancelled":
		x.flights.cancel(m)
		w.WriteHeader(http.StatusAccepted)
	case m.Kind == Notification:
		s.Face.Notify(x.state, m)
		w.WriteHeader(http.StatusAccepted)
	default: // a response: nothing was asked, so it belongs to nothing
		w.WriteHeader(http.StatusAccepted)
	}
}

// body reads the message, or answers why not and gives nil.
func (s *HTTPServer) body(w http.ResponseWriter, r *http.Request, held *share) []byte {
	limit := s.MaxBody
	if limit <= 0 {
		limit = DefaultMaxMessage
	}
	if r.ContentLength > int64(limit) {
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestEntityTooLarge, nil, CodeInvalidRequest, "the message is longer than the limit of "+strconv.Itoa(limit)+" bytes")
		return nil
	}
	if problem := held.take(perRequest); problem != "" {
		busy(w, problem)
		return nil
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime))
	raw, err := readBody(&counted{r.Body, held}, r.ContentLength, limit)
	_ = rc.SetReadDeadline(time.Time{})
	full, isFull := errors.AsType[*busyError](err)
	switch {
	case isFull:
		busy(w, full.what)
	case err != nil:
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusBadRequest, nil, CodeParse, "the body of the request ended too early or came too slowly")
	case len(raw) > limit:
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestEntityTooLarge, nil, CodeInvalidRequest, "the message is longer than the limit of "+strconv.Itoa(limit)+" bytes")
	case len(raw) == 0:
		refuse(w, http.StatusBadRequest, nil, CodeParse, "the request has no body; a JSON-RPC message is expected")
	default:
		return raw
	}
	return nil
}

// busy refuses a request whose body there is no room for; what is left of it is not read.
func busy(w http.ResponseWriter, problem string) {
	w.Header().Set("Connection", "close")
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusTooManyRequests, nil, codeBusy, problem)
}

// readBody reads up to limit bytes, and one more where there are more; n is how many
// were announced, or -1.
func readBody(from io.Reader, n int64, limit int) ([]byte, error) {
	if n >= 0 && n <= wholeBody {
		raw := make([]byte, n)
		_, err := io.ReadFull(from, raw)
		return raw, err
	}
	var b bytes.Buffer
	_, err := b.ReadFrom(io.LimitReader(from, int64(limit)+1))
	return b.Bytes(), err
}

// open answers initialize with a new session.
func (s *HTTPServer) open(w http.ResponseWriter, r *http.Request, who any, m Message) {
	if r.Header["Mcp-Session-Id"] != nil {
		if x := s.find(w, r, who, m.ID); x != nil {
			x.release()
			refuse(w, http.StatusBadRequest, m.ID, CodeInvalidRequest, "the session was initialized before; begin a new one without Mcp-Session-Id")
		}
		return
	}
	x := s.newSession(who)
	if !s.room(x.owner) {
		w.Header().Set("Retry-After", "60")
		refuse(w, http.StatusTooManyRequests, m.ID, CodeInvalidRequest, tooManySessions)
		return
	}
	entered := false
	defer func() {
		if !entered {
			s.table.mu.Lock()
			s.table.leave(x.owner)
			s.table.mu.Unlock()
		}
	}()
	result, state, rpcErr := s.Face.Open(r.Context(), x, m, who)
	if rpcErr != nil {
		respond(w, m.ID, nil, rpcErr)
		return
	}
	x.state, x.used, entered = state, time.Now(), true
	if !s.enter(x) {
		s.Face.Closed(state)
		refuse(w, http.StatusServiceUnavailable, m.ID, CodeInternal, "the server is shutting down")
		return
	}
	w.Header()["Mcp-Session-Id"] = []string{x.id}
	respond(w, m.ID, result, nil)
}

// exchange is one request being answered: as plain JSON, or as an event stream
// from the first notification on.
type exchange struct {
	w      http.ResponseWriter
	flight flight
	plain  bool // the agent takes JSON
	stream bool // the agent takes an event stream

	mu   sync.Mutex
	done bool          // the answer is there: nothing more may go out before it
	box  *outbox       // of the event stream; nil until there is one
	sent chan struct{} // closed when the event stream is written
}

// answer asks the face, and writes what it says.
func (s *HTTPServer) answer(w http.ResponseWriter, r *http.Request, x *httpSession, m Message, plain, stream bool) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	e := &exchange{w: w, flight: flight{id: m.ID, cancel: cancel}, plain: plain, stream: stream}
	switch ok, ended := x.flights.add(&e.flight); {
	case ended:
		reject(w, http.StatusNotFound, noSession)
		return
	case !ok:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, m.ID, codeBusy, tooManyFlights())
		return
	}
	defer x.flights.remove(&e.flight)
	defer e.abandon()
	result, rpcErr := s.Face.Request(ctx, x.state, Exchange{Peer: x, Message: m, Notify: e.notify})
	if box := e.finish(); box != nil {
		box.put(reply(m.ID, result, rpcErr))
		return // abandon waits until it is written
	}
	respond(w, m.ID, result, rpcErr)
}

// notify sends what belongs to the request.
func (e *exchange) notify(method string, params []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done || !e.stream {
		return
	}
	e.begin()
	e.box.note(method, params)
}

// begin turns the answer into an event stream, which a goroutine writes: whoever
// notifies must not wait for an agent that does not read.
func (e *exchange) begin() {
	if e.box == nil {
		e.box, e.sent = newOutbox(), make(chan struct{})
		go e.write(e.box)
	}
}

// finish ends the time for notifications. It gives the stream to answer on, or nil
// for plain JSON.
func (e *exchange) finish() *outbox {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = true
	if !e.plain {
		e.begin()
	}
	return e.box
}

// abandon ends the event stream, if there is one, also when the face panicked: its
// goroutine must not write once the request is over.
func (e *exchange) abandon() {
	e.mu.Lock()
	e.done = true
	box := e.box
	e.mu.Unlock()
	if box != nil {
		box.close()
		<-e.sent
	}
}

func (e *exchange) write(box *outbox) {
	defer close(e.sent)
	ev, err := openEvents(e.w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		items, open := box.take()
		for _, p := range items {
			ev.add(Event{Name: "message", Data: p.raw})
		}
		if len(items) > 0 && err == nil {
			err = ev.flush()
		}
		if err != nil {
			e.flight.cancel(errLeft)
		}
		if !open {
			return
		}
		select {
		case <-box.wake:
		case <-beat.C:
			if err == nil {
				err = ev.beat()
			}
		}
	}
}

// reply is a response in one piece.
func reply(id, result []byte, rpcErr *RPCError) []byte {
	if rpcErr != nil {
		return newErrorObject(id, rpcErr.object())
	}
	return NewResult(id, result)
}

var heads = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// respond writes a response as plain JSON. A large result is not copied.
func respond(w http.ResponseWriter, id, result []byte, rpcErr *RPCError) {
	const head, middle, middleErr = `{"jsonrpc":"2.0","id":`, `,"result":`, `,"error":`
	body, mid := result, middle
	switch {
	case rpcErr != nil:
		body, mid = rpcErr.object(), middleErr
	case result == nil:
		body = []byte("{}")
	}
	size := len(head) + len(id) + len(mid) + len(body) + 1
	h := w.Header()
	h["Content-Type"] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(size)}
	if size > bigBody {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit + time.Duration(size)*time.Microsecond))
	}
	p := heads.Get().(*[]byte)
	b := append(append(append((*p)[:0], head...), id...), mid...)
	if size <= bigBody {
		b = append(append(b, body...), '}')
		write(w, b)
	} else {
		write(w, b, body, []byte{'}'})
	}
	*p = b[:0] // of at most bigBody bytes
	heads.Put(p)
}
