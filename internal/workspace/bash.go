package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/sandbox"
	"github.com/holdfast-mcp/holdfast/internal/workspace/judge"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

const (
	usualTimeout = 120 * time.Second
	mostTimeout  = 600 * time.Second
	// Commands that calls wait for, at once; a further one waits for a place, so that one
	// connection does not take all of the machine. With those in the background they are 14,
	// and 14 times the processes that a command may have (2,048) are fewer than a usual
	// machine has ids for (32,768).
	maxForeground = 6
	lastOutput    = 200 * time.Millisecond // for what is still in the pipe when all have ended
)

var errTimedOut = errors.New("the command ran out of time")

// ran is the structured result of Bash.
type ran struct {
	Output    string   `json:"output"`
	ExitCode  *int     `json:"exit_code,omitempty"`
	Signal    string   `json:"signal,omitempty"`
	TimedOut  bool     `json:"timed_out"`
	Truncated bool     `json:"truncated"`
	File      string   `json:"output_file,omitempty"`
	ID        string   `json:"bash_id,omitempty"`
	Withheld  []string `json:"withheld,omitempty"`
	Change    string   `json:"change,omitempty"`
}

// command is a command that runs, or has run.
type command struct {
	s      *Server
	out    *capture
	draft  *ledger.Draft
	before *survey
	others bool // other commands ran when it began
	epoch  int
	ctx    context.Context
	stop   context.CancelCauseFunc
	free   context.CancelFunc // of the time limit
	proc   sandbox.Process
	copied chan struct{} // closed when the output was read to its end

	ended chan struct{} // closed when what is below is set
	exit  sandbox.Exit
	err   error // it could not be waited for
	late  bool  // it ran out of time
	moved []string
	left  []string // must not be there, and could not be moved away
	blind []string // could not be looked through
	lost  error    // what it changed could not be written down
}

// bash is the tool Bash.
func (s *Server) bash(ctx context.Context, id string, in *judge.BashInput) result {
	limit := usualTimeout
	if in.Timeout != nil {
		limit = min(time.Duration(*in.Timeout)*time.Millisecond, mostTimeout)
	}
	if in.RunInBackground {
		if in.Timeout == nil {
			limit = 0 // it ends with the session
		}
		return s.background(id, in, limit)
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return failure("The command was not run: %d commands ran already, and none ended before the call did.", maxForeground)
	}
	c, err := s.start(ctx, id, in.Command, limit)
	if err != nil {
		return failure("The command was not run: %s", sentence(err))
	}
	c.finish()
	return c.result()
}

// sentence is an error with its hint.
func sentence(err error) string {
	text := strings.TrimSuffix(err.Error(), ".") + "."
	if hint := fault.HintOf(err); hint != "" {
		text += " " + hint
	}
	return text
}

// start writes a command down and starts it. It ends with ctx, after limit (0: none),
// or when the server is closed.
func (s *Server) start(ctx context.Context, id, text string, limit time.Duration) (*command, error) {
	if ok, why := s.o.Shell.Offered(); !ok {
		return nil, fault.New(fault.Unavailable, why, "")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &command{s: s, out: &capture{outputs: s.outputs}, copied: make(chan struct{}), ended: make(chan struct{})}
	// It counts from here: what is made from now on is not the owner's.
	if err := s.enlist(c); err != nil {
		return nil, err
	}
	if err := c.begin(ctx, id, text, limit); err != nil {
		// Whatever else failed did so before the sandbox was asked, or it is certain.
		s.dismiss(c, !errors.Is(err, sandbox.ErrBegun))
		return nil, err
	}
	return c, nil
}

// begin writes a command down that counts already, and starts it.
func (c *command) begin(ctx context.Context, id, text string, limit time.Duration) (err error) {
	s := c.s
	if c.draft, err = s.o.Ledger.Begin(ledger.Entry{Session: s.o.Session, Call: id, Tool: "Bash", What: text}); err != nil {
		return err
	}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	c.free = func() {}
	if limit > 0 {
		c.ctx, c.free = context.WithTimeoutCause(c.ctx, limit, errTimedOut)
	}
	read, write, err := os.Pipe()
	if err != nil {
		c.draft.Drop()
		return err
	}
	p := s.o.Shell.base
	p.Hidden, p.ReadOnly = c.before.hidden, c.before.readOnly
	c.proc, err = s.o.Shell.box.Start(c.ctx, p, sandbox.Command{
		Args: []string{"bash", "--noprofile", "--norc", "-c", "--", text}, Dir: s.o.Roots[0], Stdout: write, Stderr: write,
	})
	_ = write.Close()
	if err != nil {
		_ = read.Close()
		c.stop(nil)
		c.draft.Drop()
		return err
	}
	go func() {
		defer close(c.copied)
		defer read.Close()
		c.out.from(read)
	}()
	go c.wait(read)
	return nil
}

// wait waits for the end of the command, and of all that it started.
func (c *command) wait(read *os.File) {
	c.exit, c.err = c.proc.Wait()
	// What it started is gone, and with it every other end of the pipe; but where that
	// can't be made sure of, nobody may keep the call.
	_ = read.SetReadDeadline(time.Now().Add(lastOutput))
	select {
	case <-c.copied:
	case <-time.After(2 * lastOutput):
	}
	c.late = errors.Is(context.Cause(c.ctx), errTimedOut)
	c.free()
	c.stop(nil)
	c.record()
	close(c.ended)
}

// record moves away what must not be there, and writes down what was changed.
func (c *command) record() {
	s := c.s
	after, shared := s.settle(c)
	changes, missed := s.changes(c.before, after)
	c.lost = c.draft.End(func(e *ledger.Entry) {
		e.Changes, e.Missed, e.Shared = changes, missed, shared
		e.Ignored, e.IgnoredMore = newlyIgnored(c.before, after, s.shown)
		e.Withheld = c.moved
	})
	c.out.needed()
	c.before = nil
}

// finish waits until the command has ended and was written down.
func (c *command) finish() { <-c.ended }

// result tells how a command ended.
func (c *command) result() result {
	out, _ := c.out.since(0)
	r := ran{Output: out.text, Signal: c.exit.Signal, TimedOut: c.late, Truncated: out.truncated, File: out.file, Withheld: c.moved, Change: c.draft.ID()}
	if c.exit.Signal == "" && c.err == nil && !c.late {
		r.ExitCode = &c.exit.Code
	}
	text := &strings.Builder{}
	_, _ = io.WriteString(text, out.text)
	for _, note := range c.notes() {
		if text.Len() > 0 && !strings.HasSuffix(text.String(), "\n") {
			text.WriteByte('\n')
		}
		text.WriteString(note)
	}
	return result{text: text.String(), structured: r, failed: c.err != nil || c.late || c.exit.Signal != "" || c.exit.Code != 0}
}

// notes say what the output does not.
func (c *command) notes() (notes []string) {
	switch {
	case c.late:
		notes = append(notes, "(The command ran out of time and was ended, with all that it started.)")
	case c.err != nil:
		notes = append(notes, "(How the command ended is not known: "+plain(c.err)+".)")
	case c.exit.Signal != "":
		notes = append(notes, "(The command was ended by a signal: "+c.exit.Signal+".)")
	case c.exit.Code != 0:
		notes = append(notes, fmt.Sprintf("(exit code %d)", c.exit.Code))
	}
	if len(c.moved) > 0 {
		notes = append(notes, "(The command made what may not be made here, and it was moved away: "+strings.Join(c.moved, ", ")+". The owner finds it in the session's folder.)")
	}
	if len(c.left) > 0 {
		notes = append(notes, "(What may not be made here could not be moved away and is STILL THERE: "+strings.Join(c.left, ", ")+". The owner must look at it.)")
	}
	if len(c.blind) > 0 {
		notes = append(notes, "(These could not be looked through, or it is not known whose they are, and no command reaches them until it is: "+strings.Join(c.blind, ", ")+".)")
	}
	if c.lost != nil {
		notes = append(notes, "(What it changed could not be written down: "+plain(c.lost)+".)")
	}
	return notes
}
