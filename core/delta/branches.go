package delta

// paired are two branches that stand for each other; index is that of the live side.
type paired struct {
	a, l  *place
	index int
}

// match pairs branches by equal value first, then the rest in order.
func match(approved, live []part) (pairs []paired, grown []part, shrunk []part) {
	unused := map[int32]int{} // how many approved branches of a class are left
	for _, q := range approved {
		unused[q.to.follow().class]++
	}
	taken := map[int32]int{}
	var rest []part
	for _, q := range live {
		class := q.to.follow().class
		if unused[class] > 0 {
			unused[class]--
			taken[class]++
		} else {
			rest = append(rest, q)
		}
	}
	for _, q := range approved {
		class := q.to.follow().class
		switch {
		case taken[class] > 0:
			taken[class]--
		case len(rest) > 0:
			pairs = append(pairs, paired{q.to, rest[0].to, rest[0].index})
			rest = rest[1:]
		default:
			shrunk = append(shrunk, q)
		}
	}
	return pairs, rest, shrunk
}

// choices compares allOf, anyOf and oneOf.
func (w *walk) choices(a, l *place, t *trail) {
	pairs, grown, shrunk := match(a.list(kwAllOf), l.list(kwAllOf))
	for _, p := range pairs {
		w.branch(p.a, p.l, t.at(kwAllOf, p.index))
	}
	for _, q := range grown {
		w.search(q.to, t.at(kwAllOf, q.index))
	}
	for _, q := range shrunk {
		w.hold(AllOfShrank, t, kwAllOf, q.to.shown(), shown{})
	}

	pairs, grown, _ = match(a.list(kwAnyOf), l.list(kwAnyOf))
	for _, p := range pairs {
		w.branch(p.a, p.l, t.at(kwAnyOf, p.index))
	}
	for _, q := range grown {
		w.hold(AnyOfGrew, t, kwAnyOf, shown{}, q.to.shown())
		w.search(q.to, t.at(kwAnyOf, q.index))
	}
	if a.has(kwAnyOf) && !l.has(kwAnyOf) {
		w.hold(AnyOfGrew, t, kwAnyOf, value(a.value.Get("anyOf")), shown{})
	}
	w.oneOf(a, l, t)
}

// oneOf is an exclusive choice: a branch that narrows lets in what two branches
// kept out before.
func (w *walk) oneOf(a, l *place, t *trail) {
	pairs, grown, shrunk := match(a.list(kwOneOf), l.list(kwOneOf))
	for _, p := range pairs {
		before := len(w.facts)
		w.branch(p.a, p.l, t.at(kwOneOf, p.index))
		if len(w.facts) == before {
			w.hold(OneOfChanged, t, kwOneOf, p.a.follow().shown(), p.l.follow().shown())
		}
	}
	for _, q := range grown {
		w.hold(OneOfGrew, t, kwOneOf, shown{}, q.to.shown())
		w.search(q.to, t.at(kwOneOf, q.index))
	}
	for _, q := range shrunk {
		w.hold(OneOfChanged, t, kwOneOf, q.to.shown(), shown{})
	}
}
