package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
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
	for _, r := range []struct {
		what  int
		value uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, uint64(or(limits.FileSize, defaultFileSize))},
		{unix.RLIMIT_NOFILE, uint64(or(limits.Files, defaultFiles))},
		{unix.RLIMIT_DATA, uint64(or(limits.Memory, int64(memory()/4*3)))},
		{unix.RLIMIT_NPROC, uint64(or(limits.Processes, defaultProcesses))},
	} {
		if err := lower(pid, r.what, r.value); err != nil {
			return unheld(err, "its limits can't be set")
		}
	}
	// Only raised, so it needs no right. Without it the kernel chooses by size alone.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(killFirst), 0)
	if os.Geteuid() != 0 {
		return nil
	}
	group, err := newPidsGroup(pid, or(limits.Processes, defaultProcesses))
	if err != nil {
		return unheld(err, "it would run as root, whose processes only a control group can limit, and none can be made")
	}
	proc.onEnd(group.remove)
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
		dir, err := os.MkdirTemp(parent, "holdfast-")
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		g := pidsGroup{dir}
		err = os.WriteFile(dir+"/pids.max", []byte(strconv.Itoa(most)), 0)
		if err == nil {
			err = os.WriteFile(dir+"/cgroup.procs", []byte(strconv.Itoa(pid)), 0)
		}
		if err == nil {
			return g, nil
		}
		errs = errors.Join(errs, err)
		g.remove()
	}
	return pidsGroup{}, errs
}

// pidsParents are where such a group can be: the old hierarchy of its own, or the
// unified one, at this process's own group or at the top.
func pidsParents() []string {
	return []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"}
}

// remove waits a moment for the kernel: a process leaves its group a little after its
// parent has seen its end.
func (g pidsGroup) remove() {
	for range 50 {
		if err := os.Remove(g.dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}
