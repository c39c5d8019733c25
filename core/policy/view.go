package policy

import (
	"path"
	"strings"
)

// view is one spelling of a path: as it was given, or with links resolved. Everything
// in it is folded where the file system folds.
type view struct {
	names [][]string // absolute, by each name that its root has
	rels  [][]string // below each root that holds it
}

// matches reports whether a pattern covers the path.
func (v *view) matches(p *pattern, folder bool) bool {
	if p.base == "" {
		for _, rel := range v.rels {
			if p.covers(rel, folder) {
				return true
			}
		}
		return false
	}
	for _, names := range v.names {
		if rest, ok := below(names, p.baseSegs); ok && p.covers(rest, folder) {
			return true
		}
	}
	return false
}

// target is a path that a call names, as it is judged.
type target struct {
	text   string // as the call has it
	given  string // absolute and clean
	real   string
	walked string // where the kernel gets to, where that is neither
	root   int    // the innermost that holds real
	views  []view // given, real, and where they differ the path that the kernel walks
	folder bool   // may be a folder: the root of a search
	dark   bool   // not literal: it may be any path, and there is no more in it than text
}

// view gives the folded spelling of an absolute clean path.
func (p *Policy) view(abs string) view {
	if p.fold {
		abs = foldName(abs)
	}
	names := split(abs)
	v := view{names: [][]string{names}}
	for i := range p.roots {
		r := &p.roots[i]
		rel, ok := below(names, r.real)
		other := r.given
		if !ok && r.given != nil {
			rel, ok = below(names, r.given)
			other = r.real
		}
		if !ok {
			continue
		}
		v.rels = append(v.rels, rel)
		if other != nil {
			v.names = append(v.names, append(other[:len(other):len(other)], rel...))
		}
	}
	return v
}

// rootOf gives the innermost root whose real path holds a path.
func (p *Policy) rootOf(v *view) (root int, ok bool) {
	root = -1
	for i := range p.roots {
		if _, inside := below(v.names[0], p.roots[i].real); inside && (root < 0 || len(p.roots[i].real) > len(p.roots[root].real)) {
			root = i
		}
	}
	return root, root >= 0
}

// maxPath is more bytes than systems take for a path, and those of the folder that a
// command went to before.
const maxPath = 3 * 4096

// locate resolves a path of a call. walked says that the kernel resolves it name by name
// (a redirection), not after cleaning. problem is why it can't be used, and ends a
// sentence that begins with the path; outside then says whether it is for its place.
func (p *Policy) locate(text string, files Files, walked bool) (t target, problem string, outside bool) {
	t = target{text: text}
	switch {
	case strings.ContainsRune(text, 0):
		return t, "has a NUL byte in it, which no path has", false
	case len(text) > maxPath:
		t.text = text[:60] + "..."
		return t, "is longer than a path can be", false
	}
	t.given = clean(text, p.roots[0].path)
	given := p.view(t.given)
	if len(given.rels) == 0 {
		return t, "is outside the workspace and its additional directories", true
	}
	if problem, outside = p.resolve(&t, files); problem != "" {
		return t, problem, outside
	}
	t.views = []view{given}
	if t.real != t.given {
		t.views = append(t.views, p.view(t.real))
	}
	if walked {
		problem, outside = p.walk(&t, files)
	}
	return t, problem, outside
}

const unresolved = "can't be resolved (a loop of links, or a folder that can't be searched)"

// resolve finds the real path and its root.
func (p *Policy) resolve(t *target, files Files) (problem string, outside bool) {
	real, err := files.Real(t.given)
	if err != nil || !path.IsAbs(real) {
		return unresolved, false
	}
	t.real = path.Clean(real)
	v := p.view(t.real)
	root, ok := p.rootOf(&v)
	if !ok {
		return "leads by a link to " + shown(t.real) + ", outside the workspace and its additional directories", true
	}
	t.root = root
	return "", false
}

// walk adds where the kernel gets to where that is another place.
func (p *Policy) walk(t *target, files Files) (problem string, outside bool) {
	if !strings.Contains(t.text, "..") {
		return "", false
	}
	at, err := p.walkTo(t.text, files)
	if err != nil {
		return unresolved, false
	}
	walked := target{given: at}
	if problem, outside := p.resolve(&walked, files); problem != "" {
		return problem, outside
	}
	if walked.real != t.real {
		t.walked = walked.real
		t.views = append(t.views, p.view(walked.real))
	}
	return "", false
}

// walkTo follows a path name by name, as the kernel does: "link/.." is the parent of
// what the link leads to. Links at the end are left.
func (p *Policy) walkTo(text string, files Files) (string, error) {
	if !path.IsAbs(text) {
		text = p.roots[0].path + "/" + text
	}
	at := "/"
	for _, name := range strings.Split(text, "/") {
		if name != ".." {
			at = path.Join(at, name)
			continue
		}
		real, err := files.Real(at)
		if err != nil {
			return "", err
		}
		at = path.Dir(path.Clean(real))
	}
	return at, nil
}

// inside gives the target of a path in as far as it lies inside the roots: its
// spellings that do, by whatever way they lead there.
func (p *Policy) inside(text string, files Files) target {
	t := target{text: text, given: clean(text, p.roots[0].path)}
	t.real = t.given
	all := []string{t.given}
	if real, err := files.Real(t.given); err == nil {
		t.real = path.Clean(real)
		all = append(all, t.real)
	}
	if at, err := p.walkTo(text, files); err == nil {
		if real, err := files.Real(at); err == nil {
			all = append(all, path.Clean(real))
		}
	}
	for _, abs := range all {
		if v := p.view(abs); len(v.rels) > 0 {
			t.views = append(t.views, v)
		}
	}
	return t
}

// free reports whether a redirection's target needs no judgement: /dev/null, and what
// lies in the sandbox's own /tmp.
func (p *Policy) free(text string) bool {
	abs := clean(text, p.roots[0].path)
	if abs == "/dev/null" {
		return true
	}
	if !p.confined || !strings.HasPrefix(abs, "/tmp/") {
		return false
	}
	v := p.view(abs)
	return len(v.rels) == 0
}

// descriptor reports whether a path is another name of an open descriptor.
func descriptor(text string) bool {
	switch abs := path.Clean(text); abs {
	case "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	default:
		number, ok := strings.CutPrefix(abs, "/dev/fd/")
		return ok && number != "" && strings.Trim(number, "0123456789") == ""
	}
}
