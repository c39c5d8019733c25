package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// most is what one refusal may cost the audit or the log, and an agent's context.
const most = 8 << 10

// TestWhatAgentsNameIsBounded: whatever an agent calls things, a refusal writes little
// of it into the audit and the log, and repeats little of it.
func TestWhatAgentsNameIsBounded(t *testing.T) {
	for _, size := range []int{1000, 20_000, 2_000_000} {
		r := newRig(t)
		r.add("files", files()...)
		all := dispatch.Scope{Servers: []string{"*"}, Tools: []string{"*"}}
		a := r.connect("/mcp/search", r.token("agent", all, allClasses))
		long := strings.Repeat("N", size) + "SECRETARG"
		quoted := fmt.Sprintf("%q", long)
		for _, call := range [][2]string{
			{"upstream_servers", `{"operation":"add","name":` + quoted + `,"command":"x"}`},
			{"upstream_servers", `{"operation":"add","name":"prop","command":"sh","trust_mode":` + quoted + `}`},
			{"upstream_servers", `{"operation":"add","name":"prop","type":` + quoted + `,"command":"sh"}`},
			{"upstream_servers", `{"operation":"add","name":"prop","command":"sh","on_hold":` + quoted + `}`},
			{"upstream_servers", `{"operation":"add","name":"prop","type":"http","url":` + quoted + `}`},
			{"upstream_servers", `{"operation":"enable","name":` + quoted + `}`},
			{"upstream_servers", `{"operation":` + quoted + `,"name":"files"}`},
			{"upstream_servers", `{"operation":"inspect","name":` + quoted + `}`},
			{"upstream_servers", `{"operation":"quarantine","name":` + quoted + `}`},
			{"upstream_servers", `{` + quoted + `:1,"operation":"list"}`},
			{"quarantine_security", `{"operation":"approve","server":` + quoted + `}`},
			{"quarantine_security", `{"operation":"inspect","server":` + quoted + `,"tool":"x"}`},
			{"describe_tool", `{"names":[` + quoted + `]}`},
			{"retrieve_tools", `{"query":` + quoted + `,"server":` + quoted + `}`},
			{"call_tool_read", `{"name":` + quoted + `}`},
			{"call_tool_read", `{` + quoted + `:1}`},
			{long, `{}`},
		} {
			if answer := a.call(call[0], call[1]); len(answer) > most || strings.Contains(answer, "SECRETARG") {
				t.Errorf("%s %.60s: the answer has %d bytes: %.300s", call[0], call[1], len(answer), answer)
			}
		}
		r.settle()
		entries, err := r.store.Audit(t.Context(), store.AuditFilter{Limit: 1000})
		r.must(err)
		refusals := 0
		for _, e := range entries {
			if e.Type != record.TypeRefusal {
				continue
			}
			refusals++
			text, err := json.Marshal(e)
			r.must(err)
			if len(text) > most || strings.Contains(string(text), "SECRETARG") || e.Server != "" && e.Server != "files" {
				t.Errorf("the audit has %d bytes: %.300s", len(text), text)
			}
		}
		if refusals < 8 {
			t.Errorf("only %d refusals are in the audit", refusals)
		}
		if text := r.log.String(); len(text) > 4*most || strings.Contains(text, "SECRETARG") {
			t.Errorf("the log has %d bytes", len(text))
		}
	}
}

// The arguments of our own tools are bounded in all; those of a call are the desk's.
func TestOwnArgumentsAreBounded(t *testing.T) {
	long := `"` + strings.Repeat("A", maxOwn) + `"`
	params := []byte(`{"arguments":{"operation":"add","name":"p","args":["-c",` + long + `]}}`)
	if a := readArguments(params); !strings.Contains(a.problem(), "more than 65536 bytes") {
		t.Errorf("%q", a.problem())
	}
	if a := readCall(params); a.text("name") != "p" {
		t.Error("those of a call are not read")
	}
	fits := []byte(`{"arguments":{"query":"` + strings.Repeat("A", maxOwn-len(`{"query":""}`)) + `"}}`)
	if a := readArguments(fits); len(a.text("query")) == 0 || a.problem() != "" {
		t.Errorf("%q", a.problem())
	}
}

func TestBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "text") {
			s = rapid.String().Draw(t, "string")
		}
		n := rapid.IntRange(0, 40).Draw(t, "most")
		got := bounded(s, n)
		if !utf8.ValidString(got) || len(got) > n || utf8.ValidString(s) && (!strings.HasPrefix(s, got) || len(s) <= n && got != s) {
			t.Fatalf("%q of %q at %d", got, s, n)
		}
	})
}
