package workspace

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
)

const (
	maxBackground = 8  // background commands that run at once
	maxEnded      = 32 // that ended, and whose output can still be had
)

var errKilled = errors.New("the command was ended with KillShell")

// shells are the commands of a session.
type shells struct {
	mu     sync.Mutex
	active int // commands that run, in the background or not
	epoch  int // raised when one begins
	last   int
	behind map[string]*behind
}

// behind is a command in the background.
type behind struct {
	*command
	mu     sync.Mutex
	told   int64 // bytes of its output that were given
	killed bool
}

// enter counts a command that begins. It tells whether others run.
func (x *shells) enter() (others bool, epoch int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	others = x.active > 0
	x.active++
	x.epoch++
	return others, x.epoch
}

// leave counts one that ended. It tells whether another began meanwhile.
func (x *shells) leave(epoch int) (others bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.active--
	return x.epoch != epoch
}

// running counts the commands that run, those that begin or end among them.
func (x *shells) running() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.active
}

// quiet reports whether no command runs.
func (x *shells) quiet() bool { return x.running() == 0 }

// told is the structured result of BashOutput and KillShell.
type told struct {
	ID        string  `json:"id"`
	Status    string  `json:"status"`
	Output    *string `json:"output,omitempty"`
	ExitCode  *int    `json:"exit_code,omitempty"`
	Signal    string  `json:"signal,omitempty"`
	Truncated bool    `json:"truncated,omitempty"`
	Change    string  `json:"change,omitempty"`
}

// background starts a command that outlives its call, but not the server.
func (s *Server) background(id string, in *judge.BashInput, limit time.Duration) result {
	x := &s.shells
	x.mu.Lock()
	running := 0
	for _, b := range x.behind {
		if b.running() {
			running++
		}
	}
	if running >= maxBackground {
		x.mu.Unlock()
		return failure("The command was not run: %d commands run in the background already. End one with KillShell.", running)
	}
	x.forget()
	x.last++
	name := fmt.Sprintf("bash_%d", x.last)
	if x.behind == nil {
		x.behind = map[string]*behind{}
	}
	b := &behind{command: &command{ended: make(chan struct{})}} // holds the place
	x.behind[name] = b
	x.mu.Unlock()

	c, err := s.start(s.life, id, in.Command, limit)
	x.mu.Lock()
	if err != nil {
		delete(x.behind, name)
		x.mu.Unlock()
		return failure("The command was not run: %s", sentence(err))
	}
	x.behind[name] = &behind{command: c}
	x.mu.Unlock()
	s.mu.Lock()
	s.work.Go(c.finish)
	s.mu.Unlock()
	return result{
		text:       fmt.Sprintf("The command runs in the background as %s. BashOutput gives what it prints, KillShell ends it.", name),
		structured: ran{ID: name, Change: c.draft.ID()},
	}
}

// forget drops the oldest of the commands that ended. mu is held.
func (x *shells) forget() {
	var ended []int
	for name, b := range x.behind {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "bash_")); err == nil && !b.running() {
			ended = append(ended, n)
		}
	}
	slices.Sort(ended)
	for _, n := range ended[:max(0, len(ended)-maxEnded)] {
		delete(x.behind, fmt.Sprintf("bash_%d", n))
	}
}

func (b *behind) running() bool {
	select {
	case <-b.ended:
		return false
	default:
		return true
	}
}

// shell finds a background command of this session.
func (s *Server) shell(id string) (*behind, *result) {
	s.shells.mu.Lock()
	defer s.shells.mu.Unlock()
	if b := s.shells.behind[id]; b != nil && b.out != nil {
		return b, nil
	}
	r := failure("There is no background command of that id in this session.")
	return nil, &r
}

// bashOutput is the tool BashOutput.
func (s *Server) bashOutput(in *judge.BashOutputInput) result {
	b, none := s.shell(in.BashID)
	if none != nil {
		return *none
	}
	var filter *regexp.Regexp
	if in.Filter != "" {
		var err error
		if filter, err = regexp.Compile(in.Filter); err != nil {
			return failure("The filter is no regular expression: %v.", err)
		}
	}
	r := b.state(in.BashID) // before its output: what came before it ended is not missed
	b.mu.Lock()
	out, upto := b.out.since(b.told)
	b.told = upto
	b.mu.Unlock()
	if filter != nil {
		out.text = filtered(out.text, filter)
	}
	r.Output, r.Truncated = &out.text, out.truncated
	text := out.text
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return result{text: text + "(" + r.Status + r.how() + ")", structured: r}
}

func filtered(text string, filter *regexp.Regexp) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if filter.MatchString(strings.TrimSuffix(line, "\n")) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// state tells how a background command stands.
func (b *behind) state(id string) told {
	r := told{ID: id, Status: "running"}
	if b.running() {
		return r
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Status, r.Signal, r.Change = "exited", b.exit.Signal, b.draft.ID()
	switch {
	case b.killed || b.late:
		r.Status = "killed"
	case b.exit.Signal == "" && b.err == nil:
		r.ExitCode = &b.exit.Code
	}
	return r
}

func (t told) how() string {
	switch {
	case t.ExitCode != nil:
		return fmt.Sprintf(", exit code %d", *t.ExitCode)
	case t.Signal != "":
		return ", signal " + t.Signal
	}
	return ""
}

// killShell is the tool KillShell.
func (s *Server) killShell(in *judge.KillShellInput) result {
	b, none := s.shell(in.ShellID)
	if none != nil {
		return *none
	}
	if b.running() {
		b.mu.Lock()
		b.killed = true
		b.mu.Unlock()
		b.stop(errKilled)
		b.proc.Kill()
		b.finish()
	}
	r := b.state(in.ShellID)
	return result{text: in.ShellID + " has ended: " + r.Status + r.how() + ".", structured: r}
}
