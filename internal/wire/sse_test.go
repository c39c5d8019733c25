package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"
)

func TestEventReader(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []Event
	}{
		{"LF", "data: a\n\ndata: b\n\n", []Event{{Data: []byte("a")}, {Data: []byte("b")}}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []Event{{Data: []byte("a")}, {Data: []byte("b")}}},
		{"CR", "data: a\r\rdata: b\r\r", []Event{{Data: []byte("a")}, {Data: []byte("b")}}},
		{"mixed", "data: a\r\ndata: b\rdata: c\n\r\n", []Event{{Data: []byte("a\nb\nc")}}},
		{"byte order mark", "\ufeffdata: a\n\n", []Event{{Data: []byte("a")}}},
		{"byte order mark only at the start", "data: a\n\n\ufeffdata: b\n\n", []Event{{Data: []byte("a")}}},
		{"comments", ": hi\n:\ndata: a\n: x\n\n:end\n\n", []Event{{Data: []byte("a")}}},
		{"one space is taken", "data:a\ndata:  b\ndata:\ndata\n\n", []Event{{Data: []byte("a\n b\n\n")}}},
		{"colons in the value", "data: a: b\n\n", []Event{{Data: []byte("a: b")}}},
		{"name", "event: endpoint\ndata: a\n\nevent: message\ndata: b\n\n", []Event{{Name: "endpoint", Data: []byte("a")}, {Data: []byte("b")}}},
		{"ids stay", "id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []Event{{ID: "7", HasID: true, Data: []byte("a")}, {ID: "7", Data: []byte("b")}, {HasID: true, Data: []byte("c")}}},
		{"id with NUL is no id", "id: 7\ndata: a\n\nid: 8\x009\ndata: b\n\n", []Event{{ID: "7", HasID: true, Data: []byte("a")}, {ID: "7", Data: []byte("b")}}},
		{"priming event", "id: p\nretry: 500\ndata:\n\n", []Event{{ID: "p", HasID: true, Data: []byte{}, Retry: 500 * time.Millisecond, HasRetry: true}}},
		{"retry of digits only", "retry: 5s\ndata: a\n\nretry: +5\ndata: b\n\nretry: -1\n\nretry\n\nretry: 0\n\n", []Event{{Data: []byte("a")}, {Data: []byte("b")}, {HasRetry: true}}},
		{"unknown field", "foo: bar\ndata: a\nda: b\n\n", []Event{{Data: []byte("a")}}},
		{"nothing", "\n\n\n", nil},
		{"cut short", "data: a\n\ndata: b\n", []Event{{Data: []byte("a")}}},
		{"cut short in a line", "data: a\n\ndata: b", []Event{{Data: []byte("a")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				r := NewEventReader(in, 0)
				var got []Event
				for {
					e, err := r.Next()
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, e)
				}
				if len(got) != len(c.want) {
					t.Fatalf("got %d events %+v", len(got), got)
				}
				for i, w := range c.want {
					g := got[i]
					if !bytes.Equal(g.Data, w.Data) || g.ID != w.ID || g.HasID != w.HasID || g.Name != w.Name || g.Retry != w.Retry || g.HasRetry != w.HasRetry {
						t.Errorf("event %d: got %+v (%q), want %+v (%q)", i, g, g.Data, w, w.Data)
					}
				}
			}
		})
	}
}

// An event is given as soon as it is complete: the reader must not ask for a byte more.
func TestEventReaderDoesNotWait(t *testing.T) {
	pr, pw := io.Pipe()
	defer pw.Close()
	r := NewEventReader(pr, 0)
	for _, in := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r\n", ":\n\ndata: a\n\n"} {
		go func() { _, _ = pw.Write([]byte(in)) }()
		e, err := r.Next()
		if err != nil || string(e.Data) != "a" {
			t.Fatalf("%q: %q %v", in, e.Data, err)
		}
	}
}

func TestEventReaderLimit(t *testing.T) {
	const limit = 100_000
	long := strings.Repeat("x", limit)
	for _, c := range []struct {
		name, in string
		tooLong  bool
	}{
		{"at the limit", "data: " + long + "\n\n", false},
		{"at the limit without a space", "data:" + long + "\n\n", false},
		{"over the limit", "id: 3\ndata: " + long + "y\n\n", true},
		{"far over the limit", "data: " + strings.Repeat(long, 30) + "\n\n", true},
		{"over the limit in lines", "data: " + long + "\ndata: y\n\n", true},
		{"long comment", ": " + strings.Repeat(long, 3) + "\ndata: a\n\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewEventReader(strings.NewReader(c.in+"data: next\n\n"), limit)
			_, err := r.Next()
			if _, ok := errors.AsType[*TooLongError](err); ok != c.tooLong {
				t.Fatalf("got %v", err)
			}
			if c.name == "over the limit" && r.LastID() != "3" {
				t.Errorf("last id %q", r.LastID())
			}
			e, err := r.Next()
			if err != nil || string(e.Data) != "next" {
				t.Errorf("goes on with %q %v", e.Data, err)
			}
		})
	}
}

func TestEventRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ a:\x{e9}]{0,5}`)
		var stream []byte
		var want []Event
		id := ""
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			e := Event{Data: []byte(rapid.StringMatching(`[ a:{"\n]{0,9}`).Draw(t, "data")), Name: text.Draw(t, "name")}
			if e.HasID = rapid.Bool().Draw(t, "hasID"); e.HasID {
				id = text.Draw(t, "id")
			}
			e.ID = id
			if e.HasRetry = rapid.Bool().Draw(t, "hasRetry"); e.HasRetry {
				e.Retry = time.Duration(rapid.IntRange(0, 1e6).Draw(t, "retry")) * time.Millisecond
			}
			stream = AppendEvent(stream, e)
			want = append(want, e)
		}
		r := NewEventReader(bytes.NewReader(stream), 0)
		for _, w := range want {
			g, err := r.Next()
			if err != nil || !bytes.Equal(g.Data, w.Data) || g.Name != w.Name || g.ID != w.ID || g.HasID != w.HasID || g.Retry != w.Retry || g.HasRetry != w.HasRetry {
				t.Fatalf("got %+v %v, want %+v", g, err, w)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("then %v", err)
		}
	})
}

func TestAppendEventKeepsJSON(t *testing.T) {
	in := "{\r\n \"a\":\r1,\n\n\"b\" : \"\\n\" }"
	r := NewEventReader(bytes.NewReader(AppendEvent(nil, Event{Data: []byte(in)})), 0)
	e, err := r.Next()
	if want := "{\n \"a\":\n1,\n\n\"b\" : \"\\n\" }"; err != nil || string(e.Data) != want {
		t.Errorf("got %q %v", e.Data, err)
	}
}
