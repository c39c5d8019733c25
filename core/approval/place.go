package approval

import (
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// The walks in this file and in declared.go read an input schema as far as section
// 9 has to. They are no second structural gate: what they can't follow, they answer
// with the strict answer.

// maxSteps bounds a walk, as docs/design/structural-gate.md bounds the gate's.
const maxSteps = 20_000

// spot is a place of a schema: the value there, and where it physically stands.
type spot struct {
	value contract.Value
	at    string
}

// follow gives a place and everything that it refers to, over local references by
// pointer. ok is false where a reference can't be followed.
func follow(root contract.Value, s spot) (spots []spot, ok bool) {
	for {
		spots = append(spots, s)
		if _, dynamic := s.value.Get("$dynamicRef"); dynamic {
			return nil, false
		}
		if _, recursive := s.value.Get("$recursiveRef"); recursive {
			return nil, false
		}
		ref, refers := s.value.Get("$ref")
		if !refers {
			return spots, true
		}
		if s, ok = target(root, ref); !ok {
			return nil, false
		}
		for _, seen := range spots {
			if seen.at == s.at {
				return nil, false // it refers to itself
			}
		}
	}
}

// target finds what a reference names: "#", or "#/" and a JSON Pointer (RFC 6901)
// that needs no decoding of percent signs.
func target(root, ref contract.Value) (spot, bool) {
	pointer, local := strings.CutPrefix(ref.Text(), "#")
	if ref.Kind() != contract.String || !local || strings.Contains(pointer, "%") {
		return spot{}, false
	}
	if pointer == "" {
		return spot{root, "#"}, true
	}
	path, absolute := strings.CutPrefix(pointer, "/")
	if !absolute {
		return spot{}, false
	}
	at := root
	for step := range strings.SplitSeq(path, "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		next, found := child(at, step)
		if !found {
			return spot{}, false
		}
		at = next
	}
	return spot{at, "#/" + path}, true
}

// child is one member or item of a value.
func child(v contract.Value, step string) (contract.Value, bool) {
	if v.Kind() != contract.Array {
		return v.Get(step)
	}
	i, err := strconv.Atoi(step)
	if err != nil || i < 0 || i >= len(v.Items()) {
		return contract.Value{}, false
	}
	return v.Items()[i], true
}

// locate finds the place that a signal's path names, with all that it refers to;
// none where the path can't be followed. A path goes on through references from the
// referring place.
func locate(schema contract.Value, path string) []spot {
	at := []spot{{schema, "#"}}
	if path != "#" {
		for step := range strings.SplitSeq(path, "/") {
			step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
			if strings.Contains(step, `\`) {
				return nil // an escaped name: not worth telling apart
			}
			var next []spot
			for _, s := range at {
				spots, ok := follow(schema, s)
				if !ok {
					return nil
				}
				for _, s := range spots {
					if v, found := child(s.value, step); found {
						next = append(next, spot{v, s.at + "/" + step})
					}
				}
			}
			at = next
		}
	}
	var all []spot
	for _, s := range at {
		spots, ok := follow(schema, s)
		if !ok {
			return nil
		}
		all = append(all, spots...)
	}
	return all
}

// has reports whether a keyword stands at one of the places.
func has(at []spot, keyword string) bool {
	for _, s := range at {
		if _, found := s.value.Get(keyword); found {
			return true
		}
	}
	return false
}

// enumAlone reports whether new ground carries nothing worse than enums of several
// values: no default, no const, nothing that could be pinned, nothing that turns
// around what it means. It is strict: what it does not know how to judge is worse.
func enumAlone(schema contract.Value, at []spot) bool {
	steps := 0
	seen := map[string]bool{}
	var harmless func(spots []spot) bool
	harmless = func(spots []spot) bool {
		for _, s := range spots {
			if steps++; steps > maxSteps {
				return false
			}
			if seen[s.at] {
				continue
			}
			seen[s.at] = true
			if !plainPlace(s.value) {
				return false
			}
			for _, below := range subschemas(s) {
				next, ok := follow(schema, below)
				if !ok || !harmless(next) {
					return false
				}
			}
		}
		return true
	}
	return harmless(at)
}

// telling are the keywords that enumAlone does not see through: those that announce
// a value, and those with which a place can be pinned or that combine places.
var telling = []string{
	"default", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"allOf", "anyOf", "oneOf", "not", "if", "then", "else",
	"dependentSchemas", "dependentRequired", "dependencies", "unevaluatedProperties", "unevaluatedItems",
	"$id", "id", "$schema", "$vocabulary", "$recursiveAnchor", "$dynamicAnchor", "$anchor",
	"propertyDependencies", "extends", "disallow", "divisibleBy",
	"formatMinimum", "formatMaximum", "formatExclusiveMinimum", "formatExclusiveMaximum", "nullable",
}

// plainPlace judges one place on its own.
func plainPlace(v contract.Value) bool {
	for _, keyword := range telling {
		if _, found := v.Get(keyword); found {
			return false
		}
	}
	if longest, found := v.Get("maxLength"); found && longest.Text() == "0" {
		return false
	}
	kind, typed := v.Get("type")
	if typed && (kind.Kind() != contract.String || kind.Text() == "null") {
		return false // several types are seldom new, and null alone is one value
	}
	enum, listed := v.Get("enum")
	if !listed {
		return true
	}
	return several(enum, kind.Text())
}

// several reports whether an enum leaves at least two values of the type; no type
// admits all.
func several(enum contract.Value, kind string) bool {
	var distinct []contract.Value
next:
	for _, v := range enum.Items() {
		if kind != "" && kind != v.Kind().String() {
			continue // an integer counts as none, which is the strict answer
		}
		for _, w := range distinct {
			if v.Equal(w) {
				continue next
			}
		}
		if distinct = append(distinct, v); len(distinct) > 1 {
			return true
		}
	}
	return false
}
