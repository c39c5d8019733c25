package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const maxLinks = 40 // on the way to one target, as the system has it

// aim is what a guarded path is elsewhere.
type aim struct {
	what string // the guarded path
	hide bool
	held bool // for commands, by a mount
}

// aim notes what a guarded path is elsewhere.
func (v *survey) aim(real string, a aim) {
	v.aims[real] = a
	switch {
	case a.held && a.hide:
		v.hidden = append(v.hidden, real)
	case a.held:
		v.readOnly = append(v.readOnly, real)
	}
}

// fileID is a file, whatever its names.
type fileID struct{ device, inode uint64 }

// shared is a guarded file with several names.
type shared struct {
	held    string // one of them, that is guarded
	names   uint64
	changed int64 // the file; with every name that it gets or loses
	known   map[string]bool
	hide    bool
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
// lawful is followed: a command could make a link to anything. What was known before is
// kept for the session. guards.mu is held.
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
			t.share(p, now.stat, now.names, hide)
		}
		if now.is.Kind.IsRegular() {
			t.configured(p)
		}
	}
	for _, p := range v.spans {
		if now, ok := own[p]; ok && lawful(p, now) {
			t.scan(p, t.hidden[p])
		}
	}
	t.otherNames()
	for p, a := range s.guards.aims {
		if _, ok := v.aims[p]; !ok {
			t.carry(p, a)
		}
	}
	slices.Sort(v.hidden)
	slices.Sort(v.readOnly)
	v.hidden, v.readOnly = slices.Compact(v.hidden), slices.Compact(v.readOnly)
	s.guards.aims, s.guards.traced = v.aims, time.Now()
}

// carry keeps what was known of a guarded path for the session: a link that is not there,
// or leads elsewhere, may have been put aside by a command that brings it back.
func (t *tracer) carry(real string, a aim) {
	if now, err := t.s.tree.sightOf(real); err == nil {
		t.hold(real, now, a)
		return
	}
	t.v.aim(real, a)
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
					t.share(e.real, now, n, hide)
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
				t.v.aim(missing, aim{what: what}) // whoever makes it makes what is guarded
			}
			return
		case err != nil:
			if inside && !below(next, t.lost()) {
				t.v.doubt = append(t.v.doubt, next)
			}
			return
		case now.is.Kind&fs.ModeSymlink != 0:
			if inside {
				t.hold(next, now, aim{what: what})
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
func (t *tracer) hold(real string, now sight, a aim) {
	t.v.aim(real, a)
	if _, ok := t.v.guarded[real]; !ok && !below(real, t.spans) {
		now.aimed = true
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
	t.hold(real, now, aim{what, hide, true})
	switch {
	case now.is.Kind.IsDir():
		t.spans[real] = true
		t.scan(real, hide)
	case now.is.Kind.IsRegular() && now.names > 1:
		t.share(real, now.stat, now.names, hide)
	}
}
