package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzEventReader: however a stream is cut into reads, the events are the same; all
// are within the limit, and what the writer makes of one is read as the same again.
func FuzzEventReader(f *testing.F) {
	f.Add([]byte("id: 1\nretry: 5\r\ndata: a\rdata: b\n\n:x\n\ndata\n\n"))
	f.Add([]byte("\xef\xbb\xbfdata: " + strings.Repeat("x", 70) + "\r\n\r\ndata: y\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 64
		read := func(r io.Reader) (all []Event) {
			events := NewEventReader(r, limit)
			for {
				e, err := events.Next()
				if _, ok := errors.AsType[*TooLongError](err); ok {
					e.Name = "too long"
				} else if err != nil {
					return all
				}
				if len(e.Data) > limit {
					t.Fatalf("%d bytes", len(e.Data))
				}
				all = append(all, e)
			}
		}
		same := func(a, b Event) bool {
			return a.Name == b.Name && a.ID == b.ID && a.HasID == b.HasID && a.Retry == b.Retry && a.HasRetry == b.HasRetry && bytes.Equal(a.Data, b.Data)
		}
		whole, cut := read(bytes.NewReader(in)), read(iotest.OneByteReader(bytes.NewReader(in)))
		if len(whole) != len(cut) {
			t.Fatalf("%d events in one piece, %d in bytes", len(whole), len(cut))
		}
		for i, e := range whole {
			if !same(e, cut[i]) {
				t.Fatalf("event %d: %+v in one piece, %+v in bytes", i, e, cut[i])
			}
			if e.HasID || e.ID == "" {
				if again := read(bytes.NewReader(AppendEvent(nil, e))); len(again) != 1 || !same(again[0], e) {
					t.Fatalf("%+v is read again as %+v", e, again)
				}
			}
		}
	})
}

// FuzzLines: whatever a peer writes, the connection ends with the end of the input,
// gives only messages, and gives each line that is one.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\r\nhello\n\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 80
		conn := NewLineConn(bytes.NewReader(in), io.Discard, nil, limit, func(error) error { return nil })
		defer conn.Close()
		for line := range bytes.SplitSeq(in, []byte("\n")) {
			line = bytes.TrimRight(line, "\r")
			if len(line) > limit {
				continue
			}
			want, err := Parse(bytes.TrimSpace(line))
			if err != nil {
				continue
			}
			got, err := conn.Receive(context.Background())
			if err != nil || !bytes.Equal(got.Raw, want.Raw) {
				t.Fatalf("got %q %v, want %q", got.Raw, err, want.Raw)
			}
		}
		if m, err := conn.Receive(context.Background()); err != io.EOF {
			t.Fatalf("then %q %v", m.Raw, err)
		}
	})
}
