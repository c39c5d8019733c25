package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

func encode(b []byte) string { return base64.RawStdEncoding.EncodeToString(b) }

// tape keeps the bytes that went over a connection. The official client decodes
// and encodes what it gets, so that bytes can only be compared below it.
type tape struct {
	mu     sync.Mutex
	asked  map[string]string // method by id
	raw    map[string][][]byte
	fresh  chan struct{} // a message came
	pieces bytes.Buffer  // of an unfinished line
}

func newTape() *tape {
	return &tape{asked: map[string]string{}, raw: map[string][][]byte{}, fresh: make(chan struct{}, 1)}
}

// sent takes what the client sends: whole messages, or lines of them.
func (p *tape) sent(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range bytes.Lines(b) {
		if m, err := wire.Parse(bytes.TrimSpace(line)); err == nil && m.Kind == wire.Request {
			p.asked[string(m.ID)] = m.Method
		}
	}
}

// came takes one message of the server.
func (p *tape) came(b []byte) {
	m, err := wire.Parse(bytes.TrimSpace(b))
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Kind == wire.Response {
		method := p.asked[string(m.ID)]
		body := m.Result
		if m.Error != nil {
			method, body = method+" error", m.Error
		}
		p.raw[method] = append(p.raw[method], bytes.Clone(body))
	}
	if m.Kind == wire.Notification {
		p.raw[m.Method] = append(p.raw[m.Method], bytes.Clone(m.Params))
	}
	select {
	case p.fresh <- struct{}{}:
	default:
	}
}

// all is every result of a method, or the params of a notification, as it came.
func (p *tape) all(method string) [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([][]byte(nil), p.raw[method]...)
}

// last waits for the newest one.
func (p *tape) last(t *testing.T, method string) []byte {
	t.Helper()
	for deadline := time.After(10 * time.Second); ; {
		if list := p.all(method); len(list) > 0 {
			return list[len(list)-1]
		}
		select {
		case <-p.fresh:
		case <-deadline:
			t.Fatalf("no %s came", method)
		}
	}
}

// lines feeds what is read line by line.
type lines struct{ p *tape }

func (l lines) Write(b []byte) (int, error) {
	l.p.pieces.Write(b) // one goroutine reads
	for {
		line, err := l.p.pieces.ReadBytes('\n')
		if err != nil {
			l.p.pieces.Write(line)
			return len(b), nil
		}
		l.p.came(line)
	}
}

// tap is an HTTP transport that adds headers and keeps what goes through.
type tap struct {
	header http.Header
	p      *tape
}

func (c *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range c.header {
		r.Header[name] = values
	}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		c.p.sent(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &events{ReadCloser: resp.Body, p: c.p}
	} else {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		c.p.came(body)
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	return resp, nil
}

// events keeps the data of an event stream while it is read.
type events struct {
	io.ReadCloser
	p    *tape
	line bytes.Buffer
}

func (e *events) Read(b []byte) (int, error) {
	n, err := e.ReadCloser.Read(b)
	e.line.Write(b[:n])
	for {
		line, lineErr := e.line.ReadBytes('\n')
		if lineErr != nil {
			e.line.Write(line)
			return n, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			e.p.came(data)
		}
	}
}

// client is the official client as it comes, without capabilities of its own.
func client(progress func(*mcp.ProgressNotificationParams)) *mcp.Client {
	o := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if progress != nil {
		o.ProgressNotificationHandler = func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress(r.Params) }
	}
	return mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, o)
}

var session2025 = &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}

func connectHTTP(t *testing.T, url string, header http.Header) (*mcp.ClientSession, *tape) {
	t.Helper()
	p := newTape()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := client(nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: &tap{header: header, p: p}}, MaxRetries: -1,
	}, session2025)
	if err != nil {
		t.Fatalf("connect to %s: %v", url, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, p
}

// connectProgram starts a program and connects the official client to it.
func connectProgram(t *testing.T, program approval.Program) (*mcp.ClientSession, *tape) {
	t.Helper()
	cmd := exec.Command(program.Command, program.Args...)
	cmd.Env = os.Environ()
	for k, v := range program.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := newTape()
	s, err := client(nil).Connect(t.Context(), &mcp.IOTransport{
		Reader: reader{io.TeeReader(stdout, lines{p}), stdout},
		Writer: writer{stdin, p},
	}, session2025)
	if err != nil {
		t.Fatalf("%s: %v", program.Args[0], err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return s, p
}

type reader struct {
	io.Reader
	io.Closer
}

type writer struct {
	io.WriteCloser
	p *tape
}

func (w writer) Write(b []byte) (int, error) {
	w.p.sent(b)
	return w.WriteCloser.Write(b)
}
