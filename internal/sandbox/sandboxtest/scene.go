//go:build linux

// Package sandboxtest is the one suite that every sandbox has to pass: each promise of
// docs/design/workspace.md section 7 is a case that tries to break it for real, and
// looks at what came of it. What a sandbox refuses to run holds every promise; but
// bubblewrap refuses nothing, and of the honest work at the end something has to run.
package sandboxtest

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

// mark is what must never be seen: the content of every secret.
const mark = "holdfast-canary-7f3a91"

// scene is one case: a machine with a workspace, a home directory, this program's state
// and a folder outside, and a policy over them.
type scene struct {
	*testing.T
	sandbox  sandbox.Sandbox
	policy   sandbox.Policy
	ws, home string
	out      string // outside, neither workspace nor home
	state    string
	refused  *atomic.Int32
}

// layout is where the folders of a scene lie. The private /tmp, and the emptied home
// directory, make a difference.
type layout struct {
	name string
	make func(t *testing.T) (ws, home, out, state string)
}

var layouts = []layout{
	{"in the temporary directory", func(t *testing.T) (string, string, string, string) {
		base := real(t, t.TempDir())
		return base + "/ws", base + "/home", base + "/out", base + "/state"
	}},
	{"elsewhere", func(t *testing.T) (string, string, string, string) {
		base := elsewhere(t)
		return base + "/ws", base + "/home", base + "/out", base + "/state"
	}},
	{"in the home directory", func(t *testing.T) (string, string, string, string) {
		base := elsewhere(t)
		home := base + "/home"
		return home + "/projects/ws", home, base + "/out", home + "/.local/state/holdfast"
	}},
}

// elsewhere is a new folder that is not in the temporary directory.
func elsewhere(t *testing.T) string {
	dir, err := os.MkdirTemp(".", ".sandboxtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return real(t, dir)
}

func real(t *testing.T, path string) string {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func newScene(t *testing.T, s sandbox.Sandbox, l layout, refused *atomic.Int32) *scene {
	ws, home, out, state := l.make(t)
	for _, dir := range []string{ws, home, out, state} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sc := &scene{T: t, sandbox: s, ws: ws, home: home, out: out, state: state, refused: refused}
	sc.policy = sandbox.Policy{
		Mode: sandbox.ModeWorkspaceWrite, Roots: []string{ws}, Home: home, State: []string{state},
		Env: []string{"PATH=" + path(), "HOME=" + home, "LANG=C.UTF-8", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"},
	}
	if sc.refuses() {
		// The least that a policy can be: cases that are about more ask for it.
		sc.policy.Mode, sc.policy.Network = sandbox.ModeReadOnly, true
	}
	return sc
}

// refuses reports whether the sandbox does not run the policy as it is.
func (s *scene) refuses() bool {
	s.Helper()
	p, err := s.sandbox.Start(s.Context(), s.policy, sandbox.Command{Args: []string{"true"}, Dir: s.ws})
	if err != nil {
		return s.sandbox.Name() != "bubblewrap" && fault.KindOf(err) == fault.Unavailable
	}
	_, _ = p.Wait()
	return false
}

// writing is for a case about a workspace that can be written, offline for one about
// the loopback.
func (s *scene) writing() { s.policy.Mode = sandbox.ModeWorkspaceWrite }
func (s *scene) offline() { s.policy.Network = false }

// path has the system's programs before those of this account, which may be scripts
// that need a home directory.
func path() string {
	return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin:" + os.Getenv("PATH")
}

// write puts a file on the machine. Its name is absolute, or in the workspace.
func (s *scene) write(name, content string) string {
	s.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.ws, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		s.Fatal(err)
	}
	return name
}

// holds reports whether a file has a content still.
func (s *scene) holds(name, content string) {
	s.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.ws, name)
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != content {
		s.Errorf("%s was changed: %q (%v)", name, got, err)
	}
}

// absent reports whether a file did not come to be.
func (s *scene) absent(names ...string) {
	s.Helper()
	for _, name := range names {
		if _, err := os.Lstat(name); err == nil {
			s.Errorf("%s came to be", name)
		}
	}
}

// unseen reports whether neither what was said nor a file of the workspace, but for
// those named, tells a secret.
func (s *scene) unseen(said string, but ...string) {
	s.Helper()
	if strings.Contains(said, mark) {
		s.Errorf("a secret was told:\n%s", said)
	}
	allowed := map[string]bool{}
	for _, b := range but {
		allowed[b] = true
	}
	_ = filepath.WalkDir(s.ws, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || allowed[path] {
			return nil
		}
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(mark)) {
			s.Errorf("a secret was copied to %s", path)
		}
		return nil
	})
}

// start starts a command with both outputs into one file.
func (s *scene) start(ctx context.Context, args ...string) (sandbox.Process, *os.File) {
	s.Helper()
	said, err := os.CreateTemp(s.TempDir(), "said")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { said.Close() })
	p, err := s.sandbox.Start(ctx, s.policy, sandbox.Command{Args: args, Dir: s.ws, Stdout: said, Stderr: said})
	if err != nil {
		if s.sandbox.Name() != "bubblewrap" && fault.KindOf(err) == fault.Unavailable {
			s.refused.Add(1)
			s.Skipf("refused, so nothing can come of it: %v", err)
		}
		s.Fatalf("not started: %v: %v\n%s", err, unwrapped(err), content(said))
	}
	return p, said
}

func unwrapped(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

func content(f *os.File) string {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err.Error()
	}
	text, _ := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(text)
}

// run runs a program to its end.
func (s *scene) run(args ...string) (string, sandbox.Exit) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	p, said := s.start(ctx, args...)
	exit, err := p.Wait()
	if err != nil {
		s.Fatal(err)
	}
	if exit.Signal != "" {
		s.Logf("ended by %s", exit.Signal)
	}
	return content(said), exit
}

// bash runs a script.
func (s *scene) bash(script string) string {
	s.Helper()
	said, _ := s.run("bash", "--noprofile", "--norc", "-c", script)
	return said
}

// python runs a script, with ctypes and a raw system call at hand: call(number, ...)
// gives its result, or the negative error.
func (s *scene) python(script string) string {
	s.Helper()
	s.need("python3")
	const head = `
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(n, *args):
    r = libc.syscall(ctypes.c_long(n), *[ctypes.c_ulong(a & (1 << 64) - 1) if isinstance(a, int) else a for a in args])
    return -ctypes.get_errno() if r == -1 else r
`
	said, _ := s.run("python3", "-c", head+script)
	return said
}

// need skips a case whose program is not on this machine.
func (s *scene) need(programs ...string) {
	s.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			if os.Getenv("HOLDFAST_REQUIRE_SANDBOX") != "" {
				s.Fatalf("%s is not installed; run: make prepare", p)
			}
			s.Skipf("SKIPPED: %s is not installed; run: make prepare", p)
		}
	}
}

// says reports whether something was said.
func (s *scene) says(said, want string) {
	s.Helper()
	if !strings.Contains(said, want) {
		s.Errorf("%q was not said, but:\n%s", want, said)
	}
}

// silent reports whether something was not said.
func (s *scene) silent(said, never string) {
	s.Helper()
	if strings.Contains(said, never) {
		s.Errorf("%q was said:\n%s", never, said)
	}
}
