package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// fast are times for tests of what has to go wrong.
var fast = timing{
	initialize: 5 * time.Second, listing: 5 * time.Second,
	firstRetry: 20 * time.Millisecond, lastRetry: 100 * time.Millisecond, stable: time.Minute, soon: 10 * time.Millisecond,
	eof: 3 * time.Second, term: 3 * time.Second, kill: 3 * time.Second,
	notify: 50 * time.Millisecond, lastNotify: 100 * time.Millisecond,
}

type house struct {
	*Pool
	t      *testing.T
	dir    string
	log    *safeBuffer
	mu     sync.Mutex
	states []State
	told   map[string]int
	moved  chan struct{} // closed with each state or telling
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newHouse gives a pool that is closed, and must have left nothing behind, when the
// test ends.
func newHouse(t *testing.T, tm timing) *house {
	h := &house{t: t, dir: t.TempDir(), log: &safeBuffer{}, told: map[string]int{}, moved: make(chan struct{})}
	h.Pool = newPool(Options{
		Expand: func(s string) (string, error) {
			if strings.Contains(s, "${env:MISSING}") {
				return "", fault.New(fault.BadInput, "the variable MISSING is not set", "Set it.")
			}
			return strings.ReplaceAll(s, "${env:OWN_TOKEN}", "hunter2-hunter2"), nil
		},
		Unverified: func(s string) { h.move(func() { h.told[s]++ }) },
		Changed:    func(s State) { h.move(func() { h.states = append(h.states, s) }) },
		LogDir:     filepath.Join(h.dir, "logs"),
		Log:        slog.New(slog.NewTextHandler(h.log, nil)), Version: "0.1",
	}, tm)
	t.Cleanup(func() {
		h.Close()
		if strings.Contains(h.log.String(), "hunter2") {
			t.Errorf("a secret is in the log: %s", h.log)
		}
		left := ""
		for range 200 {
			if left = ours(); left == "" {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("goroutines are left:\n%s", left)
	})
	return h
}

// ours gives the stacks of goroutines that the pool or the wire started.
func ours() string {
	buf := make([]byte, 1<<20)
	var found []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "created by github.com/holdfast-mcp/holdfast/internal/") && !strings.Contains(stack, "_test.go") {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

func (h *house) move(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	close(h.moved)
	h.moved = make(chan struct{})
}

// until waits for something to be so.
func (h *house) until(what string, ok func() bool) {
	h.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		h.mu.Lock()
		moved, done := h.moved, ok()
		h.mu.Unlock()
		if done {
			return
		}
		select {
		case <-moved:
		case <-limit:
			h.t.Fatalf("it never came that %s; states %+v", what, h.states)
		}
	}
}

// phase waits for a phase of a server and gives the state.
func (h *house) phase(name string, p Phase) (s State) {
	h.t.Helper()
	seen := 0
	h.until(fmt.Sprintf("%s is %s", name, p), func() bool {
		for ; seen < len(h.states); seen++ {
			if s = h.states[seen]; s.Server == name && s.Phase == p {
				return true
			}
		}
		return false
	})
	return s
}

// connected waits until a server was connected n times.
func (h *house) connected(name string, n int) {
	h.t.Helper()
	h.until(fmt.Sprintf("%s was connected %d times", name, n), func() bool {
		seen := 0
		for _, s := range h.states {
			if s.Server == name && s.Phase == Connected {
				seen++
			}
		}
		return seen >= n
	})
}

func (h *house) fake(how string) Spec {
	exe, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	return Spec{Name: how, Incarnation: "inc-" + how, Program: approval.Program{
		Type: "stdio", Command: exe, Env: map[string]string{"FAKE": how, "NOTES": h.notesFile(how), "OWN_TOKEN": "${env:OWN_TOKEN}", "GORACE": "atexit_sleep_ms=0"},
	}}
}

func (h *house) notesFile(how string) string { return filepath.Join(h.dir, how+".notes") }

// notes gives what a fake server wrote down that begins so.
func (h *house) notes(how, prefix string) []string {
	text, _ := os.ReadFile(h.notesFile(how))
	var found []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, prefix) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// awaitNotes waits until a fake server, which is another process, wrote n of them.
func (h *house) awaitNotes(how, prefix string, n int) []string {
	h.t.Helper()
	for range 1000 {
		if got := h.notes(how, prefix); len(got) >= n {
			return got
		}
		time.Sleep(10 * time.Millisecond)
	}
	h.t.Fatalf("%s never wrote %d times %q: %q", how, n, prefix, h.notes(how, ""))
	return nil
}

func (h *house) list(name string) approval.Listing {
	h.t.Helper()
	l, err := h.List(h.t.Context(), name)
	if err != nil {
		h.t.Fatalf("List: %v", err)
	}
	return l
}

// permit has a tool of a listing approved and a call of it admitted, as the
// product does.
func (h *house) permit(server string, l approval.Listing, tool string) dispatch.Permit {
	h.t.Helper()
	for _, o := range l.Offers {
		if o.Name == tool {
			return admit(h.t, server, l.Incarnation, tool, o.Contract)
		}
	}
	h.t.Fatalf("%s does not list %s", server, tool)
	return dispatch.Permit{}
}

func admit(t *testing.T, server, incarnation, tool string, c contract.Contract) dispatch.Permit {
	t.Helper()
	srv := approval.Server{Name: server, Version: 1, Incarnation: incarnation, Named: true, Enabled: true, BaselineDecided: true}
	rec := approval.Record{Key: approval.Key{Server: server, Kind: approval.Tool, Name: tool}, Version: 1, Status: approval.Approved, Approved: c, Live: c, Anchor: c}
	cat := dispatch.NewCatalogue(approval.Settings{ID: "1"}, []approval.Server{srv}, []approval.Record{rec})
	p, refusal := dispatch.Admit(cat, dispatch.Request{CallID: "1", Caller: dispatch.Local(), Face: dispatch.Face{Server: server}, Name: tool})
	if refusal != nil {
		t.Fatalf("Admit: %v", refusal)
	}
	return p
}

func (h *house) call(ctx context.Context, server string, l approval.Listing, tool string) (dispatch.Reply, error) {
	return h.Call(ctx, h.permit(server, l, tool), dispatch.Outgoing{Params: []byte(`{"name":"asked","arguments":{}}`)})
}

// faulty checks an error: its kind, and what its sentence says.
func faulty(t *testing.T, err error, kind fault.Kind, says ...string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind {
		t.Errorf("got %v (%s), want a fault of kind %s", err, fault.KindOf(err), kind)
		return
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the fault does not say %q: %v", s, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") || strings.ContainsAny(err.Error(), "\x1b\x07\n") {
		t.Errorf("the fault tells a secret or holds control characters: %q", err)
	}
}

// refused checks that an error is a refusal, which says that nothing was sent.
func refused(t *testing.T, err error, why dispatch.Reason) {
	t.Helper()
	if r, ok := errors.AsType[*dispatch.Refusal](err); !ok || r.Class != why {
		t.Errorf("got %v, want the refusal %s", err, why)
	}
}
