package wire

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// big is a request that hangs, with a body of about so many bytes.
func big(bytes int) string {
	return `{"jsonrpc":"2.0","id":"h","method":"hang","params":{"p":"` + strings.Repeat("B", bytes) + `"}}`
}

// TestBytesInFlight: what one agent may have in flight is bounded in bytes, whatever
// its sessions; the others have their own share; and a share comes back.
func TestBytesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 3 << 20
		s := testServer(newTestFace())
		defer s.Close()
		one, two := open(t, s), open(t, s)
		var done []chan struct{}
		refused := 0
		for i := range 40 {
			id := one
			if i%2 == 1 {
				id = two
			}
			w := newStream()
			ended := start(t.Context(), s, w, id, big(size))
			synctest.Wait()
			select {
			case <-ended:
				refused++
				if w.status != http.StatusTooManyRequests || w.header.Get("Retry-After") == "" || !strings.Contains(w.String(), `"code":-32000`) || !strings.Contains(w.String(), "wait for some") {
					t.Fatalf("%d %v %s", w.status, w.header, w.String())
				}
			default:
				done = append(done, ended)
			}
		}
		if want := DefaultInFlight / (size + perRequest); len(done) != want || refused != 40-want {
			t.Errorf("%d are answered and %d refused, %d should be answered", len(done), refused, want)
		}
		if w := serve(s, request("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "Content-Type", "application/json", "Authorization", "bob")); w.Code != 200 {
			t.Errorf("another agent gets %d %s", w.Code, w.Body)
		}
		s.Close()
		for _, ended := range done {
			<-ended
		}
		if s.load.all != 0 || len(s.load.owners) != 0 {
			t.Errorf("%d bytes of %d agents are still counted", s.load.all, len(s.load.owners))
		}
	})
}

// All agents together have a limit too.
func TestBytesInFlightOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testServer(newTestFace())
		s.InFlight, s.AllInFlight = 100_000, 250_000
		defer s.Close()
		hanging := 0
		for _, who := range []string{"a", "b", "c", "d"} {
			w := serve(s, request("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "Content-Type", "application/json", "Authorization", who))
			id := w.Header().Get("Mcp-Session-Id")
			ended := make(chan struct{})
			out := newStream()
			go func() {
				defer close(ended)
				s.ServeHTTP(out, request("POST", big(70_000), "Content-Type", "application/json", "Authorization", who, "Mcp-Session-Id", id).WithContext(t.Context()))
			}()
			synctest.Wait()
			select {
			case <-ended:
				if out.status != http.StatusTooManyRequests || !strings.Contains(out.String(), "try again later") {
					t.Errorf("%d %s", out.status, out.String())
				}
			default:
				hanging++
			}
		}
		if hanging != 3 {
			t.Errorf("%d hang", hanging)
		}
	})
}

// A body whose length is not announced is counted as it comes, and one that is too
// large for the share is not read to its end.
func TestBytesInFlightOfAStream(t *testing.T) {
	s := testServer(newTestFace())
	s.InFlight = 200_000
	id := open(t, s)
	body := &endless{}
	r := httptest.NewRequest("POST", "http://127.0.0.1:8080/mcp", body)
	r.ContentLength = -1
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Mcp-Session-Id", id)
	if w := serve(s, r); w.Code != http.StatusTooManyRequests || w.Header().Get("Connection") != "close" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if body.read > 2*s.InFlight {
		t.Errorf("%d bytes were read", body.read)
	}
	if s.load.all != 0 {
		t.Errorf("%d bytes are still counted", s.load.all)
	}
}

type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += len(p)
	return len(p), nil
}

// Over lines too.
func TestBytesInFlightOverLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, feed := io.Pipe()
		read, out := io.Pipe()
		f := newTestFace()
		served := make(chan error, 1)
		go func() {
			served <- ServeConn(t.Context(), NewLineConn(in, out, in, DefaultMaxMessage, func(error) error { return nil }), f, "alice")
		}()
		var mu sync.Mutex
		var got strings.Builder
		go func() {
			b := make([]byte, 64<<10)
			for {
				n, err := read.Read(b)
				mu.Lock()
				got.Write(b[:n])
				mu.Unlock()
				if err != nil {
					return
				}
			}
		}()
		write := func(s string) {
			if _, err := io.WriteString(feed, s+"\n"); err != nil {
				t.Error(err)
			}
		}
		write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
		for range 10 {
			write(big(10 << 20))
		}
		synctest.Wait()
		mu.Lock()
		busy := strings.Count(got.String(), `"code":-32000`)
		mu.Unlock()
		if busy != 4 { // six of ten fit into 64 MiB
			t.Errorf("%d were refused", busy)
		}
		feed.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		out.Close()
	})
}

// What is taken is never over a limit, and all of it comes back.
func TestLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l load
		var shares []*share
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(shares) > 0 && rapid.Bool().Draw(t, "give") {
				i := rapid.IntRange(0, len(shares)-1).Draw(t, "which")
				shares[i].giveBack()
				shares = append(shares[:i], shares[i+1:]...)
				continue
			}
			x := &share{load: &l, owner: rapid.IntRange(0, 3).Draw(t, "owner"), most: 100, all: 250}
			before := l.owners[x.owner]
			n := rapid.IntRange(1, 120).Draw(t, "bytes")
			if problem := x.take(n); (problem == "") != (x.taken == n) || problem != "" && before+n <= 100 && l.all+n <= 250 {
				t.Fatalf("%q for %d", problem, n)
			}
			shares = append(shares, x)
			if l.all > 250 || l.owners[x.owner] > 100 {
				t.Fatal("over a limit")
			}
		}
		for _, x := range shares {
			x.giveBack()
		}
		if l.all != 0 || len(l.owners) != 0 {
			t.Fatalf("%d bytes are left, of %d owners", l.all, len(l.owners))
		}
	})
}

func TestBusyErrorIsTold(t *testing.T) {
	var l load
	_, err := io.ReadAll(&counted{strings.NewReader("abc"), &share{load: &l, most: 2, all: 2}})
	if _, ok := errors.AsType[*busyError](err); !ok || err.Error() != tooMuch {
		t.Error(err)
	}
}
