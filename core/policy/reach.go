package policy

import (
	"slices"
	"strings"
)

// Readable reports whether search results may show a path: real is its real path, given
// the path under the search root that led there. It is what Judge says of reading it.
func (p *Policy) Readable(given, real string) bool {
	if p == nil {
		return false
	}
	return p.judgePath(Call{Tool: Read, Path: given}, resolvedAs(real)).Outcome == Allowed
}

// resolvedAs is the Files of a path that is resolved already.
type resolvedAs string

func (r resolvedAs) Real(string) (string, error) { return string(r), nil }

// Reach is what a confined command may do with a path.
type Reach uint8

// The reaches.
const (
	Hidden Reach = iota
	ReadOnly
	Writable
)

// Reach gives the reach of a real path inside the roots, for the sandbox: denies of
// contracts and rules, and protected paths; outside the roots everything is Hidden.
// Whole says that everything below has the same or less, so that a walk may stop there.
// A folder that only a default denies, or below which a rule lifts something, has the
// greater reach, as a mask on it would hide what may be seen; a root is never Hidden.
func (p *Policy) Reach(real string, folder bool) (r Reach, whole bool) {
	if p == nil {
		return Hidden, true
	}
	v := p.view(clean(real, "/"))
	root, ok := p.rootOf(&v)
	if !ok {
		return Hidden, true
	}
	t := target{views: []view{v}, folder: folder}
	top := slices.Equal(v.names[0], p.roots[root].real)
	if p.shut(&t, reading, folder) {
		if !top {
			return Hidden, true
		}
		return p.rootReach(&t), false
	}
	if !p.shut(&t, writing, folder) && !p.guardsAll(&t, folder) {
		return Writable, !folder
	}
	return ReadOnly, !folder || !p.hidesBelow(&v)
}

// rootReach is the reach of a root that may not be read.
func (p *Policy) rootReach(t *target) Reach {
	if p.shut(t, writing, true) {
		return ReadOnly
	}
	return Writable
}

// shut reports whether a path is denied for an axis; a folder, whether it is so with
// everything below.
func (p *Policy) shut(t *target, x axis, folder bool) bool {
	tool := Read
	if x == writing {
		tool = Edit
	}
	law := &p.paths[Deny]
	if law.reading.first(t, false) != none || tool == Edit && law.editing.first(t, false) != none {
		return true
	}
	v := &t.views[0]
	for i := range p.contracts {
		c := &p.contracts[i]
		switch o := c.on(v, folder, false, []axis{x}); {
		case o.effect != Deny:
		case o.rule >= 0 || !folder || !c.speaksBelow(v, x):
			return true
		}
	}
	return false
}

// speaksBelow reports whether a rule of the contract may name something below a folder,
// and so take it out of the defaults.
func (c *Contract) speaksBelow(v *view, x axis) bool {
	return slices.ContainsFunc(c.rules, func(r clause) bool {
		return r.Axes.of(x) != NoEffect && v.mayMatchBelow(&r.path)
	})
}

// hidesBelow reports whether something below a folder may be Hidden.
func (p *Policy) hidesBelow(v *view) bool {
	for _, e := range p.paths[Deny].reading.entries {
		if v.mayMatchBelow(e.path) {
			return true
		}
	}
	for i := range p.contracts {
		c := &p.contracts[i]
		if c.defaults.Read == Deny {
			return true
		}
		if slices.ContainsFunc(c.rules, func(r clause) bool { return r.Axes.Read == Deny && v.mayMatchBelow(&r.path) }) {
			return true
		}
	}
	return false
}

// guardsAll reports whether a path is protected; a folder, whether it is so with
// everything below.
func (p *Policy) guardsAll(t *target, folder bool) bool {
	v := &t.views[0]
	for _, g := range p.guards(t) {
		switch {
		case g.name == ".git" && !gitRuns(v, folder):
		case !g.own && folder && p.mayLiftBelow(v, g.name):
		default:
			return true
		}
	}
	return false
}

// gitRuns reports whether a path in a .git folder can run programs, or says where the
// folder is that does: git itself must write the rest.
func gitRuns(v *view, folder bool) bool {
	for _, rel := range v.rels {
		for at, name := range rel {
			switch inside := rel[at+1:]; {
			case !sameName(name, ".git"):
			case len(inside) == 0 && !folder: // a pointer file
				return true
			case len(inside) > 0 && gitRunsIn(inside):
				return true
			}
		}
	}
	return false
}

// gitRunsIn is gitRuns for the names below a git folder.
func gitRunsIn(inside []string) bool {
	if gitSets(inside[0]) {
		return true
	}
	switch strings.ToLower(inside[0]) {
	case "modules":
		// Names of modules have slashes, so that a git folder may begin at any depth.
		return slices.ContainsFunc(inside[1:], gitSets)
	case "worktrees":
		return len(inside) > 2 && gitSets(inside[2])
	}
	return false
}

// gitSets reports whether a name in a git folder sets what is run.
func gitSets(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "hooks", "info", "commondir", "gitdir":
		return true
	}
	return strings.HasPrefix(name, "config")
}
