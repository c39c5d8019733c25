package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// transcript runs what a peer writes through a line connection and writes down
// what is received, then what was reported.
func transcript(t *testing.T, r io.Reader, limit int) string {
	var out, bad strings.Builder
	conn := NewLineConn(r, io.Discard, nil, limit, func(err error) error {
		l, ok := errors.AsType[*LineError](err)
		if !ok {
			return err
		}
		fmt.Fprintf(&bad, "bad: %v\n", l.Err)
		return nil
	})
	defer conn.Close()
	for {
		m, err := conn.Receive(t.Context())
		if err != nil {
			fmt.Fprintf(&bad, "end: %v\n", err)
			return out.String() + bad.String()
		}
		fmt.Fprintf(&out, "%s %s %s%s%s%s\n", [...]string{"?", "request", "notification", "response"}[m.Kind], m.ID, m.Method, m.Params, m.Result, m.Error)
	}
}

// TestLineTranscripts: testdata/lines.txtar holds pairs of what a peer writes
// (\r, \0 and \xff are written so; a last line without end ends with \c) and what comes of it.
func TestLineTranscripts(t *testing.T) {
	a, err := txtar.ParseFile("testdata/lines.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Files) == 0 || len(a.Files)%2 != 0 {
		t.Fatal("the transcript is not of pairs")
	}
	for i := 0; i < len(a.Files); i += 2 {
		in, want := a.Files[i], a.Files[i+1]
		t.Run(in.Name, func(t *testing.T) {
			text := strings.NewReplacer(`\r`, "\r", `\0`, "\x00", `\xff`, "\xff", "\\c\n", "", `\ufeff`, "\ufeff").Replace(string(in.Data))
			for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
				if got := transcript(t, r, 200); got != string(want.Data) {
					t.Errorf("got\n%swant\n%s", got, want.Data)
				}
			}
		})
	}
}

func TestLongLines(t *testing.T) {
	message := func(n int) string {
		return `{"jsonrpc":"2.0","method":"n","params":{"a":"` + strings.Repeat("x", n-48) + `"}}`
	}
	const limit = 300_000
	for _, c := range []struct {
		name string
		size int
		bad  bool
	}{
		{"in the buffer", 1000, false},
		{"as the buffer", lineBuffer, false},
		{"over the buffer", lineBuffer + 1, false},
		{"at the limit", limit, false},
		{"over the limit", limit + 1, true},
		{"far over the limit", 40 * limit, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := message(c.size)
			if len(m) != c.size {
				t.Fatalf("%d bytes", len(m))
			}
			for _, end := range []string{"\n", "\r\n"} {
				got := transcript(t, strings.NewReader(m+end+`{"jsonrpc":"2.0","method":"next"}`+end), limit)
				want := "notification  n" + m[39:len(m)-1] + "\nnotification  next\n"
				if c.bad {
					want = fmt.Sprintf("notification  next\nbad: a message is longer than the limit of %d bytes\n", limit)
				}
				if got != want+"end: EOF\n" {
					t.Errorf("%q: got %.200q", end, got)
				}
			}
		})
	}
}

func TestAnsweredFindsTheID(t *testing.T) {
	filler := strings.Repeat("x", 500)
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":17,"result":{"a":"` + filler:                     "17",
		`{"id":17,"jsonrpc":"2.0","error":{"a":"` + filler:                      "17",
		`{"result":{"a":"` + filler + `"},"jsonrpc":"2.0","id":18}`:             "18",
		`{"jsonrpc":"2.0","result":{"a":"` + filler + `"},"id":18}`:             "18",
		`{"result":{"a":"` + filler + `"},"id":18,"jsonrpc":"2.0"}`:             "18",
		`{"jsonrpc":"2.0","id":"17","result":{"a":"` + filler:                   "",
		`{"jsonrpc":"2.0","id":17,"method":"m","params":{"a":"` + filler:        "",
		`{"jsonrpc":"2.0","result":{"a":"` + filler + `","id":18}}`:             "",
		`{"jsonrpc":"2.0","method":"m","params":{"a":"` + filler + `"},"id":1}`: "",
		filler: "",
	} {
		if got := answered([]byte(in), []byte(in)); string(got) != want {
			t.Errorf("%.60s…: got %q, want %q", in, got, want)
		}
	}
}

func TestLinesAreWrittenWhole(t *testing.T) {
	pr, pw := io.Pipe()
	conn := NewLineConn(strings.NewReader(""), pw, pw, 0, nil)
	// An empty input ends the connection: sending fails then.
	if _, err := conn.Receive(t.Context()); err != io.EOF {
		t.Fatal(err)
	}
	if err := conn.Send(t.Context(), []byte("{}")); !errors.Is(err, io.EOF) || !NotSent(err) {
		t.Errorf("got %v", err)
	}
	conn.Close()
	pr.Close()

	in, feed := io.Pipe()
	defer feed.Close()
	pr, pw = io.Pipe()
	conn = NewLineConn(in, pw, pw, 0, nil)
	defer conn.Close()
	done := make(chan error, 50)
	big := NewNotification("n", []byte("{\n\"a\":\r\n\""+strings.Repeat("y", 100_000)+"\"}"))
	for range 50 {
		go func() { done <- conn.Send(t.Context(), big) }()
	}
	lines := lineReader{bufio.NewReader(iotest.HalfReader(pr)), DefaultMaxMessage}
	for range 50 {
		line, err := lines.next()
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(bytes.TrimSpace(line))
		if err != nil || len(m.Params) != 100_000+11 {
			t.Fatalf("%v, %d bytes", err, len(m.Params))
		}
	}
	for range 50 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A peer that does not read holds nobody longer than their context, and what was
// begun is written whole afterwards.
func TestStuckWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, feed := io.Pipe()
		pr, pw := io.Pipe()
		conn := NewLineConn(in, pw, closers{in, pw}, 0, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := conn.Send(ctx, []byte(`{"first":1}`))
		second := conn.Send(ctx, []byte(`{"second":1}`))
		if !errors.Is(first, context.DeadlineExceeded) || NotSent(first) {
			t.Errorf("first: %v", first)
		}
		if !errors.Is(second, context.DeadlineExceeded) || !NotSent(second) {
			t.Errorf("second: %v", second)
		}
		got := make([]byte, 12)
		if _, err := io.ReadFull(pr, got); err != nil || string(got) != "{\"first\":1}\n" {
			t.Errorf("got %q %v", got, err)
		}
		go func() { _ = conn.Send(t.Context(), []byte(`{"third":1}`)) }()
		synctest.Wait()
		conn.Close() // frees who waits, the writer and the reader
		if _, err := conn.Receive(t.Context()); err != ErrClosed {
			t.Errorf("Receive: %v", err)
		}
		feed.Close()
		synctest.Wait()
	})
}

type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for _, c := range c {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// After a write failed the peer's last words are still read.
func TestReadsOnAfterWriteError(t *testing.T) {
	pr, pw := io.Pipe()
	dead, w, _ := os.Pipe()
	dead.Close()
	conn := NewLineConn(pr, w, closers{pr, w}, 0, nil)
	defer conn.Close()
	if err := conn.Send(t.Context(), []byte("{}")); err == nil {
		t.Error("sent to nobody")
	}
	if err := conn.Send(t.Context(), []byte("{}")); err == nil || !NotSent(err) {
		t.Errorf("then %v", err)
	}
	go func() { _, _ = io.WriteString(pw, `{"jsonrpc":"2.0","method":"bye"}`+"\n") }()
	if m, err := conn.Receive(t.Context()); err != nil || m.Method != "bye" {
		t.Errorf("got %+v %v", m, err)
	}
}
