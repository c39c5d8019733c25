package delta

import (
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// acting is a set of spans of drafts: the schema uses a keyword that acts in
// these drafts and in no others.
type acting uint8

const (
	only04    acting = 1 << iota // id, boolean exclusive bounds
	from06                       // const, contains, numeric exclusive bounds, boolean schemas, $id
	from07                       // if
	from2019                     // dependentRequired, keywords beside $ref and others
	from2020                     // prefixItems, $dynamicRef, unevaluatedItems
	until07                      // dependencies
	until2019                    // items as a list, additionalItems
)

// The dialects that are known, by the age of their draft.
const (
	draft04 = "json-schema.org/draft-04/schema"
	draft06 = "json-schema.org/draft-06/schema"
	draft07 = "json-schema.org/draft-07/schema"
	d2019   = "json-schema.org/draft/2019-09/schema"
	d2020   = "json-schema.org/draft/2020-12/schema"
)

// dialectOf gives the dialect that a $schema names; absent is 2020-12, and
// neither the kind of http nor an empty fragment matters.
func dialectOf(schema string) string {
	if schema == "" {
		return d2020
	}
	schema = strings.TrimSuffix(schema, "#")
	if rest, ok := strings.CutPrefix(schema, "https://"); ok {
		return rest
	}
	return strings.TrimPrefix(schema, "http://")
}

// acts gives which spans a dialect lies in, and whether it is known.
func acts(dialect string) (acting, bool) {
	switch dialect {
	case draft04:
		return only04 | until07 | until2019, true
	case draft06:
		return from06 | until07 | until2019, true
	case draft07:
		return from06 | from07 | until07 | until2019, true
	case d2019:
		return from06 | from07 | from2019 | until2019, true
	case d2020:
		return from06 | from07 | from2019 | from2020, true
	}
	return 0, false
}

// actsIn gives the spans in which a keyword with this value acts; none for one
// that acts in all.
func actsIn(key keyword, v contract.Value) acting {
	switch key {
	case kwOldID:
		return only04
	case kwConst, kwContains, kwPropertyNames, kwID:
		return from06
	case kwExclusiveMinimum, kwExclusiveMaximum:
		if v.Kind() == contract.Bool {
			return only04
		}
		return from06
	case kwIf:
		return from07
	case kwDependentRequired, kwDependentSchemas, kwUnevaluatedProperties, kwMinContains, kwMaxContains, kwAnchor:
		return from2019
	case kwPrefixItems, kwDynamicRef, kwUnevaluatedItems:
		return from2020
	case kwDependencies:
		return until07
	case kwAdditionalItems:
		return until2019
	case kwItems:
		if v.Kind() == contract.Array {
			return until2019
		}
	default:
	}
	return 0
}

// switched reports whether the change of dialect between two schemas matters.
func switched(a, l *document) bool {
	if a.dialect == l.dialect {
		return false
	}
	spansA, knownA := acts(a.dialect)
	spansL, knownL := acts(l.dialect)
	return !knownA || !knownL || (a.uses|l.uses)&(spansA^spansL) != 0
}
