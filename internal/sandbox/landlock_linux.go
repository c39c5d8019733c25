package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	ll "github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// landlock confines by the Landlock rules that a process sets for itself, and seccomp.
// It has no namespaces, and so it holds few policies; the others it refuses to run:
//
//   - It grants trees and can't take a part out of one: nothing may be hidden or kept
//     inside the roots.
//   - It does not see changes of modes, owners, times and attributes, which are then
//     refused everywhere by seccomp: so nothing may be writable.
//   - It can give no loopback of its own, and can't keep away the unix sockets of the
//     machine: so the network must be the machine's, and unix sockets off.
//
// /proc, /tmp, /run and /dev are not private but closed, but for /dev/null and the like.
type landlock struct{}

func (landlock) Name() string { return "landlock" }

// landlockABI is the oldest that is used: with 6 it keeps signals and abstract sockets in.
const landlockABI = 6

// landlockLacks says why a policy can't be held, in a sentence; nothing when it can.
func landlockLacks(p Policy) string {
	version, err := llsys.LandlockGetABIVersion()
	switch {
	case err != nil:
		return "this kernel has no Landlock, or it is not switched on (lsm=landlock,...)."
	case version < landlockABI:
		return fmt.Sprintf("this kernel's Landlock is version %d, and %d (Linux 6.12) is needed.", version, landlockABI)
	case p.Mode != ModeReadOnly:
		return "it can't keep the modes and times of files outside from being changed, so it is used for --sandbox read-only alone."
	case !p.Network:
		return "it can't give a command a loopback of its own, so it is used with sandbox.network \"host\" alone."
	case p.Unix:
		return "it can't keep the machine's unix sockets away, so it is not used with sandbox.unixSockets."
	}
	places, err := plan(p)
	if err != nil {
		return err.Error() + "."
	}
	granted := slices.Concat(p.Roots, p.Readable, p.Writable)
	for _, place := range places {
		if (place.kind == veiled || place.kind == fresh) && inAny(place.path, granted) {
			return "it can't hide anything inside the workspace or another folder that can be read."
		}
	}
	return ""
}

func (landlock) Start(ctx context.Context, p Policy, c Command) (Process, error) {
	if err := check(p, c); err != nil {
		return nil, err
	}
	if why := landlockLacks(p); why != "" {
		return nil, fault.New(fault.Unavailable, "the command was not run, for Landlock can't hold the policy: "+why, "install bubblewrap, which holds every policy")
	}
	program, err := landlockFilter()
	if err != nil {
		return nil, unheld(err, "its system calls can't be filtered")
	}
	read, err := landlockGrants(p)
	if err != nil {
		return nil, unheld(err, "what it may read can't be listed")
	}
	o := order{Args: c.Args, Env: append([]string{}, p.Env...), Dir: c.Dir, Confine: &confinement{Seccomp: program, Read: read, Limits: p.Limits}}
	return supervised(ctx, o, c)
}

// confinement is what the second stage of a Landlock child takes away from itself.
type confinement struct {
	Seccomp []byte
	Read    []string
	Limits  Limits
}

// devices are what is left of /dev.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

func (c *confinement) apply() error {
	if err := c.limit(); err != nil {
		return fmt.Errorf("its limits can't be set: %w", err)
	}
	config := ll.V6
	config.HandledAccessNet = 0 // the network is the machine's
	rules := []ll.Rule{ll.RWFiles(devices...)}
	for _, path := range c.Read {
		info, err := os.Stat(path)
		switch {
		case err != nil: // it is gone, or a link to nowhere
		case info.IsDir():
			rules = append(rules, ll.RODirs(path).IgnoreIfMissing())
		case info.Mode().IsRegular():
			rules = append(rules, ll.ROFiles(path).IgnoreIfMissing())
		}
	}
	return config.Restrict(rules...)
}

// limit sets the limits of this process and all that it starts. Without a user namespace
// RLIMIT_NPROC is of all processes of the account, so it is set to those that there are
// and the command's; the kernel does not hold root to it, and a control group does.
func (c *confinement) limit() error {
	processes := or(c.Limits.Processes, defaultProcesses)
	if os.Geteuid() == 0 {
		group, err := newPidsGroup(os.Getpid(), processes)
		if err != nil {
			return err
		}
		fmt.Fprint(os.NewFile(groupFD, "group"), group.dir) // the supervisor removes it
	} else {
		processes += accountTasks()
	}
	return setLimits(0, c.Limits, uint64(processes))
}

// accountTasks counts the threads of this account.
func accountTasks() int {
	n := 0
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	for _, t := range tasks {
		var stat unix.Stat_t
		if unix.Stat(t, &stat) == nil && int(stat.Uid) == os.Getuid() {
			n++
		}
	}
	return n
}

// landlockGrants are the trees that can be read: everything but what is veiled or empty
// under bubblewrap, and what is shown within that.
func landlockGrants(p Policy) ([]string, error) {
	places, err := plan(p)
	if err != nil {
		return nil, err
	}
	closed := []string{"/proc", "/dev"}
	var open []string
	for _, place := range places {
		switch place.kind {
		case fresh, veiled:
			closed = append(closed, place.path)
		case readable, writable:
			open = append(open, place.path)
		case pinned, locked: // there are none without a writable place
		}
	}
	return append(grantAround("/", closed), open...), nil
}

// grantAround are the largest trees below a folder that hold nothing closed.
func grantAround(dir string, closed []string) []string {
	if inAny(dir, closed) {
		return nil
	}
	if !slices.ContainsFunc(closed, func(c string) bool { return within(c, dir) }) {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // the child can't list it either
	}
	var open []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 { // a link is judged by where it leads
			open = append(open, grantAround(filepath.Join(dir, e.Name()), closed)...)
		}
	}
	return open
}

// groupFD is where the second stage of a Landlock child tells the supervisor of its
// control group.
const groupFD = 4

// ownOnly are calls that take a process id: without a namespace of its own, a child could
// name any process of the account. Zero is the caller itself.
var ownOnly = map[string]uint32{
	"prlimit64": 0, "sched_setaffinity": 0, "sched_setscheduler": 0, "sched_setparam": 0, "sched_setattr": 0, "setpriority": 1, "ioprio_set": 1,
}

// changing are the calls that change what Landlock does not look at, and shared memory
// and queues, of which there is no namespace.
var changing = []string{
	"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "utimensat", "futimesat",
	"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr",
	"shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl", "mq_open", "mq_unlink",
}

// landlockFilter is the filter of every confined child, and what namespaces would do.
func landlockFilter() ([]byte, error) { return filter(false, landlockRules) }
