package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The gateway starts a workspace inside itself, named as a builtin server or by the
// program's own command: calls pass both gates, and one audit has the records of both.
func TestWorkspaceBehindTheGateway(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, server := range map[string]string{
		"builtin":             `"builtin": "workspace", "args": ["-C", %q, "--home", %q, "--mode", "acceptEdits"]`,
		"its own command":     `"command": ` + fmt.Sprintf("%q", self) + `, "args": ["workspace", "-C", %q, "--home", %q, "--mode", "acceptEdits"]`,
		"in a directory, too": `"builtin": "workspace", "cwd": %q, "args": ["--home", %q, "--mode", "acceptEdits"]`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, map[string]string{"a.txt": "x\n"})
			data := filepath.Join(filepath.Dir(p.dir), "data")
			config := filepath.Join(filepath.Dir(p.dir), "holdfast.json")
			p.put(config, `{"quarantine_enabled": false, "mcpServers": {"project": {`+fmt.Sprintf(server, p.dir, p.home)+`, "quarantined": false}}}`)
			gateway := func(words ...string) *exec.Cmd {
				return p.program(append([]string{"--data-dir", data, "--config", config}, words...)...)
			}
			c := gateway("stdio", "--server", "project")
			p.err = &lockedBuffer{}
			c.Stderr = p.err
			s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: c}, nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, p.err)
			}
			defer s.Close()
			for i := 0; ; i++ {
				list, err := s.ListTools(t.Context(), nil)
				if err == nil && len(list.Tools) >= 5 {
					break
				}
				if i == 500 {
					t.Fatalf("no tools: %+v, %v\n%s", list, err, p.err)
				}
				time.Sleep(20 * time.Millisecond) // the server is being started
			}
			if text, failed := callTool(t, s, "Read", args{"file_path": "a.txt"}); failed || text != "     1→x" {
				t.Errorf("%q", text)
			}
			if text, failed := callTool(t, s, "Write", args{"file_path": "b.txt", "content": "x"}); failed {
				t.Errorf("%q", text)
			}
			text, failed := callTool(t, s, "Write", args{"file_path": ".git/hooks/x", "content": "x"})
			if !failed {
				t.Errorf("%q", text)
			}
			wants(t, text, "protected")
			s2, _ := os.ReadFile(filepath.Join(p.dir, "b.txt"))
			if string(s2) != "x" {
				t.Errorf("%q", s2)
			}
			// The first Write has an outcome at each gate; of the second, the outer gate
			// has one and the inner a refusal. They are on the disk soon, not at once.
			writes, refused, out := 0, 0, []byte(nil)
			for i := 0; i < 100 && (writes != 3 || refused != 1); i++ {
				if out, err = gateway("audit", "list", "-n", "100", "--json").Output(); err != nil {
					t.Fatal(err)
				}
				writes, refused = countWrites(t, out)
			}
			if writes != 3 || refused != 1 {
				t.Errorf("%d outcomes, %d refusals in\n%s", writes, refused, out)
			}
			if own, _ := filepath.Glob(filepath.Join(data, "workspaces/*/audit/*")); len(own) > 0 {
				t.Errorf("it has an audit of its own: %v", own)
			}
			if logs, _ := os.ReadFile(filepath.Join(data, "logs", "project.log")); !strings.Contains(string(logs), "acceptEdits") {
				t.Errorf("the banner is not in the log: %q", logs)
			}
		})
	}
}

// countWrites counts in an audit the outcomes of Write, and what the rules refused.
func countWrites(t *testing.T, out []byte) (writes, refused int) {
	t.Helper()
	var audit struct {
		Items []struct {
			Type, Server, Name string
			Call               struct{ Refused, Rule string }
		}
	}
	if err := json.Unmarshal(out, &audit); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, e := range audit.Items {
		switch {
		case e.Server != "project" || e.Name != "Write":
		case e.Type == "call.outcome":
			writes++
		case e.Call.Refused == "refused_by_rules" && e.Call.Rule == "protected:.git":
			refused++
		}
	}
	return writes, refused
}
