package sandbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

func init() {
	roles["start"] = startAndWait
	roles["choose"] = chooseAndSay
}

// policy is one over new folders: a workspace with some hidden files, and an empty home.
func policy(t testing.TB, hidden int) sandbox.Policy {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := sandbox.Policy{Mode: sandbox.ModeWorkspaceWrite, Roots: []string{base + "/ws"}, Home: base + "/home", State: []string{base + "/state"}, Env: []string{"PATH=/usr/bin:/bin"}}
	for _, dir := range []string{p.Roots[0], p.Home, p.State[0]} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range hidden {
		dir := fmt.Sprintf("%s/d%d", p.Roots[0], i%50)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		p.Hidden = append(p.Hidden, fmt.Sprintf("%s/f%d", dir, i))
		if err := os.WriteFile(p.Hidden[i], []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// variants are the ways by which a command is started.
var variants = []struct {
	name    string
	sandbox sandbox.Sandbox
	hidden  int
}{
	{"bubblewrap", sandbox.Bubblewrap(), 3},
	{"bubblewrap with an inner stage", sandbox.Bubblewrap(), 300},
	{"landlock", sandbox.Landlock(), 0},
	{"none", sandbox.Unconfined(), 0},
}

// startAndWait is the role that gets killed: it starts a command that nothing but a
// kill ends, and waits.
func startAndWait() int {
	var p sandbox.Policy
	if err := json.Unmarshal([]byte(os.Getenv("POLICY")), &p); err != nil {
		fmt.Println(err)
		return 1
	}
	for _, v := range variants {
		if v.name != os.Getenv("VARIANT") {
			continue
		}
		script := fmt.Sprintf(`trap '' HUP INT TERM; (setsid bash -c "trap '' HUP INT TERM; while :; do sleep 0.2; done" %[1]s &) ; echo STARTED; while :; do sleep 0.2; done; : %[1]s`, os.Getenv("NAME"))
		proc, err := v.sandbox.Start(context.Background(), p, sandbox.Command{Args: []string{"bash", "-c", script}, Dir: p.Roots[0], Stdout: os.Stdout, Stderr: os.Stderr})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		_, _ = proc.Wait()
	}
	return 0
}

// named are the processes that have a name in their arguments and are no zombies.
func named(name string) []int {
	var all []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		dir := filepath.Dir(f)
		text, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(text), name) {
			continue
		}
		stat, err := os.ReadFile(dir + "/stat")
		if pid, _ := strconv.Atoi(filepath.Base(dir)); err == nil && !strings.Contains(string(stat), ") Z ") {
			all = append(all, pid)
		}
	}
	return all
}

// TestAllEndsWithThisProgram kills the program that started a command, and its
// supervisor: nothing may be left a second later.
func TestAllEndsWithThisProgram(t *testing.T) {
	needBubblewrap(t)
	for _, v := range variants {
		for _, victim := range []string{"program", "supervisor"} {
			if victim == "supervisor" && (v.name == "none" || v.name == "landlock") {
				continue // where there is no process namespace, somebody else's kill leaves orphans
			}
			t.Run(v.name+"/"+victim, func(t *testing.T) {
				t.Parallel()
				p := policy(t, v.hidden)
				if v.name == "landlock" {
					p.Mode, p.Network = sandbox.ModeReadOnly, true
				}
				text, err := json.Marshal(p)
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("holdfast-orphan-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), roleVar+"=start", "POLICY="+string(text), "VARIANT="+v.name, "NAME="+name)
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
				if line, err := bufio.NewReader(out).ReadString('\n'); line != "STARTED\n" {
					t.Fatalf("%q %v", line, err)
				}
				kill := cmd.Process.Pid
				if victim == "supervisor" {
					kill = childOf(t, kill, "bwrap")
				}
				if err := syscall.Kill(kill, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				goneInASecond(t, name)
			})
		}
	}
}

// childOf is the child of a process that has a program's name.
func childOf(t *testing.T, pid int, program string) int {
	t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for _, child := range strings.Fields(string(text)) {
			args, _ := os.ReadFile("/proc/" + child + "/cmdline")
			if name, _, _ := strings.Cut(string(args), "\x00"); name != program {
				continue
			}
			if id, err := strconv.Atoi(child); err == nil {
				return id
			}
		}
	}
	t.Fatalf("it has no child that is %s", program)
	return 0
}

func goneInASecond(t *testing.T, name string) {
	t.Helper()
	goneWithin(t, name, time.Second)
}

// goneWithin is for where many are killed at once, on a machine that does much else.
func goneWithin(t *testing.T, name string, most time.Duration) {
	t.Helper()
	end := time.Now().Add(most)
	for {
		left := named(name)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			t.Fatalf("%d processes are left after %s", len(left), most)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
