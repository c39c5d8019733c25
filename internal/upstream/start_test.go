package upstream

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func TestServersThatDoNotStart(t *testing.T) {
	nothing := func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
	closed := httptest.NewServer(nil)
	closed.Close()
	refusing := httptest.NewServer(http.HandlerFunc(nothing))
	t.Cleanup(refusing.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })

	short := fast
	short.initialize, short.eof, short.term = 1500*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
	h := newHouse(t, short)
	program := func(name string, p approval.Program) Spec {
		return Spec{Name: name, Incarnation: "1", Program: p}
	}
	script := filepath.Join(t.TempDir(), "script")
	_ = os.WriteFile(script, []byte("#!/nonexistent/interpreter\n"), 0o755)
	for _, c := range []struct {
		spec Spec
		says []string
		hint string
	}{
		{h.fake("exit"), []string{"exit status 3", "before it had answered initialize", "fatal: [hidden] was not accepted"}, "by hand"},
		{h.fake("silent"), []string{"did not answer initialize within 1.5s"}, "MCP server over stdio"},
		{h.fake("yes"), []string{"no MCP message"}, "MCP server over stdio"},
		{h.fake("leader"), []string{"exit status 4"}, "by hand"},
		{h.fake("refuse"), []string{"refused to begin a session", "-32000", "not for you"}, ""},
		{h.fake("old"), []string{`"1999-01-01"`, "2025-11-25"}, ""},
		{program("nowhere", approval.Program{Type: "stdio", Command: "no-such-program-here"}), []string{`"no-such-program-here" was not found in any of the `}, "Install"},
		{program("missing", approval.Program{Type: "stdio", Command: "/no/such/file"}), []string{"/no/such/file does not exist"}, "Install"},
		{program("nocommand", approval.Program{Type: "stdio"}), []string{"no command"}, ""},
		{program("notexec", approval.Program{Type: "stdio", Command: "/etc/passwd"}), []string{"can't be executed"}, ""},
		{program("interpreter", approval.Program{Type: "stdio", Command: script}), []string{"can't be started"}, "permissions"},
		{program("nocwd", approval.Program{Type: "stdio", Command: "sh", Cwd: "/no/such/dir"}), []string{"/no/such/dir is no directory"}, ""},
		{program("nosecret", approval.Program{Type: "stdio", Command: "sh", Env: map[string]string{"K": "${env:MISSING}"}}), []string{"env K", "MISSING is not set"}, "Set it."},
		{program("type", approval.Program{Type: "carrier-pigeon"}), []string{"carrier-pigeon"}, ""},
		{program("isolated", approval.Program{Type: "stdio", Command: "sh", Isolation: "strict"}), []string{"isolation"}, ""},
		{program("down", approval.Program{Type: "http", URL: closed.URL + "/${env:OWN_TOKEN}"}), []string{"could not be connected to", "refused"}, "Check"},
		{program("unauthorized", approval.Program{Type: "http", URL: refusing.URL, Headers: map[string]string{"Authorization": "Bearer ${env:OWN_TOKEN}"}}), []string{"HTTP 401"}, "credentials"},
		{program("mute", approval.Program{Type: "http", URL: "http://" + silent.Addr().String()}), []string{"did not answer initialize"}, ""},
		{program("badurl", approval.Program{Type: "http", URL: "ftp://${env:OWN_TOKEN}/"}), []string{"not an http or https URL"}, "url"},
	} {
		t.Run(c.spec.Name, func(t *testing.T) {
			h.Sync([]Spec{c.spec})
			s := h.phase(c.spec.Name, BackingOff)
			for _, want := range c.says {
				if !strings.Contains(s.Error, want) {
					t.Errorf("the state does not say %q: %s", want, s.Error)
				}
			}
			if !strings.Contains(s.Hint, c.hint) || strings.Contains(s.Error+s.Hint, "hunter2") || strings.ContainsAny(s.Error, "\x1b\n") || s.NextTry.IsZero() {
				t.Errorf("bad state %+v", s)
			}
			if got := h.States(); len(got) != 1 || got[0].Server != c.spec.Name {
				t.Errorf("states %+v", got)
			}
		})
	}
}

func TestStates(t *testing.T) {
	h := newHouse(t, fast)
	h.Sync([]Spec{h.fake("plain"), h.fake("greets")})
	s := h.phase("plain", Connected)
	if s.PID == 0 || s.ProtocolVersion != "2025-06-18" || s.ServerName != "fake" || s.ServerVersion != "1.2" || s.Error != "" || s.Since.IsZero() {
		t.Errorf("%+v", s)
	}
	h.phase("greets", Connected)
	got := h.States()
	if len(got) != 2 || got[0].Server != "greets" || got[1].Server != "plain" || got[1].Phase != Connected {
		t.Errorf("%+v", got)
	}
	h.until("both are told", func() bool { return h.told["plain"] > 0 && h.told["greets"] > 0 })
	if n := strings.Count(h.log.String(), "no MCP message"); n != 1 {
		t.Errorf("junk was logged %d times: %s", n, h.log)
	}
	h.Sync([]Spec{h.fake("plain")})
	h.phase("greets", Stopped)
	_, err := h.List(t.Context(), "greets")
	faulty(t, err, fault.NotFound)
	faulty(t, h.Restart("greets"), fault.NotFound)
	lines, err := h.Logs("greets", 100)
	if err != nil || !strings.Contains(strings.Join(lines, "\n"), "stdout: Welcome!") {
		t.Errorf("logs %q %v", lines, err)
	}
}

func TestRestartAndNewIncarnation(t *testing.T) {
	h := newHouse(t, fast)
	spec := h.fake("plain")
	h.Sync([]Spec{spec})
	l := h.list("plain")
	if h.Verified("plain").IsZero() {
		t.Error("not verified after a listing")
	}
	h.Sync([]Spec{spec}) // nothing new
	if err := h.Restart("plain"); err != nil {
		t.Fatal(err)
	}
	h.connected("plain", 2)
	if !h.Verified("plain").IsZero() {
		t.Error("verified after a restart")
	}
	h.list("plain")
	spec.Incarnation = "second"
	h.Sync([]Spec{spec})
	l2 := h.list("plain")
	if l2.Incarnation != "second" {
		t.Errorf("incarnation %q", l2.Incarnation)
	}
	_, err := h.call(t.Context(), "plain", l, "echo")
	refused(t, err, dispatch.PermitInvalid)
	if _, err := h.call(t.Context(), "plain", l2, "echo"); err != nil {
		t.Error(err)
	}
	if n := len(h.notes("plain", "started")); n != 3 {
		t.Errorf("started %d times", n)
	}
}

// A restart ends a back-off, and an attempt to connect.
func TestRestartNow(t *testing.T) {
	slow := fast
	slow.firstRetry, slow.lastRetry = time.Hour, time.Hour
	h := newHouse(t, slow)
	h.Sync([]Spec{h.fake("exit"), h.fake("silent")})
	h.phase("exit", BackingOff)
	_, err := h.List(t.Context(), "exit")
	faulty(t, err, fault.Unavailable, "next try", "exit status 3")
	h.awaitNotes("silent", "started", 1)
	_ = h.Restart("exit")
	_ = h.Restart("silent")
	h.awaitNotes("exit", "started", 2)
	h.awaitNotes("silent", "started", 2)
}

func TestBackOff(t *testing.T) {
	h := newHouse(t, fast)
	h.Sync([]Spec{h.fake("exit")})
	h.until("it was tried seven times", func() bool {
		n := 0
		for _, s := range h.states {
			if s.Phase == BackingOff {
				n++
			}
		}
		return n >= 7
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	var waits []time.Duration
	for _, s := range h.states {
		if s.Phase == BackingOff {
			waits = append(waits, s.NextTry.Sub(s.Since))
		}
	}
	full := fast.firstRetry
	for i, w := range waits {
		if w < full/2-time.Millisecond || w > full+time.Millisecond {
			t.Errorf("wait %d is %v, of at most %v", i, w, full)
		}
		full = min(2*full, fast.lastRetry)
	}
}
