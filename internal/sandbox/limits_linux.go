package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Defaults. Of memory, what one process can write to and does not share is limited
// (RLIMIT_DATA): the address space would be the wrong measure, for Node, Go, Java and
// the sanitizers reserve far more of it than they use. Three quarters of the machine's
// memory is more than any honest build takes; and should several processes together
// take it all, the kernel ends theirs first (killFirst).
const (
	defaultProcesses = 2048
	defaultFileSize  = 4 << 30
	defaultFiles     = 8192
	killFirst        = "800" // of 1000, in oom_score_adj
)

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// limit sets the limits of everything in the namespace, on its first process while it
// waits at the gate: it is the one that all others inherit from.
func (l *launch) limit(proc *confined, pid int) error {
	limits := l.policy.Limits
	if err := setLimits(pid, limits, uint64(or(limits.Processes, defaultProcesses))); err != nil {
		return unheld(err, "its limits can't be set")
	}
	// Only raised, so it needs no right. Without it the kernel chooses by size alone.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(killFirst), 0)
	if os.Geteuid() != 0 {
		return nil
	}
	if l.group.dir != "" { // it began in there
		if err := l.group.holds(pid); err != nil {
			return unheld(err, "its processes are not counted")
		}
		return nil
	}
	group, err := newPidsGroup(pid, or(limits.Processes, defaultProcesses))
	if err != nil {
		return unheld(err, "it would run as root, whose processes only a control group can limit, and none can be made: run as another account, or with a writable /sys/fs/cgroup")
	}
	proc.onEnd(group.finish)
	return nil
}

// setLimits sets what the kernel counts for a process; 0 is this one.
func setLimits(pid int, limits Limits, processes uint64) error {
	for _, r := range []struct {
		what  int
		value uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, uint64(or(limits.FileSize, defaultFileSize))},
		{unix.RLIMIT_NOFILE, uint64(or(limits.Files, defaultFiles))},
		{unix.RLIMIT_DATA, uint64(or(limits.Memory, int64(memory()/4*3)))},
		{unix.RLIMIT_NPROC, processes},
	} {
		if err := lower(pid, r.what, r.value); err != nil {
			return err
		}
	}
	return nil
}

// lower sets both limits of one kind, but never above what they are.
func lower(pid, what int, value uint64) error {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, what, nil, &old); err != nil {
		return err
	}
	value = min(value, old.Max)
	return unix.Prlimit(pid, what, &unix.Rlimit{Cur: value, Max: value}, nil)
}

// pidsGroup is a control group that limits processes and threads. The kernel does not
// count those of root against RLIMIT_NPROC.
type pidsGroup struct{ dir string }

// newPidsGroup makes a group for one process and all that it starts.
func newPidsGroup(pid, most int) (pidsGroup, error) {
	var errs error
	for _, parent := range pidsParents() {
		g, err := makeGroup(parent)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		if err = g.allow(most); err == nil {
			err = g.write("cgroup.procs", pid)
		}
		if err == nil {
			return g, nil
		}
		errs = errors.Join(errs, err)
		g.remove()
	}
	return pidsGroup{}, errs
}

// makeGroup makes an empty group, and removes those that were left.
func makeGroup(parent string) (pidsGroup, error) {
	sweepGroups(parent)
	dir, err := os.MkdirTemp(parent, fmt.Sprintf("holdfast-%d-", os.Getpid()))
	return pidsGroup{dir}, err
}

// allow sets how many processes and threads there may be. It fails where the folder is
// no control group, or its hierarchy does not count processes.
func (g pidsGroup) allow(most int) error { return g.write("pids.max", most) }

// write sets what the kernel has a file for, and makes none.
func (g pidsGroup) write(name string, value int) error {
	f, err := os.OpenFile(filepath.Join(g.dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Itoa(value))
	return errors.Join(err, f.Close())
}

// start starts a program in the group.
func (g pidsGroup) start(cmd *exec.Cmd) error {
	dir, err := os.Open(g.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	return spawn(cmd, true)
}

// holds makes sure that a process is in the group.
func (g pidsGroup) holds(pid int) error {
	members, err := os.ReadFile(g.dir + "/cgroup.procs")
	if err == nil && !slices.Contains(strings.Fields(string(members)), strconv.Itoa(pid)) {
		err = errors.New("it is not in its control group")
	}
	return err
}

// count is how many processes and threads the kernel counts; 0 where it does not say.
func (g pidsGroup) count() int {
	text, _ := os.ReadFile(g.dir + "/pids.current")
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// members are the processes of the group that have not ended, but for this one, which a
// counted spawner has a thread of in there.
func (g pidsGroup) members() (all []int) {
	list, _ := os.ReadFile(g.dir + "/cgroup.procs") // without the file there is no group, and nothing in it
	for _, word := range strings.Fields(string(list)) {
		if pid, err := strconv.Atoi(word); err == nil && pid != os.Getpid() {
			all = append(all, pid)
		}
	}
	return all
}

// end ends all members, and reports whether none is left.
func (g pidsGroup) end() bool {
	return endAll(func() bool {
		all := g.members()
		for _, pid := range all {
			g.kill(pid)
		}
		return len(all) == 0
	})
}

// kill ends a member. Its id may be another's by now, so it is looked at again.
func (g pidsGroup) kill(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it ended
	}
	defer unix.Close(fd)
	if g.holds(pid) == nil {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// finish ends what is left in the group, and removes it.
func (g pidsGroup) finish() {
	g.end()
	g.remove()
}

// pidsHierarchy is the old hierarchy that counts processes, where there is one.
const pidsHierarchy = "/sys/fs/cgroup/pids"

// pidsParents are where such a group can be.
func pidsParents() []string { return append([]string{pidsHierarchy}, unifiedParents()...) }

// unifiedParents are those in the unified hierarchy: beside or below the group of this
// process, or at the top.
func unifiedParents() (all []string) {
	const unified = "/sys/fs/cgroup"
	own, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(own)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/"); ok && group != "" && !strings.Contains(group, "..") {
			dir := filepath.Join(unified, group)
			all = append(all, dir, filepath.Dir(dir))
		}
	}
	return append(all, unified)
}

// sweepGroups removes the empty groups of programs that were killed and could not.
func sweepGroups(parent string) {
	groups, _ := filepath.Glob(filepath.Join(parent, "holdfast-*-*"))
	for _, dir := range groups {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), "holdfast-"), "-")
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(dir) // another may have
		}
	}
}

// remove does not wait for the kernel: a process leaves its group a little after its end
// is seen.
func (g pidsGroup) remove() {
	if !g.removed() {
		go g.await()
	}
}

// await is for who ends right after.
func (g pidsGroup) await() {
	for range 100 {
		if g.removed() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (g pidsGroup) removed() bool {
	err := os.Remove(g.dir)
	return err == nil || errors.Is(err, os.ErrNotExist)
}
