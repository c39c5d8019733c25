package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// peer plays a server by hand over pipes.
type peer struct {
	t     *testing.T
	lines lineReader
	w     io.Writer
	close func()
}

// playedServer gives a Session with a server that the test plays; initialize is done.
func playedServer(t *testing.T, h Handlers) (*Session, *peer) {
	t.Helper()
	conn, p := playedConn(t)
	done := make(chan bool)
	go func() {
		defer close(done)
		m := p.read()
		if m.Method != "initialize" || string(m.ID) != "1" {
			t.Errorf("began with %s", m.Raw)
		}
		p.write(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{}}}`)
		if m := p.read(); m.Method != "notifications/initialized" || m.Kind != Notification {
			t.Errorf("then %s", m.Raw)
		}
	}()
	s, info, err := Connect(t.Context(), conn, ClientInfo{Name: `a"b`, Version: "1"}, h)
	if err != nil {
		t.Fatal(err)
	}
	<-done
	if info.ProtocolVersion != "2025-03-26" {
		t.Errorf("version %s", info.ProtocolVersion)
	}
	t.Cleanup(func() {
		s.Close()
		p.close()
	})
	return s, p
}

func playedConn(t *testing.T) (Conn, *peer) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t, lineReader{bufio.NewReader(inR), DefaultMaxMessage}, outW, func() { inR.Close(); outW.Close() }}
	return NewLineConn(outR, inW, closers{outR, inW}, 0, func(error) error { return nil }), p
}

func (p *peer) read() Message {
	line, err := p.lines.next()
	if err != nil {
		return Message{}
	}
	m, err := Parse([]byte(strings.TrimSpace(string(line))))
	if err != nil {
		p.t.Errorf("the session sent %q: %v", line, err)
	}
	return m
}

func (p *peer) write(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

type result struct {
	m   Message
	err error
}

func goCall(ctx context.Context, s *Session, method, params string, progress func([]byte)) <-chan result {
	c := make(chan result, 1)
	go func() {
		m, err := s.Call(ctx, method, []byte(params), progress)
		c <- result{m, err}
	}()
	return c
}

// Two callers with the same progress token and answers out of order.
func TestCallersDoNotCollide(t *testing.T) {
	s, p := playedServer(t, Handlers{Report: func(err error) { t.Errorf("reported %v", err) }})
	var mu sync.Mutex
	got := map[string][]string{}
	progress := func(who string) func([]byte) {
		return func(b []byte) {
			mu.Lock()
			got[who] = append(got[who], string(b))
			mu.Unlock()
		}
	}
	params := func(who string) string {
		return `{"who":"` + who + `", "_meta" : {"x":1,"progressToken": 7 , "y":"progressToken"}}`
	}
	a := goCall(t.Context(), s, "work", params("a"), progress("a"))
	ma := p.read()
	b := goCall(t.Context(), s, "work", params("b"), progress("b"))
	mb := p.read()
	c := goCall(t.Context(), s, "work", params("c"), nil) // asked for none, but has the token
	mc := p.read()
	if string(ma.ID) == string(mb.ID) || string(mb.ID) == string(mc.ID) {
		t.Fatalf("ids %s %s %s", ma.ID, mb.ID, mc.ID)
	}
	for who, m := range map[string]Message{"a": ma, "b": mb, "c": mc} {
		if want := strings.Replace(params(who), " 7 ", " "+string(m.ID)+" ", 1); string(m.Params) != want {
			t.Errorf("%s: params %s, want %s", who, m.Params, want)
		}
	}
	p.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{ "progress" : 1.0,"progressToken": %s }}`, mb.ID)
	p.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":2}}`, ma.ID)
	p.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":3}}`, mc.ID)
	p.write(`{"jsonrpc":"2.0","id":%s,"result":{"of":"b"}}`, mb.ID)
	p.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":5,"message":"of a"}}`, ma.ID)
	p.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":4}}`, ma.ID) // late
	p.write(`{"jsonrpc":"2.0","id":%s,"result":{"of":"c"}}`, mc.ID)
	if r := <-a; r.err != nil || string(r.m.Error) != `{"code":5,"message":"of a"}` {
		t.Errorf("a: %s %v", r.m.Raw, r.err)
	}
	if r := <-b; r.err != nil || string(r.m.Result) != `{"of":"b"}` {
		t.Errorf("b: %s %v", r.m.Raw, r.err)
	}
	if r := <-c; r.err != nil || string(r.m.Result) != `{"of":"c"}` {
		t.Errorf("c: %s %v", r.m.Raw, r.err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 2 || !slices.Equal(got["a"], []string{`{"progressToken":7,"progress":2}`}) || !slices.Equal(got["b"], []string{`{ "progress" : 1.0,"progressToken": 7 }`}) {
		t.Errorf("progress %q", got)
	}
	if _, err := s.Call(t.Context(), "work", []byte("{}"), progress("d")); !NotSent(err) {
		t.Errorf("progress without a token: %v", err)
	}
}

func TestCancellation(t *testing.T) {
	s, p := playedServer(t, Handlers{Report: func(err error) { t.Errorf("reported %v", err) }})
	for name, c := range map[string]struct {
		ctx    func() (context.Context, context.CancelFunc)
		want   error
		reason string
	}{
		"cancelled": {func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) }, context.Canceled, "cancelled"},
		"too late": {func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 20*time.Millisecond)
		}, context.DeadlineExceeded, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := c.ctx()
			defer cancel()
			done := goCall(ctx, s, "work", "{}", nil)
			m := p.read()
			if c.want == context.Canceled {
				cancel()
			}
			if r := <-done; r.err != c.want {
				t.Errorf("got %v", r.err)
			}
			n := p.read()
			if n.Method != "notifications/cancelled" || string(member(n.Params, "requestId")) != string(m.ID) || !strings.Contains(string(n.Params), c.reason) {
				t.Errorf("sent %s", n.Raw)
			}
			p.write(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID) // late: dropped, no fault
		})
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Call(cancelled, "work", nil, nil); !NotSent(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestOddResponsesAreReported(t *testing.T) {
	reports := make(chan string, 10)
	s, p := playedServer(t, Handlers{Report: func(err error) { reports <- err.Error() }})
	done := goCall(t.Context(), s, "work", "{}", nil)
	m := p.read()
	p.write(`{"jsonrpc":"2.0","id":999,"result":{}}`)
	p.write(`{"jsonrpc":"2.0","id":"%s","result":{}}`, m.ID)
	p.write(`{"jsonrpc":"2.0","id":%s.0,"result":{}}`, m.ID)
	p.write(`{"jsonrpc":"2.0","id":null,"error":{}}`)
	p.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`)
	p.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x"}}`)
	p.write(`{"jsonrpc":"2.0","id":%s,"result":{"right":1}}`, m.ID)
	p.write(`{"jsonrpc":"2.0","id":%s,"result":{"again":1}}`, m.ID)
	if r := <-done; r.err != nil || string(r.m.Result) != `{"right":1}` {
		t.Errorf("got %s %v", r.m.Raw, r.err)
	}
	p.write(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	p.read()  // all before it was seen
	s.Close() // what was only counted is told
	for _, want := range []string{"not open", "belongs to no request", "without a token", "not ours", "not open: one that was answered before, or never sent (3 more"} {
		if got := <-reports; !strings.Contains(got, want) {
			t.Errorf("reported %q, want %q", got, want)
		}
	}
}

// A peer that answers garbage does not hang the call.
func TestGarbledAnswerEndsTheCall(t *testing.T) {
	s, p := playedServer(t, Handlers{})
	for _, garbage := range []string{
		`{"jsonrpc":"2.0","id":%s,"result":{"a":1,"a":2}}`, `{"result":{"a":"\ud800"},"jsonrpc":"2.0","id":%s}`,
		`{"jsonrpc":"2.0","id":%s,"result":{},"error":{}}`, `{"jsonrpc":"2.0","id":%s,"error":"text"}`,
	} {
		done := goCall(t.Context(), s, "work", "{}", nil)
		p.write(garbage, p.read().ID)
		r := <-done
		if _, ok := errors.AsType[*SyntaxError](r.err); !ok || NotSent(r.err) {
			t.Errorf("%s: got %v", garbage, r.err)
		}
	}
	done := goCall(t.Context(), s, "work", "{}", nil)
	p.write(`{"jsonrpc":"2.0","id":%s,"result":"%s"}`, p.read().ID, strings.Repeat("x", DefaultMaxMessage))
	r := <-done
	if _, ok := errors.AsType[*TooLongError](r.err); !ok {
		t.Errorf("too long: got %v", r.err)
	}
}

func TestRequestsOfThePeer(t *testing.T) {
	began, ended := make(chan bool), make(chan bool, 1)
	s, p := playedServer(t, Handlers{Request: func(ctx context.Context, m Message) (result, errorObject []byte) {
		switch m.Method {
		case "wait":
			close(began)
			<-ctx.Done()
			ended <- true
			return nil, nil
		case "fail":
			return nil, []byte(`{"code":-1,"message":"no"}`)
		}
		return []byte(`{"for":` + string(m.Params) + `}`), nil
	}})
	p.write(`{"jsonrpc":"2.0","id":9007199254740993,"method":"ask","params":{ "x" : 1.0 }}`)
	if m := p.read(); string(m.ID) != "9007199254740993" || string(m.Result) != `{"for":{ "x" : 1.0 }}` {
		t.Errorf("answered %s", m.Raw)
	}
	p.write(`{"jsonrpc":"2.0","id":"f","method":"fail"}`)
	if m := p.read(); string(m.ID) != `"f"` || string(m.Error) != `{"code":-1,"message":"no"}` {
		t.Errorf("answered %s", m.Raw)
	}
	p.write(`{"jsonrpc":"2.0","id":1.50,"method":"ping"}`)
	if m := p.read(); string(m.ID) != "1.50" || string(m.Result) != "{}" {
		t.Errorf("answered %s", m.Raw)
	}
	p.write(`{"jsonrpc":"2.0","id":"w","method":"wait"}`)
	<-began
	p.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"other"}}`)
	p.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`)
	<-ended
	p.write(`{"jsonrpc":"2.0","id":2,"method":"ping"}`) // what was cancelled is not answered
	if m := p.read(); string(m.ID) != "2" {
		t.Errorf("answered %s", m.Raw)
	}
	_ = s
}

func TestRequestsWithoutHandler(t *testing.T) {
	_, p := playedServer(t, Handlers{})
	p.write(`{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{}}`)
	if m := p.read(); string(m.ID) != "3" || string(member(m.Error, "code")) != "-32601" {
		t.Errorf("answered %s", m.Raw)
	}
	p.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`) // nobody listens
	p.write(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	if m := p.read(); string(m.ID) != "4" {
		t.Errorf("answered %s", m.Raw)
	}
}

// A peer that asks and asks without reading an answer gets nothing more done, and
// holds nothing up.
func TestFloodOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []string
		s, p := playedServer(t, Handlers{Report: func(err error) { reports = append(reports, err.Error()) }})
		for i := range 500 {
			p.write(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
		}
		p.write(`{"jsonrpc":"2.0","id":0,"method":"ping"}`) // twice
		synctest.Wait()
		s.Close()
		p.close()
		if want := fmt.Sprintf("(%d more like this", 500-maxPeerRequests-1); len(reports) != 3 || !strings.Contains(reports[2], want) {
			t.Errorf("%d reports: %q", len(reports), reports)
		}
	})
}

func TestEndOfTheConnection(t *testing.T) {
	closed := make(chan error, 2)
	s, p := playedServer(t, Handlers{Closed: func(err error) { closed <- err }})
	a, b := goCall(t.Context(), s, "work", "{}", nil), goCall(t.Context(), s, "work", "{}", nil)
	p.read()
	p.read()
	p.close()
	for _, r := range []result{<-a, <-b} {
		if r.err != io.EOF || NotSent(r.err) {
			t.Errorf("got %v", r.err)
		}
	}
	if err := <-closed; err != io.EOF {
		t.Errorf("closed with %v", err)
	}
	<-s.Done()
	if _, err := s.Call(t.Context(), "work", nil, nil); !NotSent(err) || !errors.Is(err, io.EOF) {
		t.Errorf("then %v", err)
	}
	s.Close()
	if len(closed) != 0 {
		t.Error("closed twice")
	}
}

func TestConnectFails(t *testing.T) {
	for name, c := range map[string]struct{ answer, says string }{
		"error":        {`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"hunter2"}}`, "error -32000"},
		"no version":   {`{"jsonrpc":"2.0","id":1,"result":{}}`, "no protocol version"},
		"bad version":  {`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2026-07-28"}}`, `"2026-07-28", which is not one of`},
		"not a result": {`{"jsonrpc":"2.0","id":1,"result":[]}`, "no protocol version"},
		"garbage":      {`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":1}}`, "same name"},
		"end":          {"", "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, p := playedConn(t)
			defer p.close()
			go func() {
				p.read()
				if c.answer == "" {
					p.close()
					return
				}
				p.write("%s", c.answer)
			}()
			closed := make(chan error, 1)
			_, _, err := Connect(t.Context(), conn, ClientInfo{}, Handlers{Closed: func(err error) { closed <- err }})
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v", err)
			}
			if err := <-closed; err == nil {
				t.Error("closed without a reason")
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		conn, p := playedConn(t)
		defer p.close()
		go p.read() // and no cancellation: initialize must not be cancelled
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, _, err := Connect(ctx, conn, ClientInfo{}, Handlers{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
