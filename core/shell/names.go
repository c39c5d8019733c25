package shell

import "strings"

// names is what a command sets, wherever it stands: variables change what cd, ~ and words
// mean, and what was read before them too, in a loop or a function. So a question that
// was answered too soon is kept, and the command read once more.
type names struct {
	set   map[string]bool // variables, and those that are arrays with a "[" behind the name
	asked map[string]bool // those of which it was said that nothing sets them
	any   bool            // something sets variables that can't be told
	late  bool            // one of asked was set after all
	round int
}

// add records that a variable is set.
func (n *names) add(variable string) {
	if n.set[variable] {
		return
	}
	if n.set == nil {
		n.set = map[string]bool{}
	}
	n.set[variable] = true
	n.late = n.late || n.asked[variable]
}

// array records that a variable is set, and may be an array.
func (n *names) array(variable string) {
	n.add(variable)
	n.add(variable + "[")
}

// assigned records what words assign, in whatever command they stand: env and export
// take them, and which others do can't be told.
func (n *names) assigned(words []word) {
	for _, w := range words {
		variable, rest, ok := splitName(w)
		if !ok || rest == "" {
			continue
		}
		if variable == "IFS" && w.exact && !strings.ContainsAny(rest, "-0123456789") {
			continue // it splits no number
		}
		n.add(variable)
	}
}

// may reports whether something may set a variable.
func (n *names) may(variable string) bool {
	if n.any || n.set[variable] {
		return true
	}
	if n.asked == nil {
		n.asked = map[string]bool{}
	}
	n.asked[variable] = true
	return false
}

// again reports whether the command must be read once more, and makes ready for it. The
// third reading takes everything for set, so that it is the last.
func (n *names) again() bool {
	if !n.late {
		return false
	}
	n.round++
	n.asked, n.late, n.any = nil, false, n.round > 1
	return true
}

// home reports whether ~ is surely the home directory.
func (r *reader) home() bool { return !r.names.may("HOME") }
