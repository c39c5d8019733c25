package dispatch

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// span is a part of the approved bytes; the zero span is none.
type span struct{ start, end int }

// Serve is the definition that an agent gets in a face: the approved bytes, with
// only the value of the top-level "name" replaced where the face prefixes it. It
// is nil for what has no approved contract. The caller must not change it.
func (e Entry) Serve(f Face) []byte {
	if !e.Record.Approved.Parsable() {
		return nil
	}
	raw := e.Record.Approved.Raw()
	shown := e.Direct
	if f.Server != "" {
		shown = e.Own
	}
	if e.name.end == 0 || shown == e.Record.Key.Name {
		return raw
	}
	// A served name is made of letters, digits, '_' and '-': it needs no escaping.
	return slices.Concat(raw[:e.name.start], []byte(`"`+shown+`"`), raw[e.name.end:])
}

// nameSpan finds the name in a contract; the zero span for none.
func nameSpan(c contract.Contract) span {
	if !c.Parsable() {
		return span{}
	}
	return findName(c.Raw())
}

// findName finds the value of the top-level member "name", however its key is
// spelled. The contract was read strictly, so there is at most one. Anything else
// than an object with a string there gives the zero span.
func findName(raw []byte) span {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return span{}
	}
	for {
		key, err := d.ReadToken()
		if err != nil || key.Kind() != '"' {
			return span{}
		}
		if key.String() != "name" {
			if err := d.SkipValue(); err != nil {
				return span{}
			}
			continue
		}
		value, err := d.ReadValue()
		if err != nil || value.Kind() != '"' {
			return span{}
		}
		end := int(d.InputOffset())
		return span{end - len(value), end}
	}
}

// sameBytes reports whether two contracts are the same text, not only equal.
func sameBytes(a, b contract.Contract) bool {
	return a.Digest() == b.Digest() && bytes.Equal(a.Raw(), b.Raw())
}
