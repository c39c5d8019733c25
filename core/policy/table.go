package policy

import "math"

// none is the number of no rule; it comes after every other.
const none = math.MaxInt

// table is path rules of one kind and effect, laid out so that a path meets few of a
// thousand: those of its own names, and those with a wildcard where it counts.
type table struct {
	bare    int // the first rule on all paths
	any     int // the first rule at all
	entries []entry
	starts  []start
}

// entry is one rule.
type entry struct {
	path *pattern
	rule int
}

// start is the entries of patterns that start from one folder, or from each root.
type start struct {
	base  string
	names []string
	first map[string][]int32 // by the name that a path must begin with
	some  map[string][]int32 // by the name that a path must have somewhere
	rest  []int32
}

func newTable() table { return table{bare: none, any: none} }

// add takes a rule; they come in order.
func (t *table) add(r *Rule, rule int) {
	t.any = min(t.any, rule)
	if r.bare {
		t.bare = min(t.bare, rule)
		return
	}
	n := int32(len(t.entries)) //nolint:gosec // rules are counted in thousands
	t.entries = append(t.entries, entry{&r.path, rule})
	s := t.startAt(&r.path)
	switch segs := r.path.segs; {
	case len(segs) > 0 && segs[0].plain:
		s.first[segs[0].prefix] = append(s.first[segs[0].prefix], n)
	case len(segs) > 1 && segs[0].deep && segs[1].plain:
		s.some[segs[1].prefix] = append(s.some[segs[1].prefix], n)
	default:
		s.rest = append(s.rest, n)
	}
}

func (t *table) startAt(p *pattern) *start {
	for i := range t.starts {
		if t.starts[i].base == p.base {
			return &t.starts[i]
		}
	}
	t.starts = append(t.starts, start{
		base: p.base, names: p.baseSegs,
		first: map[string][]int32{}, some: map[string][]int32{},
	})
	return &t.starts[len(t.starts)-1]
}

// first gives the first rule that covers the target: in one of its spellings, or where
// every is set, for each spelling one.
func (t *table) first(at *target, every bool) int {
	if at.dark && !every {
		return t.any // it may be what that rule means
	}
	best := none
	for i := range at.views {
		rule := t.cover(&at.views[i], at.folder)
		if every && rule == none {
			return none
		}
		best = min(best, rule)
	}
	return best
}

// cover gives the first rule that covers one spelling.
func (t *table) cover(v *view, folder bool) int {
	best := t.bare
	for i := range t.starts {
		s := &t.starts[i]
		if s.base == "" {
			for _, rel := range v.rels {
				best = t.scan(s, rel, folder, best)
			}
			continue
		}
		for _, names := range v.names {
			if rel, ok := below(names, s.names); ok {
				best = t.scan(s, rel, folder, best)
			}
		}
	}
	return best
}

// scan gives the first rule of one start that covers the names, if it comes before best.
func (t *table) scan(s *start, names []string, folder bool, best int) int {
	look := func(list []int32) {
		for _, n := range list {
			e := &t.entries[n]
			if e.rule >= best {
				return // they come in order
			}
			if e.path.covers(names, folder) {
				best = e.rule
				return
			}
		}
	}
	look(s.rest)
	if len(names) > 0 && len(s.first) > 0 {
		look(s.first[names[0]])
	}
	if len(s.some) > 0 {
		for _, name := range names {
			look(s.some[name])
		}
	}
	return best
}
