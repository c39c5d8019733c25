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
// classes of what it holds. Places on a cycle are told apart round by round.
type identities struct {
	steps   *steps
	open    bool  // unevaluated keywords are used, so that it matters who looked at a value
	last    int32 // the newest class; class 1 is that of a schema which says nothing
	count   int32
	empty   *place // it says nothing
	nowhere *place // where a reading of a reference leads that leads nowhere
	stack   []*place
	known   map[string]int32
	rings   map[string]map[int32]int32 // classes by the number of the last round
	onRings map[string][]*place        // one place of every class on a ring, by what it says
	numbers map[string]int32           // of rounds
	buf     []byte
}

func newIdentities(m *memory, s *steps, open bool) *identities {
	m.known = emptied(m.known)
	g := &identities{steps: s, open: open, known: m.known, buf: m.buf, empty: &m.empty, nowhere: &m.nowhere}
	*g.empty = place{value: emptySchema, kinds: kindAny, index: -1}
	g.classify(g.empty)
	*g.nowhere = place{extern: nameless, kinds: kindAny, index: -1}
	g.classify(g.nowhere)
	return g
}

var (
	emptySchema = literal("{}")
	nameless    = []string{""}
)

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
	g.held(p, func(q *place) {
		g.classify(q)
		if q.stacked {
			p.low = min(p.low, q.low)
		}
		ring = ring || q == p
	})
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

// held calls f for everything that decides what a place means, in a fixed order.
func (g *identities) held(p *place, f func(*place)) {
	parts := p.parts
	if p.mixed {
		parts = p.own.parts
		f(p.own)
	}
	for i := range parts {
		if g.counts(&parts[i]) {
			f(parts[i].to.follow())
		}
	}
	for _, t := range p.targets {
		f(t.follow())
	}
	for _, t := range p.beside {
		if t == nil {
			t = g.nowhere
		}
		f(t.follow())
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
	g.held(p, func(q *place) { p.cyclic = p.cyclic || q.cyclic })
	g.buf = g.exactly(g.buf[:0], p)
	class, ok := g.known[string(g.buf)]
	if !ok {
		g.last++
		class = g.last
		g.known[string(g.buf)] = class
	}
	return class
}

// ring gives classes to the places of a component that refers to itself: they are
// told apart round by round, by what they say and by what is known of what they
// hold, until a round tells nothing new.
//
// The numbers of a round are those of every component, so a component in which all
// numbers of the last round are those of one seen before, after as many rounds, means
// the same: each number stands for the same words and leads to the same numbers.
func (g *identities) ring(component []*place) {
	for _, p := range component {
		p.cyclic = true
		p.round = 0
	}
	if g.rings == nil {
		g.rings, g.onRings, g.numbers = map[string]map[int32]int32{}, map[string][]*place{}, map[string]int32{}
	}
	rounds, distinct := 0, 0
	for {
		next := make([]int32, len(component))
		seen := map[int32]bool{}
		for i, p := range component {
			next[i] = g.nextRound(p)
			seen[next[i]] = true
		}
		if g.steps.take(len(component)) {
			break
		}
		for i, p := range component {
			p.round = next[i]
		}
		if rounds++; len(seen) == distinct {
			break
		}
		distinct = len(seen)
	}
	g.buf = appendCount(g.buf[:0], rounds)
	numbers := make([]int32, len(component))
	for i, p := range component {
		numbers[i] = p.round
	}
	slices.Sort(numbers)
	for _, n := range slices.Compact(numbers) {
		g.buf = appendCount(g.buf, int(n))
	}
	key := string(g.buf)
	if g.rings[key] == nil {
		g.rings[key] = map[int32]int32{}
		g.unrolled(component, g.rings[key])
	}
	for _, p := range component {
		if g.rings[key][p.round] == 0 {
			g.last++
			g.rings[key][p.round] = g.last
			words := string(g.says(nil, p))
			g.onRings[words] = append(g.onRings[words], p)
		}
		p.class = g.rings[key][p.round]
	}
	for _, p := range component { // so that a copy in front of the ring is known
		g.buf = g.exactly(g.buf[:0], p)
		if _, ok := g.known[string(g.buf)]; !ok {
			g.known[string(g.buf)] = p.class
		}
	}
}

// unrolled finds the classes of a ring that is a copy, only partly closed, of one
// that it leads to.
func (g *identities) unrolled(component []*place, classes map[int32]int32) {
	leads := false
	for _, p := range component {
		g.held(p, func(q *place) { leads = leads || q.cyclic && q.class != 0 })
	}
	p := component[0]
	if !leads {
		return
	}
	for _, q := range g.onRings[string(g.says(nil, p))] {
		supposed := map[[2]*place]bool{}
		if g.same(p, q, supposed) {
			for pair := range supposed {
				if pair[0].class == 0 && pair[1].class != 0 {
					classes[pair[0].round] = pair[1].class
				}
			}
			return
		}
	}
}

// same reports whether a place means the same as one that has a class, supposing
// that the pairs do which are being compared already.
func (g *identities) same(p, q *place, supposed map[[2]*place]bool) bool {
	if p.class != 0 {
		return p.class == q.class
	}
	pair := [2]*place{p, q}
	if supposed[pair] {
		return true
	}
	supposed[pair] = true
	if g.steps.take(1+len(p.parts)) || string(g.says(nil, p)) != string(g.says(nil, q)) {
		return false
	}
	var left, right []*place
	g.held(p, func(x *place) { left = append(left, x) })
	g.held(q, func(x *place) { right = append(right, x) })
	for i := range left {
		if !g.same(left[i], right[i], supposed) {
			return false
		}
	}
	return true
}

// nextRound numbers a place by what it says, its number, and what is known of what
// it holds.
func (g *identities) nextRound(p *place) int32 {
	g.buf = appendCount(g.says(g.buf[:0], p), int(p.round))
	g.held(p, func(q *place) {
		if q.class != 0 {
			g.buf = appendCount(append(g.buf, 1), int(q.class))
		} else {
			g.buf = appendCount(append(g.buf, 2), int(q.round))
		}
	})
	n, ok := g.numbers[string(g.buf)]
	if !ok {
		n = int32(len(g.numbers) + 1)
		g.numbers[string(g.buf)] = n
	}
	return n
}

// exactly appends what a place says and the classes of what it holds.
func (g *identities) exactly(b []byte, p *place) []byte {
	b = g.says(b, p)
	g.held(p, func(q *place) { b = appendCount(b, int(q.class)) })
	return b
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
