package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	headerTimeout  = 30 * time.Second       // for the answer to what is no request of JSON-RPC
	deleteTimeout  = 2 * time.Second        // for DELETE when closing
	standingWait   = 300 * time.Millisecond // for the standing stream before the first listing
	maxRedirects   = 5
	errorBodyLimit = 64 << 10 // bytes read of the body of an HTTP error
)

// HTTPClient connects to a streamable HTTP server (MCP 2025-11-25, transports).
type HTTPClient struct {
	URL     string
	Header  http.Header // sent with every request; never logged
	MaxBody int         // bytes of one message; 0: DefaultMaxMessage
}

// HTTPError says that a server answered with a status that is no success.
type HTTPError struct{ Status int }

func (e *HTTPError) Error() string {
	if text := http.StatusText(e.Status); text != "" {
		return fmt.Sprintf("the server answered with HTTP %d %s", e.Status, text)
	}
	return fmt.Sprintf("the server answered with HTTP %d", e.Status)
}

// Dial opens a session's connection; nothing is sent before the first Send. The
// session id and protocol version are taken from the answer to initialize, the
// standing GET stream is opened after it and resumed with Last-Event-ID. ctx is
// not kept. No error of the connection holds the URL or a header. Send waits for
// the header of the answer.
func (c HTTPClient) Dial(context.Context) (Conn, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the URL of the server is not an http or https URL")
	}
	h := &httpConn{
		url: c.URL, header: c.Header.Clone(), client: &http.Client{Transport: newTransport()}, limit: c.MaxBody,
		in: make(chan Message), posts: map[string]context.CancelFunc{},
	}
	if h.header == nil {
		h.header = http.Header{}
	}
	if h.limit <= 0 {
		h.limit = DefaultMaxMessage
	}
	h.client.CheckRedirect = sameOrigin
	h.ctx, h.end = context.WithCancelCause(context.Background())
	return h, nil
}

func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 64, 32
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	return t
}

// sameOrigin follows redirects that stay on the server and repeat the request
// (307, 308); headers with secrets go nowhere else.
func sameOrigin(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host:
		return errors.New("the server redirects to another origin, which is not followed")
	case req.Method != first.Method:
		return errors.New("the server redirects in a way that would drop the message")
	case len(via) > maxRedirects:
		return errors.New("the server redirects too often")
	}
	return nil
}

type httpConn struct {
	url    string
	header http.Header
	client *http.Client
	limit  int
	lost   func(id []byte, err error)
	reread func(raw, id []byte) bool
	gap    func()

	in   chan Message
	ctx  context.Context // ends with the connection; its cause says why
	end  context.CancelCauseFunc
	work sync.WaitGroup

	closing sync.Once

	taking sync.Mutex         // held while take runs
	take   func(Message) bool // of each; false: it takes no more

	mu       sync.Mutex
	closed   bool
	posts    map[string]context.CancelFunc // requests being answered, by id
	session  string
	version  string
	standing bool // the standing stream was opened
}

func (c *httpConn) watch(lost func(id []byte, err error), reread func(raw, id []byte) bool, gap func()) {
	c.lost, c.reread, c.gap = lost, reread, gap
}

func (c *httpConn) abandon(id []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.posts[string(id)]; cancel != nil {
		cancel()
	}
}

func (c *httpConn) Receive(ctx context.Context) (Message, error) {
	select {
	case m := <-c.in:
		return m, nil
	case <-ctx.Done():
		return Message{}, ctx.Err()
	case <-c.ctx.Done():
		return Message{}, context.Cause(c.ctx)
	}
}

// each gives messages in the goroutines that read the answers, one at a time. What
// comes before it is there waits for it.
func (c *httpConn) each(ctx context.Context, take func(Message) error) error {
	failed, over := make(chan error, 1), false
	deliver := func(m Message) bool {
		if !over {
			if err := take(m); err != nil {
				over = true
				failed <- err
			}
		}
		return !over
	}
	c.taking.Lock()
	c.take = deliver
	c.taking.Unlock()
	for {
		var err error
		select {
		case m := <-c.in:
			c.taking.Lock()
			deliver(m)
			c.taking.Unlock()
			continue
		case err = <-failed:
		case <-ctx.Done():
			err = ctx.Err()
		case <-c.ctx.Done():
			err = context.Cause(c.ctx)
		}
		c.taking.Lock()
		defer c.taking.Unlock()
		over = true
		return err
	}
}

func (c *httpConn) Send(ctx context.Context, message []byte) error {
	m, err := Parse(message)
	if err != nil {
		return &notSent{err}
	}
	o := outgoing{raw: message, kind: m.Kind, method: m.Method}
	if m.Kind == Request {
		o.id = m.ID
	}
	return c.send(ctx, o)
}

// send posts a message and waits for the header of the answer.
func (c *httpConn) send(ctx context.Context, o outgoing) error {
	postCtx, cancel := context.WithCancel(c.ctx)
	header := make(chan error, 1)
	started := c.start(func() {
		defer cancel()
		if o.kind != Request {
			header <- c.postAlone(postCtx, o)
			return
		}
		defer c.done(o.id)
		c.exchange(postCtx, o, header)
	}, o.id, cancel)
	if !started {
		cancel()
		return &notSent{context.Cause(c.ctx)}
	}
	select {
	case err := <-header:
		return err
	case <-ctx.Done():
		if o.kind != Request {
			cancel()
		}
		return ctx.Err() // a request stays until it is abandoned: first the server is told
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// start runs f in a goroutine of the connection, unless it is closed.
func (c *httpConn) start(f func(), id []byte, cancel context.CancelFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.ctx.Err() != nil {
		return false
	}
	if id != nil {
		c.posts[string(id)] = cancel
	}
	c.work.Go(f)
	return true
}

func (c *httpConn) done(id []byte) {
	c.mu.Lock()
	delete(c.posts, string(id))
	c.mu.Unlock()
}

// do sends one HTTP request. The context of wait limits the time until the header
// of the answer, ctx also the body.
func (c *httpConn) do(ctx context.Context, method string, body []byte, wait time.Duration, lastEvent string) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, &notSent{errors.New("the URL of the server can't be used")}
	}
	c.setHeader(req, body != nil, lastEvent)
	var late *time.Timer
	if wait > 0 {
		late = time.AfterFunc(wait, cancel)
	}
	resp, err := c.client.Do(req)
	if late != nil && !late.Stop() && err != nil {
		err = errors.New("the server did not answer in time")
	}
	if err != nil {
		cancel()
		return nil, plain(err)
	}
	resp.Body = &cancelBody{resp.Body, cancel}
	return resp, nil
}

type cancelBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel()
	return err
}

func (c *httpConn) setHeader(req *http.Request, hasBody bool, lastEvent string) {
	for name, values := range c.header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
		req.Header.Del("Host")
	}
	switch req.Method {
	case http.MethodPost:
		req.Header.Set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		req.Header.Set("Accept", "text/event-stream")
	}
	if hasBody {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.version != "" {
		req.Header.Set("Mcp-Protocol-Version", c.version)
	}
	if lastEvent != "" {
		req.Header.Set("Last-Event-ID", lastEvent)
	}
}

// plain takes the URL, which may hold secrets, out of an error, and says when a
// message can't have been sent.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return &notSent{err}
	}
	return err
}

// postAlone posts a notification or a response, which is answered with 202.
func (c *httpConn) postAlone(ctx context.Context, o outgoing) error {
	resp, err := c.do(ctx, http.MethodPost, o.raw, headerTimeout, "")
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	if err := c.status(resp); err != nil {
		return err
	}
	if o.method == "notifications/initialized" {
		c.openStanding(ctx)
	}
	return nil
}

// status gives the error of an answer that is no success; a session that the
// server no longer knows ends the connection.
func (c *httpConn) status(resp *http.Response) error {
	if resp.StatusCode/100 == 2 {
		return nil
	}
	if resp.StatusCode == http.StatusNotFound && resp.Request.Header.Get("Mcp-Session-Id") != "" {
		c.end(ErrSessionGone)
		return ErrSessionGone
	}
	return &HTTPError{resp.StatusCode}
}

// drain reads what is left of a short body, so that the connection is used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	body.Close()
}

func mediaType(resp *http.Response) string {
	t, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return t
}

// setSession takes the session id that came with the answer to initialize.
func (c *httpConn) setSession(id string) error {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return errors.New("the server gave a session id with characters that are not allowed")
		}
	}
	c.mu.Lock()
	c.session = id
	c.mu.Unlock()
	return nil
}

// Close ends the session with DELETE, and all streams.
func (c *httpConn) Close() error {
	c.closing.Do(c.close)
	return nil
}

func (c *httpConn) close() {
	c.mu.Lock()
	c.closed = true
	session := c.session
	c.mu.Unlock()
	if session != "" && c.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(c.ctx, deleteTimeout)
		if resp, err := c.do(ctx, http.MethodDelete, nil, 0, ""); err == nil {
			drain(resp.Body) // 405: the server does not let clients end sessions
		}
		cancel()
	}
	c.end(ErrClosed)
	c.work.Wait()
	c.client.CloseIdleConnections()
}
