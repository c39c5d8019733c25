package house

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// fenced finds the fenced blocks of a Markdown text.
var fenced = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```")

// session is the README's session, and what it promises of the last command.
func session(readme string) (lines, promised []string, err error) {
	_, after, ok := strings.Cut(readme, "<!-- session:")
	blocks := fenced.FindAllStringSubmatch(after, 2)
	if !ok || len(blocks) != 2 || blocks[0][1] != "sh" || blocks[1][1] != "text" {
		return nil, nil, fmt.Errorf("README.md has no session: the mark, a block of sh, and a block of text with what the last command says")
	}
	return strings.Split(strings.TrimSpace(blocks[0][2]), "\n"), strings.Split(strings.TrimSpace(blocks[1][2]), "\n"), nil
}

// TestReadmeSession types the README's session into a shell as who pastes it does:
// nothing is waited for between the lines.
func TestReadmeSession(t *testing.T) {
	if os.Getenv("HOLDFAST_REQUIRE_NPM") == "" {
		t.Skip("SKIPPED: the README's session installs published servers; make test runs it")
	}
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the README's session is for a Unix shell")
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines, promised, err := session(string(readme))
	if err != nil {
		t.Fatal(err)
	}
	sh := startShell(t)
	var said string
	for _, line := range lines {
		said = sh.typed(line)
	}
	for _, want := range promised {
		if !strings.Contains(squeeze(said), squeeze(want)) {
			t.Errorf("the last command does not say %q; it says:\n%s", want, said)
		}
	}
}

// squeeze makes one space of many, so that columns may move.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// shell is one interactive-like shell: what is exported and started stays.
type shell struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// startShell starts it in the root of the module, with a home of its own and an
// address that nobody else uses.
func startShell(t *testing.T) *shell {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "holdfast.json")
	err = os.WriteFile(config, fmt.Appendf(nil, "{\"listen\": %q}", l.Addr()), 0o600)
	if err := firstOf(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	// What go and npm keep between runs stays where it is.
	keep, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOCACHE", "GOPATH", "GOFLAGS").Output()
	if err != nil {
		t.Fatal(err)
	}
	kept := strings.Split(string(keep), "\n")
	npm, err := exec.CommandContext(t.Context(), "npm", "config", "get", "cache").Output()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, "bash")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "HOLDFAST_DATA_DIR=",
		"HOLDFAST_CONFIG="+config, "GOMODCACHE="+kept[0], "GOCACHE="+kept[1], "GOPATH="+kept[2], "GOFLAGS="+kept[3],
		"npm_config_cache="+strings.TrimSpace(string(npm)), "npm_config_prefer_offline=true", "npm_config_audit=false", "npm_config_fund=false")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The session's own end, then the shell's.
		_, err := io.WriteString(in, "kill %1 && wait %1\nexit 0\n")
		if err := firstOf(err, cmd.Wait(), w.Close(), r.Close(), os.RemoveAll(dir)); err != nil {
			t.Errorf("the session did not end cleanly: %v", err)
		}
		cancel()
	})
	return &shell{t, in, bufio.NewReader(r)}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// mark ends what a line said; the shell puts the exit status after it.
const mark = "\x1e end of what was said: "

// run gives what a line says, and whether it succeeded.
func (s *shell) run(line string) (string, bool) {
	s.t.Helper()
	s.t.Log("$ " + line)
	if _, err := fmt.Fprintf(s.in, "%s\nprintf '%s%%s\\n' $?\n", line, mark); err != nil {
		s.t.Fatal(err)
	}
	var said strings.Builder
	for {
		text, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("the shell ended: %v\n%s", err, said.String())
		}
		if before, code, ok := strings.Cut(text, mark); ok {
			said.WriteString(before)
			s.t.Log(said.String())
			return said.String(), strings.TrimSpace(code) == "0"
		}
		said.WriteString(text)
	}
}

// typed runs a line that has to succeed.
func (s *shell) typed(line string) string {
	s.t.Helper()
	said, ok := s.run(line)
	if !ok {
		s.t.Fatalf("%q failed:\n%s", line, said)
	}
	return said
}
