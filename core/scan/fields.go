package scan

import (
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// field says what a text is for, as the fields of a bundle rule name it.
type field byte

const (
	fieldName        field = iota // of the thing itself
	fieldTitle                    // titles, also of annotations and in schemas
	fieldDescription              // descriptions and comments
	fieldProperty                 // the name of a property, or of an unknown keyword
	fieldValue                    // enum and const members, defaults and examples
	fieldMeta                     // strings in _meta
	fieldOther                    // every other string: patterns, formats, unknown keywords
)

// text is one string of a definition.
type text struct {
	s       string
	place   int32 // index in places
	field   field
	named   bool // s is the name of the member at place
	example bool // it stands in the examples of a schema
	flags   byteFlags

	words     span // its tokens
	sentences span
	count     int32 // words, those without a meaning counted
}

// span is a range: of bytes, tokens or sentences.
type span struct{ start, end int }

// place is one step of a JSON Pointer.
type place struct {
	up    int32 // index of the place that this one stands in; -1 for the root
	name  string
	index int32 // in an array; -1 in an object
}

// reading is one contract while it is scanned.
type reading struct {
	scanner  *Scanner
	contract contract.Contract
	name     string
	bytes    int // of all texts

	texts     []text
	places    []place
	tokens    []token
	sentences []sentence
	seen      mask     // every meaning that stands in some text
	about     *[2]mask // what the tool is about, by its name and by its description, once it was asked for

	tokenizer tokenizer
	buffer    []byte  // of the text that is being read
	offsets   []int32 // raw byte of each byte of buffer; nil when they are the same
	spare     []int32 // memory for offsets
	concerned []bool  // by rule of the bundle: whether it can concern a text

	hits    []hit
	settled []Finding

	running  string
	examples int // how many examples the walk is inside of
	left     int
	steps    int
}

// begin makes r ready for another contract. Of the one before it keeps the memory
// alone.
func (r *reading) begin(s *Scanner, c contract.Contract) {
	*r = reading{
		scanner: s, contract: c, name: c.Name(),
		texts: r.texts[:0], places: r.places[:0], tokens: r.tokens[:0], sentences: r.sentences[:0],
		tokenizer: tokenizer{begun: r.tokenizer.begun}, buffer: r.buffer, spare: r.spare,
		hits: r.hits[:0], concerned: r.concerned,
	}
	if size := len(c.Raw()); cap(r.texts) == 0 {
		r.texts = make([]text, 0, 8+size/64)
		r.places = make([]place, 0, 8+size/32)
		r.tokens = make([]token, 0, 8+size/24)
		r.sentences = make([]sentence, 0, 8+size/64)
		r.tokenizer.begun = make([]begun, 0, 8)
	}
}

// read collects every text and cuts it into words.
func (r *reading) read() {
	r.walk(r.contract.Root(), -1, inTool)
	for i := range r.texts {
		r.bytes += len(r.texts[i].s)
	}
	for i := range r.texts {
		r.cut(&r.texts[i])
	}
}

// context says how the names and strings inside a value are to be understood.
type context byte

const (
	inTool        context = iota // the members of the definition itself
	inAnnotations                // the members of annotations
	inSchema                     // keywords of a schema
	inNames                      // a map of names to schemas
	inValue                      // everything is a value
	inExample                    // everything is an example
	inMeta                       // everything is a string of _meta
	inUnknown                    // everything is text
)

// walk adds the texts of v. Members are taken in the order of their names, so that
// the order in which they were sent does not matter.
func (r *reading) walk(v contract.Value, at int32, in context) {
	r.spend(1)
	switch v.Kind() {
	case contract.String:
		r.add(v.Text(), at, in.valueField(), false)
	case contract.Array:
		for i, item := range v.Items() {
			if item.Kind() > contract.Number { // nothing else has a text
				r.walk(item, r.place(at, "", int32(i)), in)
			}
		}
	case contract.Object:
		for i := range v.Members() {
			m := v.Sorted(i)
			r.member(m.Name, m.Value, at, in)
		}
	default: // no text
	}
}

// member adds the texts of one member: its name where that is free, and its value.
func (r *reading) member(name string, v contract.Value, at int32, in context) {
	known, next := in.keyword(name)
	if known && v.Kind() < contract.String {
		return
	}
	here := r.place(at, name, -1)
	if !known {
		r.add(name, here, fieldProperty, true)
	}
	if v.Kind() != contract.String {
		if next == inExample {
			r.examples++
			defer func() { r.examples-- }()
		}
		r.walk(v, here, next)
		return
	}
	if s := v.Text(); !known || !plain(name, s) {
		r.add(s, here, in.stringField(name, known), false)
	}
}

// add notes a text. Empty ones say nothing.
func (r *reading) add(s string, at int32, f field, named bool) {
	if s != "" {
		r.texts = append(r.texts, text{s: s, place: at, field: f, named: named, example: r.examples > 0})
	}
}

func (r *reading) place(up int32, name string, index int32) int32 {
	r.places = append(r.places, place{up: up, name: name, index: index})
	return int32(len(r.places) - 1)
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// pointer is the JSON Pointer (RFC 6901) of a text. That of a member's name is the
// pointer of the member and "#", as in a Relative JSON Pointer.
func (r *reading) pointer(t text) string {
	var steps []string
	for i := t.place; i >= 0; i = r.places[i].up {
		p := r.places[i]
		step := p.name
		if p.index >= 0 {
			step = strconv.Itoa(int(p.index))
		}
		steps = append(steps, escapePointer.Replace(step))
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		b.WriteString("/" + steps[i])
	}
	if t.named {
		b.WriteString("#")
	}
	return b.String()
}

// valueField is the field of a string that stands in an array.
func (c context) valueField() field {
	switch c {
	case inValue, inExample:
		return fieldValue
	case inMeta:
		return fieldMeta
	default:
		return fieldOther
	}
}

// stringField is the field of a string member.
func (c context) stringField(name string, known bool) field {
	if c == inValue || c == inExample || c == inMeta {
		return c.valueField()
	}
	switch {
	case !known:
		return fieldOther
	case c == inTool && name == "name":
		return fieldName
	case name == "title":
		return fieldTitle
	case name == "description", name == "$comment":
		return fieldDescription
	case name == "const", name == "default":
		return fieldValue
	}
	return fieldOther
}

// keyword says whether a name is one that a vocabulary defines, so that it is no
// text of the author's, and how its value is to be read.
func (c context) keyword(name string) (known bool, next context) {
	switch c {
	case inTool:
		return toolField(name)
	case inAnnotations:
		switch name {
		case "title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint":
			return true, inUnknown
		}
		return false, inUnknown
	case inSchema:
		return schemaKeyword(name)
	case inNames:
		return false, inSchema
	case inValue, inMeta:
		return false, c
	case inExample:
		return false, inExample
	default:
		return false, inUnknown
	}
}

func toolField(name string) (bool, context) {
	switch name {
	case "name", "title", "description":
		return true, inUnknown
	case "inputSchema", "outputSchema":
		return true, inSchema
	case "annotations":
		return true, inAnnotations
	case "_meta":
		return true, inMeta
	}
	return false, inUnknown
}

func schemaKeyword(name string) (bool, context) {
	switch name {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependentRequired", "dependencies":
		return true, inNames
	case "enum", "const", "default", "required":
		return true, inValue
	case "examples":
		return true, inExample
	case "type", "title", "description", "$comment", "format", "pattern", "$schema", "$ref", "$id", "$anchor", "$dynamicRef",
		"$dynamicAnchor", "contentEncoding", "contentMediaType", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems",
		"minContains", "maxContains", "deprecated", "readOnly", "writeOnly", "nullable", "additionalProperties", "items",
		"prefixItems", "additionalItems", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames", "not", "if",
		"then", "else", "allOf", "anyOf", "oneOf", "contentSchema":
		return true, inSchema
	}
	return false, inUnknown
}

// plain reports whether a string is one of the fixed values of a keyword, which
// say nothing.
func plain(keyword, s string) bool {
	switch keyword {
	case "type":
		switch s {
		case "string", "object", "array", "integer", "number", "boolean", "null":
			return true
		}
	case "$schema":
		return s == "http://json-schema.org/draft-07/schema#" || s == "https://json-schema.org/draft/2020-12/schema"
	}
	return false
}
