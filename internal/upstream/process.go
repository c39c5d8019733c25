package upstream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// moment is how long what should come at once is waited for.
const moment = 200 * time.Millisecond

// process is a program that was started, with everything it started itself that
// did not leave its process group.
type process struct {
	server string
	timing timing
	pid    int
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	log    *stderrLog
	group  group

	exited  chan struct{} // closed when the program itself was waited for
	heard   chan struct{} // closed when its stderr was read to the end
	status  string        // how it ended; set before exited is closed
	reading sync.WaitGroup
	once    sync.Once
}

// start starts the program of an expanded Program in a process group of its own.
func (c *connection) start(p approval.Program) (*process, error) {
	name := c.server.name
	env := environment(p.Env, os.Environ(), runtime.GOOS)
	path, err := find(p.Command, p.Cwd, env)
	if err != nil {
		return nil, fault.Wrap(err, fault.BadInput, fmt.Sprintf("the command of %s can't be run: %s", name, c.secrets.clean(err.Error())),
			"Install the program, write its full path as command, or set PATH in the server's env.")
	}
	log, err := openLog(c.server.pool.o.LogDir, name, c.secrets)
	if err != nil {
		return nil, fault.Wrap(err, fault.Storage, fmt.Sprintf("the log of %s can't be opened", name), "Check that the data directory can be written.")
	}
	proc := &process{server: name, timing: c.server.pool.timing, log: log, exited: make(chan struct{}), heard: make(chan struct{})}
	proc.cmd = &exec.Cmd{Path: path, Args: append([]string{p.Command}, p.Args...), Dir: p.Cwd, Env: env}
	theirs, err := proc.pipes()
	if err == nil {
		err = c.server.pool.spawn.start(proc.cmd, &proc.group)
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		proc.closePipes()
		log.close()
		return nil, fault.Wrap(err, fault.Upstream, fmt.Sprintf("the program of %s can't be started: %s", name, c.secrets.clean(startError(err))),
			"Check that command, cwd and the file's permissions are right.")
	}
	proc.pid = proc.cmd.Process.Pid
	log.say(fmt.Sprintf("started, process %d", proc.pid))
	proc.reading.Go(func() {
		log.drain(proc.stderr)
		close(proc.heard)
	})
	go proc.wait()
	return proc, nil
}

// startError is the system's reason without the path, which the sentence has.
func startError(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// pipes makes the three pipes; what is returned are the child's ends.
func (p *process) pipes() (theirs []*os.File, err error) {
	end := func(mine **os.File, reads bool) *os.File {
		r, w, e := os.Pipe()
		if e != nil {
			err = errors.Join(err, e)
			return nil
		}
		if !reads {
			r, w = w, r
		}
		*mine, theirs = r, append(theirs, w)
		return w
	}
	stdin, stdout, stderr := end(&p.stdin, false), end(&p.stdout, true), end(&p.stderr, true)
	if err != nil {
		return theirs, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, stderr
	return theirs, nil
}

func (p *process) closePipes() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

// wait waits for the program. Its stdout may be held open by what it left behind;
// without it there is no server: the end of the program is the end of the session.
func (p *process) wait() {
	err := p.cmd.Wait()
	p.status = "exit status 0"
	if err != nil {
		p.status = err.Error()
	}
	close(p.exited)
}

// ended tells how the program ended, if it did. It waits a moment: stdout is closed
// a little earlier.
func (p *process) ended() (how string, ok bool) {
	select {
	case <-p.exited:
		return p.status, true
	case <-time.After(moment):
		return "", false
	}
}

// lastWords is the last line on stderr. Once the program has ended that is waited
// for, but not long: what it left behind may hold stderr open.
func (p *process) lastWords() string {
	select {
	case <-p.exited:
		select {
		case <-p.heard:
		case <-time.After(moment):
		}
	default:
	}
	return p.log.lastWords()
}

// stop ends the program and its group: stdin is closed, then SIGTERM, then SIGKILL,
// each with its time. When it returns the group is gone, unless the system can't
// end it. What left the group by setsid is not followed: docs/design/upstream.md.
func (p *process) stop() {
	p.once.Do(func() {
		p.stdin.Close()
		p.reading.Go(func() { _, _ = io.Copy(io.Discard, p.stdout) }) // a program that can't write can't end
		if !p.within(p.timing.eof) {
			p.group.terminate()
			if !p.within(p.timing.term) {
				p.group.kill()
				if !p.within(p.timing.kill) {
					p.log.say("the process group can't be ended")
				}
			}
		}
		p.group.release()
		p.stdout.Close()
		p.stderr.Close()
		p.reading.Wait()
		if how, ok := p.ended(); ok {
			p.log.say("ended, " + how)
		}
		p.log.close()
	})
}

// within reports whether the program and its group ended within d.
func (p *process) within(d time.Duration) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	select {
	case <-p.exited:
	case <-deadline.C:
		return false
	}
	for pause := time.Millisecond; p.group.alive(); pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-deadline.C:
			return false
		}
	}
	return true
}

// find gives the file that a command names, as the program itself would find it:
// by the PATH that it gets, and by its working directory.
func find(command, cwd string, env []string) (string, error) {
	if command == "" {
		return "", errors.New("no command is given")
	}
	if cwd != "" {
		if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
			return "", fmt.Errorf("the working directory %s is no directory", cwd)
		}
	}
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		if !filepath.IsAbs(command) && cwd != "" {
			command = filepath.Join(cwd, command)
		}
		path, err := exec.LookPath(command)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return "", fmt.Errorf("%s does not exist", command)
		case err != nil:
			return "", fmt.Errorf("%s can't be executed", command)
		}
		return filepath.Abs(path)
	}
	dirs := valueOf(env, "PATH")
	for _, dir := range filepath.SplitList(dirs) {
		if !filepath.IsAbs(dir) {
			continue // what is found must not depend on where Holdfast was started
		}
		if path, err := exec.LookPath(filepath.Join(dir, command)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%q was not found in any of the %d directories of PATH", command, len(filepath.SplitList(dirs)))
}

func valueOf(env []string, name string) string {
	for _, e := range env {
		if k, v, _ := strings.Cut(e, "="); sameName(k, name, runtime.GOOS) {
			return v
		}
	}
	return ""
}
