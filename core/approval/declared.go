package approval

import (
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Keywords that hold schemas, by how they hold them.
var (
	holdsOne = []string{
		"items", "additionalItems", "additionalProperties", "unevaluatedProperties", "unevaluatedItems",
		"contains", "propertyNames", "contentSchema", "not", "if", "then", "else",
	}
	holdsList = []string{"items", "prefixItems", "allOf", "anyOf", "oneOf"}
	holdsMap  = []string{"properties", "patternProperties", "dependentSchemas", "dependencies"}
)

// subschemas are the places right below one.
func subschemas(s spot) []spot {
	var below []spot
	for _, keyword := range holdsOne {
		if v, found := s.value.Get(keyword); found && v.Kind() == contract.Object {
			below = append(below, spot{v, s.at + "/" + keyword})
		}
	}
	for _, keyword := range holdsList {
		v, _ := s.value.Get(keyword)
		for i, item := range v.Items() {
			below = append(below, spot{item, s.at + "/" + keyword + "/" + strconv.Itoa(i)})
		}
	}
	for _, keyword := range holdsMap {
		v, _ := s.value.Get(keyword)
		for _, m := range v.Members() {
			below = append(below, spot{m.Value, s.at + "/" + keyword + "/" + escape(m.Name)})
		}
	}
	return below
}

// escape spells a name as a step of a JSON Pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// stillDeclares reports whether every property that the approved input schema
// declares, at every place that has a counterpart in the live one, is declared there
// too. A server that drops "dry_run" would take the call without it.
func stillDeclares(approved, live contract.Contract) bool {
	a, _ := approved.InputSchema()
	l, _ := live.InputSchema()
	w := declaredWalk{approved: a, live: l, seen: map[[2]string]bool{}}
	return a.Equal(l) || w.place(spot{a, "#"}, spot{l, "#"})
}

type declaredWalk struct {
	approved, live contract.Value
	seen           map[[2]string]bool // pairs of places that are compared already
}

// place compares two places that stand for one another.
func (w *declaredWalk) place(a, l spot) bool {
	if w.seen[[2]string{a.at, l.at}] {
		return true
	}
	w.seen[[2]string{a.at, l.at}] = true
	if len(w.seen) > maxSteps {
		return false
	}
	was, ok := follow(w.approved, a)
	is, fine := follow(w.live, l)
	if !ok || !fine {
		return false
	}
	for _, s := range was {
		if !w.maps(s, is) || !w.ones(s, is) || !w.lists(s, is) {
			return false
		}
	}
	return true
}

// maps compares what stands under names: properties first of all.
func (w *declaredWalk) maps(s spot, is []spot) bool {
	for _, keyword := range holdsMap {
		v, _ := s.value.Get(keyword)
		for _, m := range v.Members() {
			below := spot{m.Value, s.at + "/" + keyword + "/" + escape(m.Name)}
			counterpart, found := under(is, keyword, m.Name)
			switch {
			case found && !w.place(below, counterpart):
				return false
			case !found && (keyword == "properties" || declaresAny(m.Value)):
				return false
			}
		}
	}
	return true
}

func under(is []spot, keyword, name string) (spot, bool) {
	for _, l := range is {
		v, _ := l.value.Get(keyword)
		if m, found := v.Get(name); found {
			return spot{m, l.at + "/" + keyword + "/" + escape(name)}, true
		}
	}
	return spot{}, false
}

// ones compares the keywords that hold one schema.
func (w *declaredWalk) ones(s spot, is []spot) bool {
	for _, keyword := range holdsOne {
		v, found := s.value.Get(keyword)
		if !found || v.Kind() != contract.Object || !declaresAny(v) {
			continue
		}
		ok := false
		for _, l := range is {
			if counterpart, there := l.value.Get(keyword); there {
				ok = w.place(spot{v, s.at + "/" + keyword}, spot{counterpart, l.at + "/" + keyword})
				break
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// lists compares branches and tuples: those of equal value first, the rest by
// position, as the gate pairs them.
func (w *declaredWalk) lists(s spot, is []spot) bool {
	for _, keyword := range holdsList {
		v, _ := s.value.Get(keyword)
		if v.Kind() != contract.Array || !declaresAny(v) {
			continue
		}
		ok := false
		for _, l := range is {
			if counterpart, there := l.value.Get(keyword); there {
				ok = w.branches(spot{v, s.at + "/" + keyword}, spot{counterpart, l.at + "/" + keyword})
				break
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

func (w *declaredWalk) branches(a, l spot) bool {
	taken := make([]bool, len(l.value.Items()))
	var left []spot
next:
	for i, v := range a.value.Items() {
		for j, other := range l.value.Items() {
			if !taken[j] && v.Equal(other) && !refers(v) {
				taken[j] = true
				continue next
			}
		}
		left = append(left, spot{v, a.at + "/" + strconv.Itoa(i)})
	}
	for j, other := range l.value.Items() {
		if taken[j] || len(left) == 0 {
			continue
		}
		if !w.place(left[0], spot{other, l.at + "/" + strconv.Itoa(j)}) {
			return false
		}
		left = left[1:]
	}
	return len(left) == 0
}

// declaresAny reports whether a property may be declared anywhere inside, also
// where a reference leads.
func declaresAny(v contract.Value) bool {
	for _, m := range v.Members() {
		switch m.Name {
		case "properties", "$ref", "$dynamicRef", "$recursiveRef":
			return true
		}
		if declaresAny(m.Value) {
			return true
		}
	}
	for _, item := range v.Items() {
		if declaresAny(item) {
			return true
		}
	}
	return false
}

// refers reports whether equal text may mean different things in two schemas.
func refers(v contract.Value) bool {
	for _, m := range v.Members() {
		if strings.HasSuffix(m.Name, "ef") && strings.HasPrefix(m.Name, "$") || refers(m.Value) {
			return true
		}
	}
	for _, item := range v.Items() {
		if refers(item) {
			return true
		}
	}
	return false
}
