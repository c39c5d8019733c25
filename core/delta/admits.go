package delta

import "github.com/holdfast-mcp/holdfast/core/contract"

// steps counts what a comparison does. Whoever writes a schema must not be able to
// make the gate work long, so there is an end to it.
type steps struct {
	places, inner int
	over          bool
}

// take counts inner steps and reports whether there are too many.
func (s *steps) take(n int) bool {
	s.inner += n
	s.over = s.over || s.inner > maxSteps
	return s.over
}

// place counts a place and reports whether there are too many.
func (s *steps) place() bool {
	s.places++
	s.over = s.over || s.places > maxPlaces
	return s.over
}

// admitted gives the types that a live place admits: its own, those of its enum,
// those of every allOf branch, and those of some branch of anyOf and oneOf. Where a
// place holds itself it errs on the side of more.
func (p *place) admitted() kinds {
	switch {
	case p.form == formFalse:
		return 0
	case p.admitsKnown:
		return p.admits
	case p.asking:
		return kindAny
	}
	p.asking = true
	k := p.ownKinds(true)
	for _, q := range p.list(kwAllOf) {
		k &= q.to.follow().admitted()
	}
	for _, choice := range [...]keyword{kwAnyOf, kwOneOf} {
		if branches := p.list(choice); len(branches) > 0 {
			some := kinds(0)
			for _, q := range branches {
				some |= q.to.follow().admitted()
			}
			k &= some
		}
	}
	p.asking, p.admits, p.admitsKnown = false, k, true
	return k
}

// ownKinds gives the types by the place's own type and enum. On the live side
// nullable adds null.
func (p *place) ownKinds(live bool) kinds {
	k := p.kinds
	if live && p.nullable {
		k |= kindNull
	}
	if p.limited {
		some := kinds(0)
		for _, v := range p.members {
			some |= kindOf(v)
		}
		k &= some
	}
	return k
}

// onlyIntegers reports whether no number with a fraction is admitted.
func (p *place) onlyIntegers() bool { return p.admitted()&kindFraction == 0 }

// verdict remembers an answer.
type verdict uint8

const (
	notAsked verdict = iota
	saysYes
	saysNo
	beingAsked
)

// unconstrained reports whether the place admits every value because of what it is
// built of. A place that holds itself is taken to until something speaks against it.
func (p *place) unconstrained(s *steps) bool {
	p = p.follow()
	switch p.free {
	case saysYes, beingAsked:
		return true
	case saysNo:
		return false
	case notAsked:
	}
	p.free = beingAsked
	free := p.saysNothingAlone() && !s.take(1+len(p.parts)) && p.partsSayNothing(s)
	switch {
	case !free:
		p.free = saysNo
	case p.cyclic:
		p.free = notAsked // it may hang on what is still being asked
	default:
		p.free = saysYes
	}
	return free
}

// saysNothingAlone looks at what holds no schema. A default constrains nothing.
func (p *place) saysNothingAlone() bool {
	if p.form == formFalse || p.typed && p.kinds != kindAny || p.limited || len(p.required) > 0 || len(p.extern) > 0 {
		return false
	}
	for _, d := range p.depends {
		if len(d.needs) > 0 {
			return false
		}
	}
	return len(p.wordsBut(kwDefault, kwID, kwSchema, kwMinContains, kwMaxContains)) == 0
}

// partsSayNothing looks at the schemas that the place holds.
func (p *place) partsSayNothing(s *steps) bool {
	for _, q := range p.parts {
		switch q.key {
		case kwDefs, kwDefinitions, kwAnyOf, kwOneOf, kwIf:
		case kwNot, kwContentSchema:
			return false
		case kwThen, kwElse:
			if p.has(kwIf) && !q.to.unconstrained(s) {
				return false
			}
		case kwContains:
			if _, capped := p.word(kwMaxContains); capped || p.minContains().Text() != "0" {
				return false
			}
		default:
			if !q.to.unconstrained(s) {
				return false
			}
		}
	}
	return p.choicesSayNothing(s)
}

// choicesSayNothing looks at anyOf, where one branch that admits everything is
// enough, and oneOf, where it must be the only branch.
func (p *place) choicesSayNothing(s *steps) bool {
	if branches := p.list(kwOneOf); len(branches) > 1 || len(branches) == 1 && !branches[0].to.unconstrained(s) {
		return false
	}
	branches := p.list(kwAnyOf)
	for _, q := range branches {
		if q.to.unconstrained(s) {
			return true
		}
	}
	return len(branches) == 0
}

// minContains is how many items have to match contains: one, if nothing is said.
func (p *place) minContains() contract.Value {
	if v, ok := p.word(kwMinContains); ok {
		return v
	}
	return one()
}

func one() contract.Value {
	v, _ := contract.Parse([]byte(`{"n":1}`)).Root().Get("n")
	return v
}
