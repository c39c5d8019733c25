package call

import (
	"encoding/json"
	"errors"
	"math"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// gate stands at the entrance of one place of a compiled schema, as its format, which
// is what the library asks before all else. It pays for the visit, and it holds the
// value against the keywords whose cost the library does not bound: type, const, enum
// and uniqueItems, which are taken away from the place. Design: docs/design/journeys.md
// section 5.
type gate struct {
	b       *budget
	place   *jsonschema.Schema // without what is below
	types   []string
	members map[string]struct{} // keys of const and enum; nil: any value
	longest int                 // bytes of the longest of them
	broken  *ruleBroken         // when a value is none of them
	unique  bool

	here     int // places that are applied to the same value
	items    int // places that are applied to each item of an array
	needs    int // names that an object is asked for
	each     int // units of entering one item or member; 0: not measured yet
	numeric  bool
	unproved *bool // some place of the schema wants to know what no other evaluated
}

// ruleBroken is a sentence part that says which rule a value breaks.
type ruleBroken struct{ what string }

func (r *ruleBroken) Error() string { return r.what }

// vocabulary puts a gate before every place. It is asked at the end of compiling each,
// and constrains nothing itself.
func (in *instance) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "urn:holdfast:gates",
		Compile: func(c *jsonschema.CompilerContext, _ map[string]any) (jsonschema.SchemaExt, error) {
			s := c.Enqueue(nil) // no step further: the place itself
			if s.DraftVersion == 0 {
				return nil, errors.New("the library gave a place that is not the one being compiled")
			}
			s.Format = &jsonschema.Format{Name: "gate", Validate: in.newGate(s).pass}
			return nil, nil
		},
	}
}

func (in *instance) newGate(s *jsonschema.Schema) *gate {
	g := &gate{b: &in.budget, place: s, unique: s.UniqueItems, unproved: &in.unproved}
	if s.Types != nil {
		g.types = s.Types.ToStrings()
	}
	g.oneOf(s)
	s.Types, s.Const, s.Enum, s.UniqueItems = nil, nil, nil, false

	count := func(places ...*jsonschema.Schema) (n int) {
		for _, p := range places {
			if p != nil {
				n++
			}
		}
		return n
	}
	g.here = count(s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else) + len(s.AllOf) + len(s.AnyOf) + len(s.OneOf) + len(s.DependentSchemas) + len(s.Dependencies)
	if s.DynamicRef != nil {
		g.here++
	}
	g.items = count(s.Contains, s.Items2020, s.UnevaluatedItems)
	if s.Items != nil || s.AdditionalItems != nil || s.PrefixItems != nil {
		g.items++
	}
	g.needs = len(s.Required)
	for _, names := range s.DependentRequired {
		g.needs += len(names)
	}
	for _, d := range s.Dependencies {
		if names, ok := d.([]string); ok {
			g.needs += len(names)
		}
	}
	g.numeric = s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil
	in.unproved = in.unproved || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil
	return g
}

// oneOf prepares const and enum. A value has to be a member of both.
func (g *gate) oneOf(s *jsonschema.Schema) {
	k := keyer{limit: math.MaxInt}
	key := func(v any) string {
		k.b = k.b[:0]
		k.add(v)
		return string(k.b)
	}
	if s.Enum != nil {
		g.members, g.broken = make(map[string]struct{}, len(s.Enum.Values)), &ruleBroken{"is none of the listed values (enum)"}
		for _, v := range s.Enum.Values {
			g.members[key(v)] = struct{}{}
		}
	}
	if s.Const != nil {
		only := key(*s.Const)
		if _, listed := g.members[only]; listed || g.members == nil {
			g.members, g.broken = map[string]struct{}{only: {}}, &ruleBroken{"is not the one value that is allowed (const)"}
		} else {
			g.members = map[string]struct{}{} // nothing is both
		}
	}
	for member := range g.members {
		g.longest = max(g.longest, len(member))
	}
}

// pass pays for a visit, and gives the first of the gate's rules that v breaks.
func (g *gate) pass(v any) error {
	g.b.spend(g.cost(v))
	if g.types != nil && !g.typed(v) {
		return &ruleBroken{"must be " + strings.Join(g.types, " or ") + " and is " + typeOf(v) + " (type)"}
	}
	if g.members != nil {
		k := keyer{limit: g.longest}
		fits := k.add(v)
		g.b.spend(len(k.b))
		if _, member := g.members[string(k.b)]; !fits || !member {
			return g.broken
		}
	}
	if list, ok := v.([]any); ok && g.unique && g.twice(list) {
		return &ruleBroken{"has an item twice (uniqueItems)"}
	}
	return nil
}

// cost is the work of this visit, and of entering the places below: some of them, like
// false, have no gate of their own.
func (g *gate) cost(v any) int {
	if g.each == 0 { // not before the first visit, for the places below are compiled later
		g.each = visit
		if s := g.place; never(s.Items) || never(s.AdditionalItems) || never(s.Items2020) || never(s.UnevaluatedItems) ||
			never(s.Contains) || never(s.PropertyNames) || never(s.UnevaluatedProperties) {
			g.each = failure
		}
	}
	units := visit * (1 + g.here)
	switch v := v.(type) {
	case []any:
		units += g.each * g.items * len(v)
		if *g.unproved {
			units += visit * len(v)
		}
	case map[string]any:
		units += visit*len(v) + 5*g.needs
		if g.place.PropertyNames != nil || *g.unproved {
			units += g.each * len(v)
		}
	case string:
		units += len(v) / 16
	case json.Number:
		if g.numeric { // exact fractions, of which the greatest common divisor is sought
			d := decimalOf(v)
			size := len(d.digits) + max(d.exponent, -d.exponent)
			units += 5*visit + size*size/200
		}
	}
	return units
}

// never reports whether a place is false, which no value fits.
func never(place any) bool {
	s, ok := place.(*jsonschema.Schema)
	return ok && s != nil && s.Bool != nil && !*s.Bool
}

func (g *gate) typed(v any) bool {
	is := typeOf(v)
	for _, t := range g.types {
		if t == is {
			return true
		}
		if n, ok := v.(json.Number); ok && t == "integer" && decimalOf(n).whole() {
			return true
		}
	}
	return false
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// twice reports whether two items of a list are equal.
func (g *gate) twice(list []any) bool {
	seen := make(map[string]struct{}, len(list))
	k := keyer{limit: math.MaxInt}
	for _, item := range list {
		k.b = k.b[:0]
		k.add(item)
		g.b.spend(visit + len(k.b))
		if _, again := seen[string(k.b)]; again {
			return true
		}
		seen[string(k.b)] = struct{}{}
	}
	return false
}
