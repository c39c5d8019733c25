package contract

import (
	"sort"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the JSON type of a Value. The zero Kind is Null.
type Kind byte

const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String is the name that JSON Schema gives to the type.
func (k Kind) String() string {
	names := [...]string{"null", "boolean", "number", "string", "array", "object"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Value is one JSON value, immutable. Numbers keep every digit: there is no
// float64 anywhere. The zero Value is null.
type Value struct {
	kind    Kind
	boolean bool
	text    string // a string's content; a number's canonical spelling
	node    *node  // of an Array or Object that is not empty
}

// node holds what is inside an array or object. It stands apart so that the many
// scalars of a definition stay small.
type node struct {
	items   []Value
	members []Member // in the order that was sent
	sorted  *[]int32 // indices of members by name; nil when they were sent in that order
}

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value Value
}

func (v Value) Kind() Kind   { return v.kind }
func (v Value) Bool() bool   { return v.boolean }
func (v Value) Text() string { return v.text } // of a String; the canonical spelling of a Number

// Items are those of an Array; not to be changed.
func (v Value) Items() []Value {
	if v.node == nil {
		return nil
	}
	return v.node.items
}

// Members are those of an Object in the order that was sent; not to be changed.
func (v Value) Members() []Member {
	if v.node == nil {
		return nil
	}
	return v.node.members
}

// Sorted is member i of an Object in the order of names by code point.
func (v Value) Sorted(i int) Member { return v.node.at(i) }

// at is member i in the order of names.
func (n *node) at(i int) Member {
	if n.sorted != nil {
		i = int((*n.sorted)[i])
	}
	return n.members[i]
}

// few is up to how many members a look-up walks instead of searching.
const few = 8

// Get finds a member of an object by name.
func (v Value) Get(name string) (Value, bool) {
	members := v.Members()
	if len(members) <= few {
		for i := range members {
			if members[i].Name == name {
				return members[i].Value, true
			}
		}
		return Value{}, false
	}
	i := sort.Search(len(members), func(i int) bool { return v.node.at(i).Name >= name })
	if i < len(members) && v.node.at(i).Name == name {
		return v.node.at(i).Value, true
	}
	return Value{}, false
}

// Equal reports whether both mean the same: member order and the spelling of
// numbers and strings do not count.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind || v.boolean != w.boolean || v.text != w.text {
		return false
	}
	if v.node == w.node {
		return true
	}
	items, others := v.Items(), w.Items()
	members := v.Members()
	if len(items) != len(others) || len(members) != len(w.Members()) {
		return false
	}
	for i := range items {
		if !items[i].Equal(others[i]) {
			return false
		}
	}
	for i := range members {
		a, b := v.node.at(i), w.node.at(i)
		if a.Name != b.Name || !a.Value.Equal(b.Value) {
			return false
		}
	}
	return true
}

// AppendCanonical appends the canonical form to b: compact JSON, members by code
// point of their names, only those characters escaped that have to be, numbers as
// an integer without trailing zeros and, when it is not 0, an exponent.
func (v Value) AppendCanonical(b []byte) []byte {
	switch v.kind {
	case Null:
		return append(b, "null"...)
	case Bool:
		if v.boolean {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case Number:
		return append(b, v.text...)
	case String:
		return appendString(b, v.text)
	case Array:
		b = append(b, '[')
		for i, item := range v.Items() {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.AppendCanonical(b)
		}
		return append(b, ']')
	case Object: // below
	}
	b = append(b, '{')
	for i := range v.Members() {
		if i > 0 {
			b = append(b, ',')
		}
		m := v.node.at(i)
		b = append(appendString(b, m.Name), ':')
		b = m.Value.AppendCanonical(b)
	}
	return append(b, '}')
}

// appendString appends s as a JSON string with the escapes of RFC 8785 section
// 3.2.2.2. It can't fail: what was read is valid UTF-8.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
