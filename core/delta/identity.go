package delta

import (
	"encoding/binary"
	"slices"
)

// identities gives every place a class, so that two places of one or of both
// schemas mean the same exactly if they have one class. Texts, references and
// the spelling of things are gone by then.
//
// Places are taken in the order of Tarjan's strongly connected components, what
// they hold first. A place that is on no cycle is known by what it says and the
// classes of what it holds. Places on a cycle are compared with those seen before
// as if they were equal, until something speaks against it.
type identities struct {
	steps   *steps
	open    bool  // unevaluated keywords are used, so that it matters who looked at a value
	last    int32 // the newest class; class 1 is that of a schema which says nothing
	count   int32
	empty   *place // it says nothing
	stack   []*place
	known   map[string]int32
	onRings map[string][]*place
	buf     []byte
}

func newIdentities(s *steps, open bool) *identities {
	g := &identities{steps: s, open: open, known: map[string]int32{}, onRings: map[string][]*place{}}
	g.empty = &place{value: literal("{}"), kinds: kindAny, index: -1}
	g.classify(g.empty)
	return g
}

// emptyClass is the class of {} and true.
const emptyClass = 1

// classify gives p and everything it holds or leads to a class.
func (g *identities) classify(p *place) {
	if p.class != 0 || p.number != 0 {
		return
	}
	g.count++
	p.number, p.low = g.count, g.count
	p.stacked = true
	g.stack = append(g.stack, p)
	ring := false
	for q := range g.held(p) {
		if q == nil {
			continue
		}
		g.classify(q)
		if q.stacked {
			p.low = min(p.low, q.low)
		}
		ring = ring || q == p
	}
	if p.low != p.number {
		return
	}
	first := len(g.stack) - 1
	for g.stack[first] != p {
		first--
	}
	component := g.stack[first:]
	for _, q := range component {
		q.stacked = false
	}
	if len(component) == 1 && !ring {
		p.class = g.classOf(p)
	} else {
		g.ring(component)
	}
	g.stack = g.stack[:first]
}

// held gives everything that decides what a place means, in a fixed order; nil for
// a reading of a reference that leads nowhere.
func (g *identities) held(p *place) func(func(*place) bool) {
	return func(yield func(*place) bool) {
		parts, targets := p.parts, []*place(nil)
		if p.mixed {
			parts, targets = p.own.parts, p.targets
			if !yield(p.own) {
				return
			}
		}
		for i := range parts {
			if g.counts(&parts[i]) && !yield(parts[i].to.follow()) {
				return
			}
		}
		for _, t := range targets {
			if !yield(t.follow()) {
				return
			}
		}
		for _, t := range p.beside {
			if t != nil {
				t = t.follow()
			}
			if !yield(t) {
				return
			}
		}
	}
}

// counts reports whether a subschema says something: definitions don't by
// themselves, and neither does one that says nothing where absence would too.
func (g *identities) counts(q *part) bool {
	switch q.key {
	case kwDefs, kwDefinitions:
		return false
	case kwPropertyNames:
		return q.to.follow().class != emptyClass
	case kwAdditionalProperties, kwItems:
		return g.open || q.to.follow().class != emptyClass
	default:
		return true
	}
}

// classOf gives the class of a place of which everything that it holds has one.
func (g *identities) classOf(p *place) int32 {
	g.buf = g.says(g.buf[:0], p)
	for q := range g.held(p) {
		if q == nil {
			g.buf = append(g.buf, 0)
			continue
		}
		p.cyclic = p.cyclic || q.cyclic
		g.buf = binary.AppendUvarint(g.buf, uint64(q.class))
	}
	class, ok := g.known[string(g.buf)]
	if !ok {
		g.last++
		class = g.last
		g.known[string(g.buf)] = class
	}
	return class
}

// ring gives classes to the places of a component that refers to itself.
func (g *identities) ring(component []*place) {
	for _, p := range component {
		p.cyclic = true
	}
	for _, p := range component {
		g.buf = g.says(g.buf[:0], p)
		for q := range g.held(p) {
			if q != nil && !q.cyclic {
				g.buf = binary.AppendUvarint(g.buf, uint64(q.class))
			}
		}
		key := string(g.buf)
		for _, seen := range g.onRings[key] {
			if g.same(p, seen, map[[2]*place]bool{}) {
				p.class = seen.class
				break
			}
		}
		if p.class == 0 {
			g.last++
			p.class = g.last
			g.onRings[key] = append(g.onRings[key], p)
		}
	}
	for _, p := range component {
		g.buf = g.says(g.buf[:0], p)
		for q := range g.held(p) {
			if q == nil {
				g.buf = append(g.buf, 0)
			} else {
				g.buf = binary.AppendUvarint(g.buf, uint64(q.class))
			}
		}
		if _, ok := g.known[string(g.buf)]; !ok {
			g.known[string(g.buf)] = p.class
		}
	}
}

// same reports whether two places mean the same, supposing that the pairs do
// which are being compared already.
func (g *identities) same(p, q *place, supposed map[[2]*place]bool) bool {
	if p == q || p.class != 0 && p.class == q.class {
		return true
	}
	if p.class != 0 && q.class != 0 {
		return false
	}
	pair := [2]*place{p, q}
	if supposed[pair] {
		return true
	}
	supposed[pair] = true
	if g.steps.take(1+len(p.parts)) || string(g.says(nil, p)) != string(g.says(nil, q)) {
		return false
	}
	left, right := slices.Collect(g.held(p)), slices.Collect(g.held(q))
	for i := range left {
		switch {
		case left[i] == nil || right[i] == nil:
			if left[i] != right[i] {
				return false
			}
		case !g.same(left[i], right[i], supposed):
			return false
		}
	}
	return true
}

// says appends everything that a place says itself, so that two places which say
// different things give different bytes, and what they hold is told apart by order.
func (g *identities) says(b []byte, p *place) []byte {
	words, parts := p.words, p.parts
	if p.mixed { // its neighbours and targets stand for themselves
		words, parts = p.defaults, p.own.parts
		b = append(b, mixedMark)
	} else {
		flags := bit(p.form == formFalse, 0) | bit(p.typed, 1) | bit(p.nullable, 2) | bit(p.limited, 3)
		b = append(b, flags, byte(p.kinds))
		b = appendCount(b, len(p.members))
		for _, v := range p.members {
			b = append(v.AppendCanonical(b), 0)
		}
		b = appendNames(b, p.required)
		b = appendCount(b, len(p.depends))
		for _, d := range p.depends {
			b = appendNames(appendText(b, d.name), d.needs)
		}
	}
	b = appendCount(b, len(words))
	for _, w := range words {
		b = append(b, byte(w.key))
		if w.key == kwSchema {
			b = appendText(b, dialectOf(w.value.Text()))
			continue
		}
		b = append(w.value.AppendCanonical(b), 0)
	}
	b = appendNames(b, p.extern)
	b = appendCount(b, len(p.targets))
	b = appendCount(b, len(p.beside))
	for i := range parts {
		if q := &parts[i]; g.counts(q) {
			b = append(b, 1, byte(q.key))
			b = appendText(b, q.name)
		}
	}
	return append(b, 0)
}

const mixedMark = 0xff // no flags look like it

func bit(set bool, n int) byte {
	if set {
		return 1 << n
	}
	return 0
}

func appendCount(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func appendText(b []byte, s string) []byte { return append(appendCount(b, len(s)), s...) }

func appendNames(b []byte, names []string) []byte {
	b = appendCount(b, len(names))
	for _, name := range names {
		b = appendText(b, name)
	}
	return b
}
