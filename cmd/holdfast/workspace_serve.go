package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
	"github.com/holdfast-mcp/holdfast/internal/workspace/trail"
)

// disconnected is how long a peer that closed its side still gets its answers. What
// runs then is ended: everything is gone within a second.
const disconnected = 300 * time.Millisecond

// workspaceFlags are those of `holdfast workspace`, and of the built-in server.
type workspaceFlags struct {
	place
	mode, sandbox string
	dirs          []string
}

func (w *workspaceFlags) add(f *pflag.FlagSet) {
	w.at(f)
	w.managedAt(f)
	f.StringVar(&w.mode, "mode", "", "default, acceptEdits, plan, dontAsk or bypassPermissions")
	f.StringVar(&w.sandbox, "sandbox", "", "read-only, workspace-write or off")
	f.StringArrayVar(&w.dirs, "add-dir", nil, "an additional directory; may be given again")
}

// options are those of a start with these flags.
func (w *workspaceFlags) options(a *app) (settings.Options, error) {
	o, err := a.options(w.place)
	if err != nil {
		return o, err
	}
	o.Mode, o.Sandbox, o.AddDirs, o.Root = w.mode, w.sandbox, w.dirs, rootOutsideContainer()
	return o, nil
}

const workspaceLong = `Serve one project directory to an agent on standard input and output: Read, Write,
Edit, Bash, Grep and Glob. What it may do stands in the owner's settings; without
any it may read, and nothing else. Nobody is asked: what a person would have to be
asked about is refused, with the rule that would allow it.

  holdfast workspace -C ~/project
  holdfast workspace check Bash '{"command": "npm test"}'   explains a decision
  holdfast workspace log                                    shows what was changed
  holdfast workspace log --refused                          shows what was refused, and why
  holdfast workspace undo ID                                takes it back

Standard error tells at the start what counts. Standard output carries MCP alone.`

func (a *app) serveWorkspace(ctx context.Context, flags workspaceFlags) error {
	if isTerminal(a.out) {
		return usage("`holdfast workspace` talks to an agent on standard input and output, and this is a terminal",
			"name it in the agent's configuration as a server over stdio; see what it would decide with `holdfast workspace check`")
	}
	o, err := flags.options(a)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(a.err, nil))
	w, err := openWorkspace(ctx, o, "workspace", os.Environ(), log, sessionTrail)
	if err != nil {
		return err
	}
	defer w.close()
	defer a.announce(w)()
	conn := a.agent(workspaceMessage)
	defer conn.Close()
	err = w.serve(ctx, conn)
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// announce tells what counts as soon as it is settled. The function that it gives waits
// until it was told.
func (a *app) announce(w *openedWorkspace) (wait func()) {
	told := make(chan struct{})
	go func() {
		defer close(told)
		if <-w.ready; w.err == nil {
			w.opened()
			a.banner(w)
		}
	}()
	return func() { <-told }
}

// sessionTrail is the audit of a workspace that runs on its own.
func sessionTrail(state, session string) (workspaceJournal, error) {
	t, err := trail.Create(filepath.Join(state, auditName), session, time.Now())
	if err != nil {
		return workspaceJournal{}, err
	}
	return workspaceJournal{Journal: t, place: t.Path(), close: t.Close}, nil
}

// banner tells on standard error what counts.
func (a *app) banner(w *openedWorkspace) {
	s := w.settings
	var fields []string
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, name, visible(value))
		}
	}
	add("holdfast", version+" workspace")
	add("directory", strings.Join(s.Roots, ", "))
	add("mode", modeWord(s))
	add("sandbox", w.sandboxWord())
	add("network", w.networkWord())
	add("trust", trustWord(s.Trusted))
	for _, l := range s.Layers {
		allow := fmt.Sprintf("%d allow", l.Allow)
		if l.Uncounted && l.Allow > 0 {
			allow += " (not counted: not trusted)"
		}
		add("rules", fmt.Sprintf("%s: %s, %d ask, %d deny (%s)", l.Layer, allow, l.Ask, l.Deny, l.File))
	}
	if len(s.Layers) == 0 {
		add("rules", "none: reading is allowed, everything else is refused")
	}
	for _, c := range s.Specs {
		add("contract", fmt.Sprintf("%s (%s)", plural(len(c.Rules), "rule"), c.At.File))
	}
	add("hooks", hooksWord(s))
	add("audit", w.journal.place)
	var whole bytes.Buffer // in one piece: the log goes there too
	writeFields(&whole, fields...)
	for _, line := range w.warnings() {
		fmt.Fprintln(&whole, paragraph(visible(line)))
	}
	_, _ = a.err.Write(whole.Bytes())
}

func modeWord(s *settings.Settings) string {
	if s.Clamp.From == "" {
		return string(s.Mode)
	}
	where := s.Clamp.At.File
	if s.Clamp.At.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, s.Clamp.At.Line)
	}
	return fmt.Sprintf("%s (clamped: %s in %s is for a person at a prompt; --mode %s is the way out)", s.Mode, s.Clamp.From, where, s.Clamp.From)
}

func hooksWord(s *settings.Settings) string {
	switch {
	case s.HooksOff:
		return "all off (disableAllHooks)"
	case len(s.Hooks) == 0:
		return "none"
	}
	return fmt.Sprint(len(s.Hooks))
}

func (w *openedWorkspace) sandboxWord() string {
	switch ok, _ := w.shell.Offered(); {
	case w.settings.Sandbox.Mode == "off":
		return "OFF: commands run with all that this user may do"
	case !ok:
		return "none, so Bash is not offered"
	}
	return w.box + ", " + w.settings.Sandbox.Mode
}

func (w *openedWorkspace) networkWord() string {
	switch ok, _ := w.shell.Offered(); {
	case !ok:
		return ""
	case w.settings.Sandbox.Mode == "off" || w.settings.Sandbox.Network == "host":
		return "that of this machine"
	}
	return "none: each command has a loopback of its own"
}

// warnings are what the owner should know at the start.
func (w *openedWorkspace) warnings() []string {
	var lines []string
	if ok, why := w.shell.Offered(); !ok {
		lines = append(lines, "Bash is not offered: "+why)
	} else {
		lines = append(lines, w.diagnosis.Causes...)
	}
	if ok, why := w.search.Offered(); !ok {
		lines = append(lines, "Grep is not offered: "+why+". Install ripgrep.")
	}
	if note := w.settings.OuterNote(); note != "" {
		lines = append(lines, note)
	}
	lines = append(lines, w.settings.Ignored...)
	lines = append(lines, w.settings.MatcherCautions()...)
	lines = append(lines, w.settings.HookCautions()...)
	for _, path := range append(slices.Clone(w.settings.Sandbox.Readable), w.settings.Sandbox.Writable...) {
		if _, err := os.Stat(path); err != nil {
			lines = append(lines, fmt.Sprintf("%s is granted to commands (sandbox.readable, sandbox.writable) and is not there, so that it is passed over: make it, and start again", path))
		}
	}
	for _, r := range w.settings.Rules {
		if why := r.AnyProgram(); why != "" {
			lines = append(lines, fmt.Sprintf("%s allows any program: %s", r.Text(), why))
		}
	}
	return lines
}

// workspaceServing makes the parent command serve when it is called with flags alone.
func (a *app) workspaceServing(c *cobra.Command) *cobra.Command {
	var flags workspaceFlags
	flags.add(c.Flags())
	c.Long = workspaceLong
	c.RunE = func(c *cobra.Command, _ []string) error {
		ctx, stop := untilInterrupted(c.Context())
		defer stop()
		return a.serveWorkspace(ctx, flags)
	}
	c.AddCommand(a.workspaceLogCommand(), a.workspaceShowCommand(), a.workspaceUndoCommand())
	return c
}
