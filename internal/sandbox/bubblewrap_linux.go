package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// bubblewrap confines by namespaces and mounts. It is safe for concurrent use.
type bubblewrap struct{ program string }

func (b bubblewrap) Name() string { return "bubblewrap" }

// The descriptors of bubblewrap, in the order of exec.Cmd.ExtraFiles.
const (
	argsFD = 3 + iota
	infoFD
	gateFD
	extraFD // the filter; or, for an inner stage, its order
	programFD
)

// Start goes in steps, so that nothing of the command runs before all is seen to hold:
// bubblewrap waits for its arguments, mounts, and then waits at the gate, an empty file
// that it is to copy. There what it mounted is looked at, and limits are set. Only then
// the gate opens. All along the watchdog knows of it, so that it ends if this program is
// killed.
func (b bubblewrap) Start(ctx context.Context, p Policy, c Command) (Process, error) {
	if err := check(p, c); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.Wrap(err, fault.Cancelled, "the command was cancelled before it started", "")
	}
	if !staged.Load() { // the watchdog is a stage
		return nil, notStaged()
	}
	places, err := plan(p)
	if err != nil {
		return nil, err
	}
	return b.launch(ctx, p, c, places)
}

// launch starts a command by a plan.
func (b bubblewrap) launch(ctx context.Context, p Policy, c Command, places []place) (Process, error) {
	l, err := b.prepare(p, &c, places)
	if err != nil {
		return nil, err
	}
	proc, err := l.run(ctx, b.program, c)
	if err != nil {
		l.veil.remove()
		return nil, err
	}
	return proc, nil
}

// prepare makes what needs no process. A command with many masks becomes the stage that
// makes them.
func (bubblewrap) prepare(p Policy, c *Command, places []place) (*launch, error) {
	program, err := filters[p.Unix]()
	if err != nil {
		return nil, unheld(err, "its system calls can't be filtered")
	}
	veil, err := newVeil()
	if err != nil {
		return nil, unheld(err, "there is no room for its masks")
	}
	l := &launch{policy: p, filter: program, veil: veil}
	if l.places, l.inner = inner(places, *c, p.Env, program); l.inner != nil {
		c.Args = []string{innerPath}
	}
	return l, nil
}

// unheld is the fault of a policy that can't be held here and now.
func unheld(err error, why string) error {
	return fault.Wrap(err, fault.Unavailable, "the command was not run, for it can't be confined: "+why,
		"holdfast workspace says on its standard error at start whether commands can be confined here")
}

// launch is one start under way.
type launch struct {
	policy Policy
	places []place // that bubblewrap mounts
	inner  *order  // of the inner stage, when there is one
	filter []byte
	veil   *veil
	gate   *gate
	group  pidsGroup // that it began in
	atEnd  func()    // what is done about that
}

func (l *launch) run(ctx context.Context, program string, c Command) (_ Process, err error) {
	if err := watching.ready(); err != nil {
		return nil, unwatched(err)
	}
	ends, err := l.pipes()
	if err != nil {
		return nil, unheld(err, "no pipes can be made")
	}
	defer ends.close()
	defer l.gate.close()
	cmd, err := l.spawn(func() *exec.Cmd { return l.command(program, c, ends) })
	if err != nil {
		return nil, unheld(err, "bubblewrap can't be started")
	}
	unwatch, err := watching.group(cmd.Process.Pid) // before anyone waits for it: the id is its own
	proc := newConfined(ctx, cmd, nil, l.veil.remove, l.atEnd, unwatch)
	if err != nil {
		err = unwatched(err)
	} else {
		err = l.admit(ends, proc, c)
	}
	// Before the gate is open nothing can run, and afterwards nothing fails.
	if err != nil {
		proc.Kill()
		_, _ = proc.Wait()
		if ctx.Err() != nil {
			return nil, fault.Wrap(ctx.Err(), fault.Cancelled, "the command was cancelled before it started", "")
		}
		return nil, err
	}
	return proc, nil
}

func (l *launch) command(program string, c Command, ends *pipeEnds) *exec.Cmd {
	cmd := &exec.Cmd{Path: program, Env: l.policy.Env, Dir: "/"}
	cmd.Args = append([]string{"bwrap", "--args", strconv.Itoa(argsFD), "--"}, c.Args...)
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would be the whole environment of this process
	}
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	cmd.ExtraFiles = []*os.File{ends.argsR, ends.infoW, l.gate.r, ends.extra}
	if l.inner != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, ends.program)
	}
	return cmd
}

// spawn starts bubblewrap; that of root, whose processes the kernel counts by control
// groups alone, in such a group. Where it can't begin in one, limit brings it there or
// fails.
func (l *launch) spawn(command func() *exec.Cmd) (*exec.Cmd, error) {
	l.atEnd = func() {}
	if os.Geteuid() == 0 {
		most := or(l.policy.Limits.Processes, defaultProcesses)
		if cmd, ok := l.spawnCounted(command(), most); ok {
			return cmd, nil
		}
		if cmd, ok := l.spawnInto(command, most); ok {
			return cmd, nil
		}
	}
	cmd := command()
	return cmd, spawn(cmd, true)
}

// spawnCounted starts it by a thread that is in a group, in the old hierarchy.
func (l *launch) spawnCounted(cmd *exec.Cmd, most int) (*exec.Cmd, bool) {
	s, err := newCounted(most)
	if err != nil {
		return nil, false
	}
	if err := s.start(cmd, true); err != nil {
		s.rest()
		return nil, false
	}
	l.group, l.atEnd = s.group, s.finish
	return cmd, true
}

// spawnInto starts it right in a new group, which the unified hierarchy can.
func (l *launch) spawnInto(command func() *exec.Cmd, most int) (*exec.Cmd, bool) {
	for _, parent := range unifiedParents() {
		g, err := makeGroup(parent)
		if err != nil {
			continue
		}
		cmd := command()
		if g.allow(most+1) == nil && g.start(cmd) == nil {
			l.group, l.atEnd = g, g.finish
			return cmd, true
		}
		g.remove()
	}
	return nil, false
}

// admit brings bubblewrap from its start to the open gate.
func (l *launch) admit(ends *pipeEnds, proc *confined, c Command) error {
	first, err := l.arrive(ends, proc, c)
	if err != nil {
		return err
	}
	return l.pass(proc, first)
}

// arrive brings bubblewrap to the gate, and gives the first process of its namespace.
func (l *launch) arrive(ends *pipeEnds, proc *confined, c Command) (pid int, err error) {
	ends.argsR.Close()
	ends.infoW.Close()
	l.gate.r.Close()
	_, err = io.WriteString(ends.argsW, strings.Join(l.arguments(c), "\x00")+"\x00")
	if err = errors.Join(err, ends.argsW.Close()); err != nil {
		return 0, unheld(err, "bubblewrap ended before it was told what to do")
	}
	var info struct {
		PID int `json:"child-pid"`
	}
	if err := json.NewDecoder(ends.infoR).Decode(&info); err != nil || info.PID < 2 {
		return 0, unheld(err, "bubblewrap can't make its namespaces; its own words are in the command's standard error")
	}
	first, err := childOf(proc.cmd.Process.Pid, info.PID)
	if err != nil {
		return 0, unheld(err, "the first process of its namespace ended")
	}
	unwatch, err := watching.process(first)
	proc.adopt(first)
	proc.onEnd(unwatch)
	if err != nil {
		return 0, unwatched(err)
	}
	if err := l.gate.reached(); err != nil {
		return 0, unheld(err, "bubblewrap can't mount what the policy says; its own words are in the command's standard error")
	}
	return info.PID, nil
}

// pass opens the gate when all is seen to hold.
func (l *launch) pass(proc *confined, pid int) error {
	root, err := mounted(pid)
	if err == nil {
		defer unix.Close(root)
		err = verify(root, l.places, l.veil)
	}
	if err != nil {
		return unheld(err, "the workspace changed while it was being confined; try again")
	}
	if err := l.limit(proc, pid); err != nil {
		return err
	}
	if err := l.gate.open(root); err != nil {
		return unheld(err, "it can't be let through the gate")
	}
	return nil
}

func unwatched(err error) error {
	return unheld(err, "nothing would end it if this program were killed; try again")
}

// arguments are those of bubblewrap, but for the command: it has to stand on the command
// line itself.
func (l *launch) arguments(c Command) []string {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--new-session", "--die-with-parent", "--cap-drop", "ALL", "--info-fd", strconv.Itoa(infoFD),
		"--ro-bind", "/", "/", "--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc",
	}
	if !l.policy.Network {
		args = append(args, "--unshare-net")
	}
	for _, path := range procCovers() {
		args = append(args, "--ro-bind", path, path)
	}
	for _, p := range l.places {
		args = append(args, l.mount(p)...)
	}
	if l.inner == nil {
		args = append(args, "--seccomp", strconv.Itoa(extraFD), "--chdir", c.Dir)
	} else {
		args = append(args, "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP", "--ro-bind-fd", strconv.Itoa(programFD), innerPath, "--chdir", "/")
	}
	// These two are the gate, and the last that is done before the command.
	return append(args, "--file", strconv.Itoa(gateFD), gatePath, "--chmod", "0700", l.gate.sign)
}

// machineProc is what of /proc is the machine's and not a process's, and can be written
// by root even without a capability. Bubblewrap itself covers irq and bus.
var machineProc = []string{"acpi", "driver", "dynamic_debug", "fs", "mtrr", "scsi", "sysrq-trigger"}

// procCovers are made read-only.
func procCovers() []string {
	covers := []string{"/proc/sys"}
	if os.Geteuid() != 0 {
		return covers
	}
	for _, name := range machineProc {
		if _, err := os.Lstat("/proc/" + name); err == nil {
			covers = append(covers, "/proc/"+name)
		}
	}
	return covers
}

func (l *launch) mount(p place) []string {
	switch p.kind {
	case fresh:
		perms := "0700"
		if strings.HasSuffix(p.path, "tmp") || strings.HasSuffix(p.path, "shm") {
			perms = "1777"
		}
		return []string{"--perms", perms, "--size", strconv.FormatUint(freshSize(), 10), "--tmpfs", p.path}
	case pinned, writable:
		return []string{"--bind", p.path, p.path}
	case readable, locked:
		return []string{"--ro-bind", p.path, p.path}
	case veiled:
		return []string{"--ro-bind", l.veil.over(p), p.path}
	}
	panic(fmt.Sprintf("sandbox: no mount for kind %d", p.kind))
}

// freshSize is how many bytes an empty folder takes at most: it is memory.
func freshSize() uint64 { return max(memory()/8, 64<<20) }

// memory is that of the machine, in bytes.
func memory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 4 << 30
	}
	return info.Totalram * uint64(info.Unit)
}

// pipeEnds are the ends of a launch that this process closes.
type pipeEnds struct{ argsR, argsW, infoR, infoW, extra, program *os.File }

func (l *launch) pipes() (ends *pipeEnds, err error) {
	ends = &pipeEnds{}
	defer func() {
		if err != nil {
			ends.close()
			if l.gate != nil {
				l.gate.close()
			}
		}
	}()
	if ends.argsR, ends.argsW, err = os.Pipe(); err != nil {
		return nil, err
	}
	if ends.infoR, ends.infoW, err = os.Pipe(); err != nil {
		return nil, err
	}
	if l.inner == nil {
		ends.extra, err = inMemory("filter", l.filter)
	} else if ends.extra, err = l.inner.file(); err == nil {
		// By descriptor: the file of that name may be another by now.
		var fd int
		fd, err = unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
		ends.program = os.NewFile(uintptr(fd), "program")
	}
	if err != nil {
		return nil, err
	}
	l.gate, err = newGate()
	return ends, err
}

func (e *pipeEnds) close() {
	for _, f := range []*os.File{e.argsR, e.argsW, e.infoR, e.infoW, e.extra, e.program} {
		if f != nil {
			f.Close()
		}
	}
}

// inMemory is a file that has no name.
func inMemory(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("holdfast-"+name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(content); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// childOf gives a descriptor of a process that is a child of parent. A process id alone
// could be another's by now.
func childOf(parent, pid int) (int, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, err
	}
	p, err := readProcess(pid)
	if err == nil && p.parent == parent {
		return fd, nil
	}
	return -1, errors.Join(syscall.ESRCH, err, unix.Close(fd))
}
