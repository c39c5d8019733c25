package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	firstRetry   = time.Second            // before a stream is opened again, when the server says nothing
	leastRetry   = 100 * time.Millisecond // whatever the server says
	longestRetry = time.Minute            // between attempts that fail
	maxFailures  = 5                      // to open the stream of a request again, one after the other
	afterAnswer  = time.Second            // for a stream to end once the answer came
)

var (
	errNoAnswer = errors.New("the server ended its answer without a response to the request")
	errBroken   = errors.New("the connection broke before the response came")
)

// exchange posts a request and brings in all that comes in answer. What goes
// wrong before the header of the answer is told to header, later to lost.
func (c *httpConn) exchange(ctx context.Context, o outgoing, header chan<- error) {
	resp, err := c.do(ctx, http.MethodPost, o.raw, 0, "")
	if err != nil {
		header <- err
		return
	}
	defer resp.Body.Close()
	if o.method == "initialize" && resp.StatusCode == http.StatusOK {
		if err := c.setSession(resp.Header.Get("Mcp-Session-Id")); err != nil {
			header <- err
			return
		}
	}
	a := &awaited{id: string(o.id), method: o.method}
	if resp.StatusCode != http.StatusOK {
		header <- c.refused(ctx, resp, a)
		return
	}
	switch mediaType(resp) {
	case "application/json":
		header <- nil
		c.body(ctx, resp, a)
	case "text/event-stream":
		header <- nil
		c.follow(ctx, resp.Body, a)
	default:
		header <- errors.New("the server answered with something that is neither JSON nor an event stream")
	}
}

// awaited is the request whose answer is awaited; none for the standing stream.
type awaited struct {
	id       string
	method   string
	answered bool
}

// refused makes of an HTTP error what can be made of it: servers send the
// JSON-RPC error in its body, often without the id.
func (c *httpConn) refused(ctx context.Context, resp *http.Response, a *awaited) error {
	if resp.StatusCode/100 == 2 {
		return errNoAnswer // 202 and the like, for a request
	}
	if err := c.status(resp); errors.Is(err, ErrSessionGone) {
		return err
	}
	if mediaType(resp) == "application/json" {
		raw, err := io.ReadAll(io.LimitReader(resp.Body, errorBodyLimit))
		if err == nil {
			m, err := Parse(raw)
			if err == nil && m.Error != nil {
				if m, err = Parse(newErrorObject([]byte(a.id), m.Error)); err == nil && c.bring(ctx, m, a) {
					return nil
				}
			}
		}
	}
	return &HTTPError{resp.StatusCode}
}

// bring gives a message to the receiver.
func (c *httpConn) bring(ctx context.Context, m Message, a *awaited) bool {
	if m.Kind == Response && a.id != "" && string(m.ID) == a.id {
		a.answered = true
		if a.method == "initialize" {
			if version, ok := text(member(m.Result, "protocolVersion")); ok && validVersion(version) {
				c.mu.Lock()
				c.version = version
				c.mu.Unlock()
			}
		}
	}
	c.taking.Lock()
	if c.take != nil {
		defer c.taking.Unlock()
		return c.take(m)
	}
	c.taking.Unlock()
	select {
	case c.in <- m:
		return true
	case <-ctx.Done():
		return false
	}
}

// validVersion reports whether a version may stand in a header.
func validVersion(v string) bool {
	for i := range len(v) {
		if v[i] < 0x21 || v[i] > 0x7e {
			return false
		}
	}
	return len(v) <= 64
}

// fail tells that a request will not be answered.
func (c *httpConn) fail(ctx context.Context, a *awaited, err error) {
	if ctx.Err() == nil && !a.answered && c.lost != nil {
		c.lost([]byte(a.id), err)
	}
}

// readAgain has bytes that Parse refused read again, where they answer a listing.
func (c *httpConn) readAgain(raw []byte, a *awaited) bool {
	if a.id == "" || c.reread == nil || !c.reread(raw, []byte(a.id)) {
		return false
	}
	a.answered = true
	return true
}

// body reads the answer to a request as one JSON message.
func (c *httpConn) body(ctx context.Context, resp *http.Response, a *awaited) {
	var buf bytes.Buffer
	buf.Grow(int(min(max(resp.ContentLength, 0), int64(c.limit))) + bytes.MinRead)
	_, err := buf.ReadFrom(io.LimitReader(resp.Body, int64(c.limit)+1))
	raw := buf.Bytes()
	switch {
	case err != nil:
		c.fail(ctx, a, errBroken)
		return
	case len(raw) > c.limit:
		c.fail(ctx, a, &TooLongError{c.limit})
		return
	}
	m, err := Parse(raw)
	if err != nil {
		if !c.readAgain(raw, a) {
			c.fail(ctx, a, err)
		}
		return
	}
	if c.bring(ctx, m, a) {
		c.fail(ctx, a, errNoAnswer)
	}
}

// eventStream is the state of a stream over all connections that carry it.
type eventStream struct {
	lastID string
	retry  time.Duration // as the server said; 0: it did not
}

// follow reads the event stream in answer to a request, until the answer came. A
// stream that breaks is resumed if the server gave its events ids; a server may
// also end it on purpose and have the client come back.
func (c *httpConn) follow(ctx context.Context, body io.ReadCloser, a *awaited) {
	var s eventStream
	for {
		err := c.events(ctx, body, &s, a)
		body.Close()
		if ctx.Err() != nil || a.answered {
			return
		}
		if err != nil {
			c.fail(ctx, a, err)
			return
		}
		if s.lastID == "" {
			c.fail(ctx, a, errBroken)
			return
		}
		if body, err = c.resume(ctx, &s); err != nil {
			c.fail(ctx, a, err)
			return
		}
	}
}

// resume opens the stream of a request again.
func (c *httpConn) resume(ctx context.Context, s *eventStream) (io.ReadCloser, error) {
	pause := s.pause()
	for failures := 0; ; pause = min(2*pause, max(longestRetry, s.retry)) {
		if !sleep(ctx, pause) {
			return nil, ctx.Err()
		}
		body, err := c.get(ctx, s.lastID)
		if err == nil {
			return body, nil
		}
		if failures++; failures == maxFailures || !worthRetry(err) {
			return nil, err
		}
	}
}

func (s *eventStream) pause() time.Duration {
	if s.retry == 0 {
		return firstRetry
	}
	return max(s.retry, leastRetry)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// worthRetry reports whether the same GET may succeed later.
func worthRetry(err error) bool {
	if h, ok := errors.AsType[*HTTPError](err); ok {
		return h.Status >= 500 && h.Status != http.StatusNotImplemented || h.Status == http.StatusTooManyRequests
	}
	return !errors.Is(err, ErrSessionGone) && !errors.Is(err, errNoStream)
}

var errNoStream = errors.New("the server answered GET with something that is no event stream")

func (c *httpConn) get(ctx context.Context, lastEvent string) (io.ReadCloser, error) {
	resp, err := c.do(ctx, http.MethodGet, nil, headerTimeout, lastEvent)
	if err != nil {
		return nil, err
	}
	if err = c.status(resp); err == nil && (resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream") {
		err = errNoStream
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp.Body, nil
}

// events reads one connection's part of a stream until it ends, which is no
// error; an error is an answer that can't be read.
func (c *httpConn) events(ctx context.Context, body io.ReadCloser, s *eventStream, a *awaited) error {
	r := NewEventReader(body, c.limit)
	r.lastID = s.lastID
	defer func() { s.lastID = r.LastID() }()
	for {
		e, err := r.Next()
		if long, ok := errors.AsType[*TooLongError](err); ok {
			if a.id != "" {
				return long
			}
			c.missed()
			continue
		}
		if err != nil {
			return nil
		}
		if e.HasRetry {
			s.retry = e.Retry
		}
		if len(e.Data) == 0 || e.Name != "" {
			continue
		}
		m, err := Parse(e.Data)
		switch {
		case err == nil:
			if !c.bring(ctx, m, a) {
				return nil
			}
		case c.readAgain(e.Data, a):
		case a.id != "":
			return err
		default:
			c.missed()
			continue
		}
		if a.answered {
			// The server ends the stream now; one that does not is left.
			late := time.AfterFunc(afterAnswer, func() { body.Close() })
			_, _ = io.CopyN(io.Discard, body, 4<<10)
			late.Stop()
			return nil
		}
	}
}

func (c *httpConn) missed() {
	if c.gap != nil {
		c.gap()
	}
}

// openStanding opens the stream for what the server sends by itself, and waits a
// moment for it: what is announced before it is open is not heard. Not every
// server sends the header of a stream before its first event, or has one at all.
func (c *httpConn) openStanding(ctx context.Context) {
	c.mu.Lock()
	open := !c.standing
	c.standing = true
	c.mu.Unlock()
	if !open {
		return
	}
	opened := make(chan struct{})
	if !c.start(func() { c.stand(opened) }, nil, nil) {
		return
	}
	t := time.NewTimer(standingWait)
	defer t.Stop()
	select {
	case <-opened:
	case <-t.C:
	case <-ctx.Done():
	}
}

// stand keeps the standing stream open as long as the server offers one.
func (c *httpConn) stand(opened chan<- struct{}) {
	var s eventStream
	a := &awaited{}
	first := true
	for failures := 0; ; {
		body, err := c.get(c.ctx, s.lastID)
		if first {
			close(opened)
		}
		if err == nil {
			if !first && s.lastID == "" {
				c.missed()
			}
			began := time.Now()
			_ = c.events(c.ctx, body, &s, a)
			body.Close()
			if time.Since(began) > firstRetry {
				failures = 0
			}
		} else if !worthRetry(err) {
			if !first {
				c.missed()
			}
			return
		}
		first = false
		pause := s.pause()
		for range failures {
			pause = min(2*pause, max(longestRetry, s.retry))
		}
		if failures < 10 {
			failures++
		}
		if !sleep(c.ctx, pause) {
			return
		}
	}
}
