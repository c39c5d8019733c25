package shell

// Table is patterns in an order, laid out by the program that they name, so that a part
// meets few of a thousand. The zero Table has none. Immutable.
type Table struct {
	patterns []Pattern
	named    map[string][]int // those that begin with a literal word, by it
	rest     []int
}

// NewTable makes a table of patterns.
func NewTable(patterns []Pattern) Table {
	t := Table{patterns: patterns, named: map[string][]int{}}
	for i, p := range patterns {
		switch {
		case p.meaning == nil:
		case p.plain == nil && p.own.program != "":
			t.named[p.own.program] = append(t.named[p.own.program], i)
		default:
			t.rest = append(t.rest, i)
		}
	}
	return t
}

// Covers gives the number of the first pattern that covers a part; -1 for none.
func (t Table) Covers(part *Part) int {
	if part.shape == nil {
		return -1
	}
	covers := func(p Pattern) bool { return p.Covers(part) }
	best := t.scan(t.rest, -1, covers)
	best = t.scan(t.named[firstWord(part.form)], best, covers)
	for i := range part.outers {
		best = t.scan(t.named[firstWord(part.outers[i].form)], best, covers)
	}
	return best
}

// May gives the number of the first pattern that a part could be meant by; -1 for none.
func (t Table) May(part *Part) int {
	may := func(p Pattern) bool { return p.May(part) }
	if part.Opaque != "" || part.shape == nil || part.free {
		return t.every(may)
	}
	best := t.scan(t.rest, -1, may)
	for i := range len(part.starts) + 1 {
		at := 0
		if i > 0 {
			at = part.starts[i-1]
		}
		word := unmarked(part.form[at:])
		if end := at + len(word); end < len(part.form) && part.form[end] != sep {
			return t.every(may) // it may be any program
		}
		best = t.scan(t.named[word], best, may)
	}
	return best
}

// firstWord is what a form has before what parts words.
func firstWord(form string) string {
	for i := range len(form) {
		if c := form[i]; c == sep || c == gap || c == globGap {
			return form[:i]
		}
	}
	return form
}

// scan gives the first of some patterns that is meant, if it comes before best.
func (t Table) scan(list []int, best int, meant func(Pattern) bool) int {
	for _, i := range list {
		if best >= 0 && i >= best {
			break // they come in order
		}
		if meant(t.patterns[i]) {
			return i
		}
	}
	return best
}

func (t Table) every(meant func(Pattern) bool) int {
	for i, p := range t.patterns {
		if meant(p) {
			return i
		}
	}
	return -1
}
