package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/config"
)

// house is a data directory with a server whose one tool, hold__wait, answers when the
// test lets it.
type house struct {
	t      *testing.T
	dir    string
	config *config.Config
	log    lockedBuffer
	took   chan context.Context // of calls that the server took
	let    chan struct{}        // answers one call
}

// lockedBuffer is written by several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newHouse(t *testing.T, limits string) *house {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the path of a temporary directory is too long for a socket there")
	}
	dir, err := os.MkdirTemp("", "hf")
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, dir: filepath.Join(dir, "d"), took: make(chan context.Context, 100), let: make(chan struct{})}
	s := mcp.NewServer(&mcp.Implementation{Name: "hold", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		h.took <- ctx
		select {
		case <-h.let:
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "waited"}}}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	up := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		up.CloseClientConnections()
		up.Close()
		os.RemoveAll(dir)
		if t.Failed() {
			t.Log(h.log.String())
		}
	})
	h.config, err = config.Parse(filepath.Join(dir, "holdfast.json"), fmt.Appendf(nil,
		`{"listen":"127.0.0.1:0","limits":%s,"mcpServers":{"hold":{"type":"http","url":%q,"quarantined":false}}}`, limits, up.URL), true)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) start() *daemon {
	h.t.Helper()
	d, err := startDaemon(h.t.Context(), setup{dir: h.dir, config: h.config, tcp: true, log: slog.New(slog.NewTextHandler(&h.log, nil))})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(sync.OnceFunc(func() {
		select {
		case <-d.joined.ctx.Done(): // stopped by the test
		default:
			d.stop()
		}
	}))
	return d
}

// bridged is an agent that joined with holdfast stdio.
type bridged struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	err  lockedBuffer
	stop context.CancelFunc
	done chan error
}

func (h *house) join(server string) *bridged {
	h.t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, stop := context.WithCancel(h.t.Context())
	b := &bridged{t: h.t, in: inW, out: bufio.NewReader(outR), stop: stop, done: make(chan error, 1)}
	a := &app{in: inR, out: outW, err: &b.err}
	go func() {
		err := a.bridge(ctx, socketPath(h.dir), server)
		outW.Close()
		b.done <- err
	}()
	h.t.Cleanup(func() { stop(); inW.Close(); outR.Close() })
	return b
}

func (b *bridged) say(format string, args ...any) {
	b.t.Helper()
	if _, err := fmt.Fprintf(b.in, format+"\n", args...); err != nil {
		b.t.Fatal(err)
	}
}

// hear gives the next line, which must hold every part.
func (b *bridged) hear(parts ...string) string {
	b.t.Helper()
	line, err := b.out.ReadString('\n')
	for err == nil && strings.Contains(line, "list_changed\"}") { // whenever the server was listed
		line, err = b.out.ReadString('\n')
	}
	for _, p := range parts {
		if !strings.Contains(line, p) {
			b.t.Fatalf("got %q, %v; want %q in it", line, err, p)
		}
	}
	return line
}

func (b *bridged) initialize() *bridged {
	b.t.Helper()
	b.say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	b.hear(`"id":"i","result"`)
	b.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return b
}

// ready waits until the server's tool can be called.
func (h *house) ready(b *bridged) {
	h.t.Helper()
	for range 200 {
		b.say(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
		if strings.Contains(b.hear(`"id":"l"`), "wait") {
			return
		}
		time.Sleep(20 * time.Millisecond) // the server is being listed
	}
	h.t.Fatal("the tool does not become ready")
}

// wait calls the tool, and gives the context of the call once the server took it.
func (h *house) wait(b *bridged, id, tool string) context.Context {
	h.t.Helper()
	b.say(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, tool)
	select {
	case ctx := <-h.took:
		return ctx
	case <-time.After(20 * time.Second):
		h.t.Fatal("the call does not reach the server")
		return nil
	}
}

func (b *bridged) ends(want string) {
	b.t.Helper()
	select {
	case err := <-b.done:
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			b.t.Errorf("it ended with %v, want %q", err, want)
		}
	case <-time.After(20 * time.Second):
		b.t.Fatal("it does not end")
	}
}

// Two agents at once, each with its own ids and its own face. What an agent asked is
// answered also when it closed its side meanwhile.
func TestTwoAgentsJoin(t *testing.T) {
	h := newHouse(t, "{}")
	h.start()
	a, b := h.join("").initialize(), h.join("hold").initialize()
	h.ready(a)
	h.ready(b)
	h.wait(a, "1", "hold__wait")
	h.wait(b, "1", "wait")
	b.say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	b.hear(`"id":2,"result"`)
	a.in.Close()
	h.let <- struct{}{}
	h.let <- struct{}{}
	a.hear(`"id":1,"result"`, "waited")
	b.hear(`"id":1,"result"`, "waited")
	a.ends("")
	b.say(`nonsense`)
	b.hear(`"id":null,"error":{"code":-32700`)
	b.say(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	b.hear(`"id":3,"result"`)
	if got := b.err.String(); !strings.Contains(got, "a line that is no message") {
		t.Errorf("the person is told %q", got)
	}
	b.stop()
	b.ends("")
}

// The calls of an agent that is gone are cancelled at the server, those of others not.
func TestCallsEndWithTheirBridge(t *testing.T) {
	h := newHouse(t, "{}")
	d := h.start()
	a, b := h.join("").initialize(), h.join("").initialize()
	h.ready(a)
	first := h.wait(a, "1", "hold__wait")
	second := h.wait(b, "1", "hold__wait")
	a.stop()
	a.ends("")
	select {
	case <-first.Done():
	case <-time.After(20 * time.Second):
		t.Error("the call goes on")
	}
	if second.Err() != nil {
		t.Error("the call of the other agent was cancelled")
	}
	h.let <- struct{}{}
	b.hear(`"id":1,"result"`)
	b.in.Close()
	b.ends("")
	for range 200 {
		d.joined.mu.Lock()
		n := len(d.joined.conns)
		d.joined.mu.Unlock()
		if n == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // the daemon notices
	}
	t.Error("connections are left")
}

func TestLongMessageOfAJoinedAgent(t *testing.T) {
	h := newHouse(t, `{"message":"64KiB"}`)
	h.start()
	a := h.join("").initialize()
	long := strings.Repeat("x", 64<<10)
	a.say(`{"jsonrpc":"2.0","method":"notifications/x","params":{"x":%q}}`, long)
	a.say(`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":%q}}`, long)
	a.hear(`"id":7,"error":{"code":-32600,"message":"the message is longer than the limit of 65536 bytes"`)
	a.say(`{"jsonrpc":"2.0","id":8,"method":"ping","params":{"x":%q}}`, long[:60<<10])
	a.hear(`"id":8,"result"`)
	a.say(`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"%s"}}`, strings.Repeat("y", 17<<20))
	a.hear(`"id":null,"error":{"code":-32600,"message":"a message is longer than the limit of 16777216 bytes"`)
	a.say(`{"jsonrpc":"2.0","id":10,"method":"ping"}`)
	a.hear(`"id":10,"result"`)
}

// A daemon that ends answers what it was asked and takes no more. The agent gets an
// answer to everything, and is sent away once another daemon runs.
func TestDaemonEndsUnderAJoinedAgent(t *testing.T) {
	h := newHouse(t, "{}")
	d := h.start()
	a := h.join("").initialize()
	h.ready(a)
	h.wait(a, "1", "hold__wait")
	stopped := make(chan struct{})
	go func() { defer close(stopped); d.stop() }()
	for refused := false; !refused; { // until the daemon reads no more
		a.say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		refused = strings.Contains(a.hear(`"id":2`), unreached)
	}
	h.let <- struct{}{}
	a.hear(`"id":1,"result"`, "waited")
	<-stopped
	a.say(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	a.hear(`"id":3,"error":{"code":-32603`, unreached)
	h.start()
	a.say(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	a.hear(`"id":4,"error"`, unreached)
	a.ends("the connection to Holdfast is gone: the server no longer knows the session")
}

func TestWhoMayJoin(t *testing.T) {
	h := newHouse(t, `{"sessions":1}`)
	d := h.start()

	// Over TCP nobody is handed over, whatever token they have.
	for _, token := range []string{"", "Bearer holdfast_" + strings.Repeat("A", 43)} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(d.mcp, "/mcp")+agentPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", agentProtocol)
		req.Header.Set("Authorization", token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("over TCP with %q: %d", token, res.StatusCode)
		}
	}

	local := &http.Client{Transport: socketTransport(socketPath(h.dir))}
	for _, c := range []struct {
		method, query, upgrade string
		status                 int
	}{
		{"GET", "", agentProtocol, 426},
		{"POST", "", "", 426},
		{"POST", "", "websocket", 426},
		{"POST", "?server=../../api", agentProtocol, 400},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://localhost"+agentPath+c.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Upgrade", c.upgrade)
		res, err := local.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != c.status || !strings.Contains(string(body), `"code":"bad_input"`) {
			t.Errorf("%+v: %d %s", c, res.StatusCode, body)
		}
	}

	// One owner's sessions are counted together, over whichever way they came.
	a, b := h.join("").initialize(), h.join("")
	b.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	b.hear(`"id":1,"error"`, "too many sessions are open")
	a.in.Close()
	a.ends("")
	for ok := false; !ok; { // the daemon notices that the first left
		b.say(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
		ok = strings.Contains(b.hear(`"id":2`), "result")
	}

	d.joined.most = 1
	h.join("").ends("as many agents are joined as there may be")
	d.joined.drain()
	h.join("").ends("Holdfast is ending")
}

// A daemon of another version has no such path.
func TestJoinAnotherVersion(t *testing.T) {
	dir, err := os.MkdirTemp("", "hf")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Skip(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.NotFoundHandler()}}
	s.Start()
	defer s.Close()
	if _, err := join(t.Context(), filepath.Join(dir, "s"), ""); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("got %v", err)
	}
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, _ := http.NewResponseController(w).Hijack()
		c.Close()
	})
	if _, err := join(t.Context(), filepath.Join(dir, "s"), ""); err == nil || !strings.Contains(err.Error(), "went away before it answered, or refused this user") {
		t.Errorf("got %v", err)
	}
}

// TestSettleWaitsForWhatIsOwed: an answer that the bridge gives for a daemon that is gone
// is one that the agent waits for.
func TestSettleWaitsForWhatIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bridge{waiting: map[string]int{}, answered: make(chan struct{}, 1), asked: make(chan struct{}, 1)}
		b.asks([]byte("1"))
		b.asks([]byte("1"))
		if lost := b.lose(); lost["1"] != 2 {
			t.Fatal(lost)
		}
		settled := false
		go func() { b.settle(t.Context()); settled = true }()
		b.paid()
		if synctest.Wait(); settled {
			t.Fatal("settled with an answer that is owed")
		}
		b.paid()
		if synctest.Wait(); !settled {
			t.Fatal("waits for nothing")
		}
	})
}
