package wire

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// BenchmarkScan is the floor for Parse: jsontext over the same bytes, with nothing
// kept.
func BenchmarkScan(b *testing.B) {
	raw := NewResult([]byte("7"), []byte(`{"tools":[`+strings.Repeat(`{"name":"read_file","description":"`+strings.Repeat("Reads a file. ", 40)+`","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}},`, 80)+`{}]}`))
	b.Run("jsontext", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			if !jsontext.Value(raw).IsValid() {
				b.Fatal("not valid")
			}
		}
	})
	b.Run("Parse", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			if _, err := Parse(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCall is a call over pipes of the system to a peer in this process that
// answers without looking: what a session costs.
func BenchmarkCall(b *testing.B) {
	for name, size := range map[string]int{"200B": 200, "100KB": 100_000} {
		b.Run(name, func(b *testing.B) {
			inR, inW, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			outR, outW, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			result := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}`)
			go func() {
				lines := lineReader{bufio.NewReaderSize(inR, lineBuffer), DefaultMaxMessage}
				for {
					line, err := lines.next()
					if err != nil {
						return
					}
					answer := result
					if strings.Contains(string(line[:60]), "initialize") {
						answer = []byte(`{"protocolVersion":"2025-11-25"}`)
					}
					if s, ok := Find(line, "id"); ok {
						if _, err := outW.Write(append(NewResult(s.of(line), answer), '\n')); err != nil {
							return
						}
					}
				}
			}()
			s, _, err := Connect(b.Context(), NewLineConn(outR, inW, closers{inW, outR}, 0, nil), ClientInfo{}, Handlers{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			params := []byte(`{"name":"echo","arguments":{"text":"` + strings.Repeat("x", size) + `"}}`)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Call(b.Context(), "tools/call", params, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
