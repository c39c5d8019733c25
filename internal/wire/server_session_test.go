package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// streamWriter is a ResponseWriter for streams: what was written can be read while
// the handler runs, and writing can be made to wait.
type streamWriter struct {
	header http.Header
	status int
	block  chan struct{} // when set, Write waits until it is closed

	mu  sync.Mutex
	b   bytes.Buffer
	err error
}

func newStream() *streamWriter { return &streamWriter{header: http.Header{}} }

func (w *streamWriter) Header() http.Header { return w.header }
func (w *streamWriter) Flush()              {}
func (w *streamWriter) WriteHeader(status int) {
	w.mu.Lock()
	w.status = status
	w.mu.Unlock()
}

func (w *streamWriter) Write(b []byte) (int, error) {
	if w.block != nil && len(b) > 0 {
		<-w.block
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	return w.b.Write(b)
}

func (w *streamWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// listen opens a standing stream; the channel is closed when the handler ended.
func listen(ctx context.Context, s *HTTPServer, id string, header ...string) (*streamWriter, chan struct{}) {
	w := newStream()
	return w, listenOn(ctx, s, w, id, header...)
}

func listenOn(ctx context.Context, s *HTTPServer, w *streamWriter, id string, header ...string) chan struct{} {
	done := make(chan struct{})
	r := request("GET", "", append(header, "Mcp-Session-Id", id, "Accept", "text/event-stream")...).WithContext(ctx)
	go func() {
		defer close(done)
		s.ServeHTTP(w, r)
	}()
	return done
}

func ended(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// start posts a request in the background.
func start(ctx context.Context, s *HTTPServer, w http.ResponseWriter, id, body string) chan struct{} {
	done := make(chan struct{})
	r := request("POST", body, "Content-Type", "application/json", "Mcp-Session-Id", id).WithContext(ctx)
	go func() {
		defer close(done)
		s.ServeHTTP(w, r)
	}()
	return done
}

func post(s *HTTPServer, id, body string) *httptest.ResponseRecorder {
	return serve(s, request("POST", body, "Content-Type", "application/json", "Mcp-Session-Id", id))
}

const hang = `{"jsonrpc":"2.0","id":"h","method":"hang"}`

func TestWhatCancelsARequest(t *testing.T) {
	for name, act := range map[string]func(s *HTTPServer, id string, leave func()){
		"notifications/cancelled": func(s *HTTPServer, id string, _ func()) {
			post(s, id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"h","reason":"x"}}`)
		},
		"the agent leaves": func(_ *HTTPServer, _ string, leave func()) { leave() },
		"DELETE": func(s *HTTPServer, id string, _ func()) {
			if w := serve(s, request("DELETE", "", "Mcp-Session-Id", id)); w.Code != 204 {
				t.Errorf("DELETE: %d", w.Code)
			}
		},
		"Close": func(s *HTTPServer, _ string, _ func()) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTestFace()
				s := testServer(f)
				defer s.Close()
				id := open(t, s)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				w := newStream()
				done := start(ctx, s, w, id, hang)
				synctest.Wait()
				if ended(done) {
					t.Fatal("it did not wait")
				}
				act(s, id, leave)
				synctest.Wait()
				if !ended(done) {
					t.Fatal("the request goes on")
				}
				if asked := <-f.hanging; !errors.Is(asked.Err(), context.Canceled) {
					t.Errorf("ctx: %v", asked.Err())
				}
				if want := `{"jsonrpc":"2.0","id":"h","result":{"hung":true}}`; !strings.Contains(w.String(), want) {
					t.Errorf("over HTTP a POST is answered even so: %q", w.String())
				}
			})
		})
	}
}

func TestCancellationNamesOneRequestOfOneSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		s := testServer(f)
		id, other := open(t, s), open(t, s)
		mine := start(t.Context(), s, newStream(), id, hang)
		twin := start(t.Context(), s, newStream(), id, hang) // clients do reuse ids
		second := start(t.Context(), s, newStream(), id, strings.Replace(hang, `"h"`, `"h2"`, 1))
		theirs := start(t.Context(), s, newStream(), other, hang)
		synctest.Wait()
		post(s, id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"h"}}`)
		synctest.Wait()
		if !ended(mine) || !ended(twin) || ended(second) || ended(theirs) {
			t.Errorf("ended: %v %v %v %v", ended(mine), ended(twin), ended(second), ended(theirs))
		}
		s.Close()
		synctest.Wait()
		if !ended(second) || !ended(theirs) {
			t.Error("Close leaves requests behind")
		}
	})
}

func TestPanicLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		s := testServer(f)
		defer s.Close()
		id := open(t, s)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed: nobody would log it")
				}
			}()
			post(s, id, `{"jsonrpc":"2.0","id":1,"method":"panic"}`)
		}()
		// The bubble fails if the stream's goroutine stays.
		if w := post(s, id, `{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`); w.Code != 200 {
			t.Errorf("the session is broken: %d", w.Code)
		}
	})
}

func TestSlowReaderHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		s := testServer(f)
		defer s.Close()
		id := open(t, s)
		w := newStream()
		w.block = make(chan struct{})
		done := start(t.Context(), s, w, id, `{"jsonrpc":"2.0","id":1,"method":"progress","params":{"times":5000}}`)
		quiet := newStream()
		quiet.block = w.block
		listenOn(t.Context(), s, quiet, id)
		synctest.Wait() // the face is done although nothing could be written
		if ended(done) {
			t.Fatal("the answer can't have been written")
		}
		f.mu.Lock()
		peer := f.peers[id]
		f.mu.Unlock()
		for i := range 5000 {
			peer.Notify("notifications/x", fmt.Appendf(nil, `{"n":%d}`, i))
		}
		close(w.block)
		synctest.Wait()
		if !ended(done) {
			t.Fatal("the answer was not written")
		}
		events := strings.Split(strings.TrimSpace(w.String()), "\n\n")
		if len(events) > 2*boxLimit+2 || !strings.Contains(events[len(events)-1], `"id":1,"result"`) || !strings.Contains(events[len(events)-2], `"progress":5000}`) {
			t.Errorf("%d events, the last two %q", len(events), events[len(events)-2:])
		}
		if got := quiet.String(); !strings.Contains(got, `{"n":4999}`) || strings.Count(got, "data:") > 2*boxLimit {
			t.Errorf("the standing stream has %d events", strings.Count(got, "data:"))
		}
	})
}

func TestAgentThatCanNotBeWrittenTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		s := testServer(f)
		id := open(t, s)
		w := newStream()
		w.err = errors.New("broken pipe")
		done := start(t.Context(), s, w, id, `{"jsonrpc":"2.0","id":1,"method":"progress","params":{"times":3}}`)
		quiet := newStream()
		quiet.err = w.err
		gone := listenOn(t.Context(), s, quiet, id)
		f.peers[id].Notify("notifications/x", []byte("{}"))
		synctest.Wait()
		if !ended(done) || !ended(gone) {
			t.Error("they go on writing")
		}
		s.Close()
	})
}

func TestStandingStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		s := testServer(f)
		defer s.Close()
		id := open(t, s)
		peer := f.peers[id]
		peer.Notify("notifications/tools/list_changed", nil) // no stream yet: kept, once
		peer.Notify("notifications/tools/list_changed", nil)
		peer.Notify("notifications/message", []byte(`{"lost":true}`)) // lost
		w, done := listen(t.Context(), s, id, "Mcp-Protocol-Version", "2025-11-25")
		synctest.Wait()
		const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		want := "id: 1\ndata: \n\nid: 2\ndata: " + changed + "\n\n"
		if got := w.String(); got != want || w.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("got %q", got)
		}
		peer.Notify("notifications/message", []byte(`{"a":1}`))
		peer.Notify("notifications/tools/list_changed", nil)
		synctest.Wait()
		want += "id: 3\ndata: " + `{"jsonrpc":"2.0","method":"notifications/message","params":{"a":1}}` + "\n\nid: 4\ndata: " + changed + "\n\n"
		if got := w.String(); got != want {
			t.Errorf("got %q", got)
		}
		time.Sleep(2*heartbeat + time.Second)
		want += ":\n\n:\n\n"
		if got := w.String(); got != want {
			t.Errorf("no heartbeats: %q", got)
		}

		// Another stream takes over; what the agent says it did not see comes again.
		second, secondDone := listen(t.Context(), s, id, "Last-Event-ID", "3")
		synctest.Wait()
		if !ended(done) || ended(secondDone) {
			t.Errorf("the first stream ended: %v, the second: %v", ended(done), ended(secondDone))
		}
		if got := second.String(); got != "id: 5\ndata: "+changed+"\n\n" {
			t.Errorf("got %q", got)
		}
		third, _ := listen(t.Context(), s, id, "Last-Event-ID", "5")
		synctest.Wait()
		if got := third.String(); got != "" {
			t.Errorf("got what was seen: %q", got)
		}
		fourth, _ := listen(t.Context(), s, id)
		synctest.Wait()
		if got := fourth.String(); got != "id: 6\ndata: "+changed+"\n\n" {
			t.Errorf("an agent that does not say what it saw got %q", got)
		}
		if w := serve(s, request("DELETE", "", "Mcp-Session-Id", id)); w.Code != 204 {
			t.Errorf("DELETE: %d", w.Code)
		}
		synctest.Wait()
		if !ended(secondDone) {
			t.Error("the stream of a session that ended stays open")
		}
	})
}

func TestStandingStreamEndsWithTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		s := testServer(f)
		defer s.Close()
		good := s.Authenticate
		var revoked atomic.Bool
		s.Authenticate = func(r *http.Request) (any, error) {
			if revoked.Load() {
				return nil, errors.New("revoked")
			}
			return good(r)
		}
		_, done := listen(t.Context(), s, open(t, s))
		time.Sleep(heartbeat + time.Second)
		if ended(done) {
			t.Fatal("it ended too early")
		}
		revoked.Store(true)
		time.Sleep(heartbeat)
		synctest.Wait()
		if !ended(done) {
			t.Error("a revoked token still listens")
		}
	})
}

// TestOverTCP: what only a real server and a real client show.
func TestOverTCP(t *testing.T) {
	f := newTestFace()
	s := testServer(f)
	server := httptest.NewServer(s)
	defer server.Close()
	client := server.Client()
	send := func(ctx context.Context, method, body, session string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, method, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		return client.Do(r)
	}
	resp, err := send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")

	// A client that goes away cancels its request.
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := send(ctx, "POST", hang, id)
		gone <- err
	}()
	asked := <-f.hanging
	leave()
	if err := <-gone; err == nil {
		t.Error("the client did not leave")
	}
	<-asked.Done()

	// A client that does not read is left, and a large answer is whole for one that does.
	large := `{"jsonrpc":"2.0","id":7,"method":"echo","params":{"a":"` + strings.Repeat("x", 3<<20) + `"}}`
	if resp, err = send(t.Context(), "POST", large, id); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || len(got) != len(large)-len(`"method":"echo","params":`)+len(`"result":`) {
		t.Errorf("%d bytes, %v", len(got), err)
	}

	// Close ends streams and requests, so that the server can be shut down.
	stream, err := send(t.Context(), "GET", "", id)
	if err != nil || stream.StatusCode != 200 {
		t.Fatal(err, stream.StatusCode)
	}
	answered := make(chan int, 1)
	go func() {
		resp, err := send(t.Context(), "POST", hang, id)
		if err != nil {
			answered <- 0
			return
		}
		resp.Body.Close()
		answered <- resp.StatusCode
	}()
	<-f.hanging
	s.Close()
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Errorf("the stream did not end in order: %v", err)
	}
	stream.Body.Close()
	if status := <-answered; status != 200 {
		t.Errorf("the request was answered with %d", status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := server.Config.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestIdleSessionsExpire(t *testing.T) {
	before := runtime.NumGoroutine()
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		s := testServer(f)
		s.Idle, s.MaxSessions = 10*time.Minute, 2000
		var ids []string
		for range 1000 {
			ids = append(ids, open(t, s))
		}
		if n := runtime.NumGoroutine() - before; n > 10 {
			t.Errorf("1000 sessions have %d goroutines", n)
		}
		busy := start(t.Context(), s, newStream(), ids[0], hang)
		ctx, leave := context.WithCancel(t.Context())
		_, listening := listen(ctx, s, ids[1])
		time.Sleep(9 * time.Minute)
		post(s, ids[2], `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if _, closed := f.counts(); closed != 997 {
			t.Errorf("%d sessions expired, want all but the three that are used", closed)
		}
		if w := post(s, ids[3], `{"jsonrpc":"2.0","id":1,"method":"ping"}`); w.Code != 404 {
			t.Errorf("an expired session answers %d", w.Code)
		}
		if ended(busy) || ended(listening) {
			t.Error("what is in use ended")
		}
		post(s, ids[0], `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"h"}}`)
		leave()
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if _, closed := f.counts(); closed != 1000 || len(s.table.byID) != 0 || len(s.table.owners) != 0 || s.table.timer != nil {
			t.Errorf("%d closed, %d left of %d owners, timer %v", closed, len(s.table.byID), len(s.table.owners), s.table.timer)
		}
	})
	if n := runtime.NumGoroutine(); n > before+2 {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

func TestSessionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		s := testServer(f)
		defer s.Close()
		s.MaxSessions = 3
		first, second, third := open(t, s), open(t, s), open(t, s)
		initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
		full := serve(s, request("POST", initialize, "Content-Type", "application/json"))
		if full.Code != 429 || full.Header().Get("Retry-After") == "" || full.Header().Get("Mcp-Session-Id") != "" {
			t.Errorf("a fourth session at once: %d %s", full.Code, full.Body)
		}
		open(t, s, "Authorization", "bob") // another caller has a limit of their own
		time.Sleep(2 * evictable)
		done := start(t.Context(), s, newStream(), first, hang)
		synctest.Wait()
		post(s, second, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		fourth := open(t, s)
		if w := post(s, third, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); w.Code != 404 {
			t.Errorf("the one that was unused for longest is still there: %d", w.Code)
		}
		for _, id := range []string{second, fourth} {
			if w := post(s, id, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); w.Code != 200 {
				t.Errorf("a session that is used: %d", w.Code)
			}
		}
		if ended(done) {
			t.Error("a session with a request made room")
		}
		refused := serve(s, request("POST", strings.Replace(initialize, "{}", `{"refuse":1}`, 1), "Content-Type", "application/json"))
		if refused.Code != 429 {
			t.Errorf("%d", refused.Code)
		}
		// A place that initialize did not use is free again.
		serve(s, request("DELETE", "", "Mcp-Session-Id", second))
		serve(s, request("POST", strings.Replace(initialize, "{}", `{"refuse":1}`, 1), "Content-Type", "application/json"))
		open(t, s)
	})
}

func TestTooManyRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		s := testServer(f)
		id := open(t, s)
		for range maxFlights {
			start(t.Context(), s, newStream(), id, hang)
		}
		synctest.Wait()
		if w := post(s, id, `{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`); w.Code != 429 {
			t.Errorf("%d", w.Code)
		}
		s.Close()
		synctest.Wait()
		if w := post(s, id, hang); w.Code != 404 {
			t.Errorf("after Close: %d", w.Code)
		}
		w := serve(s, request("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "Content-Type", "application/json"))
		if w.Code != 429 && w.Code != 503 {
			t.Errorf("initialize after Close: %d", w.Code)
		}
	})
}

// TestSessionsUnderRace mixes everything that touches a session.
func TestSessionsUnderRace(t *testing.T) {
	f := newTestFace()
	s := testServer(f)
	s.Idle, s.MaxSessions = 20*time.Millisecond, 1000
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				id := open(t, s)
				f.mu.Lock()
				peer := f.peers[id]
				f.mu.Unlock()
				ctx, leave := context.WithCancel(t.Context())
				_, done := listen(ctx, s, id)
				var some sync.WaitGroup
				for _, body := range []string{
					`{"jsonrpc":"2.0","id":1,"method":"progress","params":{"times":9}}`, hang,
					`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"h"}}`,
				} {
					some.Go(func() { serve(s, request("POST", body, "Content-Type", "application/json", "Mcp-Session-Id", id)) })
				}
				if peer != nil {
					peer.Notify("notifications/tools/list_changed", nil)
				}
				serve(s, request("DELETE", "", "Mcp-Session-Id", id))
				leave()
				some.Wait()
				<-done
			}
		})
	}
	all.Wait()
	s.Close()
	if opened, closed := f.counts(); opened != closed {
		t.Errorf("%d sessions opened, %d closed", opened, closed)
	}
}

func TestConnTranscript(t *testing.T) {
	a, err := txtar.ParseFile("testdata/server_lines.txtar")
	if err != nil || len(a.Files) != 2 {
		t.Fatal("the transcript is no pair", err)
	}
	f := newTestFace()
	agent, want := dialConn(t, f), lineSet(a.Files[1].Data)
	i := 0
	for _, line := range lineSet(a.Files[0].Data) {
		m, err := Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		agent.say(line)
		for m.Kind == Request && i < len(want) {
			got := agent.hear()
			if got != want[i] {
				t.Errorf("got\n%s\nwant\n%s", got, want[i])
			}
			if i++; !strings.Contains(got, `"method":`) {
				break
			}
		}
	}
	agent.in.Close()
	if err := <-agent.done; err != nil || i != len(want) {
		t.Errorf("ServeConn: %v after %d of %d lines", err, i, len(want))
	}
	if f.notes[0] != "notifications/initialized" || len(f.notes) != 1 {
		t.Errorf("notifications before initialize are dropped, those after taken: %q", f.notes)
	}
	if opened, closed := f.counts(); opened != 1 || closed != 1 {
		t.Errorf("%d opened, %d closed", opened, closed)
	}
}

func lineSet(b []byte) []string { return strings.Split(strings.TrimSpace(string(b)), "\n") }

// connAgent is the other end of a ServeConn.
type connAgent struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *io.PipeReader
	buf  lineReader
	done chan error
	stop context.CancelFunc
}

func dialConn(t *testing.T, f Face) *connAgent {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a := &connAgent{t: t, in: inW, out: outR, buf: lineReader{bufio.NewReader(outR), DefaultMaxMessage}, done: make(chan error, 1)}
	// A connection each: the end of one direction ends a connection.
	nothing, end := io.Pipe()
	conn := twoConns{NewLineConn(inR, io.Discard, inR, 0, nil), NewLineConn(nothing, outW, end, 0, nil)}
	ctx, stop := context.WithCancel(t.Context())
	a.stop = stop
	go func() {
		err := ServeConn(ctx, conn, f, "local")
		conn.Close()
		outW.Close()
		a.done <- err
	}()
	return a
}

type twoConns struct{ reads, writes Conn }

func (c twoConns) Receive(ctx context.Context) (Message, error) { return c.reads.Receive(ctx) }

func (c twoConns) Send(ctx context.Context, message []byte) error {
	return c.writes.Send(ctx, message)
}

func (c twoConns) Close() error { return errors.Join(c.reads.Close(), c.writes.Close()) }

func (a *connAgent) say(line string) {
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Errorf("say: %v", err)
	}
}

func (a *connAgent) hear() string {
	line, err := a.buf.next()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(string(line), "\n")
}

func TestConnCancelsAndDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		a := dialConn(t, f)
		a.say(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
		a.hear()
		a.say(hang)
		a.say(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"overtakes":true}}`)
		if got := a.hear(); !strings.Contains(got, "overtakes") {
			t.Errorf("a request waits for another: %s", got)
		}
		a.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"h"}}`)
		asked := <-f.hanging
		<-asked.Done()
		a.say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		// What a late request says is written, but not the answer to what was cancelled.
		for got := a.hear(); !strings.Contains(got, `"id":2`); got = a.hear() {
			if strings.Contains(got, "hung") {
				t.Errorf("a cancelled request was answered: %s", got)
			}
		}
		// The agent closes its side with requests under way: they get a moment.
		a.say(`{"jsonrpc":"2.0","id":3,"method":"progress","params":{"times":1}}`)
		a.say(strings.Replace(hang, `"h"`, `"h2"`, 1))
		a.in.Close()
		var rest []string
		for got := a.hear(); got != "EOF"; got = a.hear() {
			rest = append(rest, got)
		}
		all := strings.Join(rest, "\n")
		if !strings.Contains(all, `"id":3`) || !strings.Contains(all, `"id":"h2"`) {
			t.Errorf("answers are missing:\n%s", all)
		}
		if err := <-a.done; err != nil {
			t.Error(err)
		}
	})
}

func TestConnAgentThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		a := dialConn(t, f)
		go func() {
			for line := `{"jsonrpc":"2.0","id":0,"method":"initialize"}`; ; line = `{"jsonrpc":"2.0","id":1,"method":"ping"}` {
				if _, err := io.WriteString(a.in, line+"\n"); err != nil {
					return
				}
			}
		}()
		time.Sleep(time.Minute)
		select {
		case err := <-a.done:
			if err == nil {
				t.Error("no error")
			}
		default:
			t.Error("it reads on and keeps all the answers")
		}
		a.out.Close()
		a.in.Close()
	})
}

func TestConnEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFace()
		a := dialConn(t, f)
		a.say(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
		a.hear()
		f.peers[""].Notify("notifications/tools/list_changed", nil)
		if got := a.hear(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
			t.Error(got)
		}
		a.say(hang)
		<-f.hanging
		a.stop()
		if err := <-a.done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if _, closed := f.counts(); closed != 1 {
			t.Error("the session is not closed")
		}
		a.in.Close()
		a.out.Close()
	})
}

func TestAnswerTo(t *testing.T) {
	_, bad := Parse([]byte(`{"jsonrpc":"2.0","id":7,"method":1}`))
	for _, c := range []struct {
		err  error
		want string
	}{
		{&LineError{Err: bad}, `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"this is no JSON-RPC message: \"method\" is not a name (at byte 33 of the message)"}}`},
		{&TooLongError{10}, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is longer than the limit of 10 bytes"}}`},
		{io.EOF, ""},
	} {
		if got := string(AnswerTo(c.err)); got != c.want {
			t.Errorf("got %s", got)
		}
	}
}

func BenchmarkPlainPost(b *testing.B) {
	f := newTestFace()
	s := testServer(f)
	id := open(b, s)
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("x", 200) + `"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		r := request("POST", "", "Content-Type", "application/json", "Mcp-Session-Id", id)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
}
