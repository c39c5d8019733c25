//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// escape is one attempt to get out of a workspace: what is set up on the host, what the
// peer calls, and a check on the host whose status 0 means that it held.
type escape struct {
	Name     string              `json:"name"`
	Family   string              `json:"family"`
	Setup    string              `json:"setup"`
	Calls    []escapeStep        `json:"calls"`
	Check    string              `json:"check"`
	MustNot  string              `json:"must_not"`
	Contract string              `json:"contract"`
	Danger   bool                `json:"danger"` // only where the loss of the machine does not matter
	Rules    map[string][]string `json:"rules"`
	Flags    []string            `json:"flags"`
}

// escapeStep is a call (raw: its arguments as text), or something that happens on the
// host meanwhile.
type escapeStep struct {
	Tool       string         `json:"tool"`
	Args       map[string]any `json:"args"`
	Raw        string         `json:"raw"`
	Repeat     int            `json:"repeat"`
	Host       string         `json:"host"`
	HostLoop   string         `json:"host_loop"`
	Disconnect bool           `json:"disconnect"`
	Restart    bool           `json:"restart"`
}

// freeRules let a peer do what rules can let it do: what then still holds is the
// sandbox, the roots, protected paths and the contract.
var freeRules = map[string][]string{"allow": {"Bash", "Edit", "Read"}}

// verbs are what set-ups and checks may say beside bash.
const verbs = `
SERVER_ENV() { printf '%s\0' "$*" >> "$CTL/env"; }
USER_HOOK() { printf '%s\0%s\0' 60 "$1" >> "$CTL/hooks"; }
USER_HOOK_TIMEOUT() { printf '%s\0%s\0' "$1" "$2" >> "$CTL/hooks"; }
LISTEN() { :; }
TRUST() { :; }
UNTRUSTED() { touch "$CTL/untrusted"; }
SERVER_ALIVE() { test "$ALIVE" = 1; }
SERVER_RSS_BELOW_MB() { test "$RSS_MB" -lt "$1"; }
HOST() { "$@"; }
`

// TestEscapes runs every attempt for real, each against a server of its own.
func TestEscapes(t *testing.T) {
	if testing.Short() {
		t.Skip("one server for each attempt is started")
	}
	needSandbox(t)
	raw, err := os.ReadFile("../../testdata/workspace_escapes.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []escape
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 300 {
		t.Fatalf("%d attempts; 300 are promised", len(all))
	}
	bin := holdfastBinary(t)
	lure := listenEverywhere(t)
	for _, e := range all {
		t.Run(e.Name, func(t *testing.T) {
			if e.Danger && os.Getenv("HOLDFAST_DANGER") == "" {
				t.Skip("dangerous to the machine where it works; HOLDFAST_DANGER=1 runs it")
			}
			t.Parallel()
			a := newAttempt(t, e, bin, lure)
			a.run()
		})
	}
}

// needSandbox skips where a confined command can't run, and fails where it must.
func needSandbox(t *testing.T) {
	t.Helper()
	for _, program := range []string{"bwrap", "rg", "git", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("HOLDFAST_REQUIRE_SANDBOX") != "" {
				t.Fatalf("%s is missing, and HOLDFAST_REQUIRE_SANDBOX is set", program)
			}
			t.Skipf("SKIPPED: %s is missing; tools/prepare tools installs it", program)
		}
	}
}

var builtHoldfast = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-bin")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "holdfast")
	out, err := exec.Command("go", "build", "-o", bin, "../../cmd/holdfast").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, nil
})

// holdfastBinary is the program as a user runs it.
func holdfastBinary(t *testing.T) string {
	t.Helper()
	bin, err := builtHoldfast()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// lure is a service of the host that answers with a mark, wherever it can be reached.
type lure struct {
	mark, port, hostIP string
}

// abstract is the name of the abstract socket that it listens on.
func (l lure) abstract() string { return fmt.Sprintf("holdfast-canary-%d", os.Getpid()) }

func listenEverywhere(t *testing.T) lure {
	t.Helper()
	l := lure{mark: fmt.Sprintf("MARK-%d-%d", os.Getpid(), time.Now().UnixNano()), hostIP: outwardIP()}
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.answer(t, first)
	_, l.port, _ = net.SplitHostPort(first.Addr().String())
	for _, addr := range []string{"[::1]:" + l.port, l.hostIP + ":" + l.port} {
		if more, err := net.Listen("tcp", addr); err == nil {
			l.answer(t, more)
		}
	}
	abstract, err := net.Listen("unix", "@"+l.abstract())
	if err != nil {
		t.Fatal(err)
	}
	l.answer(t, abstract)
	return l
}

// outwardIP is an address of this machine that is no loopback.
func outwardIP() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	return "127.0.0.2"
}

func (l lure) answer(t *testing.T, on net.Listener) {
	t.Cleanup(func() { _ = on.Close() })
	go func() {
		for {
			c, err := on.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = c.SetDeadline(time.Now().Add(2 * time.Second))
				_, _ = c.Write([]byte("HTTP/1.0 200 OK\r\n\r\n" + l.mark + "\n"))
				_, _ = c.Read(make([]byte, 1024))
				_ = c.Close()
			}()
		}
	}()
}

// attempt is one escape being tried.
type attempt struct {
	t    *testing.T
	e    escape
	bin  string
	lure lure

	ws, home, out, ctl, result string
	vars                       []string // NAME=value, what the set-up left
	server                     *peerOf
	loops                      []*exec.Cmd
}

func newAttempt(t *testing.T, e escape, bin string, l lure) *attempt {
	// Not below /tmp: the sandbox has one of its own, and redirections there are free.
	base, err := os.MkdirTemp("/var/tmp", "holdfast-escape-")
	if err != nil {
		t.Fatal(err)
	}
	base, _ = filepath.EvalSymlinks(base)
	t.Cleanup(func() {
		_ = exec.Command("chmod", "-R", "u+rwX", base).Run()
		_ = os.RemoveAll(base)
	})
	a := &attempt{t: t, e: e, bin: bin, lure: l}
	for dir, at := range map[string]*string{"ws": &a.ws, "home": &a.home, "out": &a.out, "ctl": &a.ctl} {
		*at = filepath.Join(base, dir)
		if err := os.Mkdir(*at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a.result = filepath.Join(a.ctl, "result")
	return a
}

func (a *attempt) run() {
	a.setUp()
	a.start()
	for _, step := range a.e.Calls {
		a.step(step)
	}
	for _, l := range a.loops {
		_ = l.Process.Kill()
		_ = l.Wait()
	}
	alive, rss := a.server.state()
	// What must end with the connection is looked for while the server is gone, and
	// what must not reach the server while it lives.
	if !strings.Contains(a.e.Check, "SERVER_") {
		a.server.close()
	}
	check := a.shell(a.e.Check, "ALIVE="+alive, "RSS_MB="+rss)
	if out, err := check.CombinedOutput(); err != nil {
		text, _ := os.ReadFile(a.result)
		a.t.Errorf("%s\ncheck: %s (%v)\n%s\nwhat the peer saw:\n%s\nstderr:\n%s",
			a.e.MustNot, a.e.Check, err, out, clip(text), clip(a.server.stderr.Bytes()))
	}
	a.server.close()
}

func clip(b []byte) []byte { return b[:min(len(b), 3000)] }

// shell is bash on the host with the variables of this attempt.
func (a *attempt) shell(script string, more ...string) *exec.Cmd {
	c := exec.Command("bash", "-c", verbs+script)
	c.Dir = a.ws
	c.Env = append([]string{
		"PATH=" + filepath.Dir(a.bin) + ":" + os.Getenv("PATH"), "HOME=" + a.home, "LC_ALL=C.UTF-8",
		"WS=" + a.ws, "H=" + a.home, "OUT=" + a.out, "CTL=" + a.ctl, "RESULT=" + a.result,
		"MARK=" + a.lure.mark, "PORT=" + a.lure.port, "HOSTIP=" + a.lure.hostIP,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
	}, append(a.vars, more...)...)
	return c
}

// setUp lays everything out: the attempt's own set-up, the user's rules and hooks, the
// contract, trust.
func (a *attempt) setUp() {
	t := a.t
	if c := a.e.Contract; c != "" {
		a.write(filepath.Join(a.ws, ".holdfast/contract.yaml"), c)
	}
	set := a.shell("set -a; " + a.e.Setup + "\nset +a; env -0 > \"$CTL/vars\"")
	// Not a pipe: what a set-up leaves running would keep it open.
	said, err := os.Create(filepath.Join(a.ctl, "setup"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	set.Stdout, set.Stderr = said, said
	set.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := set.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-set.Process.Pid, syscall.SIGKILL) })
	if err := set.Wait(); err != nil {
		out, _ := os.ReadFile(said.Name())
		t.Fatalf("set-up: %v\n%s", err, out)
	}
	known := map[string]bool{"PATH": true, "HOME": true, "PWD": true, "SHLVL": true, "_": true, "OLDPWD": true}
	for _, v := range set.Env {
		name, _, _ := strings.Cut(v, "=")
		known[name] = true
	}
	for _, v := range a.listOf("vars") {
		if name, _, _ := strings.Cut(v, "="); !known[name] {
			a.vars = append(a.vars, v)
		}
	}
	rules := a.e.Rules
	if rules == nil {
		rules = freeRules
	}
	settings := map[string]any{"permissions": rules}
	if hooks := a.listOf("hooks"); len(hooks) > 0 {
		var list []any
		for i := 0; i+1 < len(hooks); i += 2 {
			seconds, _ := strconv.Atoi(hooks[i])
			list = append(list, map[string]any{"type": "command", "command": hooks[i+1], "timeout": seconds})
		}
		settings["hooks"] = map[string]any{"PreToolUse": []any{map[string]any{"matcher": "*", "hooks": list}}}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	a.write(filepath.Join(a.home, ".config/holdfast/settings.json"), string(text))
	if _, err := os.Stat(filepath.Join(a.ctl, "untrusted")); err != nil {
		trust := a.shell(`holdfast trust --yes -C "$WS"`)
		// A project whose settings can't be read can't be trusted; the attempt goes on.
		_ = trust.Run()
	}
	listener, err := net.Listen("unix", filepath.Join(a.out, "s.sock"))
	if err == nil { // a longer path than a socket may have is no fault of the attempt
		a.lure.answer(t, listener)
	}
}

func (a *attempt) write(name, text string) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		a.t.Fatal(err)
	}
}

// listOf reads NUL-separated texts that a verb left.
func (a *attempt) listOf(name string) []string {
	raw, err := os.ReadFile(filepath.Join(a.ctl, name))
	if err != nil || len(raw) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
}

func (a *attempt) start() {
	args := append([]string{"workspace", "-C", a.ws}, a.e.Flags...)
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.home, "LANG=C.UTF-8"}, a.listOf("env")...)
	a.server = startPeer(a.t, a.bin, args, env)
	a.server.initialize()
}

func (a *attempt) step(s escapeStep) {
	switch {
	case s.Host != "":
		if out, err := a.shell(s.Host).CombinedOutput(); err != nil {
			a.t.Logf("host: %v: %s", err, out)
		}
	case s.HostLoop != "":
		c := a.shell(s.HostLoop)
		if err := c.Start(); err != nil {
			a.t.Fatal(err)
		}
		a.loops = append(a.loops, c)
	case s.Disconnect:
		a.server.close()
	case s.Restart:
		a.server.close()
		a.start()
	default:
		a.call(s)
	}
}

// call calls and keeps what the peer saw.
func (a *attempt) call(s escapeStep) {
	args := s.Raw
	if args == "" {
		raw, err := json.Marshal(s.Args)
		if err != nil {
			a.t.Fatal(err)
		}
		args = string(raw)
	}
	args = strings.NewReplacer("{ws}", a.ws, "{home}", a.home, "{out}", a.out,
		"holdfast-canary", a.lure.abstract(), "$PORT", a.lure.port, "$HOSTIP", a.lure.hostIP).Replace(args)
	name, _ := json.Marshal(s.Tool)
	var seen bytes.Buffer
	for range max(1, s.Repeat) {
		seen.Write(a.server.ask("tools/call", `{"name":`+string(name)+`,"arguments":`+args+`}`))
		seen.WriteByte('\n')
	}
	f, err := os.OpenFile(a.result, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Write(seen.Bytes()); err != nil {
		a.t.Fatal(err)
	}
}

// peerOf is the other end of a workspace server: raw lines, so that it can say what no
// library would.
type peerOf struct {
	cmd    *exec.Cmd
	in     *os.File
	lines  chan []byte
	stderr bytes.Buffer
	asked  int
	closed sync.Once
}

func startPeer(t *testing.T, bin string, args, env []string) *peerOf {
	t.Helper()
	p, err := newPeer(bin, args, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

func newPeer(bin string, args, env []string) (*peerOf, error) {
	in, toServer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &peerOf{in: toServer, lines: make(chan []byte, 64)}
	p.cmd = exec.CommandContext(context.Background(), bin, args...)
	p.cmd.Stdin, p.cmd.Stderr, p.cmd.Env = in, &p.stderr, env
	p.cmd.Dir = os.TempDir()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	_ = in.Close()
	go p.read(out)
	return p, nil
}

func (p *peerOf) read(out io.Reader) {
	defer close(p.lines)
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			p.lines <- line
		}
		if err != nil {
			return
		}
	}
}

// abandon ends a server that nothing is wanted of any more.
func (p *peerOf) abandon() {
	_ = p.cmd.Process.Kill()
	p.close()
}

func (p *peerOf) initialize() {
	p.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"peer","version":"1"}}`)
	_, _ = p.in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
}

// ask sends a request and gives the line that answers it; nothing when none comes.
func (p *peerOf) ask(method, params string) []byte {
	p.asked++
	id := strconv.Itoa(p.asked)
	if _, err := p.in.WriteString(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + "}\n"); err != nil {
		return nil
	}
	limit := time.After(time.Minute)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return nil
			}
			var m struct {
				ID json.RawMessage `json:"id"`
			}
			if json.Unmarshal(line, &m) == nil && (string(m.ID) == id || string(m.ID) == "null") {
				return line
			}
		case <-limit:
			return []byte("NO ANSWER within a minute")
		}
	}
}

// state says whether the server answers, and how much memory it has, in MB.
func (p *peerOf) state() (alive, rssMB string) {
	alive, rssMB = "0", "999999"
	if bytes.Contains(p.ask("ping", "{}"), []byte(`"result"`)) {
		alive = "1"
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return alive, rssMB
	}
	if f := strings.Fields(string(raw)); len(f) > 1 {
		pages, _ := strconv.Atoi(f[1])
		rssMB = strconv.Itoa(pages * os.Getpagesize() >> 20)
	}
	return alive, rssMB
}

// close ends the connection and waits for the server's end.
func (p *peerOf) close() {
	p.closed.Do(func() {
		_ = p.in.Close()
		late := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
		for range p.lines { //nolint:revive // drained so that the server can write its last lines
		}
		_ = p.cmd.Wait()
		late.Stop()
	})
}
