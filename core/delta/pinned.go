package delta

import (
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// answer is whether a place admits a value: unknown where that would take a
// pattern, a format or a schema that is not here.
type answer int8

const (
	no answer = iota - 1
	unknown
	yes
)

// deepest is how many places one value is followed through.
const deepest = 64

// few is up to how many numbers between two bounds are looked at one by one.
const few = 256

// pinning finds out whether a place admits exactly one value, which is then sent
// whatever the model thinks. It is judged over null, booleans, numbers and strings;
// a place that may be an array or an object counts as many unless an enum lists
// its values.
type pinning struct {
	steps *steps
	live  bool // nullable counts
}

// pinned gives the one value that the place admits, if it is one.
func (n pinning) pinned(p *place) (contract.Value, bool) {
	p = p.follow()
	if !p.limited && !p.has(kwAllOf) && !p.has(kwAnyOf) && !p.has(kwOneOf) && n.many(p.ownKinds(n.live), p) {
		return contract.Value{}, false
	}
	values, finite := n.domain([]*place{p}, nil)
	if !finite {
		return contract.Value{}, false
	}
	values = slices.DeleteFunc(values, func(v contract.Value) bool { return n.admits(p, v, deepest) == no })
	slices.SortFunc(values, compareValues)
	values = slices.CompactFunc(values, contract.Value.Equal)
	if len(values) != 1 {
		return contract.Value{}, false
	}
	return values[0], true
}

// many is a quick look that finds most places to admit many values.
func (n pinning) many(k kinds, p *place) bool {
	if k&(kindArray|kindObject) != 0 {
		return true
	}
	if _, capped := p.word(kwMaxLength); k&kindString != 0 && !capped {
		return true
	}
	return k&kindNumber != 0 && (!p.lower().given || !p.upper().given)
}

// domain gives the values that all of these places may admit together, or false
// when they are many. done are the choices that were made already.
func (n pinning) domain(all, done []*place) ([]contract.Value, bool) {
	all = n.closure(all)
	if n.steps.take(len(all)) {
		return nil, false
	}
	k, finite := kindAny, [][]contract.Value{}
	for _, p := range all {
		if p.form == formFalse {
			return nil, true
		}
		k &= p.ownKinds(n.live)
		if p.limited {
			finite = append(finite, p.members)
		}
	}
	if len(finite) > 0 {
		return finite[0], true // the others filter, for each has to admit it
	}
	for _, p := range all {
		if slices.Contains(done, p) {
			continue
		}
		for _, choice := range [...]keyword{kwAnyOf, kwOneOf} {
			if branches := p.list(choice); len(branches) > 0 {
				return n.choices(all, append(slices.Clone(done), p), branches)
			}
		}
	}
	return n.listed(all, k)
}

// closure adds the branches of allOf.
func (n pinning) closure(all []*place) []*place {
	all = slices.Clone(all)
	for i := 0; i < len(all) && len(all) <= deepest; i++ {
		for _, q := range all[i].list(kwAllOf) {
			if to := q.to.follow(); !slices.Contains(all, to) {
				all = append(all, to)
			}
		}
	}
	return all
}

// choices joins what the branches of a choice admit.
func (n pinning) choices(all, done []*place, branches []part) ([]contract.Value, bool) {
	var values []contract.Value
	for _, q := range branches {
		some, finite := n.domain(append(slices.Clone(all), q.to.follow()), done)
		if !finite {
			return nil, false
		}
		values = append(values, some...)
	}
	return values, true
}

// listed writes the values of some types out, if they are few.
func (n pinning) listed(all []*place, k kinds) ([]contract.Value, bool) {
	var values []contract.Value
	if k&(kindArray|kindObject) != 0 {
		return nil, false
	}
	if k&kindNull != 0 {
		values = append(values, literalNull)
	}
	if k&kindBool != 0 {
		values = append(values, literalTrue, literalFalse)
	}
	if k&kindString != 0 {
		if !slices.ContainsFunc(all, func(p *place) bool { v, ok := p.word(kwMaxLength); return ok && v.Text() == "0" }) {
			return nil, false
		}
		values = append(values, literalText)
	}
	if k&kindNumber == 0 {
		return values, true
	}
	numbers, finite := n.numbers(all, k&kindFraction == 0)
	return append(values, numbers...), finite
}

// numbers writes out the numbers between the tightest bounds.
func (n pinning) numbers(all []*place, integers bool) ([]contract.Value, bool) {
	var low, high limit
	var step contract.Value
	stepped := integers
	if integers {
		step = one()
	}
	for _, p := range all {
		if l := p.lower(); looser(l, low, 1, false) {
			low = l
		}
		if l := p.upper(); looser(l, high, -1, false) {
			high = l
		}
		if v, ok := p.word(kwMultipleOf); ok && (!stepped || isMultiple(v, step)) {
			step, stepped = v, true
		}
	}
	if !low.given || !high.given {
		return nil, false
	}
	switch order := contract.CompareNumbers(low.value, high.value); {
	case order > 0, order == 0 && (low.exclusive || high.exclusive):
		return nil, true
	case order == 0:
		return []contract.Value{low.value}, true
	case !stepped:
		return nil, false
	}
	return n.between(low, high, step)
}

// between writes out the multiples of step between two bounds.
func (n pinning) between(low, high limit, step contract.Value) ([]contract.Value, bool) {
	l, okL := rational(low.value)
	h, okH := rational(high.value)
	s, okS := rational(step)
	if !okL || !okH || !okS {
		return nil, false
	}
	first, last := new(big.Rat).Quo(l, s), new(big.Rat).Quo(h, s)
	i := new(big.Int).Div(first.Num(), first.Denom())
	end := new(big.Int).Div(last.Num(), last.Denom())
	if new(big.Int).Sub(end, i).Cmp(big.NewInt(few)) > 0 {
		return nil, false
	}
	var values []contract.Value
	for ; i.Cmp(end) <= 0 && !n.steps.take(1); i.Add(i, big.NewInt(1)) {
		x := new(big.Rat).Mul(new(big.Rat).SetInt(i), s)
		below, above := x.Cmp(l), x.Cmp(h)
		if below > 0 || below == 0 && !low.exclusive {
			if above < 0 || above == 0 && !high.exclusive {
				values = append(values, decimal(x))
			}
		}
	}
	return values, true
}

// decimal writes a multiple of a decimal number as one.
func decimal(x *big.Rat) contract.Value {
	digits, _ := x.FloatPrec()
	return literal(x.FloatString(digits))
}

var (
	literalNull, literalTrue, literalFalse = literal("null"), literal("true"), literal("false")

	literalText = literal(`""`)
)

// literal is the value of a JSON text of ours.
func literal(text string) contract.Value {
	v, _ := contract.Parse([]byte(`{"v":` + text + `}`)).Root().Get("v")
	return v
}

// admits reports whether the place admits a value.
func (n pinning) admits(p *place, v contract.Value, depth int) answer {
	p = p.follow()
	if depth == 0 || n.steps.take(1) {
		return unknown
	}
	if p.form == formFalse || p.ownKinds(n.live)&kindOf(v) == 0 || p.limited && !includes(p.members, v) {
		return no
	}
	result := n.withinBounds(p, v)
	if len(p.extern) > 0 || p.has(kwIf) {
		result = min(result, unknown)
	}
	for _, q := range p.list(kwAllOf) {
		result = min(result, n.admits(q.to, v, depth-1))
	}
	if branches := p.list(kwAnyOf); len(branches) > 0 {
		some := no
		for _, q := range branches {
			some = max(some, n.admits(q.to, v, depth-1))
		}
		result = min(result, some)
	}
	if branches := p.list(kwOneOf); len(branches) > 0 {
		result = min(result, n.exactlyOne(branches, v, depth))
	}
	if q := p.part(kwNot); q != nil {
		result = min(result, -n.admits(q, v, depth-1))
	}
	return result
}

func (n pinning) exactlyOne(branches []part, v contract.Value, depth int) answer {
	sure, open := 0, 0
	for _, q := range branches {
		switch n.admits(q.to, v, depth-1) {
		case yes:
			sure++
		case unknown:
			open++
		case no:
		}
	}
	switch {
	case sure > 1, sure+open == 0:
		return no
	case open > 0:
		return unknown
	}
	return yes
}

// withinBounds looks at the bounds of numbers and the lengths of strings. What is
// inside of arrays and objects, and what a pattern or a format says, is not known.
func (n pinning) withinBounds(p *place, v contract.Value) answer {
	switch v.Kind() {
	case contract.Number:
		at := limit{v, false, true}
		if looser(p.lower(), at, 1, false) || looser(p.upper(), at, -1, false) {
			return no
		}
		if unit, ok := p.word(kwMultipleOf); ok && !isMultiple(v, unit) {
			return no
		}
		return yes
	case contract.String:
		length := literal(strconv.Itoa(utf8.RuneCountInString(v.Text())))
		if w, ok := p.word(kwMinLength); ok && contract.CompareNumbers(length, w) < 0 {
			return no
		}
		if w, ok := p.word(kwMaxLength); ok && contract.CompareNumbers(length, w) > 0 {
			return no
		}
		for _, k := range [...]keyword{kwPattern, kwFormat, kwContentEncoding, kwContentMediaType} {
			if _, ok := p.word(k); ok {
				return unknown
			}
		}
		return yes
	case contract.Array, contract.Object:
		return unknown
	default:
		return yes
	}
}
