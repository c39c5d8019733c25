package call

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Bounds of an explanation: how many failed rules are looked at, and how many a
// refusal names. Arguments may break a rule a hundred thousand times.
const (
	maxLeaves   = 200
	maxProblems = 3
)

// explain says which places break which rules of the schema. It names members and
// rules and echoes no value of the arguments.
func explain(err error) string {
	failed, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return "the arguments do not fit the approved input schema"
	}
	var found []string
	for _, leaf := range leaves(failed, nil) {
		found = append(found, place(leaf.InstanceLocation)+" "+rule(leaf.ErrorKind))
	}
	slices.SortFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
	found = slices.Compact(found)
	more := ""
	switch {
	case len(found) >= maxLeaves:
		more = "; and many more"
	case len(found) > maxProblems:
		more = fmt.Sprintf("; and %d more", len(found)-maxProblems)
	}
	return strings.Join(found[:min(len(found), maxProblems)], "; ") + more
}

// leaves are the failures that say something themselves. Below a choice the
// branches are not followed: that none fits is the news.
func leaves(e *jsonschema.ValidationError, to []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(to) >= maxLeaves {
		return to
	}
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			to = leaves(cause, to)
		}
		return to
	}
	return append(to, e)
}

// place is the JSON Pointer of a value below the arguments.
func place(path []string) string {
	var b strings.Builder
	b.WriteString("arguments")
	for i, token := range path {
		if i == 8 && len(path) > 9 {
			b.WriteString("/...")
			break
		}
		b.WriteByte('/')
		b.WriteString(name(strings.NewReplacer("~", "~0", "/", "~1").Replace(token)))
	}
	return b.String()
}

// name prints a member's name: cut, and with control and invisible characters escaped.
func name(s string) string {
	if r := []rune(s); len(r) > 64 {
		s = string(r[:64]) + "..."
	}
	quoted := strconv.QuoteToASCII(s)
	return quoted[1 : len(quoted)-1]
}

func names(list []string) string {
	list = slices.Sorted(slices.Values(list))
	more := ""
	if len(list) > 5 {
		more = fmt.Sprintf(" and %d more", len(list)-5)
		list = list[:5]
	}
	for i, s := range list {
		list[i] = name(s)
	}
	return strings.Join(list, ", ") + more
}

// rule says which rule of the schema was broken, with the schema's own bounds.
func rule(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Required:
		return "lacks " + names(k.Missing) + " (required)"
	case *kind.DependentRequired:
		return "lacks " + names(k.Missing) + " (dependentRequired)"
	case *kind.Dependency:
		return "lacks " + names(k.Missing) + " (dependencies)"
	case *kind.AdditionalProperties:
		return "has members that the approved schema does not know: " + names(k.Properties) + " (additionalProperties)"
	case *kind.Format: // that is a gate
		if broken, ok := errors.AsType[*ruleBroken](k.Err); ok {
			return broken.what
		}
	case *kind.Pattern:
		return "does not match the pattern (pattern)"
	case *kind.PropertyNames:
		return "has a member with a name that is not allowed (propertyNames)"
	case *kind.FalseSchema:
		return "is not allowed (false)"
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return "fits more than one of the allowed forms (oneOf)"
		}
		return "fits none of the allowed forms (oneOf)"
	case *kind.AnyOf:
		return "fits none of the allowed forms (anyOf)"
	case *kind.Not:
		return "has a form that is excluded (not)"
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		return "has too few or too many items of a wanted form (contains)"
	}
	return bound(k)
}

// bound is rule for the rules that count or compare.
func bound(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return atLeast("character", k.Want, "minLength")
	case *kind.MaxLength:
		return atMost("character", k.Want, "maxLength")
	case *kind.MinItems:
		return atLeast("item", k.Want, "minItems")
	case *kind.MaxItems:
		return atMost("item", k.Want, "maxItems")
	case *kind.MinProperties:
		return atLeast("member", k.Want, "minProperties")
	case *kind.MaxProperties:
		return atMost("member", k.Want, "maxProperties")
	case *kind.AdditionalItems:
		return "has more items than are allowed (additionalItems)"
	case *kind.Minimum:
		return "must be at least " + rational(k.Want) + " (minimum)"
	case *kind.Maximum:
		return "must be at most " + rational(k.Want) + " (maximum)"
	case *kind.ExclusiveMinimum:
		return "must be over " + rational(k.Want) + " (exclusiveMinimum)"
	case *kind.ExclusiveMaximum:
		return "must be under " + rational(k.Want) + " (exclusiveMaximum)"
	case *kind.MultipleOf:
		return "must be a multiple of " + rational(k.Want) + " (multipleOf)"
	}
	return "does not fit the approved schema"
}

func atLeast(what string, n int, keyword string) string {
	return fmt.Sprintf("must have at least %d %s(s) (%s)", n, what, keyword)
}

func atMost(what string, n int, keyword string) string {
	return fmt.Sprintf("must have at most %d %s(s) (%s)", n, what, keyword)
}

func rational(r *big.Rat) string {
	if r.IsInt() && len(r.Num().String()) <= 40 {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
