package delta

import "github.com/holdfast-mcp/holdfast/core/contract"

// newGround searches a schema that stands where everything was admitted before.
// was may be nil, or say only a default.
func (w *walk) newGround(was, is *place, t *trail) {
	if is == nil {
		is = w.empty
	}
	if was == nil {
		was = w.empty
	}
	v, had := was.word(kwDefault)
	if had && !w.equalWord(was, is, kwDefault) {
		w.hold(Default, t, kwDefault, value(v, true), value(is.word(kwDefault)))
	}
	m := w.mode
	if had {
		m |= pastDefault
	}
	w.searchMode(is, t, m)
}

// search looks through a subtree that exists on the live side alone, and so is
// compared with nothing, for everything that is held when it is added.
func (w *walk) search(l *place, t *trail) { w.searchMode(l, t, w.mode) }

func (w *walk) searchMode(l *place, t *trail, m mode) {
	l = l.follow()
	if !w.enter(nil, l, m) {
		return
	}
	defer w.leave()
	w.newReferences(l, t)
	if l.form != formObject {
		return
	}
	for k := kwVocabulary; k.opaque(); k++ {
		w.newWord(Keyword, l, k, t)
	}
	for _, name := range l.required {
		w.holdName(NewRequired, t, name, kwRequired, shown{}, text(visible(name)))
	}
	w.newWord(Pattern, l, kwPattern, t)
	for _, k := range [...]keyword{kwFormat, kwContentEncoding, kwContentMediaType} {
		w.newWord(Format, l, k, t)
	}
	if m&pastDefault == 0 {
		w.newWord(Default, l, kwDefault, t)
	}
	w.newMembers(l, t)
	w.newParts(l, t)
}

func (w *walk) newWord(reason string, l *place, k keyword, t *trail) {
	if v, ok := l.word(k); ok {
		w.hold(reason, t, k, shown{}, value(v, true))
	}
}

// newReferences finds references that can't be followed in one way.
func (w *walk) newReferences(l *place, t *trail) {
	switch {
	case len(l.extern) > 0:
		w.hold(Ref, t, kwRef, shown{}, text(join(l.extern)))
	case len(l.beside) > 0:
		w.hold(Ref, t, kwRef, shown{}, text("the reference can be read in more than one way"))
	case l.mixed:
		w.hold(Ref, t, kwRef, shown{}, text("readers of older drafts ignore what stands beside $ref"))
	}
	w.newWord(Ref, l, kwID, t)
	w.newWord(Keyword, l, kwSchema, t)
}

// newMembers finds an enum, a const, and a place with one value, unless that is null.
func (w *walk) newMembers(l *place, t *trail) {
	switch {
	case l.limited && len(l.members) == 1:
		w.hold(Const, t, kwConst, shown{}, l.shownMembers())
		return
	case l.limited:
		w.hold(EnumIntroduced, t, kwEnum, shown{}, l.shownMembers())
	}
	if v, pinned := (pinning{w.steps, true}).pinned(l); pinned && v.Kind() != contract.Null {
		w.hold(Const, t, kwConst, shown{}, value(v, true))
	}
}

// newParts goes on with what the place holds.
func (w *walk) newParts(l *place, t *trail) {
	if len(l.depends) > 0 {
		w.hold(Dependent, t, kwDependentRequired, shown{}, text(dependsText(l)))
	}
	patterns := l.list(kwPatternProperties)
	if len(patterns) > 0 {
		w.hold(Pattern, t, kwPatternProperties, shown{}, text(names(patterns)))
	}
	for _, q := range l.parts {
		at := &trail{up: t, keyword: q.key, name: q.name, index: q.index, depth: t.depth + 1}
		switch q.key {
		case kwDefs, kwDefinitions:
			continue
		case kwNot:
			w.hold(Not, t, kwNot, shown{}, q.to.shown())
		case kwDependentSchemas:
			w.hold(Dependent, t, kwDependentSchemas, shown{}, text(visible(q.name)))
		case kwContentSchema:
			w.hold(Format, t, kwContentSchema, shown{}, q.to.shown())
		case kwIf:
			w.hold(Conditional, t, kwIf, shown{}, q.to.shown())
		case kwThen, kwElse:
			w.hold(Conditional, t, q.key, shown{}, q.to.shown())
			w.search(q.to, at)
			continue
		default:
			w.search(q.to, at)
			continue
		}
		if w.mode&everywhere != 0 {
			w.search(q.to, at)
		}
	}
}

// newProperty looks at a property that is new. Holding every new optional one is
// not wanted, so patterns, formats and inner requirements pass; what would be sent
// without the model thinking, and what can't be followed, does not.
func (w *walk) newProperty(l *place, t *trail) {
	before := w.facts
	w.mode, w.facts = everywhere, nil
	w.search(l, t)
	found := w.facts
	w.mode, w.facts = 0, before
	steered := false
	for _, f := range found {
		switch f.signal.Reason {
		case Default, Const, EnumIntroduced:
			steered = true
		case Ref, Keyword:
			w.facts = append(w.facts, f)
		}
	}
	if steered {
		w.hold(NewProperty, t, kwProperties, shown{}, l.shown())
	}
}
