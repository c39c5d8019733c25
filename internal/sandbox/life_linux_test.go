package sandbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

func init() {
	roles["cancel"] = cancelAndLook
	roles["begin"] = beginMany
	roles["watch"] = watchAndWait
}

// files is what a command may open in these tests. A command that says another number ran
// without its limits.
const files = 77

// accounts are those that the tests below are run as.
func accounts() map[string]uint32 {
	if os.Geteuid() != 0 {
		return map[string]uint32{"this account": uint32(os.Geteuid())}
	}
	return map[string]uint32{"root": 0, "nobody": 65534}
}

// life is what a program of these tests is told.
type life struct {
	Policy  sandbox.Policy
	Variant string
	Name    string // in the arguments of all that is started
	Rounds  int
}

// newLife makes the folders of a program that runs as an account.
func newLife(t *testing.T, variant string, hidden int, user uint32) (life, *exec.Cmd) {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "holdfast-life-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	program := copyOfThis(t, base)
	l := life{Variant: variant, Name: "holdfast-life-" + filepath.Base(base)}
	l.Policy = sandbox.Policy{Mode: sandbox.ModeWorkspaceWrite, Roots: []string{base + "/ws"}, Home: base + "/home", Env: []string{"PATH=/usr/bin:/bin"}, Limits: sandbox.Limits{Files: files}}
	for _, dir := range []string{l.Policy.Roots[0], l.Policy.Home, base + "/tmp"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, int(user), int(user)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range hidden {
		l.Policy.Hidden = append(l.Policy.Hidden, fmt.Sprintf("%s/f%d", l.Policy.Roots[0], i))
		if err := os.WriteFile(l.Policy.Hidden[i], nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program)
	cmd.Dir = base
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user, NoSetGroups: os.Geteuid() != 0}}
	return l, cmd
}

// as gives the environment of a program that plays a role.
func (l life) as(t *testing.T, role string) []string {
	t.Helper()
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"PATH=/usr/bin:/bin", "TMPDIR=" + filepath.Dir(l.Policy.Home) + "/tmp", roleVar + "=" + role, "LIFE=" + string(text)}
}

func told() (l life, s sandbox.Sandbox) {
	if err := json.Unmarshal([]byte(os.Getenv("LIFE")), &l); err != nil {
		panic(err)
	}
	for _, v := range variants {
		if v.name == l.Variant {
			s = v.sandbox
		}
	}
	return l, s
}

// command leaves a line when it runs, and does not end by itself.
func (l life) command() sandbox.Command {
	script := `ulimit -n >> lines; (setsid bash -c "while :; do sleep 0.2; done" ` + l.Name + ` &); while :; do sleep 0.2; done; : ` + l.Name
	return sandbox.Command{Args: []string{"bash", "-c", script}, Dir: l.Policy.Roots[0]}
}

func (l life) lines() []string {
	text, _ := os.ReadFile(l.Policy.Roots[0] + "/lines")
	return strings.Fields(string(text))
}

// cancelAndLook is the role of a program that cancels commands while they start, and looks
// right then for what is left.
func cancelAndLook() int {
	l, s := told()
	started := 0
	for i := range l.Rounds {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Duration(rand.IntN(20_000))*time.Microsecond, cancel)
		before := len(l.lines())
		proc, err := s.Start(ctx, l.Policy, l.command())
		if err == nil {
			started++
			_, _ = proc.Wait()
		}
		left, ran := named(l.Name), len(l.lines()) > before
		cancel()
		if len(left) > 0 && left[0] != os.Getpid() || err != nil && ran {
			args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", left[0]))
			fmt.Printf("round %d: left %v %q, it ran: %v, Start: %v\n", i, left, args, ran, err)
			return 1
		}
	}
	for _, line := range l.lines() {
		if line != strconv.Itoa(files) {
			fmt.Println("one ran without its limits:", line)
			return 1
		}
	}
	sandbox.Quit()
	fmt.Println("started", started, "of", l.Rounds, "and ran", len(l.lines()))
	return 0
}

// TestNothingIsLeftOfACancelled cancels commands at any moment of their start.
func TestNothingIsLeftOfACancelled(t *testing.T) {
	needBubblewrap(t)
	for account, user := range accounts() {
		for _, v := range variants[:2] {
			t.Run(account+"/"+v.name, func(t *testing.T) {
				t.Parallel()
				l, cmd := newLife(t, v.name, v.hidden, user)
				if l.Rounds = 100; v.hidden > 100 {
					l.Rounds = 40
				}
				cmd.Env = l.as(t, "cancel")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				t.Logf("%s", out)
				gone(t, l.Name, cmd.Process.Pid)
			})
		}
	}
}

// gone waits a moment until neither a process of that name nor a control group of a program
// is left.
func gone(t *testing.T, name string, program int) {
	t.Helper()
	goneWithin(t, name, 5*time.Second)
	var groups []string
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		groups = nil
		for _, parent := range []string{"", "*/"} {
			found, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/%sholdfast-%d-*", parent, program))
			groups = append(groups, found...)
		}
		if len(groups) == 0 {
			return
		}
	}
	t.Errorf("control groups are left: %v", groups)
}

// beginMany is the role that gets killed while it starts commands.
func beginMany() int {
	l, s := told()
	fmt.Println("READY")
	for {
		if _, err := s.Start(context.Background(), l.Policy, l.command()); err != nil {
			fmt.Println(err)
			return 1
		}
	}
}

// TestNothingIsLeftOfTheKilled kills a program that starts commands, at any moment.
func TestNothingIsLeftOfTheKilled(t *testing.T) {
	needBubblewrap(t)
	for account, user := range accounts() {
		for _, v := range variants[:2] {
			t.Run(account+"/"+v.name, func(t *testing.T) {
				t.Parallel()
				l, proto := newLife(t, v.name, v.hidden, user)
				for range 25 {
					cmd := exec.Command(proto.Path)
					cmd.Dir, cmd.SysProcAttr, cmd.Env = proto.Dir, proto.SysProcAttr, l.as(t, "begin")
					out, err := cmd.StdoutPipe()
					if err != nil {
						t.Fatal(err)
					}
					if err := cmd.Start(); err != nil {
						t.Fatal(err)
					}
					if line, err := bufio.NewReader(out).ReadString('\n'); line != "READY\n" {
						t.Errorf("%q %v", line, err)
					}
					time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond)
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
					gone(t, l.Name, cmd.Process.Pid)
				}
				for _, line := range l.lines() {
					if line != strconv.Itoa(files) {
						t.Error("one ran without its limits:", line)
					}
				}
				t.Log("ran", len(l.lines()))
			})
		}
	}
}

// watchAndWait is the role of a program whose children would outlive it: they ask the
// kernel for nothing.
func watchAndWait() int {
	l, _ := told()
	var unwatch func()
	for _, kind := range []string{"group", "process", "forgotten"} {
		cmd := exec.Command("bash", "-c", "sleep 60 & wait; : "+l.Name+" "+kind)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		err := cmd.Start()
		if err == nil && kind == "group" {
			_, err = sandbox.WatchGroup(cmd.Process.Pid)
		} else if err == nil {
			var fd int
			if fd, err = unix.PidfdOpen(cmd.Process.Pid, 0); err == nil {
				unwatch, err = sandbox.WatchProcess(fd)
			}
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
	}
	unwatch()
	fmt.Println("READY")
	time.Sleep(time.Minute)
	return 0
}

// TestWatchdog kills the watchdog itself, and then the program that it watches.
func TestWatchdog(t *testing.T) {
	for _, first := range []string{"", "SIGKILL", "SIGTERM"} {
		t.Run("after "+first, func(t *testing.T) {
			t.Parallel()
			l, cmd := newLife(t, "", 0, uint32(os.Geteuid()))
			cmd.Env = l.as(t, "watch")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Kill()
				for _, pid := range named(l.Name) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}()
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "READY\n" {
				t.Fatalf("%q %v", line, err)
			}
			dog := childOf(t, cmd.Process.Pid, "holdfast-sandbox-stage")
			if first != "" {
				time.Sleep(1100 * time.Millisecond) // one that ended at once would not be replaced
				_ = syscall.Kill(dog, unix.SignalNum(first))
				time.Sleep(300 * time.Millisecond)
				if now := childOf(t, cmd.Process.Pid, "holdfast-sandbox-stage"); (now != dog) != (first == "SIGKILL") {
					t.Errorf("the watchdog was %d and is %d", dog, now)
				}
			}
			if all := named(l.Name); len(all) != 3 {
				t.Fatalf("%d processes before the end", len(all))
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			end := time.Now().Add(time.Second)
			for len(named(l.Name)) > 1 && time.Now().Before(end) {
				time.Sleep(time.Millisecond)
			}
			left := named(l.Name)
			if len(left) != 1 {
				t.Fatalf("%d processes are left", len(left))
			}
			if args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", left[0])); !strings.Contains(string(args), "forgotten") {
				t.Errorf("%q is left", args)
			}
		})
	}
}
