package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// BenchmarkCall is a call of a read tool through everything but the network and
// the server: token, session, gate, audit.
func BenchmarkCall(b *testing.B) {
	r := newRig(b)
	r.add("files", files()...)
	a := r.connect("/mcp/direct", r.token("agent", everything, allClasses))
	handler := r.g.Handler()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__read_file","arguments":{"path":"/a"}}}`
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest("POST", "http://127.0.0.1/mcp/direct", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+a.secret)
		req.Header.Set("Mcp-Session-Id", a.session)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}

// BenchmarkSearch is a search among 2,000 tools whose index is there; with "first"
// it is made.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{100, 2000} {
		s := newStill(b)
		s.set(set{server: "a", tools: n, text: " with some words about files and directories"})
		_, x := s.open(b, place{kind: faceSearch}, dispatch.Local())
		b.Run(fmt.Sprintf("%d first", n), func(b *testing.B) {
			for b.Loop() {
				s.g.indexes.close()
				s.retrieve(b, x, `{"query":"directories t0007"}`)
			}
		})
		b.Run(fmt.Sprintf("%d again", n), func(b *testing.B) {
			for b.Loop() {
				s.retrieve(b, x, `{"query":"directories t0007"}`)
			}
		})
		s.g.Close()
	}
}
