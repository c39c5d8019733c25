package delta

import (
	"slices"
	"strconv"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// hints compares the effective hints and the dispatch class (MCP 2025-11-25,
// ToolAnnotations). A claim of more safety holds too: it is what an attacker
// would make.
func (g Gate) hints(approved, live contract.Contract) []fact {
	a, l := approved.Hints(), live.Hints()
	var facts []fact
	add := func(rule Rule, hint, was, is string) {
		facts = append(facts, fact{signal: Signal{Rule: rule, Reason: hint, Old: was, New: is}, keyword: "annotations." + hint, was: text(was), is: text(is)})
	}
	for _, h := range [...]struct {
		name    string
		was, is bool
		safer   bool // the change claims more safety, by a hint that is believed
	}{
		{"readOnlyHint", a.ReadOnly, l.ReadOnly, l.ReadOnly},
		{"destructiveHint", a.Destructive, l.Destructive, !l.Destructive},
		{"idempotentHint", a.Idempotent, l.Idempotent, false},
		{"openWorldHint", a.OpenWorld, l.OpenWorld, false},
	} {
		switch {
		case h.was == h.is:
		case h.safer:
			add(HintSaferFlip, h.name, strconv.FormatBool(h.was), strconv.FormatBool(h.is))
		default:
			add(HintChange, h.name, strconv.FormatBool(h.was), strconv.FormatBool(h.is))
		}
	}
	if was, is := approved.Class(g.Unannotated), live.Class(g.Unannotated); was != is {
		add(HintChange, "dispatch", was.String(), is.String())
	}
	return facts
}

// fieldFacts compares every other field of the definition.
func fieldFacts(approved, live contract.Contract) []fact {
	facts := differing(approved.Root(), live.Root(), "", func(name string, was, is shown) bool {
		switch name {
		case "name", "title", "description", "inputSchema", "outputSchema", "annotations":
			return true // the key, texts, and what is compared elsewhere
		case "execution":
			return taskSupport(was).Equal(taskSupport(is))
		case "icons":
			a, okA := origins(was)
			l, okL := origins(is)
			return okA && okL && slices.Equal(a, l)
		}
		return false
	})
	a, _ := approved.Annotations()
	l, _ := live.Annotations()
	return append(facts, differing(a, l, "annotations.", func(name string, was, is shown) bool {
		switch name {
		case "title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint":
			return true
		}
		return isText(was) && isText(is)
	})...)
}

// differing gives a fact for every member that differs, but for those that same
// says are the same.
func differing(a, l contract.Value, prefix string, same func(name string, was, is shown) bool) []fact {
	var facts []fact
	look := func(name string) {
		was, is := value(a.Get(name)), value(l.Get(name))
		if was.there == is.there && was.value.Equal(is.value) || same(name, was, is) {
			return
		}
		facts = append(facts, fact{signal: Signal{Rule: Field, Reason: visible(prefix + name)}, keyword: prefix + name, was: was, is: is})
	}
	for _, m := range a.Members() {
		look(m.Name)
	}
	for _, m := range l.Members() {
		if _, both := a.Get(m.Name); !both {
			look(m.Name)
		}
	}
	return facts
}

// isText reports whether a side is a text or not there.
func isText(s shown) bool { return !s.there || s.value.Kind() == contract.String }

// taskSupport gives the effective execution: absent, null and without taskSupport
// it is forbidden.
func taskSupport(s shown) contract.Value {
	forbidden := literal(`{"taskSupport":"forbidden"}`)
	switch {
	case !s.there, s.value.Kind() == contract.Null:
		return forbidden
	case s.value.Kind() == contract.Object:
		if _, ok := s.value.Get("taskSupport"); !ok && len(s.value.Members()) == 0 {
			return forbidden
		} else if !ok {
			return literal(`{"taskSupport":"forbidden",` + string(s.value.AppendCanonical(nil)[1:]))
		}
	}
	return s.value
}

// origins gives whom the icons are fetched from, sorted, each once; false when that
// can't be told.
func origins(s shown) ([]string, bool) {
	if !s.there || s.value.Kind() == contract.Null {
		return nil, true
	}
	if s.value.Kind() != contract.Array {
		return nil, false
	}
	var all []string
	for _, icon := range s.value.Items() {
		src, _ := icon.Get("src")
		if src.Kind() != contract.String {
			return nil, false
		}
		all = append(all, origin(src.Text()))
	}
	slices.Sort(all)
	return slices.Compact(all), true
}
