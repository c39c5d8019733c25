package delta

import (
	"slices"
	"strings"
)

// bounds compares everything that has an order.
func (w *walk) bounds(a, l *place, t *trail) {
	for _, k := range boundsLoosened(a, l, l.onlyIntegers()) {
		w.hold(Bound, t, k, value(a.value.Get(k.String())), value(l.value.Get(k.String())))
	}
	for _, k := range containsLoosened(a, l) {
		w.hold(Bound, t, k, value(a.value.Get(k.String())), value(l.value.Get(k.String())))
	}
	was, is := a.part(kwContains), l.part(kwContains)
	switch {
	case was != nil && is != nil:
		w.pair(was, is, t.to(kwContains))
	case is != nil:
		w.search(is, t.to(kwContains))
	}
	was, is = w.constraining(a, kwPropertyNames), l.part(kwPropertyNames)
	switch {
	case was != nil && is == nil:
		w.hold(Bound, t, kwPropertyNames, was.shown(), is.shown())
	case was != nil:
		w.pair(was, is, t.to(kwPropertyNames))
	case is != nil:
		w.newGround(a.part(kwPropertyNames), is, t.to(kwPropertyNames))
	}
}

// constraining gives the schema of a keyword, unless it admits everything.
func (w *walk) constraining(p *place, k keyword) *place {
	if q := p.part(k); q != nil && !q.unconstrained(w.steps) {
		return q
	}
	return nil
}

// properties compares what both sides declare, and looks at what is new.
func (w *walk) properties(a, l *place, t *trail) {
	for _, q := range l.list(kwProperties) {
		at := t.named(kwProperties, q.name)
		switch was := a.named(kwProperties, q.name); {
		case was != nil:
			w.pair(was, q.to, at)
		case a.requires(q.name): // it was sent, with any value
			w.pair(w.empty, q.to, at)
		default:
			w.newProperty(q.to.follow(), at)
		}
	}
	for _, q := range a.list(kwProperties) {
		if l.named(kwProperties, q.name) == nil && (l.requires(q.name) || w.declaredBeside(q)) {
			w.pair(q.to, w.empty, t.named(kwProperties, q.name))
		}
	}
	for _, q := range l.list(kwPatternProperties) {
		if was := a.named(kwPatternProperties, q.name); was != nil {
			w.pair(was, q.to, t.named(kwPatternProperties, q.name))
		} else {
			w.hold(Pattern, t, kwPatternProperties, shown{}, text(visible(q.name)))
		}
	}
	for _, q := range a.list(kwPatternProperties) {
		if l.named(kwPatternProperties, q.name) == nil {
			w.hold(Pattern, t, kwPatternProperties, text(visible(q.name)), shown{})
		}
	}
}

// declaredBeside reports whether the live side still declares or requires a property
// that a place no longer does, at the same spot: then the property is not gone, but
// this constraint on it is. The same constraint beside it makes up for that.
func (w *walk) declaredBeside(q part) bool {
	declares := func(p *place) bool { return p.named(kwProperties, q.name) != nil || p.requires(q.name) }
	same := func(p *place) bool {
		there := p.named(kwProperties, q.name)
		return there != nil && there.class == q.to.follow().class
	}
	return slices.ContainsFunc(w.sameSpot(w.at.l, true), declares) && !slices.ContainsFunc(w.sameSpot(w.at.l, false), same)
}

// sameSpot gives a place and its branches, which look at the same value: those of
// allOf always, those of choices and conditions perhaps.
func (w *walk) sameSpot(p *place, perhaps bool) []*place {
	keys := []keyword{kwAllOf}
	if perhaps {
		keys = append(keys, kwAnyOf, kwOneOf, kwThen, kwElse, kwDependentSchemas)
	}
	all, seen := []*place{p}, map[*place]bool{p: true}
	for i := 0; i < len(all) && !w.take(1); i++ {
		for _, k := range keys {
			for _, q := range all[i].list(k) {
				if to := q.to.follow(); !seen[to] {
					seen[to] = true
					all = append(all, to)
				}
			}
		}
	}
	return all
}

// rests compares the schemas for everything that is not named.
func (w *walk) rests(a, l *place, t *trail) {
	w.rest(a, l, kwAdditionalProperties, t)
	w.rest(a, l, kwUnevaluatedProperties, t)
	w.rest(a, l, kwUnevaluatedItems, t)
	if was := w.constraining(a, kwUnevaluatedProperties); was != nil {
		if !a.has(kwAdditionalProperties) && l.has(kwAdditionalProperties) || !sameApplicators(a, l) {
			w.hold(AdditionalProperties, t, kwUnevaluatedProperties, shown{}, text("other keywords take values away from it"))
		}
	}
	if was := w.constraining(a, kwUnevaluatedItems); was != nil {
		appears := func(k keyword) bool { return !a.has(k) && l.has(k) }
		if appears(kwItems) || appears(kwContains) || len(l.list(kwPrefixItems)) > len(a.list(kwPrefixItems)) || !sameApplicators(a, l) {
			w.hold(AdditionalProperties, t, kwUnevaluatedItems, shown{}, text("other keywords take values away from it"))
		}
	}
}

// rest compares one such schema. Where everything was admitted, what is there now
// is new ground.
func (w *walk) rest(a, l *place, k keyword, t *trail) {
	was, is := a.part(k), l.part(k)
	switch {
	case was == nil && is == nil, was != nil && is != nil && was.class == is.class:
	case was == nil || was.unconstrained(w.steps):
		w.newGround(was, is, t.to(k))
	case is == nil || was.form == formFalse && is.form != formFalse || is.unconstrained(w.steps):
		w.hold(AdditionalProperties, t, k, was.shown(), is.shown())
	default:
		w.pair(was, is, t.to(k))
	}
}

// sameApplicators reports whether the keywords that look at the same value, and so
// decide what is left over, are structurally equal.
func sameApplicators(a, l *place) bool {
	for _, k := range [...]keyword{kwAllOf, kwAnyOf, kwOneOf} {
		if !slices.Equal(classes(a.list(k)), classes(l.list(k))) {
			return false
		}
	}
	for _, k := range [...]keyword{kwIf, kwThen, kwElse} {
		if !equalPlaces(a.part(k), l.part(k)) {
			return false
		}
	}
	return slices.EqualFunc(a.list(kwDependentSchemas), l.list(kwDependentSchemas), equalParts)
}

// classes gives the classes of branches, sorted.
func classes(branches []part) []int32 {
	list := make([]int32, len(branches))
	for i, q := range branches {
		list[i] = q.to.follow().class
	}
	slices.Sort(list)
	return list
}

func equalParts(p, q part) bool { return p.name == q.name && sameClass(p.to, q.to) }

// items compares lists: a tuple, or one schema for all, or for the rest.
func (w *walk) items(a, l *place, t *trail) {
	was, is := a.list(kwPrefixItems), l.list(kwPrefixItems)
	single := len(was) == 0 && w.constraining(a, kwItems) != nil
	switch {
	case len(was) > 0 && len(is) != len(was), single && len(is) > 0:
		w.hold(ItemsForm, t, kwItems, text(a.itemsForm()), text(l.itemsForm()))
		return
	case len(was) > 0:
		for i, q := range is {
			w.pair(was[i].to, q.to, t.at(kwPrefixItems, i))
		}
	default:
		for i, q := range is {
			w.search(q.to, t.at(kwPrefixItems, i))
		}
	}
	w.rest(a, l, kwItems, t)
}

// itemsForm says how the items of a list are described.
func (p *place) itemsForm() string {
	switch n := len(p.list(kwPrefixItems)); {
	case n == 1:
		return "a schema for the first item"
	case n > 1:
		return "schemas for the first items, one by one"
	case p.has(kwItems):
		return "one schema for every item"
	}
	return "no schema for items"
}

// turned compares the keywords that turn around what narrower means. Nothing
// clever is attempted.
func (w *walk) turned(a, l *place, t *trail) {
	if was, is := a.part(kwNot), l.part(kwNot); !equalPlaces(was, is) {
		w.hold(Not, t, kwNot, was.shown(), is.shown())
	}
	for _, k := range [...]keyword{kwIf, kwThen, kwElse} {
		was, is := a.part(k), l.part(k)
		if equalPlaces(was, is) {
			continue
		}
		w.hold(Conditional, t, k, was.shown(), is.shown())
		if was == nil && k != kwIf {
			w.search(is, t.to(k))
		}
	}
	if !slices.EqualFunc(a.depends, l.depends, func(x, y depend) bool { return x.name == y.name && slices.Equal(x.needs, y.needs) }) {
		w.hold(Dependent, t, kwDependentRequired, text(dependsText(a)), text(dependsText(l)))
	}
	if !slices.EqualFunc(a.list(kwDependentSchemas), l.list(kwDependentSchemas), equalParts) {
		w.hold(Dependent, t, kwDependentSchemas, text(names(a.list(kwDependentSchemas))), text(names(l.list(kwDependentSchemas))))
	}
}

// dependsText shows dependentRequired.
func dependsText(p *place) string {
	var all []string
	for _, d := range p.depends {
		all = append(all, visible(d.name)+" needs "+join(d.needs))
	}
	return strings.Join(all, "; ")
}

// names shows the names of schemas.
func names(parts []part) string {
	var all []string
	for _, q := range parts {
		all = append(all, q.name)
	}
	return join(all)
}

// join shows foreign names.
func join(all []string) string { return visible(strings.Join(all, ", ")) }

// String names the types.
func (k kinds) String() string {
	if k == kindAny {
		return "any"
	}
	var all []string
	for _, one := range [...]struct {
		kinds kinds
		name  string
	}{
		{kindNull, "null"},
		{kindBool, "boolean"},
		{kindObject, "object"},
		{kindArray, "array"},
		{kindString, "string"},
		{kindNumber, "number"},
		{kindInteger, "integer"},
		{kindFraction, "fractions"},
	} {
		if k&one.kinds == one.kinds {
			all = append(all, one.name)
			k &^= one.kinds
		}
	}
	return strings.Join(all, ", ")
}
