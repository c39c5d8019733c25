package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/workspace"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
	"github.com/holdfast-mcp/holdfast/internal/workspace/trail"
)

// owned is a workspace as its owner looks at it.
type owned struct {
	place
	dirs     []string
	settings *settings.Settings
	ledger   *ledger.Ledger
	state    string
}

func (w *owned) flags(c *cobra.Command) *cobra.Command {
	w.at(c.Flags())
	w.managedAt(c.Flags())
	c.Flags().StringArrayVar(&w.dirs, "add-dir", nil, "an additional directory; may be given again")
	return c
}

// open reads the settings and opens the ledger.
func (w *owned) open(a *app) error {
	o, err := a.options(w.place)
	if err != nil {
		return err
	}
	o.AddDirs = w.dirs
	if w.settings, err = settings.Load(o); err != nil {
		return err
	}
	w.state = workspaceState(w.settings)
	w.ledger, err = ledger.Open(filepath.Join(w.state, ledgerName), time.Now)
	return err
}

// shown is a path as people see it: relative to the workspace where it lies in it.
func (w *owned) shown(path string) string {
	if rel, err := filepath.Rel(w.settings.Dir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return visible(path)
}

func (a *app) workspaceLogCommand() *cobra.Command {
	w, n, verify, refused := &owned{}, 0, false, false
	c := w.flags(&cobra.Command{
		Use: "log", Short: "List what calls changed, or with --refused what was refused", Args: takes(),
		Long: `List what calls changed, the newest first. With --refused, which calls were refused
instead, and why: by stage and, where one decided, by rule. Arguments are not in the
audit, so that they are not shown; what a call would come to now is said by
` + "`holdfast workspace check`" + `.

A workspace that the gateway runs writes its refusals into the gateway's audit:
` + "`holdfast audit list --type call.refused --server NAME`" + `.`,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case verify && refused:
				return usage("--verify and --refused exclude each other", "`holdfast workspace log --help` says what they do")
			case n < 1:
				return usage(fmt.Sprintf("-n %d lists nothing", n), "give a number of 1 or more")
			}
			if err := w.open(a); err != nil {
				return err
			}
			defer w.ledger.Close()
			switch {
			case verify:
				return a.verifyTrails(filepath.Join(w.state, auditName))
			case refused:
				return a.refusedLog(w, n)
			}
			entries, broken, err := w.ledger.Entries(n)
			if err != nil {
				return err
			}
			if broken > 0 {
				a.notef("Of the ledger %s can't be read.\n", plural(broken, "entry"))
			}
			if a.json {
				return a.printJSON(list[ledger.Entry]{entries})
			}
			if len(entries) == 0 {
				a.printf("Nothing was changed here yet.\n")
				return nil
			}
			var rows [][]string
			for _, e := range entries {
				rows = append(rows, []string{e.ID, clock(e.Begun), e.Tool, changeGist(e), cut(w.what(e), 60)})
			}
			a.table([]string{"ID", "TIME", "TOOL", "CHANGED", "WHAT"}, rows)
			return nil
		},
	})
	c.Flags().IntVarP(&n, "lines", "n", 50, "how many entries")
	c.Flags().BoolVar(&refused, "refused", false, "list the calls that were refused instead, and why")
	c.Flags().BoolVar(&verify, "verify", false, "check the audit files of this workspace instead")
	return c
}

// verifyTrails checks the chain of every audit file of a workspace.
func (a *app) verifyTrails(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(files) == 0 {
		a.printf("There is no audit of this workspace yet.\n")
		return err
	}
	var broken error
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		n, _, err := trail.Verify(f)
		_ = f.Close()
		if err != nil {
			broken = errFound
			a.printf("%s: %s\n", visible(filepath.Base(path)), paragraph(err.Error()))
			continue
		}
		a.printf("%s: %s, unbroken\n", visible(filepath.Base(path)), plural(int(n), "entry"))
	}
	return broken
}

func (w *owned) what(e ledger.Entry) string {
	if filepath.IsAbs(e.What) {
		return w.shown(e.What)
	}
	return visible(e.What)
}

func changeGist(e ledger.Entry) string {
	switch {
	case e.Ended.IsZero():
		return "not ended"
	case len(e.Changes)+e.Missed == 0:
		return "nothing"
	}
	return plural(len(e.Changes)+e.Missed, "path")
}

func (a *app) workspaceShowCommand() *cobra.Command {
	w := &owned{}
	return w.flags(&cobra.Command{
		Use: "show ID [PATH]", Short: "Show what one call changed, or what a file held before",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return takes("the id of a change")(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := w.open(a); err != nil {
				return err
			}
			defer w.ledger.Close()
			e, err := w.ledger.Entry(args[0])
			if err != nil {
				return err
			}
			if len(args) == 2 {
				return a.earlier(w, e, args[1])
			}
			if a.json {
				return a.printJSON(e)
			}
			a.showChange(w, e)
			return nil
		},
	})
}

// earlier prints what a file held before a change: byte for byte, but to a terminal,
// which would obey what is in it.
func (a *app) earlier(w *owned, e ledger.Entry, path string) error {
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(w.settings.Dir, path)
	}
	for _, c := range e.Changes {
		if c.Path != full {
			continue
		}
		content, err := w.ledger.Content(c.Before)
		if err != nil {
			return err
		}
		if isTerminal(a.out) {
			a.printf("%s", paragraph(string(content)))
			return nil
		}
		_, err = a.out.Write(content)
		return err
	}
	return usage(fmt.Sprintf("the change %s did not change %q", e.ID, visible(path)), "see what it changed with: holdfast workspace show "+e.ID)
}

func (a *app) showChange(w *owned, e ledger.Entry) {
	ended := ""
	if !e.Ended.IsZero() {
		ended = clock(e.Ended)
	}
	shared := ""
	if e.Shared {
		shared = "other commands ran meanwhile: their changes may be among these"
	}
	a.fields("id", e.ID, "tool", e.Tool, "what", w.what(e), "begun", clock(e.Begun), "ended", ended, "session", e.Session, "call", e.Call, "undoes", e.Undoes, "note", shared)
	if len(e.Changes) > 0 {
		var rows [][]string
		for _, c := range e.Changes {
			rows = append(rows, []string{w.shown(c.Path), stateWord(c.Before), stateWord(c.After), visible(c.Before.Why)})
		}
		a.printf("\n")
		a.table([]string{"PATH", "BEFORE", "AFTER", "NOT KEPT, BECAUSE"}, rows)
	}
	if e.Missed > 0 {
		a.printf("Not listed: %s that changed too.\n", plural(e.Missed, "more path"))
	}
	a.printDiffs(w, e.Changes, false)
	for name, paths := range map[string][]string{"Ignored by git, changed": e.Ignored, "Moved away, for it may not be made": e.Withheld} {
		if len(paths) > 0 {
			a.printf("%s: %s\n", name, visible(strings.Join(paths, ", ")))
		}
	}
	if len(e.Withheld) > 0 {
		a.printf("What was moved away is in %s\n", visible(filepath.Join(w.state, sessionsName, e.Session, withheldName)))
	}
	if e.IgnoredMore > 0 {
		a.printf("Not listed: %s that git ignores and that changed.\n", plural(e.IgnoredMore, "more path"))
	}
}

func stateWord(s ledger.State) string {
	switch s.Kind {
	case ledger.File:
		return plural(int(s.Size), "byte")
	case ledger.Link:
		return "link to " + visible(s.Target)
	case ledger.Absent, ledger.Folder, ledger.Other:
	}
	return string(s.Kind)
}

func (a *app) workspaceUndoCommand() *cobra.Command {
	w, yes := &owned{}, false
	c := w.flags(&cobra.Command{
		Use: "undo ID", Short: "Take back what one call changed", Args: takes("the id of a change"),
		Long: `Take back what one call changed. Without --yes it only says what it would do. It
refuses as a whole when a file was changed since, or may not be written. An undo is
a change of its own, and can be undone.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := w.open(a); err != nil {
				return err
			}
			defer w.ledger.Close()
			p, err := w.settings.Policy(true)
			if err != nil {
				return err
			}
			files, err := workspace.OpenFiles(w.settings.Roots, p, settings.Disk{})
			if err != nil {
				return err
			}
			defer files.Close()
			return a.undo(w, files, args[0], yes)
		},
	})
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	return c
}

func (a *app) undo(w *owned, files ledger.Files, id string, yes bool) error {
	plan, err := w.ledger.Plan(id, files)
	if err != nil {
		return err
	}
	if !yes || plan.Problem() != "" {
		var rows [][]string
		for _, s := range plan.Steps {
			rows = append(rows, []string{w.shown(s.Path), stateWord(s.After), stateWord(s.Before), paragraph(visible(s.Problem))})
		}
		a.table([]string{"PATH", "NOW", "WOULD BE", "CAN'T BE, BECAUSE"}, rows)
		a.printDiffs(w, plan.Entry.Changes, true)
	}
	switch {
	case plan.Problem() != "":
		_, err := w.ledger.Undo(plan, files)
		return err
	case !yes:
		a.printf("Nothing was done. Do it with: %s\n", a.command("workspace", "undo", plan.Entry.ID, "--yes"))
		return nil
	}
	done, err := w.ledger.Undo(plan, files)
	if err != nil {
		return err
	}
	a.printf("Took back %s (%s), as the change %s.\n", plan.Entry.ID, plural(len(plan.Steps), "path"), done)
	return nil
}
