package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// A server may say our secrets back to us, over stdio and HTTP, by whatever it says.
func TestServersThatEchoTheirKey(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		m, _ := wire.Parse(raw)
		switch {
		case m.Kind != wire.Request:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "initialize":
			raw = wire.NewResult(m.ID, fmt.Appendf(nil, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":%s,"version":%s}}`, wire.Quote(r.Header.Get("Authorization")), wire.Quote(r.URL.String())))
		default:
			raw = wire.NewError(m.ID, 1, "bad key "+r.Header.Get("Authorization")+" "+r.URL.String(), nil)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(raw)
	}))
	t.Cleanup(web.Close)
	h := newHouse(t, fast)
	spec := Spec{Name: "web", Incarnation: "1", Program: approval.Program{
		Type: "http", URL: web.URL + "/mcp?api_key=hunter2-in-the-url", Headers: map[string]string{"Authorization": "Bearer ${env:OWN_TOKEN}"},
	}}
	h.Sync([]Spec{h.fake("echo"), spec})
	s := h.phase("echo", Connected)
	if s.ServerName != "name [hidden]" || s.ServerVersion != "[hidden]" {
		t.Errorf("%q %q", s.ServerName, s.ServerVersion)
	}
	s = h.phase("web", Connected)
	if s.ServerName != "[hidden]" || s.ServerVersion != "/mcp?api_key=[hidden]" {
		t.Errorf("%q %q", s.ServerName, s.ServerVersion)
	}
	_, err := h.List(t.Context(), "web")
	faulty(t, err, fault.Upstream, "error 1")
	for _, s := range h.States() {
		if strings.Contains(fmt.Sprintf("%+v", s), "hunter2") {
			t.Errorf("%+v", s)
		}
	}
	h.list("echo")
	log, _ := os.ReadFile(filepath.Join(h.dir, "logs", "echo.log"))
	if strings.Contains(string(log), "hunt") || strings.Count(string(log), "[hidden]") < 2 {
		t.Errorf("the log of the server: %s", log)
	}
}

// What can't be read is one entry's fault.
func TestUnreadableEntries(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		m, _ := wire.Parse(raw)
		switch {
		case m.Kind != wire.Request:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "initialize":
			raw = wire.NewResult(m.ID, []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}`))
		default:
			raw = wire.NewResult(m.ID, []byte(`{"tools":[{"name":"good"},`+unreadable+`,{"name":"last"}]}`))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(raw)
	}))
	t.Cleanup(web.Close)
	h := newHouse(t, fast)
	h.Sync([]Spec{h.fake("unreadable"), {Name: "web", Incarnation: "1", Program: approval.Program{Type: "http", URL: web.URL}}})
	for _, name := range []string{"unreadable", "web"} {
		l := h.list(name)
		var got []string
		for _, o := range l.Offers {
			got = append(got, fmt.Sprint(o.Name, o.Contract.Parsable()))
		}
		if strings.Join(got, " ") != "goodtrue twicefalse latinfalse halffalse lasttrue" {
			t.Errorf("%s: %q", name, got)
		}
		if got := strings.Join(l.LeftOut, "|"); got != "entry 5 has two names|entry 6 has a name that is no text|entry 7 is no object" {
			t.Errorf("%s left out %s", name, got)
		}
		if h.Verified(name).IsZero() {
			t.Errorf("%s is not verified", name)
		}
	}
}

// A listing that fails ends what the last one was worth, and is seen.
func TestFailedListingIsSeen(t *testing.T) {
	h := newHouse(t, fast)
	h.Sync([]Spec{h.fake("fickle")})
	state := func() State { return h.States()[0] }
	l := h.list("fickle")
	permit := h.permit("fickle", l, "echo")
	if s := state(); s.ListingError != "" || h.Verified("fickle").IsZero() {
		t.Fatalf("%+v", s)
	}
	_, err := h.List(t.Context(), "fickle")
	faulty(t, err, fault.Upstream, "error -32603")
	if strings.Contains(err.Error(), "order") {
		t.Errorf("the server speaks in our sentence: %v", err)
	}
	s := state()
	if s.Phase != Connected || s.ListingError != "connected, but its tools could not be listed: fickle answered the listing of its tools with error -32603; it said: out of order [hidden]" || s.ListingSince.IsZero() {
		t.Errorf("%+v", s)
	}
	if !h.Verified("fickle").IsZero() {
		t.Error("still verified")
	}
	_, err = h.Call(t.Context(), permit, dispatch.Outgoing{})
	refused(t, err, dispatch.ToolChanged)
	h.list("fickle")
	if s := state(); s.ListingError != "" || h.Verified("fickle").IsZero() {
		t.Errorf("%+v", s)
	}

	// One that the law refuses counts alike, until one is taken in.
	h.ListingTaken("fickle", errors.New("too many records"))
	if s := state(); !strings.Contains(s.ListingError, "too many records") || !h.Verified("fickle").IsZero() {
		t.Errorf("%+v", s)
	}
	_, _ = h.List(t.Context(), "fickle")
	h.list("fickle")
	h.ListingTaken("fickle", nil)
	if s := state(); s.ListingError != "" || h.Verified("fickle").IsZero() {
		t.Errorf("%+v", s)
	}
	h.ListingTaken("unknown", nil)
}

// times are when something was told. Safe for concurrent use.
type times struct {
	mu sync.Mutex
	at []time.Time
}

func (t *times) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = append(t.at, time.Now())
}

func (t *times) all() []time.Time {
	synctest.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.at)
}

// A server whose tools change with each listing has them listed more and more seldom.
func TestChurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *server
		var told times
		p := &Pool{timing: usual, o: Options{Unverified: func(string) {
			told.add()
			s.unverified() // it announces a change at once
		}}}
		s = newServer(p, Spec{Name: "churn"}, nil)
		done := make(chan struct{})
		go func() { s.tell(); close(done) }()
		s.unverified()
		time.Sleep(24 * time.Hour)
		all := told.all()
		if n := len(all); n < 24*12 || n > 24*12+12 {
			t.Errorf("told %d times in a day", n)
		}
		if d := all[1].Sub(all[0]); d != time.Second {
			t.Errorf("the second time after %v", d)
		}
		poke(s.calm) // a restart by a person is told at once
		if n := len(told.all()); n != len(all)+1 {
			t.Errorf("told %d times more", n-len(all))
		}
		s.stop()
		<-done
	})
}

// After quiet a change is told at once, and the next one soon.
func TestQuietForgetsChurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told times
		s := newServer(&Pool{timing: usual, o: Options{Unverified: func(string) { told.add() }}}, Spec{Name: "calm"}, nil)
		done := make(chan struct{})
		go func() { s.tell(); close(done) }()
		for range 10 {
			s.unverified()
			time.Sleep(6 * time.Minute)
		}
		if n := len(told.all()); n != 10 {
			t.Errorf("told %d times", n)
		}
		time.Sleep(10 * time.Minute)
		for range 2 {
			s.unverified()
			time.Sleep(time.Second + time.Millisecond)
		}
		if n := len(told.all()); n != 12 {
			t.Errorf("told %d times", n)
		}
		s.stop()
		<-done
	})
}
