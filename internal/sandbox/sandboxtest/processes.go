//go:build linux

package sandboxtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

// givenTests are about what a child is given.
var givenTests = []test{
	{"exit codes and both outputs", func(s *scene) {
		if said, exit := s.run("bash", "-c", "echo out; echo err >&2; exit 7"); exit.Code != 7 || said != "out\nerr\n" {
			s.Errorf("%+v %q", exit, said)
		}
		if _, exit := s.run("bash", "-c", "kill -TERM $$"); exit.Code != 128+15 {
			s.Errorf("of SIGTERM: %+v", exit)
		}
		if _, exit := s.run("/no/such/program"); exit.Code == 0 {
			s.Error("a program that is not there succeeded")
		}
	}},
	{"the folder, and an argument with everything in it", func(s *scene) {
		if said, _ := s.run("printf", "%s|", "a b", "", "\n", "--bind", "é\xff", "$(id)"); said != "a b||\n|--bind|é\xff|$(id)|" {
			s.Errorf("%q", said)
		}
		s.says(s.bash("pwd; cd /; pwd"), s.ws+"\n/\n")
	}},
	{"the environment is the policy's and nothing else", func(s *scene) {
		said, _ := s.run("env", "-0")
		if want := strings.Join(s.policy.Env, "\x00") + "\x00"; said != want && said != want+"PWD="+s.ws+"\x00" && !sameEnv(said, append(s.policy.Env, "PWD="+s.ws)) {
			s.Errorf("the environment is %q", said)
		}
	}},
	{"standard input is empty", func(s *scene) {
		s.says(s.bash(`read -r x && echo GOT; cat; echo END`), "END")
	}},
	{"no descriptor above two", func(s *scene) {
		// Two descriptors as a careless parent would leave them: open across exec.
		f, err := os.Open(s.write(s.state+"/s", mark))
		if err != nil {
			s.Fatal(err)
		}
		defer f.Close()
		leaked, err := syscall.Dup(int(f.Fd()))
		if err != nil {
			s.Fatal(err)
		}
		defer syscall.Close(leaked)
		said := s.bash(`for fd in /proc/self/fd/*; do [ -e "$fd" ] && echo "fd ${fd##*/}"; done; for i in $(seq 3 60); do cat <&$i; done 2>/dev/null; true`)
		s.unseen(said)
		for i := 3; i < 60; i++ {
			if i != 255 {
				s.silent(said, "fd "+strconv.Itoa(i)+"\n")
			}
		}
	}},
}

// processTests are about other processes, and rights.
var processTests = []test{
	{"no environment of this program is seen", func(s *scene) {
		cmd := exec.Command("sleep", "60")
		cmd.Env = []string{"SECRET=" + mark}
		if err := cmd.Start(); err != nil {
			s.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		said := s.bash(fmt.Sprintf(`cat /proc/self/environ /proc/1/environ /proc/$PPID/environ /proc/%d/environ /proc/%d/environ /proc/*/environ | tr '\0' '\n'; env; export -p`, os.Getpid(), cmd.Process.Pid))
		s.unseen(said)
		s.silent(said, "HOLDFAST_")
		s.silent(said, "GOCACHE")
	}},
	{"other processes are not seen", func(s *scene) {
		canary := s.canary()
		said := s.bash(`cat /proc/*/cmdline | tr '\0' ' '; ls /proc | grep -E '^[0-9]+$'; ps -ef`)
		s.silent(said, "holdfast-canary-proc")
		s.silent(said, "\n"+strconv.Itoa(canary)+"\n")
	}},
	{"other processes get no signal", func(s *scene) {
		canary := s.canary()
		s.bash(fmt.Sprintf(`kill -9 %d %d; kill -9 $PPID; kill -9 1; kill -TERM -1; kill -9 -%d; true`, canary, os.Getpid(), canary))
		s.bash(`kill -9 -1`)
		if err := syscall.Kill(canary, 0); err != nil || ended(canary) {
			s.Error("another process was killed")
		}
	}},
	{"no capabilities, no new privileges", func(s *scene) {
		said := s.python(`
print("bounding", sum(libc.prctl(23, c, 0, 0, 0) == 1 for c in range(64)), "ambient", sum(libc.prctl(47, 1, c, 0, 0) == 1 for c in range(64)))
print("privileges", libc.prctl(39, 0, 0, 0, 0), "seccomp", libc.prctl(21, 0, 0, 0, 0))
header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
print("capget", libc.capget(header, sets), list(sets))`)
		if os.Geteuid() == 0 || s.sandbox.Name() == "bubblewrap" { // who has none can't give up more
			s.says(said, "bounding 0 ambient 0\n")
		}
		s.says(said, "privileges 1 seccomp 2\n")
		s.says(said, "capget 0 [0, 0, 0, 0, 0, 0]\n")
	}},
}

func sameEnv(said string, want []string) bool {
	got := strings.Split(strings.TrimSuffix(said, "\x00"), "\x00")
	if len(got) != len(want) {
		return false
	}
	for _, w := range want {
		if !strings.Contains("\x00"+said, "\x00"+w+"\x00") {
			return false
		}
	}
	return true
}

// canary is a process of the machine that no child may see or end.
func (s *scene) canary() int {
	cmd := exec.Command("bash", "-c", "exec -a holdfast-canary-proc sleep 60")
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// ended reports whether a process is there no more, or only its parent has not looked.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// stubborn is a script whose children leave their parents, session and process group
// and ignore every signal that can be ignored. Each has the mark in its arguments.
func stubborn(name string) string {
	child := fmt.Sprintf(`bash -c "trap '' HUP INT TERM QUIT USR1 USR2 TSTP; while :; do sleep 0.2; done" %s`, name)
	return fmt.Sprintf(`(setsid %[1]s >/dev/null 2>&1 &) ; (setsid setsid -f %[1]s >/dev/null 2>&1 &) ; nohup %[1]s >/dev/null 2>&1 & disown; echo STARTED; `, child)
}

// left are the processes of the machine with a name in their arguments.
func left(name string) []int {
	var all []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(text), name) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(f, "/")[2]); err == nil && pid != os.Getpid() && !ended(pid) {
			all = append(all, pid)
		}
	}
	return all
}

// gone reports whether all of that name end within a second.
func (s *scene) gone(name string) {
	s.Helper()
	for end := time.Now().Add(time.Second); ; time.Sleep(5 * time.Millisecond) {
		pids := left(name)
		if len(pids) == 0 {
			return
		}
		if time.Now().After(end) {
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			s.Errorf("%d processes are left after a second", len(pids))
			return
		}
	}
}

// started waits until a command said that its children run.
func (s *scene) started(said *os.File) {
	s.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if text, _ := os.ReadFile(said.Name()); strings.Contains(string(text), "STARTED") {
			return
		}
	}
	s.Fatalf("it did not start: %s", content(said))
}

func (s *scene) name(what string) string {
	return fmt.Sprintf("holdfast-%s-%s-%d", s.sandbox.Name(), what, os.Getpid())
}

// endTests are about the end: nothing of a command outlives it.
var endTests = []test{
	{"all ends with the command", func(s *scene) {
		name := s.name("exit")
		said := s.bash(stubborn(name) + "exit 0")
		s.says(said, "STARTED")
		if pids := left(name); len(pids) > 0 {
			s.Errorf("%d processes were left when Wait returned", len(pids))
		}
		s.gone(name)
	}},
	{"all ends when nobody waits", func(s *scene) {
		name := s.name("unwaited")
		_, said := s.start(s.Context(), "bash", "-c", stubborn(name)+"sleep 0.1")
		s.started(said)
		time.Sleep(100 * time.Millisecond)
		s.gone(name)
	}},
	{"all ends with the context", func(s *scene) {
		name := s.name("context")
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		p, said := s.start(ctx, "bash", "-c", stubborn(name)+"sleep 60 # "+name)
		s.started(said)
		cancel()
		s.gone(name)
		if exit, err := p.Wait(); err != nil || exit != (sandbox.Exit{Code: -1, Signal: "killed"}) {
			s.Errorf("%+v %v", exit, err)
		}
	}},
	{"all ends with Kill, also when it is stopped", func(s *scene) {
		name := s.name("kill")
		p, said := s.start(s.Context(), "bash", "-c", stubborn(name)+"kill -STOP $$ # "+name)
		s.started(said)
		p.Kill()
		s.gone(name)
		p.Kill()
		if exit, err := p.Wait(); err != nil || exit != (sandbox.Exit{Code: -1, Signal: "killed"}) {
			s.Errorf("%+v %v", exit, err)
		}
		p.Kill()
		if exit, _ := p.Wait(); exit.Signal != "killed" {
			s.Errorf("a second Wait: %+v", exit)
		}
	}},
	{"nothing starts under a context that ended", func(s *scene) {
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		if _, err := s.sandbox.Start(ctx, s.policy, sandbox.Command{Args: []string{"touch", "PWNED"}, Dir: s.ws}); err == nil {
			s.Error("it started")
		}
		s.absent(s.ws + "/PWNED")
	}},
}
