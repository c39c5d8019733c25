package ledger

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Files is the workspace as Undo sees it: by what may be written there, and through what
// keeps to the roots.
type Files interface {
	// May says why a path may not be written; nil when it may.
	May(path string) error
	// Now gives what is at a path, and of a file its content too, unless it has more
	// bytes than are kept of one.
	Now(path string) (State, []byte, error)
	// Put makes the path what it was: a file with a content, a folder, a link, or
	// nothing. It replaces a file, and fails for a folder that is not empty.
	Put(path string, s State, content []byte) error
}

// Step is one path that an undo puts back.
type Step struct {
	Change
	Problem string // why it can't be; empty when it can
	content []byte
}

// Plan is what undoing an entry does. It is carried out whole or not at all.
type Plan struct {
	Entry Entry
	Steps []Step
}

// Problem is the first reason why the plan can't be carried out; empty when it can.
func (p Plan) Problem() string {
	for _, s := range p.Steps {
		if s.Problem != "" {
			return s.Path + ": " + s.Problem
		}
	}
	return ""
}

// Plan says what undoing an entry would do; it does nothing.
func (l *Ledger) Plan(id string, files Files) (Plan, error) {
	e, err := l.Entry(id)
	if err != nil {
		return Plan{}, err
	}
	switch {
	case e.Ended.IsZero():
		return Plan{}, fault.New(fault.Conflict, "the change "+e.ID+" has not ended, or Holdfast was ended during it: what it changed is not known", "")
	case e.Missed > 0:
		return Plan{}, fault.New(fault.TooLarge, fmt.Sprintf("the change %s has %s than an entry lists", e.ID, fault.Plural(e.Missed, "more path")), "Undo it with your version control.")
	case len(e.Changes) == 0:
		return Plan{}, fault.New(fault.NotFound, "the change "+e.ID+" changed nothing that can be undone", "See it with: holdfast workspace show "+e.ID)
	}
	p := Plan{Entry: e}
	for _, c := range e.Changes {
		s := Step{Change: c}
		s.content, s.Problem = l.check(c, files)
		p.Steps = append(p.Steps, s)
	}
	slices.SortStableFunc(p.Steps, inOrder)
	return p, nil
}

// inOrder sorts what goes away before what comes back, what is deeper first of the
// former and last of the latter.
func inOrder(a, b Step) int {
	gone := func(s Step) int {
		if s.Before.Kind == Absent {
			return 0
		}
		return 1
	}
	if d := gone(a) - gone(b); d != 0 {
		return d
	}
	if gone(a) == 0 {
		return cmp.Compare(b.Path, a.Path)
	}
	return cmp.Compare(a.Path, b.Path)
}

// check says why a change can't be put back.
func (l *Ledger) check(c Change, files Files) (content []byte, problem string) {
	if err := files.May(c.Path); err != nil {
		return nil, err.Error()
	}
	now, _, err := files.Now(c.Path)
	if err != nil {
		return nil, "it can't be looked at: " + plain(err)
	}
	switch {
	case c.After.Kind == File && c.After.SHA256 == "" || now.Kind == File && now.SHA256 == "":
		return nil, "it has more bytes than are read for a digest, so that whether it was changed since is not known"
	case !now.same(c.After):
		return nil, "it was changed since"
	}
	switch c.Before.Kind {
	case File:
		if content, err = l.Content(c.Before); err != nil {
			return nil, err.Error()
		}
	case Other:
		return nil, "it was no file, folder or link"
	case Absent, Folder, Link:
	}
	return content, ""
}

// Undo carries a plan out, and writes it down as a change of its own.
func (l *Ledger) Undo(p Plan, files Files) (id string, err error) {
	if problem := p.Problem(); problem != "" {
		return "", fault.New(fault.Conflict, "nothing was undone: "+problem, "")
	}
	e := Entry{Tool: "undo", What: p.Entry.ID, Undoes: p.Entry.ID}
	for _, s := range p.Steps {
		before, content, err := files.Now(s.Path)
		switch {
		case err != nil || !before.same(s.After):
			return "", fault.New(fault.Conflict, "nothing was undone: "+s.Path+": it was changed since", "")
		case before.Kind == File && int64(len(content)) != before.Size:
			before.Why = fmt.Sprintf("it has more than %d bytes", MaxFile)
		case before.Kind == File:
			// Who may write a file may be shown it again: it is what this program wrote.
			if before, err = l.Keep(content, before.Mode, s.After.Why == ""); err != nil {
				return "", err
			}
		}
		e.Changes = append(e.Changes, Change{Path: s.Path, Before: before, After: s.Before})
	}
	d, err := l.Begin(e)
	if err != nil {
		return "", err
	}
	for i, s := range p.Steps {
		if err = files.Put(s.Path, s.Before, s.content); err != nil {
			err = fault.Wrap(err, fault.Storage, fmt.Sprintf("%d of %s were put back, then %s could not be: %s", i, fault.Plural(len(p.Steps), "path"), s.Path, plain(err)), "")
			_ = d.End(func(e *Entry) { e.Changes = e.Changes[:i] })
			return d.ID(), err
		}
	}
	return d.ID(), d.End(func(*Entry) {})
}
