package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/workspace/trail"
)

// project is a directory that is served by the real program, and its owner's home.
type project struct {
	t         *testing.T
	dir, home string
	err       *lockedBuffer // standard error of the last server
}

func newProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: filepath.Join(base, "project"), home: filepath.Join(base, "home")}
	for _, dir := range []string{p.dir, filepath.Join(p.home, ".config", "holdfast")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		p.put(filepath.Join(p.dir, name), text)
	}
	return p
}

func (p *project) put(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// user writes the owner's settings.
func (p *project) user(text string) {
	p.put(filepath.Join(p.home, ".config", "holdfast", "settings.json"), text)
}

// program is the real program with these words.
func (p *project) program(words ...string) *exec.Cmd {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	c := exec.Command(self, words...)
	c.Env = append(os.Environ(), asProgram+"=1")
	return c
}

func (p *project) serving(flags ...string) *exec.Cmd {
	c := p.program(append([]string{"workspace", "-C", p.dir, "--home", p.home}, flags...)...)
	p.err = &lockedBuffer{}
	c.Stderr = p.err
	return c
}

// run runs a command of the program to its end.
func (p *project) run(words ...string) string {
	p.t.Helper()
	out, err := p.program(append(words, "-C", p.dir, "--home", p.home)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v: %v\n%s", words, err, out)
	}
	return string(out)
}

// connect starts the server and connects the official client.
func (p *project) connect(flags ...string) *mcp.ClientSession {
	p.t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(p.t.Context(), &mcp.CommandTransport{Command: p.serving(flags...)}, nil)
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.err)
	}
	p.t.Cleanup(func() { s.Close() })
	return s
}

// banner waits until all of what counts was told on standard error; nobody else does.
func (p *project) banner() string {
	p.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if text := p.err.String(); strings.Contains(text, "\naudit ") {
			return text
		}
	}
	p.t.Fatalf("the banner did not come to its end:\n%s", p.err)
	return ""
}

// callTool calls a tool, and gives the text of its result.
func callTool(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (text string, failed bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	for _, c := range r.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text, r.IsError
}

func wants(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

func leftNothing(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is there", path)
	}
}

type args = map[string]any

// The official client drives every tool, and the owner sees and takes back what it did.
func TestWorkspaceWithTheOfficialClient(t *testing.T) {
	p := newProject(t, map[string]string{"a.txt": "hello\n"})
	p.user(`{"permissions":{"allow":["Bash(sort *)","Bash(cp *)"]}}`)
	s := p.connect("--mode", "acceptEdits")
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, tool := range list.Tools {
		names[tool.Name] = true
		if tool.Annotations == nil {
			t.Errorf("%s has no annotations", tool.Name)
		}
	}
	for _, want := range []string{"Read", "Write", "Edit", "Glob"} {
		if !names[want] {
			t.Errorf("%s is not listed", want)
		}
	}
	if text, failed := callTool(t, s, "Read", args{"file_path": "a.txt"}); failed || text != "     1→hello" {
		t.Errorf("%q", text)
	}
	if text, failed := callTool(t, s, "Edit", args{"file_path": "a.txt", "old_string": "hello", "new_string": "bye"}); failed {
		t.Errorf("%q", text)
	}
	if text, failed := callTool(t, s, "Glob", args{"pattern": "*.txt"}); failed || text != "a.txt" {
		t.Errorf("%q", text)
	}
	if names["Grep"] {
		if text, failed := callTool(t, s, "Grep", args{"pattern": "by."}); failed || text != "a.txt" {
			t.Errorf("%q", text)
		}
	}
	if names["Bash"] {
		if text, failed := callTool(t, s, "Bash", args{"command": "cp a.txt b.txt && sort b.txt"}); failed || text != "bye\n" {
			t.Errorf("%q", text)
		}
		if text, failed := callTool(t, s, "Bash", args{"command": "cp a.txt c.txt && touch d.txt"}); !failed {
			t.Errorf("%q", text)
		}
		leftNothing(t, filepath.Join(p.dir, "c.txt"))
	}
	s.Close()
	log := p.run("workspace", "log")
	wants(t, log, "Edit", "a.txt")
	id := ""
	for line := range strings.Lines(log) {
		if strings.Contains(line, "Edit") {
			id = strings.Fields(line)[0]
		}
	}
	wants(t, p.run("workspace", "show", id), "a.txt", "6 bytes", "4 bytes", "\n-hello\n+bye\n")
	if got := p.run("workspace", "show", id, "a.txt"); got != "hello\n" {
		t.Errorf("%q", got)
	}
	wants(t, p.run("workspace", "undo", id), "\n-bye\n+hello\n", "Nothing was done")
	wants(t, p.run("workspace", "undo", id, "--yes"), "Took back")
	if b, _ := os.ReadFile(filepath.Join(p.dir, "a.txt")); string(b) != "hello\n" {
		t.Errorf("%q", b)
	}
	wants(t, p.run("workspace", "log", "--verify"), "unbroken")
}

// What a file held is printed as it is, but a terminal is told nothing.
func TestWorkspaceShowOnATerminal(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("there is no script(1) to make a terminal")
	}
	p := newProject(t, map[string]string{"esc": "one\n\x1b]0;TITLE\a\x1b[2J\xff\n"})
	p.user(`{"permissions": {"allow": ["Edit", "Read"]}}`)
	s := p.connect()
	callTool(t, s, "Read", args{"file_path": "esc"})
	if text, failed := callTool(t, s, "Write", args{"file_path": "esc", "content": "new"}); failed {
		t.Fatal(text)
	}
	s.Close()
	id := strings.Fields(strings.Split(p.run("workspace", "log"), "\n")[1])[0]
	c := p.program("workspace", "show", id, "esc", "-C", p.dir, "--home", p.home)
	if out, err := c.Output(); err != nil || string(out) != "one\n\x1b]0;TITLE\a\x1b[2J\xff\n" {
		t.Errorf("%q, %v", out, err)
	}
	on := exec.Command(script, "-qec", "'"+strings.Join(c.Args, "' '")+"'", os.DevNull)
	on.Env, on.Dir = c.Env, c.Dir
	out, err := on.Output()
	if err != nil || strings.Contains(string(out), "\x1b") || !strings.Contains(string(out), `\u001b]0;TITLE\u0007`) || !strings.Contains(string(out), "one\r\n") {
		t.Errorf("%q, %v", out, err)
	}
}

// The owner is told of hooks that run what the agent may be able to write.
func TestWorkspaceWarnsOfHooks(t *testing.T) {
	p := newProject(t, map[string]string{"guard.sh": ""})
	p.user(`{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "make lint"}, {"type": "command", "command": "sh guard.sh"}]}]}}`)
	p.connect().Close()
	wants(t, p.err.String(), "runs make, which does what the project's files say", "guard.sh, which lies in the workspace's own folder")
}

// The posture: each refusal has its reason, and no effect.
func TestWorkspacePosture(t *testing.T) {
	t.Run("ask is refused, and names the fix", func(t *testing.T) {
		p := newProject(t, nil)
		text, failed := callTool(t, p.connect(), "Write", args{"file_path": "new/f", "content": "x"})
		if !failed {
			t.Error("it is a success")
		}
		wants(t, text, "permissions.allow", "--mode acceptEdits")
		leftNothing(t, filepath.Join(p.dir, "new"))
	})
	t.Run("the clamp fires, tells it, and --mode is the way out", func(t *testing.T) {
		p := newProject(t, nil)
		p.user(`{"permissions":{"defaultMode":"acceptEdits"}}`)
		s := p.connect()
		if text, failed := callTool(t, s, "Write", args{"file_path": "f", "content": "x"}); !failed {
			t.Errorf("%q", text)
		}
		leftNothing(t, filepath.Join(p.dir, "f"))
		wants(t, p.banner(), "clamped: acceptEdits", "--mode acceptEdits")
		if text, failed := callTool(t, p.connect("--mode", "acceptEdits"), "Write", args{"file_path": "f", "content": "x"}); failed {
			t.Errorf("%q", text)
		}
	})
	t.Run("an untrusted project can't widen", func(t *testing.T) {
		p := newProject(t, map[string]string{
			".holdfast/settings.json": `{"permissions":{"allow":["Edit","Bash"],"defaultMode":"acceptEdits","additionalDirectories":["/etc"]},"sandbox":{"network":"host"}}`,
		})
		s := p.connect()
		if text, failed := callTool(t, s, "Write", args{"file_path": "f", "content": "x"}); !failed {
			t.Errorf("%q", text)
		}
		if text, failed := callTool(t, s, "Read", args{"file_path": "/etc/hostname"}); !failed {
			t.Errorf("%q", text)
		}
		leftNothing(t, filepath.Join(p.dir, "f"))
		wants(t, p.banner(), "not trusted", "not counted")
	})
	t.Run("a contract's deny holds under bypassPermissions", func(t *testing.T) {
		p := newProject(t, map[string]string{".holdfast/contract.yaml": "version: 1\nrules:\n  - {glob: \"*.lock\", write: deny, owner: ops, reason: it is made by the build}\n"})
		p.run("trust", "--yes")
		s := p.connect("--mode", "bypassPermissions")
		text, failed := callTool(t, s, "Write", args{"file_path": "a.lock", "content": "x"})
		if !failed {
			t.Errorf("%q", text)
		}
		wants(t, text, "it is made by the build")
		leftNothing(t, filepath.Join(p.dir, "a.lock"))
		if text, failed := callTool(t, s, "Write", args{"file_path": "b", "content": "x"}); failed {
			t.Errorf("%q", text)
		}
	})
}

// The gate sees exactly the arguments that the peer sent: a hook is told them.
func TestWorkspaceHooksSeeWhatWasSent(t *testing.T) {
	p := newProject(t, map[string]string{"a.txt": "x\n"})
	seen := filepath.Join(p.home, "seen")
	p.user(fmt.Sprintf(`{"hooks":{"PreToolUse":[{"matcher":"Read","hooks":[{"type":"command","command":"cat >> %s"}]}]}}`, seen))
	s := p.connect()
	callTool(t, s, "Read", args{"file_path": "a.txt", "limit": 3})
	b, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Tool  string         `json:"tool_name"`
		Input map[string]any `json:"tool_input"`
	}
	if err := json.Unmarshal(b, &told); err != nil || told.Tool != "Read" || fmt.Sprint(told.Input) != "map[file_path:a.txt limit:3]" {
		t.Errorf("%v, %s", err, b)
	}
}

// Standard output carries messages and nothing else, whatever a peer sends.
func TestWorkspaceStdoutIsMessagesAlone(t *testing.T) {
	p := newProject(t, map[string]string{"a.txt": "x\n"})
	c := p.serving()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer in.Close()
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `garbage`, `{}`, `[]`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":"a.txt"}}}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":"a.txt","file_path":"/etc/passwd"}}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":7}}}`,
			`{"jsonrpc":"2.0","id":5,"method":"resources/list"}`, "\x00\x01\x02",
		} {
			fmt.Fprintln(in, line)
		}
	}()
	answers := map[string]bool{}
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		var m struct {
			Version string `json:"jsonrpc"`
			ID      any    `json:"id"`
		}
		if err := json.Unmarshal(scanner.Bytes(), &m); err != nil || m.Version != "2.0" {
			t.Errorf("no message: %q", scanner.Text())
		}
		answers[fmt.Sprint(m.ID)] = true
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.err)
	}
	ids := []string{"1", "2", "4", "5"} // the third is no JSON: it names a key twice
	for _, id := range ids {
		if !answers[id] {
			t.Errorf("%s was not answered", id)
		}
	}
}

// sleeping counts the processes that sleep for a time that begins with the word.
func sleeping(word string) int {
	n := 0
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range all {
		if b, err := os.ReadFile(f); err == nil && bytes.HasPrefix(b, []byte("sleep\x00"+word)) {
			n++
		}
	}
	return n
}

// untilAsleep waits until so many do.
func (p *project) untilAsleep(word string, n int) {
	p.t.Helper()
	for range 1000 {
		if sleeping(word) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond) // other programs are waited for
	}
	if strings.Contains(p.banner(), "Bash is not offered") {
		if os.Getenv("HOLDFAST_REQUIRE_SANDBOX") != "" {
			p.t.Fatalf("no sandbox here\n%s", p.err)
		}
		p.t.Skip("SKIPPED: there is no sandbox here")
	}
	p.t.Fatalf("only %d run\n%s", sleeping(word), p.err)
}

// awake wants that none does within a second.
func awake(t *testing.T, word string) {
	t.Helper()
	for begun := time.Now(); sleeping(word) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Second {
			t.Errorf("%d still run", sleeping(word))
			return
		}
	}
}

// forking is a command whose children leave its group, its session and their parent.
func forking() (command, word string) {
	word = fmt.Sprintf("%d.", 100000+time.Now().UnixNano()%800000)
	return fmt.Sprintf("(setsid bash -c 'sleep %s1 & exec sleep %s2' &) ; sleep %s3 & sleep %s4", word, word, word, word), word
}

// A call that the client cancels ends with all that it started; the session goes on.
func TestWorkspaceCancel(t *testing.T) {
	p := newProject(t, map[string]string{"a.txt": "x\n"})
	p.user(`{"permissions":{"allow":["Bash"]}}`)
	s := p.connect()
	command, word := forking()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "Bash", Arguments: args{"command": command}})
		done <- err
	}()
	p.untilAsleep(word, 4)
	cancel()
	awake(t, word)
	if err := <-done; err == nil {
		t.Error("a cancelled call was answered")
	}
	if text, failed := callTool(t, s, "Read", args{"file_path": "a.txt"}); failed {
		t.Errorf("%q", text)
	}
}

// When the peer goes, everything that it started is gone within a second.
func TestWorkspaceDisconnect(t *testing.T) {
	for name, leave := range map[string]func(in io.Closer, c *exec.Cmd){
		"it closes its side":   func(in io.Closer, _ *exec.Cmd) { in.Close() },
		"the server is ended":  func(_ io.Closer, c *exec.Cmd) { _ = c.Process.Signal(os.Interrupt) },
		"the server is killed": func(_ io.Closer, c *exec.Cmd) { _ = c.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, nil)
			p.user(`{"permissions":{"allow":["Bash"]}}`)
			command, word := forking()
			c := p.serving()
			in, _ := c.StdinPipe()
			out, _ := c.StdoutPipe()
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
			for id, background := range []bool{true, false} {
				fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Bash","arguments":{"command":%q,"run_in_background":%v}}}`+"\n", id+2, command, background)
			}
			go func() { _, _ = io.Copy(io.Discard, out) }()
			p.untilAsleep(word, 8)
			leave(in, c)
			awake(t, word)
			_ = c.Wait()
		})
	}
}

// Without its audit or its ledger the server does not start, or refuses.
func TestWorkspaceFailsClosed(t *testing.T) {
	state := func(t *testing.T, p *project) string {
		t.Helper()
		s := p.connect()
		callTool(t, s, "Read", args{"file_path": "a.txt"})
		s.Close()
		all, _ := filepath.Glob(filepath.Join(p.home, ".local/state/holdfast/workspaces/*"))
		if len(all) != 1 {
			t.Fatalf("states: %v", all)
		}
		return all[0]
	}
	for name, where := range map[string]string{"audit": "audit", "ledger": "ledger"} {
		t.Run("no place for the "+name, func(t *testing.T) {
			p := newProject(t, map[string]string{"a.txt": "x\n"})
			dir := filepath.Join(state(t, p), where)
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			p.put(dir, "a file stands in its place")
			out, err := p.serving().Output()
			if err == nil || len(out) > 0 {
				t.Errorf("it started: %q", out)
			}
			wants(t, p.err.String(), name, "can't be written")
		})
	}
	t.Run("settings that can't be read", func(t *testing.T) {
		p := newProject(t, nil)
		p.user(`{"permissions":{"deny":["Reed"]}}`)
		if out, err := p.serving().Output(); err == nil || len(out) > 0 {
			t.Errorf("it started: %q", out)
		}
		wants(t, p.err.String(), "settings.json")
	})
	t.Run("the disk is full", func(t *testing.T) {
		p := newProject(t, map[string]string{"a.txt": "x\n"})
		p.user(`{"permissions":{"allow":["Edit","Bash"]}}`)
		at := filepath.Join(p.home, ".local/state")
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", at).CombinedOutput(); err != nil {
			t.Skipf("NO SMALL DISK CAN BE MOUNTED HERE, SO THIS IS NOT TESTED: %s", out)
		}
		t.Cleanup(func() { _ = exec.Command("umount", "-l", at).Run() })
		s := p.connect()
		if text, failed := callTool(t, s, "Read", args{"file_path": "a.txt"}); failed {
			t.Fatalf("%q", text)
		}
		p.fill(filepath.Join(at, "filler"))
		for tool, a := range map[string]args{
			"Write": {"file_path": "b.txt", "content": "x"}, "Edit": {"file_path": "a.txt", "old_string": "x", "new_string": "y"},
			"Bash": {"command": "touch c.txt"},
		} {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: a})
			if err == nil && !r.IsError {
				t.Errorf("%s was made", tool)
			}
		}
		leftNothing(t, filepath.Join(p.dir, "b.txt"))
		leftNothing(t, filepath.Join(p.dir, "c.txt"))
		if b, _ := os.ReadFile(filepath.Join(p.dir, "a.txt")); string(b) != "x\n" {
			t.Errorf("%q", b)
		}
		if err := os.Remove(filepath.Join(at, "filler")); err != nil {
			t.Fatal(err)
		}
		if text, failed := callTool(t, s, "Write", args{"file_path": "b.txt", "content": "x"}); failed {
			t.Errorf("it does not go on when there is room again: %q", text)
		}
	})
}

// fill writes until nothing more fits.
func (p *project) fill(path string) {
	p.t.Helper()
	f, err := os.Create(path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	for size := 4096; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// The audit of a session is a chain, and a change of it is found.
func TestWorkspaceAudit(t *testing.T) {
	p := newProject(t, map[string]string{"a.txt": "x\n"})
	s := p.connect()
	callTool(t, s, "Read", args{"file_path": "a.txt"})
	callTool(t, s, "Write", args{"file_path": "b.txt", "content": "S3CRET"})
	s.Close()
	files, _ := filepath.Glob(filepath.Join(p.home, ".local/state/holdfast/workspaces/*/audit/*.jsonl"))
	if len(files) != 1 {
		t.Fatalf("%v", files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(b), "workspace_opened", `"call.outcome"`, `"call.refused"`, "by_ask")
	if strings.Contains(string(b), "S3CRET") {
		t.Error("an argument is in the audit")
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if n, _, err := trail.Verify(bytes.NewReader(b)); err != nil || n < 4 {
		t.Errorf("%d, %v", n, err)
	}
	if _, _, err := trail.Verify(bytes.NewReader(bytes.Replace(b, []byte("refused"), []byte("refuses"), 1))); err == nil {
		t.Error("a change was not found")
	}
	if err := os.WriteFile(files[0], b[bytes.IndexByte(b, '\n')+1:], 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := p.program("workspace", "log", "--verify", "-C", p.dir, "--home", p.home).CombinedOutput(); err == nil {
		t.Errorf("an entry that is gone was not found: %s", out)
	}
}
