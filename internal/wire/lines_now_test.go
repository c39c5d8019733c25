package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// osPipe is a pipe of the system, which is full at some time.
func osPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// A pipe that is full holds a caller to the end of its context, and every message
// that was begun stands in it whole and in order.
func TestFullPipe(t *testing.T) {
	in, feed := osPipe(t)
	r, w := osPipe(t)
	conn := NewLineConn(in, w, closers{in, w}, 0, nil)
	defer conn.Close()
	big := fmt.Appendf(nil, `{"a":"%s"}`, strings.Repeat("x", 1<<20))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := conn.Send(ctx, big); !errors.Is(err, context.DeadlineExceeded) || NotSent(err) {
		t.Errorf("a message that was begun: %v", err)
	}
	if err := conn.Send(ctx, []byte(`{"b":1}`)); !errors.Is(err, context.DeadlineExceeded) || !NotSent(err) {
		t.Errorf("a message that waited: %v", err)
	}
	if conn.(*lineConn).sendNow([]byte(`{"c":1}`)) {
		t.Error("sent at once into a full pipe")
	}
	go func() {
		_ = conn.Send(t.Context(), []byte(`{"d":1}`))
		_ = feed.Close()
	}()
	lines := lineReader{bufio.NewReader(r), DefaultMaxMessage}
	for _, want := range []string{string(big), `{"d":1}`} {
		if got, err := lines.next(); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("got %.60q, %v", got, err)
		}
	}
}

// An agent's connection answers what is no message, and writes on when the agent
// closed its side.
func TestAgentConn(t *testing.T) {
	in, feed := io.Pipe()
	r, w := osPipe(t)
	var told error
	conn := NewAgentConn(in, w, in, 100, func(err error) error { told = err; return nil })
	defer conn.Close()
	go func() {
		_, _ = io.WriteString(feed, "nonsense\n"+strings.Repeat("x", 200)+"\n"+`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		_ = feed.Close()
	}()
	if m, err := conn.Receive(t.Context()); err != nil || m.Method != "ping" {
		t.Errorf("got %+v, %v", m, err)
	}
	if _, err := conn.Receive(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if _, ok := errors.AsType[*TooLongError](told); !ok {
		t.Errorf("told %v", told)
	}
	if err := conn.Send(t.Context(), []byte(`{"last":1}`)); err != nil {
		t.Errorf("after the end: %v", err)
	}
	lines := bufio.NewReader(r)
	for _, want := range []string{`"id":null,"error":{"code":-32700`, "a message is longer than the limit of 100 bytes", `{"last":1}`} {
		if got, err := lines.ReadString('\n'); err != nil || !strings.Contains(got, want) {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}

// What is taken stops with an error of who takes, or with the context, for good.
func TestEachEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, wrap := range map[string]func(Conn) Conn{
			"lines":       func(c Conn) Conn { return c },
			"another one": func(c Conn) Conn { return twoConns{c, c} },
		} {
			in, feed := io.Pipe()
			conn := NewLineConn(in, io.Discard, in, 0, nil)
			enough, taken := errors.New("enough"), 0
			go func() {
				for range 5 {
					_, _ = io.WriteString(feed, `{"jsonrpc":"2.0","method":"n"}`+"\n")
				}
			}()
			if err := Each(t.Context(), wrap(conn), func(Message) error {
				if taken++; taken == 2 {
					return enough
				}
				return nil
			}); !errors.Is(err, enough) {
				t.Errorf("%s: %v", name, err)
			}
			synctest.Wait()
			if taken != 2 {
				t.Errorf("%s: %d taken", name, taken)
			}
			conn.Close()

			in, more := io.Pipe()
			conn = NewLineConn(in, io.Discard, in, 0, nil)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- Each(ctx, wrap(conn), func(Message) error { taken++; return nil })
			}()
			synctest.Wait()
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			go func() { _, _ = io.WriteString(more, `{"jsonrpc":"2.0","method":"n"}`+"\n") }()
			synctest.Wait()
			if taken != 2 {
				t.Errorf("%s: something was taken after the end", name)
			}
			conn.Close()
		}
	})
}

// Progress stands before its answer, and every line is whole, also when the agent
// reads so slowly that some messages go at once and others wait.
func TestOrderOverAFullPipe(t *testing.T) {
	in, feed := osPipe(t)
	r, w := osPipe(t)
	served := make(chan error, 1)
	go func() {
		served <- ServeConn(t.Context(), NewAgentConn(in, w, in, 0, nil), newTestFace(), "alice")
		w.Close()
	}()
	const requests, times = 60, 5
	filler := strings.Repeat("z", 9<<10)
	go func() {
		fmt.Fprintln(feed, `{"jsonrpc":"2.0","id":"i","method":"initialize"}`)
		for n := range requests {
			fmt.Fprintf(feed, `{"jsonrpc":"2.0","id":%d,"method":"progress","params":{"times":%d,"filler":%q}}`+"\n", n, times, filler)
		}
		feed.Close()
	}()
	lines := lineReader{bufio.NewReaderSize(r, 16), DefaultMaxMessage}
	notes, answers := 0, 0
	for {
		line, err := lines.next()
		if err != nil {
			break
		}
		m, err := Parse(line)
		if err != nil {
			t.Fatalf("a torn line: %v, %.80q", err, line)
		}
		switch m.Kind {
		case Notification:
			notes++
		default:
			answers++
		}
		if answers > 1 && notes < times {
			t.Fatal("an answer without its progress")
		}
		if notes%50 == 0 {
			time.Sleep(time.Millisecond) // a slow reader is what this is about
		}
	}
	if err := <-served; err != nil || notes != requests*times || answers != requests+1 {
		t.Errorf("%v, %d notifications, %d answers", err, notes, answers)
	}
}

// A session over lines counts as one of its owner's.
func TestConnIsASessionOfItsOwner(t *testing.T) {
	s := testServer(newTestFace())
	s.MaxSessions = 1
	in, feed := osPipe(t)
	r, w := osPipe(t)
	served := make(chan error, 1)
	go func() {
		served <- s.ServeConn(t.Context(), NewAgentConn(in, w, in, 0, nil), "alice", func() time.Duration { return 0 })
	}()
	fmt.Fprintln(feed, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || !strings.Contains(line, `"opened":"alice"`) {
		t.Fatal(line, err)
	}
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	if got := serve(s, request("POST", initialize, "Content-Type", "application/json")); got.Code != 429 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	open(t, s, "Authorization", "bob")
	feed.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	open(t, s)
}

// TestOutboxBounds: answers to an agent that does not read are bounded in bytes.
func TestOutboxBounds(t *testing.T) {
	over := 0
	b := newOutbox()
	b.most, b.over = 10, func() { over++ }
	b.put([]byte("12345"))
	b.put([]byte("12345"))
	if over != 0 {
		t.Fatal("too early")
	}
	if b.put([]byte("1")); over != 1 {
		t.Fatal("not bounded")
	}
	b.take()
	if b.put([]byte("12345")); over != 1 {
		t.Fatal("what was taken is still counted")
	}
}
