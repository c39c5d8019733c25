package policy

import (
	"slices"
	"strings"
)

// protectedNames are written in no mode, at any depth below a root: what runs programs,
// or sets up what runs them, as soon as somebody opens the folder.
var protectedNames = [...]string{
	".git", ".gitmodules", ".holdfast", ".claude", ".mcp.json", ".cursor", ".codex", ".vscode", ".idea",
	".devcontainer", ".husky", ".githooks", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pypirc",
	".netrc", ".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc",
	".zshenv", ".zprofile", ".zlogin", ".exrc", ".vimrc",
}

// never is the protected name that nothing lifts.
const never = ".holdfast"

// protectedName gives the protected name that a name is, in any case; empty for others.
func protectedName(name string) string {
	if len(name) < len(".git") || name[0] != '.' {
		return ""
	}
	for _, protected := range protectedNames {
		if sameName(name, protected) {
			return protected
		}
	}
	return ""
}

// guard is a protected path that a target is or lies in.
type guard struct {
	name string
	own  bool // of this program: nothing lifts it
}

// guards gives what protects a target, in the order of its names, the lifted ones left
// out.
func (p *Policy) guards(t *target) []guard {
	var all []guard
	for i := range t.views {
		v := &t.views[i]
		for _, rel := range v.rels {
			for _, name := range rel {
				name = protectedName(p.asStored(name))
				if name != "" && (name == never || !p.lifts(t, name)) {
					all = append(all, guard{name: name, own: name == never})
				}
			}
		}
		for _, own := range p.own {
			if v.within(own) {
				all = append(all, guard{name: own[len(own)-1], own: true})
			}
		}
		for _, hooked := range p.hooked {
			if name := hooked[len(hooked)-1]; v.within(hooked) && !p.lifts(t, name) {
				all = append(all, guard{name: name})
			}
		}
	}
	return all
}

// asStored drops what a folding file system may drop at a name's end: Windows does.
func (p *Policy) asStored(name string) string {
	if !p.fold {
		return name
	}
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimRight(name, ". ")
}

// within reports whether the path is a folder or file, or lies below it.
func (v *view) within(folder []string) bool {
	return slices.ContainsFunc(v.names, func(names []string) bool {
		_, ok := below(names, folder)
		return ok
	})
}

// lifts reports whether an allow rule that holds the name itself covers the target.
func (p *Policy) lifts(t *target, name string) bool {
	for _, e := range p.paths[Allow].editing.entries {
		if !e.path.holds(name) {
			continue
		}
		if !slices.ContainsFunc(t.views, func(v view) bool { return !v.matches(e.path, t.folder) }) {
			return true
		}
	}
	return false
}

// mayLiftBelow reports whether an allow rule could lift something below a folder.
func (p *Policy) mayLiftBelow(v *view, name string) bool {
	return slices.ContainsFunc(p.paths[Allow].editing.entries, func(e entry) bool {
		return e.path.holds(name) && v.mayMatchBelow(e.path)
	})
}

// mayMatchBelow reports whether a pattern may cover something below the path.
func (v *view) mayMatchBelow(p *pattern) bool {
	if p.base == "" {
		return slices.ContainsFunc(v.rels, p.reachesBelow)
	}
	return slices.ContainsFunc(v.names, func(names []string) bool {
		if _, above := below(p.baseSegs, names); above {
			return true
		}
		rest, ok := below(names, p.baseSegs)
		return ok && p.reachesBelow(rest)
	})
}
