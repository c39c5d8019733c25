package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGateThatEnds brings a command to the gate and then ends the pipe without the sign, as
// the kernel does when this program is killed: nothing of the command may run.
func TestGateThatEnds(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_SANDBOX") != "" {
			t.Fatal("bubblewrap is not installed; run: make prepare")
		}
		t.Skip("SKIPPED: bubblewrap is not installed; run: make prepare")
	}
	for _, masks := range []int{1, maskedByStage} {
		for _, sign := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d masks, sign %v", masks, sign), func(t *testing.T) {
				said := endGate(t, masks, sign)
				if ran := strings.Contains(said, "RAN"); ran != sign {
					t.Errorf("it ran: %v\n%s", ran, said)
				}
				if !sign && !strings.Contains(said, "bwrap: ") {
					t.Errorf("bubblewrap did not end by itself: %s", said)
				}
			})
		}
	}
}

func endGate(t *testing.T, masks int, sign bool) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := Policy{Mode: ModeWorkspaceWrite, Roots: []string{base + "/ws"}, Home: base + "/home", Env: []string{"PATH=/usr/bin:/bin"}}
	for _, dir := range []string{p.Roots[0], p.Home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range masks {
		p.Hidden = append(p.Hidden, fmt.Sprintf("%s/f%d", p.Roots[0], i))
		if err := os.WriteFile(p.Hidden[i], nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := os.Create(base + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := Command{Args: []string{"sh", "-c", "echo RAN"}, Dir: p.Roots[0], Stdout: out, Stderr: out}
	places, err := plan(p)
	if err != nil {
		t.Fatal(err)
	}
	b := bubblewrap{"/usr/bin/bwrap"}
	l, err := b.prepare(p, &c, places)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := l.pipes()
	if err != nil {
		t.Fatal(err)
	}
	defer ends.close()
	cmd, err := l.spawn(func() *exec.Cmd { return l.command(b.program, c, ends) })
	if err != nil {
		t.Fatal(err)
	}
	proc := newConfined(t.Context(), cmd, nil, l.veil.remove, l.atEnd)
	pid, err := l.arrive(ends, proc, c)
	if err != nil {
		t.Error(err)
	}
	if sign {
		err = l.pass(proc, pid)
	}
	if err != nil {
		t.Error(err)
	}
	l.gate.close()
	exit, err := proc.Wait()
	if err != nil || (exit.Code == 0) != sign {
		t.Errorf("%+v %v", exit, err)
	}
	said, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}
