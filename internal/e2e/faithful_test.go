package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// aCall is one call whose result is the same whoever asks.
type aCall struct {
	tool string
	args map[string]any
}

// everythingCalls are calls of server-everything with all kinds of content.
var everythingCalls = []aCall{
	{"echo", map[string]any{"message": "grüße \u2028 \"quoted\" 🎈"}},
	{"get-sum", map[string]any{"a": 9007199254740991, "b": 2.5}},
	{"get-structured-content", map[string]any{"location": "New York"}},
	{"get-tiny-image", map[string]any{}},
	{"get-annotated-message", map[string]any{"messageType": "error", "includeImage": true}},
	{"get-resource-links", map[string]any{"count": 3}},
	{"get-tiny-image", nil},
}

// compare lists and calls directly and through Holdfast, and holds the bytes
// against each other: definitions equal up to the name's prefix, results equal.
func (s *stand) compare(server string, direct *mcp.ClientSession, directTape *tape, calls []aCall) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	want := listed(s.t, ctx, direct, directTape)
	if len(want) == 0 {
		s.t.Fatal("the server lists nothing")
	}
	own, ownTape := s.agent("/mcp/server/" + server)
	got := listed(s.t, ctx, own, ownTape)
	prefixed, prefixedTape := s.agent("/mcp/direct")
	all := listed(s.t, ctx, prefixed, prefixedTape)
	if len(got) != len(want) {
		s.t.Fatalf("%d tools directly, %d in the server's face", len(want), len(got))
	}
	var mine [][]byte
	for _, raw := range all {
		if strings.HasPrefix(nameOf(s.t, raw), server+"__") {
			mine = append(mine, raw)
		}
	}
	for n, raw := range want {
		if !bytes.Equal(got[n], raw) {
			s.t.Errorf("tool %d differs in the server's face:\n%s\n%s", n, raw, got[n])
		}
		name := nameOf(s.t, raw)
		if n >= len(mine) || !bytes.Equal(renamed(s.t, mine[n], name), raw) || nameOf(s.t, mine[n]) != server+"__"+name {
			s.t.Errorf("tool %d (%s) differs in the direct face", n, name)
		}
	}
	for _, c := range calls {
		expect := result(s.t, ctx, direct, directTape, c.tool, c.args)
		for face, seen := range map[string][]byte{
			"server": result(s.t, ctx, own, ownTape, c.tool, c.args),
			"direct": result(s.t, ctx, prefixed, prefixedTape, server+"__"+c.tool, c.args),
		} {
			if !bytes.Equal(seen, expect) {
				s.t.Errorf("%s: the result in the %s face differs:\n%.500s\n%.500s", c.tool, face, expect, seen)
			}
		}
	}
}

// listed lists all tools and gives each as the bytes that came.
func listed(t *testing.T, ctx context.Context, s *mcp.ClientSession, p *tape) (tools [][]byte) {
	t.Helper()
	before := len(p.all("tools/list"))
	for _, err := range s.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range p.all("tools/list")[before:] {
		span, ok := wire.Find(page, "tools")
		if !ok {
			t.Fatalf("no tools in %.200s", page)
		}
		tools = append(tools, elements(page[span.Start:span.End])...)
	}
	return tools
}

// elements splits a JSON array into the bytes of its elements.
func elements(array []byte) (list [][]byte) {
	depth, start, quoted := 0, 0, false
	for n := 0; n < len(array); n++ {
		switch c := array[n]; {
		case quoted:
			quoted = c != '"'
			if c == '\\' {
				n++
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth == 2 {
				start = n
			}
		case c == '}' || c == ']':
			if depth--; depth == 1 {
				list = append(list, array[start:n+1])
			}
		}
	}
	return list
}

func nameOf(t *testing.T, tool []byte) string {
	t.Helper()
	span, ok := wire.Find(tool, "name")
	if !ok {
		t.Fatalf("a tool without a name: %.200s", tool)
	}
	name, _ := wire.Text(tool[span.Start:span.End])
	return name
}

func renamed(t *testing.T, tool []byte, name string) []byte {
	t.Helper()
	span, ok := wire.Find(tool, "name")
	if !ok {
		t.Fatal("a tool without a name")
	}
	return wire.Splice(tool, wire.Edit{Span: span, With: wire.Quote(name)})
}

// result calls a tool and gives the result as the bytes that came.
func result(t *testing.T, ctx context.Context, s *mcp.ClientSession, p *tape, tool string, args map[string]any) []byte {
	t.Helper()
	params := &mcp.CallToolParams{Name: tool}
	if args != nil {
		params.Arguments = args
	}
	if _, err := s.CallTool(ctx, params); err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return p.last(t, "tools/call")
}

func TestServerEverythingOverStdio(t *testing.T) {
	t.Parallel()
	program := npm(t, "@modelcontextprotocol/server-everything")
	s := newStand(t)
	s.trusted("everything", program)
	direct, p := connectProgram(t, program)
	s.compare("everything", direct, p, everythingCalls)
	// Each permitted call stands in the audit with intent and outcome.
	intents, outcomes := s.audit(store.AuditFilter{Types: []record.Type{record.TypeIntent}}), s.audit(store.AuditFilter{Types: []record.Type{record.TypeOutcome}})
	if want := 2 * len(everythingCalls); len(intents) != want || len(outcomes) != want {
		t.Errorf("%d intents and %d outcomes of %d calls", len(intents), len(outcomes), want)
	}
}

func TestServerEverythingOverHTTP(t *testing.T) {
	t.Parallel()
	program := npm(t, "@modelcontextprotocol/server-everything", "streamableHttp")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(program.Command, program.Args...)
	_, port, _ := net.SplitHostPort(address)
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not listen")
		}
	}
	url := "http://" + address + "/mcp"
	s := newStand(t)
	s.trusted("everything", approval.Program{Type: "http", URL: url})
	direct, p := connectHTTP(t, url, nil)
	s.compare("everything", direct, p, everythingCalls)
}

func TestServerFilesystem(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.txt": "one\ntwo\nthree\n", "b.json": `{"x": 1}`, "ü \u2028.txt": "odd name"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := npm(t, "@modelcontextprotocol/server-filesystem", dir)
	s := newStand(t)
	s.trusted("files", program)
	direct, p := connectProgram(t, program)
	s.compare("files", direct, p, []aCall{
		{"list_allowed_directories", nil},
		{"list_directory", map[string]any{"path": dir}},
		{"read_text_file", map[string]any{"path": filepath.Join(dir, "a.txt"), "head": 2}},
		{"read_multiple_files", map[string]any{"paths": []string{filepath.Join(dir, "a.txt"), filepath.Join(dir, "gone.txt")}}},
		{"read_text_file", map[string]any{"path": filepath.Join(dir, "gone.txt")}}, // an error of the tool
		{"read_text_file", map[string]any{"path": "/etc/passwd"}},
		{"write_file", map[string]any{"path": filepath.Join(dir, "new.txt"), "content": "written"}},
		{"directory_tree", map[string]any{"path": dir}},
	})
	if text, err := os.ReadFile(filepath.Join(dir, "new.txt")); err != nil || string(text) != "written" {
		t.Errorf("the file was not written: %q, %v", text, err)
	}
	errors := 0
	for _, e := range s.audit(store.AuditFilter{Types: []record.Type{record.TypeOutcome}}) {
		if e.Call.Outcome == "tool_error" {
			errors++
		}
	}
	if errors != 4 {
		t.Errorf("%d tool errors in the audit", errors)
	}
}

func TestServerMemory(t *testing.T) {
	t.Parallel()
	with := func(file string) approval.Program {
		p := npm(t, "@modelcontextprotocol/server-memory")
		p.Env = map[string]string{"MEMORY_FILE_PATH": file}
		return p
	}
	s := newStand(t)
	s.trusted("memory", with(filepath.Join(t.TempDir(), "through.json")))
	direct, p := connectProgram(t, with(filepath.Join(t.TempDir(), "direct.json")))
	agent, agentTape := s.agent("/mcp/server/memory")
	ctx := t.Context()
	want, got := listed(t, ctx, direct, p), listed(t, ctx, agent, agentTape)
	for n := range want {
		if n >= len(got) || !bytes.Equal(want[n], got[n]) {
			t.Errorf("tool %d differs", n)
		}
	}
	for _, c := range []aCall{
		{"create_entities", map[string]any{"entities": []any{map[string]any{"name": "Ana", "entityType": "person", "observations": []string{"likes figs"}}}}},
		{"add_observations", map[string]any{"observations": []any{map[string]any{"entityName": "Ana", "contents": []string{"is \"late\""}}}}},
		{"read_graph", map[string]any{}},
		{"search_nodes", map[string]any{"query": "figs"}},
		{"delete_entities", map[string]any{"entityNames": []string{"Ana"}}},
		{"read_graph", nil},
	} {
		if a, b := result(t, ctx, direct, p, c.tool, c.args), result(t, ctx, agent, agentTape, c.tool, c.args); !bytes.Equal(a, b) {
			t.Errorf("%s differs:\n%s\n%s", c.tool, a, b)
		}
	}
}

// Progress reaches the agent that asked for it, with the agent's own token.
func TestProgress(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.trusted("everything", npm(t, "@modelcontextprotocol/server-everything"))
	agent, p := s.agent("/mcp/server/everything")
	params := &mcp.CallToolParams{Name: "trigger-long-running-operation", Arguments: map[string]any{"duration": 0.4, "steps": 4}}
	params.SetProgressToken("mine-1")
	if _, err := agent.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	seen := p.all("notifications/progress")
	if len(seen) == 0 {
		t.Fatal("no progress came")
	}
	for _, n := range seen {
		span, _ := wire.Find(n, "progressToken")
		if string(n[span.Start:span.End]) != `"mine-1"` {
			t.Errorf("another token: %s", n)
		}
	}
}

// Two published versions of one server, swapped between restarts without a change
// of what is run: what really changed is held, and a person's approval of one tool,
// by its digest, lets that one work again.
func TestPublishedVersionsSwapped(t *testing.T) {
	t.Parallel()
	older, newer := npm(t, "everything-old").Args[0], npm(t, "@modelcontextprotocol/server-everything")
	link := filepath.Join(t.TempDir(), "server.mjs")
	point := func(at string) {
		text := fmt.Sprintf("await import(%q);\n", "file://"+filepath.ToSlash(at))
		if err := os.WriteFile(link, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	point(older)
	program := newer
	newest := newer.Args[0]
	program.Args = []string{link}

	s := newStand(t)
	s.trusted("everything", program)
	s.discover("everything") // the first pass with approved tools notes that there is a baseline now
	ctx := t.Context()
	agent, p := s.agent("/mcp/direct")
	before := listed(t, ctx, agent, p)
	hello := map[string]any{"message": "hello"}
	if r := result(t, ctx, agent, p, "everything__echo", hello); !bytes.Contains(r, []byte("hello")) {
		t.Fatalf("the approved tool answers %s", r)
	}

	// A restart without a change changes nothing.
	entries := len(s.audit(store.AuditFilter{Types: []record.Type{record.TypeTransition, record.TypeServer}}))
	s.restart(nil)
	s.discover("everything")
	agent, p = s.agent("/mcp/direct")
	if after := listed(t, ctx, agent, p); len(after) != len(before) || !bytes.Equal(bytes.Join(after, nil), bytes.Join(before, nil)) {
		t.Error("a restart changed what is served")
	}
	if got := len(s.audit(store.AuditFilter{Types: []record.Type{record.TypeTransition, record.TypeServer}})); got != entries {
		t.Errorf("a restart wrote %d entries", got-entries)
	}

	s.restart(func() { point(newest) })
	s.discover("everything")
	changed := 0
	for _, e := range s.intake.Catalogue().Entries("everything") {
		if e.Record.Status == approval.Changed {
			changed++
		}
	}
	if changed < 10 {
		t.Fatalf("only %d tools are held, of a release that changed 16", changed)
	}
	agent, p = s.agent("/mcp/direct")
	if left := listed(t, ctx, agent, p); len(left) != len(before)-changed {
		t.Errorf("%d tools are listed, %d are held of %d", len(left), changed, len(before))
	}
	refusal := result(t, ctx, agent, p, "everything__echo", hello)
	for _, part := range []string{`"isError":true`, `"refused":true`, `"class":"tool_changed"`, `"reasons":["tool_changed"]`, `"remedy":`} {
		if !bytes.Contains(refusal, []byte(part)) {
			t.Errorf("the refusal has no %s: %s", part, refusal)
		}
	}
	live := s.entry("everything", "echo").Record.Live
	if bytes.Contains(refusal, live.Raw()) {
		t.Error("the refusal shows the held contract")
	}

	s.review("everything", "echo", approval.Approve)
	if r := result(t, ctx, agent, p, "everything__echo", hello); !bytes.Contains(r, []byte("hello")) || bytes.Contains(r, []byte("refused")) {
		t.Errorf("after the approval: %s", r)
	}
	if r := result(t, ctx, agent, p, "everything__get-sum", map[string]any{"a": 1, "b": 2}); !bytes.Contains(r, []byte("tool_changed")) {
		t.Errorf("another tool was let through: %s", r)
	}
	tools := listed(t, ctx, agent, p)
	served := false
	for _, raw := range tools {
		if nameOf(t, raw) == "everything__echo" {
			served = contract.Parse(renamed(t, raw, "echo")).Equal(live)
		}
	}
	if !served {
		t.Error("the approved definition is not the one that is served")
	}
	// The audit tells what was held, with both contracts in full.
	held := s.audit(store.AuditFilter{Server: "everything", Name: "echo", Types: []record.Type{record.TypeTransition}})
	full, err := s.store.Entry(ctx, held[1].Seq)
	if err != nil || full.Transition.From != "approved" || full.Transition.To != "changed" ||
		len(full.Transition.Old.Contract.Raw()) == 0 || !full.Transition.New.Contract.Equal(live) {
		t.Errorf("the entry of the hold: %+v, %v", full.Transition, err)
	}
}
