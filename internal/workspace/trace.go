package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

const maxLinks = 40 // on the way to one target, as the system has it

// fileID is a file, whatever its names.
type fileID struct{ device, inode uint64 }

// shared is a guarded file with several names.
type shared struct {
	held  string // one of them, that is guarded
	names uint64
	known map[string]bool
	hide  bool
}

// tracer finds what guarded paths are elsewhere: what links at and below them lead to,
// and the other names of their files. Whoever writes there writes what is guarded.
type tracer struct {
	s      *Server
	v      *survey
	lawful func(real string, now sight) bool
	hidden map[string]bool
	spans  map[string]bool // folders that are held whole
	done   map[string]bool // and were gone through
	shared map[fileID]*shared
}

// trace adds to a survey what its guarded paths are elsewhere in the roots. Only what is
// lawful is followed: a command could make a link to anything. guards.mu is held.
func (s *Server) trace(v *survey, lawful func(real string, now sight) bool) {
	t := tracer{s, v, lawful, setOf(v.hidden), setOf(v.spans), map[string]bool{}, map[fileID]*shared{}}
	own := make(map[string]sight, len(v.guarded))
	for p, now := range v.guarded {
		own[p] = now
	}
	for p, now := range own {
		if !lawful(p, now) {
			continue
		}
		hide := t.hidden[p] || below(p, t.hidden)
		switch {
		case now.is.Kind&fs.ModeSymlink != 0:
			t.follow(p, now.is.Target, p, hide)
		case now.is.Kind.IsRegular() && now.names > 1:
			t.share(fileID{now.device, now.inode}, p, now.names, hide)
		}
	}
	for _, p := range v.spans {
		if now, ok := own[p]; ok && lawful(p, now) {
			t.scan(p, t.hidden[p])
		}
	}
	t.otherNames()
	slices.Sort(v.hidden)
	slices.Sort(v.readOnly)
	v.hidden, v.readOnly = slices.Compact(v.hidden), slices.Compact(v.readOnly)
	s.guards.aims, s.guards.traced = v.held, time.Now()
}

// scan goes through a folder that is held whole.
func (t *tracer) scan(real string, hide bool) {
	p, ok := t.s.tree.resolved(real)
	if !ok || t.done[real] {
		return
	}
	t.done[real] = true
	at, err := t.s.tree.find(p, false)
	if err != nil {
		return
	}
	defer at.Close()
	sub, err := into(at.Root, at.name)
	if err != nil {
		return // nobody reaches what is in it
	}
	defer sub.Close()
	w := walker{visit: func(e *entry) bool {
		switch {
		case e.kind&fs.ModeSymlink != 0:
			if now, err := t.s.tree.sight(e); err == nil && now.is.Kind&fs.ModeSymlink != 0 {
				t.follow(e.real, now.is.Target, e.real, hide)
			}
		case e.kind.IsRegular():
			if n := e.names(); n > 1 {
				if now, ok := e.stat(); ok {
					t.share(fileID{now.device, now.inode}, e.real, n, hide)
				}
			}
		}
		return true
	}}
	_ = w.folder(sub, real, nil, false, 0)
}

// follow goes where a link leads, as the system would, and holds the links on the way and
// what is at the end. what is the guarded path that it is done for.
func (t *tracer) follow(link, target, what string, hide bool) {
	at, rest := filepath.Dir(link), target
	if filepath.IsAbs(target) {
		at = string(filepath.Separator)
	}
	var now sight
	links := 0
	for rest != "" {
		var step string
		step, rest, _ = strings.Cut(rest, string(filepath.Separator))
		switch step {
		case "", ".":
			continue
		case "..":
			at, now = filepath.Dir(at), sight{}
			continue
		}
		next := filepath.Join(at, step)
		_, inside := rootOf(t.s.o.Roots, next)
		var err error
		now, err = t.s.tree.sightOf(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if missing := filepath.Join(next, rest); inside {
				t.v.held[missing] = what // whoever makes it makes what is guarded
			}
			return
		case err != nil:
			if inside && !below(next, t.lost()) {
				t.v.doubt = append(t.v.doubt, next)
			}
			return
		case now.is.Kind&fs.ModeSymlink != 0:
			if inside {
				t.hold(next, now, what)
				if !t.lawful(next, now) {
					return
				}
			}
			if links++; links > maxLinks {
				return
			}
			rest = now.is.Target + string(filepath.Separator) + rest
			if filepath.IsAbs(now.is.Target) {
				at = string(filepath.Separator)
			}
			continue
		case !now.is.Kind.IsDir() && strings.Trim(rest, string(filepath.Separator)) != "":
			return
		}
		at = next
	}
	t.end(at, now, link, what, hide)
}

// lost are the folders that could not be looked through.
func (t *tracer) lost() map[string]bool {
	set := make(map[string]bool, len(t.v.lost))
	for p := range t.v.lost {
		set[p] = true
	}
	return set
}

// hold notes what is not guarded by its name, nor lies in a folder that is held whole.
func (t *tracer) hold(real string, now sight, what string) {
	t.v.held[real] = what
	if _, ok := t.v.guarded[real]; !ok && !below(real, t.spans) {
		t.v.guarded[real] = now
	}
}

// end holds what a link leads to, but for folders that hold the link or a root, and what
// is held by its own name.
func (t *tracer) end(real string, now sight, link, what string, hide bool) {
	_, inside := rootOf(t.s.o.Roots, real)
	around := func(p string) bool { _, in := rootOf([]string{real}, p); return in }
	if !inside || around(link) || slices.ContainsFunc(t.s.o.Roots, around) || strings.EqualFold(filepath.Base(real), ".git") {
		return
	}
	if now.inode == 0 { // the way ended with ".."
		var err error
		if now, err = t.s.tree.sightOf(real); err != nil || now.is.Kind&fs.ModeSymlink != 0 {
			return
		}
	}
	t.hold(real, now, what)
	if hide {
		t.v.hidden = append(t.v.hidden, real)
	} else {
		t.v.readOnly = append(t.v.readOnly, real)
	}
	switch {
	case now.is.Kind.IsDir():
		t.spans[real] = true
		t.scan(real, hide)
	case now.is.Kind.IsRegular() && now.names > 1:
		t.share(fileID{now.device, now.inode}, real, now.names, hide)
	}
}

// share notes a name of a file with several.
func (t *tracer) share(id fileID, real string, names uint64, hide bool) {
	x := t.shared[id]
	if x == nil {
		x = &shared{held: real, known: map[string]bool{}}
		t.shared[id] = x
	}
	x.names, x.hide, x.known[real] = names, x.hide || hide, true
}

// otherNames holds the other names of files in the roots.
func (t *tracer) otherNames() {
	if len(t.shared) == 0 {
		return
	}
	missing := func() bool {
		for _, x := range t.shared {
			if uint64(len(x.known)) < x.names {
				return true
			}
		}
		return false
	}
	note := func(real string, now stat) {
		if x := t.shared[fileID{now.device, now.inode}]; x != nil && !x.known[real] {
			x.known[real] = true
			t.v.held[real] = x.held
			if x.hide {
				t.v.hidden = append(t.v.hidden, real)
			} else {
				t.v.readOnly = append(t.v.readOnly, real)
			}
		}
	}
	if !missing() {
		return
	}
	for p, x := range t.v.files {
		note(p, x.stat)
	}
	for p, now := range t.v.ignored {
		note(p, now)
	}
	for p, now := range t.v.ignored {
		if !missing() {
			return // the rest lies outside
		}
		at, ok := t.s.tree.resolved(p)
		if !ok || !now.mode.IsDir() {
			continue
		}
		_ = t.s.tree.walk(at, func(e *entry) bool {
			if e.kind.IsRegular() {
				if now, ok := e.stat(); ok {
					note(e.real, now)
				}
			}
			return true
		})
	}
}

// aimed gives the guarded path that is written where a real path is: a link there leads
// to it, or it is another name of the same file.
func (s *Server) aimed(real string) (what string, ok bool) {
	g := &s.guards
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.traced) > aimsLast {
		s.trace(s.look(false, nil), func(p string, now sight) bool { return len(g.legit) == 0 || s.shells.quiet() || s.stays(p, now) })
	}
	for p := real; ; p = filepath.Dir(p) {
		if what, ok = g.aims[p]; ok {
			return what, true
		}
		if p == filepath.Dir(p) {
			return "", false
		}
	}
}

// aimsLast is for how long it is taken as known what protected links lead to: only the
// owner makes any.
const aimsLast = 2 * time.Second

// aside refuses to write what a protected path is elsewhere. Commands find it read-only.
func (s *Server) aside(d policy.Decision) (policy.Decision, bool) {
	for _, p := range d.Paths {
		if what, ok := s.aimed(p.Real); ok {
			return policy.Decision{
				Outcome: policy.Refused, Stage: policy.StageRules, Rule: "protected:" + filepath.Base(what),
				Reason: s.shown(p.Real) + " is what " + s.shown(what) + " leads to, or another name of it, and that may not be written",
				Remedy: "Leave it to the owner, or write to another file.",
			}, true
		}
	}
	return policy.Decision{}, false
}

