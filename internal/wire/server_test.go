package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// testFace does what the method says.
type testFace struct {
	mu     sync.Mutex
	peers  map[string]Peer // of open sessions
	notes  []string
	opened int
	closed int

	hanging chan context.Context // of requests for "hang"
}

func newTestFace() *testFace {
	return &testFace{peers: map[string]Peer{}, hanging: make(chan context.Context, 2000)}
}

type testState struct{ id string }

func (f *testFace) Open(_ context.Context, p Peer, m Message, who any) ([]byte, any, *RPCError) {
	if _, refuse := Find(m.Params, "refuse"); refuse {
		return nil, nil, &RPCError{Code: CodeInvalidParams, Message: "not here"}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	f.peers[p.ID()] = p
	return fmt.Appendf(nil, `{"opened":%q}`, who), &testState{p.ID()}, nil
}

func (f *testFace) Request(ctx context.Context, state any, x Exchange) ([]byte, *RPCError) {
	if state.(*testState).id != x.Peer.ID() {
		return nil, &RPCError{Code: CodeInternal, Message: "the state is of another session"}
	}
	switch x.Message.Method {
	case "echo":
		return x.Message.Params, nil
	case "progress":
		var p struct{ Times int }
		if json.Unmarshal(x.Message.Params, &p) != nil {
			return nil, &RPCError{Code: CodeInvalidParams}
		}
		for i := range p.Times {
			x.Notify("notifications/progress", fmt.Appendf(nil, `{"progress":%d}`, i+1))
		}
		return x.Message.Params, nil
	case "pretty":
		x.Notify("notifications/progress", []byte("{}"))
		return []byte("{\n  \"a\": 1\r\n}"), nil
	case "raw":
		return nil, &RPCError{Raw: []byte(`{ "code":1.0, "message":"x" }`)}
	case "hang":
		f.hanging <- ctx
		<-ctx.Done()
		x.Notify("notifications/late", nil)
		return []byte(`{"hung":true}`), nil
	case "panic":
		x.Notify("notifications/progress", []byte("{}"))
		panic("the face panics")
	}
	return nil, &RPCError{Code: CodeMethodNotFound, Message: "no such method", Data: []byte(`{"a":1}`)}
}

func (f *testFace) Notify(_ any, m Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes = append(f.notes, m.Method)
}

func (f *testFace) Closed(state any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	delete(f.peers, state.(*testState).id)
}

func (f *testFace) counts() (opened, closed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened, f.closed
}

// testServer authenticates by the header: whoever is not "none" is who they say.
func testServer(f Face) *HTTPServer {
	return &HTTPServer{Face: f, Authenticate: func(r *http.Request) (any, error) {
		switch who := r.Header.Get("Authorization"); who {
		case "none":
			return nil, errors.New("secret detail")
		case "":
			return "alice", nil
		default:
			return who, nil
		}
	}}
}

func request(method, body string, header ...string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:8080/mcp", strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(method, "http://127.0.0.1:8080/mcp", nil)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func serve(s http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// open begins a session and gives its id.
func open(t testing.TB, s *HTTPServer, header ...string) string {
	t.Helper()
	w := serve(s, request("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, append(header, "Content-Type", "application/json")...))
	id := w.Header().Get("Mcp-Session-Id")
	if w.Code != 200 || len(id) != 43 {
		t.Fatalf("initialize: %d %q %s", w.Code, id, w.Body)
	}
	return id
}

// TestServerTranscripts: testdata/server_http.txtar.
func TestServerTranscripts(t *testing.T) {
	a, err := txtar.ParseFile("testdata/server_http.txtar")
	if err != nil || len(a.Files) == 0 || len(a.Files)%2 != 0 {
		t.Fatal("the transcript is not of pairs", err)
	}
	s := testServer(newTestFace())
	session := ""
	for i := 0; i < len(a.Files); i += 2 {
		in, want := a.Files[i], a.Files[i+1]
		w := serve(s, scripted(t, string(in.Data), session))
		if id := w.Header().Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		if got := shown(w, session); got != string(want.Data) {
			t.Errorf("%s: got\n%swant\n%s", in.Name, got, want.Data)
		}
	}
}

func scripted(t *testing.T, script, session string) *http.Request {
	head, body, _ := strings.Cut(script, "\n\n")
	lines := bufio.NewScanner(strings.NewReader(head))
	lines.Scan()
	method, good, _ := strings.Cut(lines.Text(), " ")
	r := request(method, strings.TrimSuffix(body, "\n"))
	if good == "open" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Session-Id", session)
	}
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			t.Fatalf("no header: %q", lines.Text())
		}
		switch value = strings.TrimSpace(value); {
		case value == "":
			r.Header.Del(name)
		case name == "Mcp-Session-Id":
			r.Header.Add(name, value)
		default:
			r.Header.Set(name, value)
		}
	}
	return r
}

func shown(w *httptest.ResponseRecorder, session string) string {
	var b strings.Builder
	fmt.Fprint(&b, w.Code)
	if v := w.Header().Get("Content-Type"); v != "" {
		b.WriteString(" " + v)
	}
	for _, name := range []string{"Allow", "Www-Authenticate"} {
		if v := w.Header().Get(name); v != "" {
			fmt.Fprintf(&b, " %s=%s", strings.ToLower(name), v)
		}
	}
	if w.Header().Get("Mcp-Session-Id") != "" {
		b.WriteString(" session")
	}
	b.WriteByte('\n')
	body := strings.ReplaceAll(w.Body.String(), session, "$S")
	if v := w.Header().Get("Content-Length"); v != "" && v != fmt.Sprint(w.Body.Len()) {
		fmt.Fprintf(&b, "wrong Content-Length %s\n", v)
	}
	if b.WriteString(body); body != "" && !strings.HasSuffix(body, "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}

func TestHostAndOrigin(t *testing.T) {
	s := testServer(newTestFace())
	s.Hosts, s.Origins = []string{"gateway.corp", "10.0.0.7"}, []string{"https://app.example"}
	for _, c := range []struct {
		host, origin string
		ok           bool
	}{
		{"127.0.0.1:8080", "", true},
		{"127.9.9.9", "", true},
		{"localhost", "", true},
		{"LOCALHOST:1", "", true},
		{"[::1]:8080", "", true},
		{"[::1]", "", true},
		{"[::ffff:127.0.0.1]:80", "", true},
		{"gateway.corp:443", "", true},
		{"10.0.0.7:8080", "", true},
		{"evil.example", "", false},
		{"evil.example:8080", "", false},
		{"127.0.0.1.evil.example", "", false},
		{"localhost.evil.example", "", false},
		{"10.0.0.8", "", false},
		{"", "", false},
		{"127.0.0.1:8080", "http://127.0.0.1:8080", true},
		{"gateway.corp", "https://gateway.corp", true},
		{"localhost:8080", "http://localhost:9090", false},
		{"127.0.0.1:8080", "http://evil.example", false},
		{"127.0.0.1:8080", "null", false},
		{"127.0.0.1:8080", "file://", false},
		{"127.0.0.1:8080", "https://app.example", true},
		{"127.0.0.1:8080", "https://app.example.evil", false},
		{"evil.example", "http://evil.example", false},
	} {
		for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS", "PUT"} {
			r := request(method, "", "Authorization", "none")
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			// Whoever gets through has no token: 401, or 204 for a preflight.
			if got := serve(s, r).Code; (got == 403) == c.ok {
				t.Errorf("%s to %q from %q: %d", method, c.host, c.origin, got)
			}
		}
	}
	r := request("POST", "")
	r.Header["Origin"] = []string{"https://app.example", "http://evil.example"}
	if got := serve(s, r).Code; got != 403 {
		t.Errorf("two Origins: %d", got)
	}
	s.Hosts = []string{"*"}
	r = request("POST", "", "Authorization", "none")
	r.Host = "anything"
	if got := serve(s, r).Code; got != 401 {
		t.Errorf("any host allowed: %d", got)
	}
}

func TestAllowedOriginMayReadAnswers(t *testing.T) {
	s := testServer(newTestFace())
	s.Origins = []string{"https://app.example"}
	r := request("OPTIONS", "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST")
	w := serve(s, r)
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	w = serve(s, request("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "Content-Type", "application/json", "Origin", "https://app.example"))
	if w.Code != 200 || w.Header().Get("Access-Control-Expose-Headers") != "Mcp-Session-Id" || w.Header().Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Errorf("initialize: %d %v", w.Code, w.Header())
	}
	if w = serve(s, request("OPTIONS", "")); w.Code != 200 && w.Code != 405 {
		t.Errorf("OPTIONS without Origin: %d", w.Code)
	}
}

func TestNobodyWithoutAuthenticate(t *testing.T) {
	s := &HTTPServer{Face: newTestFace()}
	first := serve(s, request("POST", "{}", "Content-Type", "application/json"))
	if first.Code != 401 || !strings.HasPrefix(first.Body.String(), "a token is needed") {
		t.Errorf("%d %s", first.Code, first.Body)
	}
	w := serve(testServer(newTestFace()), request("POST", "{}", "Authorization", "none"))
	if w.Code != 401 || w.Body.String() != first.Body.String() || w.Header().Get("Www-Authenticate") != "Bearer" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
}

func TestBodyLimit(t *testing.T) {
	s := testServer(newTestFace())
	s.MaxBody = 1000
	id := open(t, s)
	message := func(n int) string {
		m := `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":""}}`
		return strings.Replace(m, `""`, `"`+strings.Repeat("x", n-len(m))+`"`, 1)
	}
	for _, c := range []struct {
		size, status int
	}{{1000, 200}, {1001, 413}, {100_000, 413}} {
		for _, known := range []bool{true, false} {
			r := request("POST", message(c.size), "Content-Type", "application/json", "Mcp-Session-Id", id)
			if !known {
				r.ContentLength = -1
			}
			if w := serve(s, r); w.Code != c.status {
				t.Errorf("%d bytes, length known %v: %d %s", c.size, known, w.Code, w.Body)
			}
		}
	}
	r := request("POST", `{"jsonrpc":"2.0"`, "Content-Type", "application/json", "Mcp-Session-Id", id)
	r.ContentLength = 500
	if w := serve(s, r); w.Code != 400 || !strings.Contains(w.Body.String(), "ended too early") {
		t.Errorf("a body that ends early: %d %s", w.Code, w.Body)
	}
}

func TestLargeResultIsWhole(t *testing.T) {
	s := testServer(newTestFace())
	id := open(t, s)
	for _, size := range []int{bigBody - 100, bigBody, bigBody + 1, 1 << 20} {
		params := `{"a":"` + strings.Repeat("x", size) + `"}`
		w := serve(s, request("POST", `{"jsonrpc":"2.0","id":7,"method":"echo","params":`+params+`}`, "Content-Type", "application/json", "Mcp-Session-Id", id))
		want := `{"jsonrpc":"2.0","id":7,"result":` + params + `}`
		if w.Body.String() != want || w.Header().Get("Content-Length") != fmt.Sprint(len(want)) {
			t.Errorf("%d bytes: %d came, Content-Length %s", size, w.Body.Len(), w.Header().Get("Content-Length"))
		}
	}
}

// FuzzPost: any body gets one well-formed answer with its own id.
func FuzzPost(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1}}`, `{"jsonrpc":"2.0","method":"n"}`, `[]`, ``, `{"jsonrpc":"2.0","id":"é","method":"progress","params":{"times":3}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `{"jsonrpc":"2.0","id":1e999,"method":"raw"}`, `{"jsonrpc":"2.0","id":null,"result":{}}`, "{\"jsonrpc\":\"2.0\",\"id\":1,\n\"method\":\"pretty\"}",
	} {
		f.Add([]byte(seed))
	}
	s := testServer(newTestFace())
	id := open(f, s)
	f.Fuzz(func(t *testing.T, body []byte) {
		if bytes.Contains(body, []byte("hang")) || bytes.Contains(body, []byte("panic")) || bytes.Contains(body, []byte(`\u`)) {
			t.Skip("methods that do not end, possibly spelled with escapes")
		}
		r := request("POST", string(body), "Content-Type", "application/json", "Mcp-Session-Id", id)
		w := serve(s, r)
		m, err := Parse(body)
		switch {
		case err != nil:
			if w.Code != 400 {
				t.Fatalf("no message, but %d", w.Code)
			}
		case m.Kind != Request:
			if w.Code != 202 {
				t.Fatalf("%d for kind %d", w.Code, m.Kind)
			}
		case m.Method == "initialize":
			if w.Code != 400 {
				t.Fatalf("initialize again: %d", w.Code)
			}
		default:
			answer := w.Body.Bytes()
			if w.Header().Get("Content-Type") == "text/event-stream" {
				events := NewEventReader(bytes.NewReader(answer), 0)
				for {
					e, err := events.Next()
					if err != nil {
						break
					}
					answer = e.Data
				}
			}
			got, err := Parse(answer)
			if w.Code != 200 || err != nil || got.Kind != Response || !bytes.Equal(got.ID, m.ID) {
				t.Fatalf("%d %v: %s", w.Code, err, w.Body)
			}
		}
	})
}
