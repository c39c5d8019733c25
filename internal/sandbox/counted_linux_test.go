package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// needGroups skips a test where threads can't be brought into control groups.
func needGroups(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(pidsHierarchy + "/tasks"); os.Geteuid() != 0 || err != nil {
		t.Skip("SKIPPED: this needs root and the old hierarchy of control groups")
	}
}

func (c *counted) value(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(c.group.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// What a counted spawner starts is in its group from the first moment, and so is what
// that starts; another command gets another group.
func TestCountedFromTheStart(t *testing.T) {
	needGroups(t)
	t.Cleanup(Quit)
	one, err := newCounted(5)
	if err != nil {
		t.Fatal(err)
	}
	other, err := newCounted(5)
	if err != nil {
		t.Fatal(err)
	}
	defer other.rest()
	if one.group == other.group {
		t.Fatal("two commands share a group")
	}
	cmd := exec.Command("/bin/sh", "-c", "echo $$; cat /proc/self/cgroup; read end")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := one.start(cmd, true); err != nil {
		t.Fatal(err)
	}
	if err := one.group.holds(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	if err := other.group.holds(cmd.Process.Pid); err == nil {
		t.Error("the other group has it too")
	}
	buf := make([]byte, 4096)
	n, _ := out.Read(buf)
	if said := string(buf[:n]); !strings.HasPrefix(said, strconv.Itoa(cmd.Process.Pid)) {
		t.Errorf("%q", said)
	}
	if got := one.value(t, "pids.max"); got != strconv.Itoa(5+beside) {
		t.Errorf("pids.max is %s", got)
	}
	in.Close()
	_ = cmd.Wait()
	one.rest()
	again, err := newCounted(7)
	if err != nil {
		t.Fatal(err)
	}
	defer again.rest()
	if again != one || again.value(t, "pids.max") != strconv.Itoa(7+beside) || again.value(t, "pids.current") != "1" {
		t.Errorf("it was not used again, or not as new: max %s, current %s", again.value(t, "pids.max"), again.value(t, "pids.current"))
	}
}

// Of the spares no more are kept than are of use, and none when the program ends.
func TestSparesEnd(t *testing.T) {
	needGroups(t)
	var all []*counted
	for range mostSpares + 3 {
		c, err := newCounted(1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		c.rest()
	}
	if n := len(spares.all); n != mostSpares {
		t.Errorf("%d spares", n)
	}
	Quit()
	for _, c := range all {
		c.group.await()
		if _, err := os.Stat(c.group.dir); err == nil {
			t.Error("a group is left:", c.group.dir)
		}
	}
}
