package delta

import (
	"cmp"
	"slices"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Limits of one comparison. What needs more is unparsable.
const (
	maxPlaces = 20_000  // read in one schema; compared or searched
	maxSteps  = 200_000 // inner steps beside that
)

// problem is a keyword with a value of the wrong kind, or something like it.
type problem struct {
	at   *place
	what string
}

// document is one schema, read.
type document struct {
	root     *place
	places   int
	problems []problem
	dialect  string // of the root's $schema
	uses     acting // keywords whose meaning depends on the dialect
	open     bool   // it has unevaluatedProperties or unevaluatedItems
	tooLarge bool
	uris     int  // bytes of URIs that were read
	extra    bool // what is read now stands outside of the schema proper

	scopes  map[string]*place    // by $id
	anchors map[anchorKey]*place // by scope and name
	dynamic map[string][]*place  // $dynamicAnchor, by name
	extras  map[string]*place    // schemas under keywords that hold none, by reference

	memory *memory
	words  []word // stacks of what the places that are being read hold
	parts  []part
}

// anchorKey names an anchor: names are told apart by the $id around them.
type anchorKey struct {
	scope *place
	name  string
}

// readDocument reads a schema completely, unused definitions too.
func readDocument(m *memory, schema contract.Value) *document {
	properties, _ := schema.Get("properties")
	m.places.expect(2 + len(properties.Members())) // most schemas are an object with some properties
	d := &document{memory: m, words: m.wordStack[:0], parts: m.partStack[:0]}
	d.root = d.place(schema, nil, kwText, "", -1)
	d.dialect = dialectOf(d.root.text(kwSchema))
	d.root.words = d.root.wordsBut(kwID, kwSchema) // the whole may be named anew
	d.settleAll()
	m.wordStack, m.partStack = d.words, d.parts
	return d
}

func (d *document) wrong(p *place, what string) {
	d.problems = append(d.problems, problem{p, what})
}

// newPlace takes a place from the memory.
func (d *document) newPlace() *place {
	p := &d.memory.places.take(1)[0]
	*p = place{doc: d, index: -1}
	return p
}

// place reads one subschema that stands under key in up.
func (d *document) place(v contract.Value, up *place, key keyword, name string, index int) *place {
	p := d.newPlace()
	p.value, p.up, p.key, p.name, p.index = v, up, key, name, index
	p.kinds = kindAny
	if up == nil {
		d.root, p.scope = p, p
	} else {
		p.base, p.scope = up.base, up.scope
	}
	if d.places++; d.places > maxPlaces {
		d.tooLarge = true
		return p
	}
	switch v.Kind() {
	case contract.Bool:
		p.form = formFalse
		if v.Bool() {
			p.form = formTrue
		}
		if !oldBoolean(up, key) {
			d.uses |= from06
		}
	case contract.Object:
		d.object(p)
	default:
		d.wrong(p, "a schema has to be an object, true or false")
	}
	return p
}

// oldBoolean reports whether true and false were allowed in that place before
// they were schemas: additionalProperties and additionalItems.
func oldBoolean(up *place, key keyword) bool {
	if up == nil || key != kwItems {
		return key == kwAdditionalProperties
	}
	items, _ := up.value.Get("items")
	return items.Kind() == contract.Array
}

// object reads the keywords of a place, in the order of their names.
func (d *document) object(p *place) {
	d.identify(p)
	words, parts := len(d.words), len(d.parts)
	for i := range p.value.Members() {
		m := p.value.Sorted(i)
		if key := keywordOf(m.Name); key != kwText {
			d.keyword(p, key, m.Value)
		}
	}
	p.words, d.words = d.memory.words.cut(d.words[words:]), d.words[:words]
	p.parts, d.parts = d.memory.parts.cut(d.parts[parts:]), d.parts[:parts]
	d.modernise(p)
	p.ordered()
}

// keyword reads one keyword.
func (d *document) keyword(p *place, key keyword, v contract.Value) {
	d.uses |= actsIn(key, v)
	switch {
	case key.opaque():
		d.words = append(d.words, word{key, v})
	case key == kwItems && v.Kind() == contract.Array:
		if _, both := p.value.Get("prefixItems"); both {
			d.wrong(p, "items is a list, and there are prefixItems")
		}
		d.list(p, kwPrefixItems, v)
	case key == kwAdditionalItems:
		if items, _ := p.value.Get("items"); items.Kind() == contract.Array {
			d.part(p, kwItems, v, "", -1)
		} else {
			d.place(v, p, kwAdditionalItems, "", -1) // it says nothing, but has to be a schema
		}
	case key.holdsOne():
		d.part(p, key, v, "", -1)
	case key.holdsList():
		d.list(p, key, v)
	case key == kwDependencies, key == kwDependentRequired:
		d.dependencies(p, key, v)
	case key.mapsNames():
		if v.Kind() != contract.Object {
			d.wrong(p, key.String()+" has to be an object")
			return
		}
		for i := range v.Members() {
			m := v.Sorted(i)
			d.part(p, key, m.Value, m.Name, -1)
		}
	default:
		d.scalar(p, key, v)
	}
}

// part reads a subschema and keeps it.
func (d *document) part(p *place, key keyword, v contract.Value, name string, index int) {
	if key == kwUnevaluatedProperties || key == kwUnevaluatedItems {
		d.open = true
	}
	sub := d.place(v, p, key.today(), name, index)
	d.parts = append(d.parts, part{key, name, index, sub})
}

func (d *document) list(p *place, key keyword, v contract.Value) {
	if v.Kind() != contract.Array || len(v.Items()) == 0 {
		d.wrong(p, key.String()+" has to be a list of at least one schema")
		return
	}
	for i, item := range v.Items() {
		d.part(p, key, item, "", i)
	}
}

// dependencies reads dependentRequired, and the older keyword that could hold
// names and schemas.
func (d *document) dependencies(p *place, key keyword, v contract.Value) {
	if v.Kind() != contract.Object {
		d.wrong(p, key.String()+" has to be an object")
		return
	}
	for i := range v.Members() {
		m := v.Sorted(i)
		if key == kwDependencies && m.Value.Kind() != contract.Array {
			d.part(p, kwDependentSchemas, m.Value, m.Name, -1)
			continue
		}
		names, ok := namesOf(m.Value)
		if !ok {
			d.wrong(p, key.String()+" has to hold lists of names")
			return
		}
		p.depends = append(p.depends, depend{m.Name, names})
	}
}

// namesOf gives a list of strings, sorted, each once.
func namesOf(v contract.Value) ([]string, bool) {
	if v.Kind() != contract.Array {
		return nil, false
	}
	names := make([]string, 0, len(v.Items()))
	for _, item := range v.Items() {
		if item.Kind() != contract.String {
			return nil, false
		}
		names = append(names, item.Text())
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

// scalar reads a keyword that holds no schema.
func (d *document) scalar(p *place, key keyword, v contract.Value) {
	switch key {
	case kwType:
		d.readType(p, v)
	case kwEnum:
		if v.Kind() != contract.Array {
			d.wrong(p, "enum has to be a list")
			return
		}
		p.limit(v.Items())
	case kwConst:
		p.limit([]contract.Value{v})
	case kwDefault:
		d.words = append(d.words, word{key, v})
	case kwNullable:
		p.nullable = v.Kind() == contract.Bool && v.Bool()
	case kwRequired:
		names, ok := namesOf(v)
		if !ok {
			d.wrong(p, "required has to be a list of names")
		}
		p.required = names
	case kwMinimum, kwMaximum, kwExclusiveMinimum, kwExclusiveMaximum, kwMultipleOf, kwUniqueItems,
		kwMinLength, kwMaxLength, kwMinItems, kwMaxItems, kwMinProperties, kwMaxProperties, kwMinContains, kwMaxContains:
		if what := wrongBound(key, v); what != "" {
			d.wrong(p, key.String()+what)
		} else if !saysNothing(key, v) {
			d.words = append(d.words, word{key, v})
		}
	case kwOldID: // a string is an $id where there is none; anything else is no keyword of today
		if _, both := p.value.Get("$id"); !both && v.Kind() == contract.String {
			d.words = append(d.words, word{kwID, v})
		}
	default: // a string
		if v.Kind() != contract.String {
			d.wrong(p, key.String()+" has to be a string")
			return
		}
		switch key {
		case kwRef, kwDynamicRef:
			p.leads = append(p.leads, lead{key, v.Text()})
		case kwAnchor, kwDynamicAnchor: // a name for references says nothing else
		default:
			d.words = append(d.words, word{key, v})
		}
	}
}

// limit lets the place admit only these values of those that it did.
func (p *place) limit(members []contract.Value) {
	members = slices.Clone(members)
	slices.SortFunc(members, compareValues)
	members = slices.CompactFunc(members, contract.Value.Equal)
	if p.limited {
		members = slices.DeleteFunc(members, func(v contract.Value) bool { return !includes(p.members, v) })
	}
	p.limited, p.members = true, members
}

// includes reports whether v is one of the members, which are sorted.
func includes(members []contract.Value, v contract.Value) bool {
	_, ok := slices.BinarySearchFunc(members, v, compareValues)
	return ok
}

func (d *document) readType(p *place, v contract.Value) {
	names := []contract.Value{v}
	if v.Kind() == contract.Array {
		names = v.Items()
	}
	p.typed, p.kinds = true, 0
	for _, name := range names {
		p.kinds |= kindNamed(name)
	}
	if len(names) == 0 || slices.ContainsFunc(names, func(v contract.Value) bool { return kindNamed(v) == 0 }) {
		d.wrong(p, "type has to be the name of a type or a list of such")
	}
}

// kindNamed gives the kinds of a type's name, none for what is no such name.
func kindNamed(v contract.Value) kinds {
	if v.Kind() != contract.String {
		return 0
	}
	switch v.Text() {
	case "null":
		return kindNull
	case "boolean":
		return kindBool
	case "object":
		return kindObject
	case "array":
		return kindArray
	case "string":
		return kindString
	case "integer":
		return kindInteger
	case "number":
		return kindNumber
	}
	return 0
}

// modernise replaces what only older drafts spell so: a boolean exclusive bound
// makes the other one exclusive. nullable counts beside a type alone.
func (d *document) modernise(p *place) {
	for _, pair := range [...][2]keyword{{kwMinimum, kwExclusiveMinimum}, {kwMaximum, kwExclusiveMaximum}} {
		if v, _ := p.word(pair[1]); v.Kind() == contract.Bool {
			p.words = slices.DeleteFunc(p.words, func(w word) bool { return w.key == pair[1] })
			for i := range p.words {
				if p.words[i].key == pair[0] && v.Bool() {
					p.words[i].key = pair[1]
				}
			}
		}
	}
	p.nullable = p.nullable && p.typed
	// Two spellings of one keyword may both have been there.
	slices.SortStableFunc(p.depends, func(a, b depend) int { return cmp.Compare(a.name, b.name) })
}
