package delta

import "slices"

// extendAll adds what is referred to: merged where nothing meets, else as one more
// branch of allOf.
func (p *place) extendAll(targets []*place) {
	p.words, p.parts = slices.Clone(p.words), slices.Clone(p.parts)
	for _, t := range targets {
		p.doc.settle(t)
		t = t.follow()
		if len(targets) == 1 && t.state == settled && !p.groups().meets(t.groups()) && len(t.leads) == 0 && t.form != formFalse {
			p.merge(t)
			continue
		}
		p.parts = append(p.parts, part{kwAllOf, "", len(p.list(kwAllOf)), t})
		p.ordered()
	}
}

// merge takes over what another place says. Nothing of it is said here yet.
func (p *place) merge(t *place) {
	if t.typed {
		p.typed, p.kinds, p.nullable = true, t.kinds, t.nullable
	}
	if t.limited {
		p.limited, p.members = true, t.members
	}
	if len(t.required) > 0 {
		p.required = t.required
	}
	if len(t.depends) > 0 {
		p.depends = t.depends
	}
	p.words = append(p.words, t.words...)
	for _, q := range t.parts {
		if q.key.today() != kwDefs {
			p.parts = append(p.parts, q)
		}
	}
	p.ordered()
}

// group is a set of keywords that act on each other or would be told twice.
type group uint32

// groups gives what a place speaks of.
func (p *place) groups() group {
	var g group
	add := func(n int, said bool) {
		if said {
			g |= 1 << n
		}
	}
	add(0, p.typed)
	add(1, p.limited)
	add(2, len(p.required) > 0)
	add(3, len(p.depends) > 0)
	for _, w := range p.words {
		g |= w.key.group()
	}
	for _, q := range p.parts {
		g |= q.key.group()
	}
	return g
}

func (g group) meets(h group) bool { return g&h != 0 }

// group gives the group of a keyword with a word or part of its own. What looks
// at everything beside it meets everything.
func (k keyword) group() group {
	switch k {
	case kwDefs, kwDefinitions:
		return 0
	case kwUnevaluatedProperties, kwUnevaluatedItems:
		return ^group(0)
	case kwDependentSchemas:
		return 1 << 3
	case kwMinimum, kwMaximum, kwExclusiveMinimum, kwExclusiveMaximum, kwMultipleOf:
		return 1 << 4
	case kwMinLength, kwMaxLength, kwPattern:
		return 1 << 5
	case kwFormat, kwContentEncoding, kwContentMediaType, kwContentSchema:
		return 1 << 6
	case kwMinItems, kwMaxItems, kwUniqueItems, kwMinContains, kwMaxContains, kwContains, kwPrefixItems, kwItems:
		return 1 << 7
	case kwMinProperties, kwMaxProperties, kwProperties, kwPatternProperties, kwAdditionalProperties, kwPropertyNames:
		return 1 << 8
	case kwAllOf:
		return 1 << 9
	case kwAnyOf:
		return 1 << 10
	case kwOneOf:
		return 1 << 11
	case kwNot:
		return 1 << 12
	case kwIf, kwThen, kwElse:
		return 1 << 13
	case kwDefault:
		return 1 << 14
	default:
		return 1 << 15
	}
}
