package hooks

import "github.com/go-json-experiment/json/jsontext"

// Canonical gives a JSON object in one spelling (RFC 8785): two texts mean the same
// when theirs are equal. It fails for what is no single strict JSON object.
func Canonical(object []byte) ([]byte, bool) {
	v := jsontext.Value(object).Clone()
	if v.Kind() != '{' || v.Canonicalize() != nil {
		return nil, false
	}
	return v, true
}
