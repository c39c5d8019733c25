package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// errTooDeep is raised at MaxDepth, far before the limit of the decoder.
var errTooDeep = fmt.Errorf("it is nested over %d levels", MaxDepth)

// reader builds the tree of one definition in one pass over its bytes.
type reader struct {
	dec  *jsontext.Decoder
	text string // the definition; strings without escapes are slices of it
	read int    // values

	// Stacks of what is open, and the slabs that finished arrays and objects
	// are cut from, so that a definition costs few allocations.
	items   []Value
	members []Member
	valueOf slab[Value]
	member  slab[Member]
	nodes   slab[node]
}

// read gives the value of raw and how many values it consists of, or what is wrong
// with it and where.
func read(raw []byte) (Value, int, string) {
	r := reader{dec: jsontext.NewDecoder(bytes.NewBuffer(raw)), text: string(raw)}
	// What will be needed, nearly exactly: brackets and quotes are rare inside texts.
	r.member.expect(bytes.Count(raw, []byte(`":`)))
	r.nodes.expect(bytes.Count(raw, []byte("{")) + bytes.Count(raw, []byte("[")))
	r.valueOf.expect(16)
	v, err := r.value(0)
	if err != nil {
		return Value{}, 0, r.describe(err)
	}
	end := r.dec.InputOffset()
	if _, err := r.dec.ReadToken(); err != io.EOF {
		return Value{}, 0, fmt.Sprintf("something stands behind the JSON value, after byte %d", end)
	}
	if v.kind != Object {
		return Value{}, 0, "it is a JSON value, but no object: " + v.kind.String()
	}
	return v, r.read, ""
}

// value reads the next value; depth is that of what it stands in.
func (r *reader) value(depth int) (Value, error) {
	r.read++
	switch kind := r.dec.PeekKind(); kind {
	case '{', '[':
		switch {
		case depth == MaxDepth:
			return Value{}, errTooDeep
		case kind == '{':
			return r.object(depth + 1)
		}
		return r.array(depth + 1)
	case '"':
		s, err := r.string()
		return Value{kind: String, text: s}, err
	case '0':
		s, err := r.scalar()
		if err != nil {
			return Value{}, err
		}
		return Value{kind: Number, text: canonicalNumber(s)}, nil
	default: // a literal, or nothing that begins a value
		s, err := r.scalar()
		if err != nil || s == "null" {
			return Value{}, err
		}
		return Value{kind: Bool, boolean: s == "true"}, nil
	}
}

// array reads the items and the brackets around them.
func (r *reader) array(depth int) (Value, error) {
	first := len(r.items)
	_, err := r.dec.ReadToken()
	for err == nil && r.dec.PeekKind() != ']' {
		var v Value
		v, err = r.value(depth)
		r.items = append(r.items, v)
	}
	if err != nil {
		return Value{}, err
	}
	v := Value{kind: Array}
	if len(r.items) > first {
		v.node = r.node()
		v.node.items = r.valueOf.cut(r.items[first:])
		r.items = r.items[:first]
	}
	_, err = r.dec.ReadToken()
	return v, err
}

// object reads the members and the braces around them. That no name stands twice
// is checked by the decoder, by the unescaped name.
func (r *reader) object(depth int) (Value, error) {
	first := len(r.members)
	_, err := r.dec.ReadToken()
	for err == nil && r.dec.PeekKind() != '}' {
		var m Member
		if m.Name, err = r.string(); err == nil {
			m.Value, err = r.value(depth)
			r.members = append(r.members, m)
		}
	}
	if err != nil {
		return Value{}, err
	}
	v := Value{kind: Object}
	if len(r.members) > first {
		v.node = r.node()
		v.node.members = r.member.cut(r.members[first:])
		if order := sortedOrder(v.node.members); order != nil {
			v.node.sorted = &order
		}
		r.members = r.members[:first]
	}
	_, err = r.dec.ReadToken()
	return v, err
}

// sortedOrder gives the order of the members by name, nil when that is how they stand.
func sortedOrder(members []Member) []int32 {
	byName := func(a, b Member) int { return strings.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(members, byName) {
		return nil
	}
	order := make([]int32, len(members))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(members[a].Name, members[b].Name) })
	return order
}

// string reads a string or a name.
func (r *reader) string() (string, error) {
	s, err := r.scalar()
	if err != nil {
		return "", err // also what is no string in the place of a name
	}
	if strings.IndexByte(s, '\\') < 0 {
		return s[1 : len(s)-1], nil
	}
	b, err := jsontext.AppendUnquote(make([]byte, 0, len(s)), s)
	return string(b), err
}

// scalar reads what is no array or object and gives its spelling.
func (r *reader) scalar() (string, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return "", err
	}
	end := int(r.dec.InputOffset())
	return r.text[end-len(v) : end], nil
}

// node takes one node of the slab.
func (r *reader) node() *node { return &r.nodes.cut([]node{{}})[0] }

// slab hands out exact slices of larger allocations.
type slab[T any] struct {
	free []T
	next int // how many to allocate at once
}

// expect says how many will be needed. A text that only looks like many must
// not cost memory, so there is a limit.
func (s *slab[T]) expect(n int) { s.next = min(n, 1024) }

// cut copies what into the slab.
func (s *slab[T]) cut(what []T) []T {
	n := len(what)
	if n > len(s.free) {
		s.free = make([]T, max(s.next, n))
		s.next = max(16, s.next/2)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	copy(out, what)
	return out
}

// describe says what is wrong and where, in words of ours: what stands in the
// definition is its server's, so of it only an escaped, short path is shown.
func (r *reader) describe(err error) string {
	offset := r.dec.InputOffset()
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		if errors.Is(err, io.EOF) {
			return "it is empty"
		}
		return fmt.Sprintf("%s, at byte %d", err, offset)
	}
	at := fmt.Sprintf("at byte %d", syntax.ByteOffset)
	if syntax.JSONPointer != "" {
		at += fmt.Sprintf(" (%+q)", cut(string(syntax.JSONPointer)))
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "a name stands twice in one object, " + at
	case errors.Is(err, jsontext.ErrNonStringName):
		return "the name of a member is no string, " + at
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early, " + at
	}
	return fmt.Sprintf("it is no valid JSON: %v, %s", syntax.Err, at)
}

// cut shortens a foreign text for a message.
func cut(s string) string {
	const most = 120 // bytes
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
