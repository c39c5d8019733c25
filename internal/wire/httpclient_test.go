package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// script is an HTTP server that a test plays: initialize is answered, everything
// else goes to the functions.
type script struct {
	*httptest.Server
	t       *testing.T
	session string
	post    func(w http.ResponseWriter, r *http.Request, m Message) // of requests but initialize
	get     func(w http.ResponseWriter, r *http.Request)

	mu   sync.Mutex
	seen []string // method, JSON-RPC method, Last-Event-ID
}

func newScript(t *testing.T) *script {
	s := &script{t: t, session: "s-1"}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *script) note(what string) {
	s.mu.Lock()
	s.seen = append(s.seen, what)
	s.mu.Unlock()
}

func (s *script) saw(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, have := range s.seen {
		if have == what {
			n++
		}
	}
	return n
}

func (s *script) check(r *http.Request, initialize bool) {
	complain := func(what string) { s.t.Errorf("%s %s: %s", r.Method, what, r.Header) }
	if got := r.Header.Get("Mcp-Session-Id"); (got == s.session) == initialize && s.session != "" {
		complain("session id " + got)
	}
	if got := r.Header.Get("Mcp-Protocol-Version"); initialize && got != "" || !initialize && got != "2025-06-18" {
		complain("version " + got)
	}
	if r.Header.Get("X-Own") != "own" {
		complain("own header")
	}
	accept := r.Header.Get("Accept")
	switch r.Method {
	case http.MethodPost:
		if !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream") || r.Header.Get("Content-Type") != "application/json" {
			complain("accept " + accept)
		}
	case http.MethodGet:
		if accept != "text/event-stream" || r.Header.Get("Content-Type") != "" {
			complain("accept " + accept)
		}
	}
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/moved") {
		return
	}
	switch r.Method {
	case http.MethodPost:
		raw, _ := io.ReadAll(r.Body)
		m, err := Parse(raw)
		if err != nil {
			s.t.Errorf("posted %q: %v", raw, err)
		}
		s.note(m.Method)
		s.check(r, m.Method == "initialize")
		switch {
		case m.Method == "initialize":
			if s.session != "" {
				w.Header().Set("Mcp-Session-Id", s.session)
			}
			answerJSON(w, string(NewResult(m.ID, []byte(`{"protocolVersion":"2025-06-18","capabilities":{}}`))))
		case m.Kind == Request:
			s.post(w, r, m)
		default:
			if m.Method == "notifications/cancelled" {
				s.note("cancelled " + string(member(m.Params, "requestId")))
			}
			w.WriteHeader(http.StatusAccepted)
		}
	case http.MethodGet:
		s.note("GET " + r.Header.Get("Last-Event-ID"))
		s.check(r, false)
		if s.get == nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		s.get(w, r)
	case http.MethodDelete:
		s.note("DELETE " + r.Header.Get("Mcp-Session-Id"))
		s.check(r, false)
	}
}

func answerJSON(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

// stream begins an event stream and gives a function that sends on it.
func stream(w http.ResponseWriter) func(format string, args ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	return func(format string, args ...any) {
		fmt.Fprintf(w, format, args...)
		w.(http.Flusher).Flush()
	}
}

func (s *script) connect(h Handlers, limit int) *Session {
	s.t.Helper()
	conn, err := HTTPClient{URL: s.URL + "/mcp?key=hunter2", Header: http.Header{"X-Own": {"own"}}, MaxBody: limit}.Dial(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	session, _, err := Connect(s.t.Context(), conn, ClientInfo{Name: "t"}, h)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { session.Close() })
	return session
}

func TestHTTPAnswers(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		name   string
		post   func(w http.ResponseWriter, r *http.Request, m Message)
		result string // else error
		says   string
	}{
		{"json", func(w http.ResponseWriter, _ *http.Request, m Message) {
			answerJSON(w, " "+string(NewResult(m.ID, []byte(`{ "a":1.0 }`)))+"\n")
		}, `{ "a":1.0 }`, ""},
		{"events", func(w http.ResponseWriter, _ *http.Request, m Message) {
			send := stream(w)
			send(": hello\n\n")
			send("event: ping\ndata: {}\n\n")
			send("event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata:  \"id\":%s,\"result\":{}}\n\n", m.ID)
		}, "{}", ""},
		{"events that do not end", func(w http.ResponseWriter, r *http.Request, m Message) {
			stream(w)("data: %s\n\n", NewResult(m.ID, nil))
			<-r.Context().Done()
		}, "{}", ""},
		{"error with 400", func(w http.ResponseWriter, _ *http.Request, m Message) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = w.Write(NewError(nil, -32600, "no session", nil))
		}, `{"code":-32600,"message":"no session"}`, ""},
		{"text with 500", func(w http.ResponseWriter, _ *http.Request, m Message) { http.Error(w, "oops", 500) }, "", "HTTP 500 Internal Server Error"},
		{"json that is no message, with 502", func(w http.ResponseWriter, _ *http.Request, m Message) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(502)
			_, _ = io.WriteString(w, `{"error":"x"}`)
		}, "", "HTTP 502"},
		{"accepted", func(w http.ResponseWriter, _ *http.Request, m Message) { w.WriteHeader(202) }, "", "without a response"},
		{"html", func(w http.ResponseWriter, _ *http.Request, m Message) { _, _ = io.WriteString(w, "<html>") }, "", "neither JSON nor an event stream"},
		{"broken json", func(w http.ResponseWriter, _ *http.Request, m Message) { answerJSON(w, `{"a":`) }, "", "ends before"},
		{"no json at all", func(w http.ResponseWriter, _ *http.Request, m Message) { answerJSON(w, ``) }, "", "ends before"},
		{"batch", func(w http.ResponseWriter, _ *http.Request, m Message) {
			answerJSON(w, "["+string(NewResult(m.ID, nil))+"]")
		}, "", "batch"},
		{"other id", func(w http.ResponseWriter, _ *http.Request, m Message) {
			answerJSON(w, string(NewResult([]byte("77"), nil)))
		}, "", "without a response"},
		{"long json", func(w http.ResponseWriter, _ *http.Request, m Message) {
			answerJSON(w, string(NewResult(m.ID, Quote(long))))
		}, "", "longer than the limit of 1000 bytes"},
		{"long event", func(w http.ResponseWriter, _ *http.Request, m Message) {
			stream(w)("data: %s\n\n", NewResult(m.ID, Quote(long)))
		}, "", "longer than the limit of 1000 bytes"},
		{"bad event", func(w http.ResponseWriter, _ *http.Request, m Message) { stream(w)("data: {}\n\n") }, "", `no "jsonrpc"`},
		{"events that break", func(w http.ResponseWriter, _ *http.Request, m Message) { stream(w)("data: {\"jso") }, "", "broke before"},
		{"json that breaks", func(w http.ResponseWriter, _ *http.Request, m Message) {
			w.Header().Set("Content-Length", "1000")
			answerJSON(w, `{"jsonrpc":`)
		}, "", "broke before"},
		{"connection that breaks", func(w http.ResponseWriter, _ *http.Request, m Message) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		}, "", "EOF"},
		{"redirect elsewhere", func(w http.ResponseWriter, r *http.Request, m Message) {
			http.Redirect(w, r, "http://127.0.0.1:9/hunter2", http.StatusTemporaryRedirect)
		}, "", "another origin"},
		{"redirect that loses the message", func(w http.ResponseWriter, r *http.Request, m Message) {
			http.Redirect(w, r, "/moved", http.StatusFound)
		}, "", "would drop the message"},
		{"redirect in a circle", func(w http.ResponseWriter, r *http.Request, m Message) {
			http.Redirect(w, r, r.URL.String(), http.StatusPermanentRedirect)
		}, "", "too often"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t)
			s.post = c.post
			session := s.connect(Handlers{}, 1000)
			m, err := session.Call(t.Context(), "work", nil, nil)
			if c.result != "" {
				if got := string(m.Result) + string(m.Error); err != nil || got != c.result {
					t.Errorf("got %s %v", got, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter2") || NotSent(err) {
				t.Errorf("got %v", err)
			}
			if c.says == "" && s.saw("work") != 1 {
				t.Errorf("sent %d times", s.saw("work"))
			}
			session.Close()
			if s.saw("DELETE s-1") != 1 {
				t.Error("the session was not deleted")
			}
		})
	}
}

func TestHTTPServerIsDown(t *testing.T) {
	s := newScript(t)
	session := s.connect(Handlers{}, 0)
	s.CloseClientConnections()
	s.Server.Close()                                   //nolint:staticcheck // s.Close would read like the end of a session
	_, _ = session.Call(t.Context(), "work", nil, nil) // may have gone out on the connection that broke
	_, err := session.Call(t.Context(), "work", nil, nil)
	if !NotSent(err) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	for _, url := range []string{"", "ftp://x", "http://", "::", "localhost:80"} {
		if _, err := (HTTPClient{URL: url}).Dial(t.Context()); err == nil {
			t.Errorf("%q was dialled", url)
		}
	}
}

// A server may end the stream of a request and have the client come back for it.
func TestHTTPResume(t *testing.T) {
	s := newScript(t)
	var request Message
	var ended time.Time
	s.post = func(w http.ResponseWriter, _ *http.Request, m Message) {
		request = m
		send := stream(w)
		send("id: e1\nretry: 150\ndata:\n\n")
		ended = time.Now()
	}
	gets := 0
	var waited time.Duration
	s.get = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-ID") == "" { // the standing stream
			stream(w)
			<-r.Context().Done()
			return
		}
		switch gets++; gets {
		case 1:
			waited = time.Since(ended)
			http.Error(w, "busy", http.StatusServiceUnavailable)
		case 2:
			stream(w)("id: e2\ndata: %s\n\n", NewNotification("notifications/progress", []byte(`{"progressToken":2,"progress":1}`)))
		default:
			stream(w)("id: e3\ndata: %s\n\n", NewResult(request.ID, []byte(`{"late":true}`)))
		}
	}
	progress := 0
	session := s.connect(Handlers{}, 0)
	m, err := session.Call(t.Context(), "work", []byte(`{"_meta":{"progressToken":"p"}}`), func([]byte) { progress++ })
	if err != nil || string(m.Result) != `{"late":true}` || progress != 1 {
		t.Errorf("got %s %v, progress %d", m.Raw, err, progress)
	}
	if waited < 150*time.Millisecond {
		t.Errorf("waited %v", waited)
	}
	if s.saw("GET e1") != 2 || s.saw("GET e2") != 1 || s.saw("work") != 1 {
		t.Errorf("seen %q", s.seen)
	}
}

func TestHTTPResumeFails(t *testing.T) {
	for status, want := range map[int]string{405: "HTTP 405", 404: ErrSessionGone.Error(), 400: "HTTP 400"} {
		s := newScript(t)
		s.post = func(w http.ResponseWriter, _ *http.Request, m Message) { stream(w)("id: e1\nretry: 1\ndata:\n\n") }
		s.get = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Last-Event-ID") == "" {
				w.WriteHeader(405)
				return
			}
			w.WriteHeader(status)
		}
		closed := make(chan error, 1)
		session := s.connect(Handlers{Closed: func(err error) { closed <- err }}, 0)
		if _, err := session.Call(t.Context(), "work", nil, nil); err == nil || !strings.Contains(err.Error(), want) || NotSent(err) {
			t.Errorf("%d: got %v", status, err)
		}
		if status == 404 {
			if err := <-closed; err != ErrSessionGone {
				t.Errorf("closed with %v", err)
			}
		}
	}
}

func TestHTTPSessionGone(t *testing.T) {
	s := newScript(t)
	s.post = func(w http.ResponseWriter, _ *http.Request, m Message) { http.Error(w, "unknown session", 404) }
	closed := make(chan error, 1)
	session := s.connect(Handlers{Closed: func(err error) { closed <- err }}, 0)
	if _, err := session.Call(t.Context(), "work", nil, nil); !errors.Is(err, ErrSessionGone) {
		t.Errorf("got %v", err)
	}
	if err := <-closed; err != ErrSessionGone {
		t.Errorf("closed with %v", err)
	}
	session.Close()
	if s.saw("DELETE s-1") != 0 {
		t.Error("a session that is gone was deleted")
	}
	// Without a session 404 says nothing about one.
	s = newScript(t)
	s.session = ""
	s.post = func(w http.ResponseWriter, _ *http.Request, m Message) { http.Error(w, "no such page", 404) }
	session = s.connect(Handlers{}, 0)
	_, err := session.Call(t.Context(), "work", nil, nil)
	if h, ok := errors.AsType[*HTTPError](err); !ok || h.Status != 404 {
		t.Errorf("got %v", err)
	}
	select {
	case <-session.Done():
		t.Error("the session ended")
	default:
	}
}

func TestHTTPCancel(t *testing.T) {
	for _, how := range []string{"before the header", "in the stream"} {
		t.Run(how, func(t *testing.T) {
			s := newScript(t)
			began, left := make(chan Message, 1), make(chan bool)
			s.post = func(w http.ResponseWriter, r *http.Request, m Message) {
				if how == "in the stream" {
					stream(w)
				}
				began <- m
				<-r.Context().Done() // the client leaves, but only after it said so
				if s.saw("cancelled "+string(m.ID)) != 1 {
					t.Errorf("seen %q", s.seen)
				}
				close(left)
			}
			session := s.connect(Handlers{}, 0)
			ctx, cancel := context.WithCancel(t.Context())
			done := goCall(ctx, session, "work", "{}", nil)
			<-began
			cancel()
			if r := <-done; r.err != context.Canceled {
				t.Errorf("got %v", r.err)
			}
			<-left
		})
	}
}

func TestHTTPStandingStream(t *testing.T) {
	s := newScript(t)
	s.post = func(w http.ResponseWriter, _ *http.Request, m Message) { answerJSON(w, string(NewResult(m.ID, nil))) }
	gets := 0
	s.get = func(w http.ResponseWriter, r *http.Request) {
		send := stream(w)
		switch gets++; gets {
		case 1: // without ids: what is sent while it is away is missed
			send("retry: 1\ndata: %s\n\n", NewNotification("one", nil))
		case 2:
			send("data: {\n\n")
			send("id: 7\ndata: %s\n\n", NewNotification("two", nil))
		case 3:
			send("data: %s\n\n", NewRequest([]byte("5"), "ping", nil))
			<-r.Context().Done()
		}
	}
	notes, gaps := make(chan string, 5), make(chan bool, 5)
	s.connect(Handlers{Notify: func(m Message) { notes <- m.Method }, Gap: func() { gaps <- true }}, 0)
	if one, two := <-notes, <-notes; one != "one" || two != "two" {
		t.Errorf("got %s and %s", one, two)
	}
	for range 1000 {
		if s.saw("GET 7") == 1 && s.saw("") == 1 { // resumed, and the ping answered
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if s.saw("GET ") != 2 || s.saw("GET 7") != 1 || s.saw("") != 1 {
		t.Errorf("seen %q", s.seen)
	}
	if len(gaps) != 2 { // the second GET, and the event that was no message
		t.Errorf("%d gaps", len(gaps))
	}
}

func TestHTTPConnAlone(t *testing.T) {
	conn, err := HTTPClient{URL: newScript(t).URL}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Send(t.Context(), []byte("{")); !NotSent(err) {
		t.Errorf("got %v", err)
	}
	conn.Close()
	if _, err := conn.Receive(t.Context()); err != ErrClosed {
		t.Errorf("got %v", err)
	}
}
