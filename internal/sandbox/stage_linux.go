package sandbox

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A stage is this program run again, between itself and a command. Whoever runs the
// program under this name by himself gets no more than a supervisor of what he could
// have run anyway: a stage takes rights away and gives none.
const stageName = "holdfast-sandbox-stage"

// The descriptors of a stage.
const (
	orderFD = 3 // what it is to do: an order, as gob, for names may be no text
	lifeFD  = 4 // of a supervisor or the watchdog: ends when the program that started it wants all to end, or ended
)

// order is what a stage does.
type order struct {
	Args, Env []string
	Dir       string
	Mask      *masking     // of the inner stage of bubblewrap
	Confine   *confinement // of a child of Landlock
	Final     bool         // this stage becomes the command; otherwise it supervises the next
	Watch     int          // of the watchdog: the process that it watches
}

// staged says that Main was called: a program that does not call it would, run as a
// stage, do what it does otherwise.
var staged atomic.Bool

// Main runs the second stage of a confined child when this process was started as one
// (by re-execution), and does not return then. Every program that uses the package calls
// it first in main and in TestMain.
func Main() {
	staged.Store(true)
	if filepath.Base(os.Args[0]) != stageName {
		return
	}
	os.Exit(runStage())
}

func runStage() int {
	var o order
	fd := orderFD
	if os.Args[0] == innerPath {
		fd = extraFD // the others before it are bubblewrap's
	}
	in := os.NewFile(uintptr(fd), "order")
	err := gob.NewDecoder(in).Decode(&o)
	in.Close()
	if err == nil && o.Watch > 0 {
		return watch(o.Watch)
	}
	if err != nil || len(o.Args) == 0 {
		fmt.Fprintln(os.Stderr, "holdfast: this name is for the program's own use")
		return 2
	}
	if o.Mask != nil || o.Final && o.Confine != nil {
		err = o.become()
	} else {
		var code int
		if code, err = o.supervise(); err == nil {
			return code
		}
	}
	fmt.Fprintln(os.Stderr, "holdfast: the command was not run:", err)
	return 126
}

// supervise runs the command, and ends everything that came of it when it ended or the
// life pipe did. As the subreaper it becomes the parent of every descendant whose parent
// ended: so when it has no child left, nothing is left.
func (o order) supervise() (int, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	unix.CloseOnExec(lifeFD)
	told, group, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	cmd, err := o.command(group)
	if err != nil {
		return 0, err
	}
	if err := spawn(cmd, true); err != nil {
		return 0, err
	}
	group.Close()
	ended, grouped := make(chan struct{}), make(chan string, 1)
	go func() {
		_, _ = os.NewFile(lifeFD, "life").Read(make([]byte, 1))
		close(ended)
	}()
	go func() {
		dir, _ := io.ReadAll(told) // until the next stage became the command, or ended
		grouped <- string(dir)
	}()
	command := make(chan int, 1)
	left := make(chan struct{})
	go reapAll(cmd.Process.Pid, command, left)
	code := 128 + int(unix.SIGKILL)
	select {
	case code = <-command:
	case <-ended:
	}
	endDescendants(left)
	if dir := <-grouped; dir != "" {
		pidsGroup{dir}.await()
	}
	return code, nil
}

// command is the next process: the command itself, or the stage that becomes it.
func (o order) command(group *os.File) (*exec.Cmd, error) {
	if o.Confine != nil {
		o.Final = true
		return stageCommand(o, group)
	}
	program, err := lookIn(o.Args[0], o.Env)
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{Path: program, Args: o.Args, Env: o.Env, Dir: o.Dir, Stdout: os.Stdout, Stderr: os.Stderr}, nil
}

// file is the order as a stage reads it.
func (o order) file() (*os.File, error) {
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(o); err != nil {
		return nil, err
	}
	return inMemory("order", text.Bytes())
}

// stageCommand runs this program again as a stage. It gets no environment: its own
// could be in anyone's sight. The second descriptor is lifeFD or groupFD.
func stageCommand(o order, next *os.File) (*exec.Cmd, error) {
	in, err := o.file()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{stageName}, Env: []string{}, Dir: "/", Stdout: os.Stdout, Stderr: os.Stderr, ExtraFiles: []*os.File{in, next}}
	return cmd, nil
}

// reapAll waits for every child until there is none, and tells the end of one.
func reapAll(pid int, command chan<- int, left chan<- struct{}) {
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // there is no child
			close(left)
			return
		case got == pid && ws.Signaled():
			command <- 128 + int(ws.Signal())
		case got == pid:
			command <- ws.ExitStatus()
		}
	}
}

// endDescendants kills until there is none. All are stopped first, so that none can
// start another while the others are killed.
func endDescendants(left <-chan struct{}) {
	for {
		for _, signal := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
			for _, pid := range descendants(os.Getpid()) {
				_ = unix.Kill(pid, signal) // it may have ended
			}
		}
		select {
		case <-left:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// descendants are the processes below one, by what /proc says.
func descendants(of int) []int {
	children := map[int][]int{}
	for p := range processes() {
		children[p.parent] = append(children[p.parent], p.pid)
	}
	all := slices.Clone(children[of])
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// process is one as /proc tells of it.
type process struct {
	pid, parent, group int
	ended              bool // and its parent did not look yet
}

// processes are all that can be seen.
func processes() iter.Seq[process] {
	return func(yield func(process) bool) {
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			if p, err := readProcess(pid); err == nil && !yield(p) {
				return
			}
		}
	}
}

// readProcess fails when the process is not there any more.
func readProcess(pid int) (process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	// "pid (name) state ppid pgrp ...", and the name may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 3 {
		return process{}, syscall.ESRCH
	}
	parent, err := strconv.Atoi(fields[1])
	group, err2 := strconv.Atoi(fields[2])
	return process{pid, parent, group, fields[0] == "Z" || fields[0] == "X"}, errors.Join(err, err2)
}
