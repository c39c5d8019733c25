package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watchdog ends the commands of this process when it was killed. The kernel is asked to do
// the same (PR_SET_PDEATHSIG), but bubblewrap asks late, and for a parent that may have
// ended by then. So one process for all commands, a stage in a session of its own, holds
// a descriptor of each, and a socket whose other end this process has: when that
// closes, it kills them. Safe for concurrent use.
type watchdog struct {
	mu    sync.Mutex
	dog   *exec.Cmd // nil when there is none
	conn  int       // to it
	last  uint64
	known map[uint64]ward
}

// ward is a process that the watchdog ends, by a pidfd of the watchdog's own.
type ward struct {
	pidfd int
	kind  byte
}

// watching is the watchdog of this process.
var watching watchdog

// What is told to the watchdog: one of these, and a number that stands for the ward.
const (
	wardGroup   = 'g' // comes with the pidfd of a process whose whole group is to be ended
	wardProcess = 'p' // comes with a pidfd
	wardEnded   = 'e'

	tellSize = 1 + 8
)

// ready begins the watchdog when there is none, so that what is made from then on is cared
// for.
func (w *watchdog) ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dog != nil {
		return nil
	}
	return w.begin()
}

// group has the process group of a child ended that nobody waited for yet.
func (w *watchdog) group(leader int) (unwatch func(), err error) {
	fd, err := unix.PidfdOpen(leader, 0)
	if err != nil {
		return func() {}, os.NewSyscallError("pidfd_open", err)
	}
	return w.add(ward{fd, wardGroup})
}

// process has a process ended; the descriptor stays the caller's.
func (w *watchdog) process(pidfd int) (unwatch func(), err error) {
	fd, err := unix.FcntlInt(uintptr(pidfd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return func() {}, os.NewSyscallError("fcntl", err)
	}
	return w.add(ward{fd, wardProcess})
}

// add tells of a ward, and begins the watchdog when there is none, or it does not listen.
// What is told is read even if this process is killed right after.
func (w *watchdog) add(x ward) (unwatch func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[uint64]ward{}
	}
	w.last++
	id := w.last
	w.known[id] = x
	unwatch = func() { w.remove(id) }
	if w.dog != nil {
		if err = w.tell(x.kind, id, x.pidfd); err == nil {
			return unwatch, nil
		}
	}
	return unwatch, w.begin()
}

func (w *watchdog) remove(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x, ok := w.known[id]
	if !ok {
		return
	}
	unix.Close(x.pidfd)
	delete(w.known, id)
	if w.dog == nil || w.tell(wardEnded, id, -1) == nil {
		return
	}
	w.drop()
	if len(w.known) > 0 {
		_ = w.begin() // or with the next command, which is not run without it
	}
}

// tell does not wait: a watchdog that does not read is none.
func (w *watchdog) tell(kind byte, id uint64, pidfd int) error {
	text := binary.NativeEndian.AppendUint64([]byte{kind}, id)
	var rights []byte
	if pidfd >= 0 {
		rights = unix.UnixRights(pidfd)
	}
	for {
		_, err := unix.SendmsgN(w.conn, text, rights, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("sendmsg", err)
		}
	}
}

// begin starts a watchdog, in place of the one that there may be, and tells it of all.
func (w *watchdog) begin() error {
	w.drop()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	w.conn = ends[0]
	life := os.NewFile(uintptr(ends[1]), "life")
	cmd, err := stageCommand(order{Watch: os.Getpid()}, life)
	if err != nil {
		return errors.Join(err, unix.Close(w.conn), life.Close())
	}
	cmd.Stdout, cmd.Stderr = nil, nil // whoever reads those of this process sees their end when it ends
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = spawn(cmd, false)
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	if err != nil {
		return errors.Join(err, unix.Close(w.conn))
	}
	w.dog = cmd
	go w.reap(cmd, time.Now())
	for _, id := range slices.Sorted(maps.Keys(w.known)) {
		if err := w.tell(w.known[id].kind, id, w.known[id].pidfd); err != nil {
			w.drop()
			return err
		}
	}
	return nil
}

// reap waits for the end of a watchdog. Where somebody ended it while commands run, there
// is another at once; but one that can't live is tried only as often as commands are run.
func (w *watchdog) reap(cmd *exec.Cmd, began time.Time) {
	_ = cmd.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dog != cmd {
		return
	}
	w.drop()
	if len(w.known) > 0 && time.Since(began) > time.Second {
		_ = w.begin() // or with the next command, which is not run without it
	}
}

// drop gives a watchdog up. It is killed before its socket is closed: it must not take
// that for the end of this process.
func (w *watchdog) drop() {
	if w.dog == nil {
		return
	}
	_ = w.dog.Process.Kill() // it may have ended
	unix.Close(w.conn)
	w.dog = nil
}

// quit has the watchdog end all that is left, and itself.
func (w *watchdog) quit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dog != nil {
		unix.Close(w.conn)
		w.dog = nil
	}
}

// watch is what the watchdog does: it listens until the process that it watches ended.
func watch(pid int) int {
	// Those are for the programs of a terminal or a service; this one ends after them.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2)
	watched, err := unix.PidfdOpen(pid, 0)
	wards := map[uint64]ward{}
	for listen(wards) {
	}
	for _, x := range wards {
		x.kill()
	}
	for _, x := range wards {
		awaitProcess(x.pidfd, time.Second)
	}
	if os.Geteuid() != 0 {
		return 0
	}
	if err == nil { // otherwise it was gone before this one came up
		awaitProcess(watched, longestEnd) // it may be about to remove its groups, and has threads in them
	}
	removeGroupsOf(pid)
	return 0
}

// listen takes in what is told once, and reports whether more can come.
func listen(wards map[uint64]ward) bool {
	text, rights := make([]byte, tellSize), make([]byte, unix.CmsgSpace(4))
	n, rightsN, _, _, err := unix.Recvmsg(lifeFD, text, rights, unix.MSG_CMSG_CLOEXEC)
	switch {
	case errors.Is(err, unix.EINTR):
		return true
	case err != nil || n != tellSize:
		return false
	}
	x, id := ward{-1, text[0]}, binary.NativeEndian.Uint64(text[1:])
	if list, err := unix.ParseSocketControlMessage(rights[:rightsN]); err == nil && len(list) == 1 {
		if fds, err := unix.ParseUnixRights(&list[0]); err == nil && len(fds) == 1 {
			x.pidfd = fds[0]
		}
	}
	switch {
	case x.kind == wardEnded:
		if old, ok := wards[id]; ok {
			unix.Close(old.pidfd)
			delete(wards, id)
		}
	case x.pidfd < 0:
		return false // without it this one can't do its work, and no command may rely on it
	default:
		wards[id] = x
	}
	return true
}

// kill ends a ward. That of a group ends also what is left of it when its leader is gone,
// from Linux 6.9 on; before, bubblewrap may be left at the very beginning, where it runs
// nothing and waits for a parent that is gone.
func (x ward) kill() {
	if x.kind == wardGroup {
		const wholeGroup = 1 << 2 // PIDFD_SIGNAL_PROCESS_GROUP
		_ = unix.PidfdSendSignal(x.pidfd, unix.SIGKILL, nil, wholeGroup)
	}
	_ = unix.PidfdSendSignal(x.pidfd, unix.SIGKILL, nil, 0) // it may have ended
}

// removeGroupsOf removes the control groups that a process left.
func removeGroupsOf(pid int) {
	var left []string
	for _, parent := range pidsParents() {
		groups, _ := filepath.Glob(filepath.Join(parent, fmt.Sprintf("holdfast-%d-*", pid)))
		left = append(left, groups...)
	}
	for _, dir := range left {
		pidsGroup{dir}.await()
	}
}
