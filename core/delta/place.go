package delta

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// kinds is a set of JSON types. Numbers are split, for an integer is one.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBool
	kindObject
	kindArray
	kindString
	kindInteger
	kindFraction // a number that is no integer
	kindNumber   = kindInteger | kindFraction
	kindAny      = kindNull | kindBool | kindObject | kindArray | kindString | kindNumber
)

// form says whether a schema is an object or one of the two booleans.
type form uint8

const (
	formObject form = iota
	formTrue
	formFalse
)

// word is a keyword with its value, which holds no schema.
type word struct {
	key   keyword
	value contract.Value
}

// part is a subschema.
type part struct {
	key   keyword
	name  string // under a keyword that maps names
	index int    // in a list
	to    *place
}

// depend is one entry of dependentRequired.
type depend struct {
	name  string
	needs []string // sorted, each once
}

// place is one subschema, brought to the spelling of 2020-12. What is written
// into it while it is read and settled does not change afterwards, except for
// what is remembered about it.
type place struct {
	doc   *document
	value contract.Value // as sent

	// Where it physically stands.
	up    *place
	key   keyword
	name  string
	index int

	// What it says.
	form     form
	typed    bool // it has a type
	kinds    kinds
	nullable bool             // nullable: true beside a type
	limited  bool             // it has an enum or a const
	members  []contract.Value // of enum and const together: sorted, each once
	required []string         // sorted, each once
	depends  []depend         // by name
	words    []word           // by keyword
	parts    []part           // by keyword, then name or index

	// Where it leads (references.go).
	base     string // URI that its references start from
	scope    *place // the place whose $id gave that base, or the root
	leads    []lead
	alias    *place   // it is nothing but a reference to this
	extern   []string // references that leave the document or lead nowhere
	beside   []*place // readings of its references that ignore an $id below the root
	mixed    bool     // references stand beside keywords that assert something
	own      *place   // of a mixed place: the keywords beside the references
	targets  []*place // of a mixed place
	defaults []word   // of a mixed place: its own default
	state    settling

	// What is remembered about it (identity.go and others).
	class               int32 // equal in places that mean the same; 0 is not known
	number, low, round  int32
	stacked, cyclic     bool
	admits              kinds
	admitsKnown, asking bool
	free                verdict
}

// follow gives the place that a bare reference stands for.
func (p *place) follow() *place {
	for p.alias != nil {
		p = p.alias
	}
	return p
}

// word finds the value of a keyword.
func (p *place) word(k keyword) (contract.Value, bool) {
	for i := range p.words {
		if p.words[i].key == k {
			return p.words[i].value, true
		}
	}
	return contract.Value{}, false
}

// text is the value of a keyword that holds a string; empty when it is absent.
func (p *place) text(k keyword) string {
	v, _ := p.word(k)
	return v.Text()
}

// part finds the schema of a keyword that holds one.
func (p *place) part(k keyword) *place {
	if parts := p.list(k); len(parts) > 0 {
		return parts[0].to.follow()
	}
	return nil
}

// list gives the schemas of a keyword, in order.
func (p *place) list(k keyword) []part {
	first := sort.Search(len(p.parts), func(i int) bool { return p.parts[i].key >= k })
	last := first
	for last < len(p.parts) && p.parts[last].key == k {
		last++
	}
	return p.parts[first:last]
}

// named finds the schema of a name.
func (p *place) named(k keyword, name string) *place {
	if q := p.entry(k, name); q != nil {
		return q.to.follow()
	}
	return nil
}

// entry finds the part of a name.
func (p *place) entry(k keyword, name string) *part {
	i, ok := slices.BinarySearchFunc(p.parts, part{key: k, name: name, index: -1}, compareParts)
	if !ok {
		return nil
	}
	return &p.parts[i]
}

// requires reports whether a name is required.
func (p *place) requires(name string) bool { return contains(p.required, name) }

// has reports whether there is at least one schema under the keyword.
func (p *place) has(k keyword) bool { return len(p.list(k)) > 0 }

// where prints where the place physically stands.
func (p *place) where() string { return p.trail().path() }

func (p *place) trail() *trail {
	if p.up == nil {
		return &trail{index: -1}
	}
	t := p.up.trail()
	if p.key.mapsNames() || p.key == kwText {
		return t.named(p.key, p.name)
	}
	return &trail{up: t, keyword: p.key, index: p.index, depth: t.depth + 1}
}

// isRoot reports whether the place is the whole schema.
func (p *place) isRoot() bool { return p.up == nil }

// ordered puts words and parts into the order that everything else relies on.
func (p *place) ordered() {
	slices.SortStableFunc(p.words, func(a, b word) int { return cmp.Compare(a.key, b.key) })
	slices.SortStableFunc(p.parts, compareParts)
}

// compareParts is the order of parts: by keyword, then index or name.
func compareParts(a, b part) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	if a.index != b.index {
		return cmp.Compare(a.index, b.index)
	}
	return strings.Compare(a.name, b.name)
}

// compareValues is an order of JSON values in which equal ones are equal.
func compareValues(v, w contract.Value) int {
	if v.Kind() != w.Kind() {
		return cmp.Compare(v.Kind(), w.Kind())
	}
	switch v.Kind() {
	case contract.Null:
		return 0
	case contract.Bool:
		switch {
		case v.Bool() == w.Bool():
			return 0
		case v.Bool():
			return 1
		}
		return -1
	case contract.Array:
		return slices.CompareFunc(v.Items(), w.Items(), compareValues)
	case contract.Object:
		for i := range min(len(v.Members()), len(w.Members())) {
			a, b := v.Sorted(i), w.Sorted(i)
			if order := cmp.Or(cmp.Compare(a.Name, b.Name), compareValues(a.Value, b.Value)); order != 0 {
				return order
			}
		}
		return cmp.Compare(len(v.Members()), len(w.Members()))
	default: // a string, or a number in its canonical spelling
		return cmp.Compare(v.Text(), w.Text())
	}
}

// kindOf is the set of the one type that a value has.
func kindOf(v contract.Value) kinds {
	switch v.Kind() {
	case contract.Null:
		return kindNull
	case contract.Bool:
		return kindBool
	case contract.String:
		return kindString
	case contract.Array:
		return kindArray
	case contract.Object:
		return kindObject
	default:
		if isInteger(v) {
			return kindInteger
		}
		return kindFraction
	}
}
