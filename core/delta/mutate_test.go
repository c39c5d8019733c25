package delta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// node is a schema of a test: an object as encoding/json reads it, numbers as
// they are written.
type node = map[string]any

func decodeNode(text []byte) (node, bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var n node
	return n, dec.Decode(&n) == nil && n != nil
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func clone(n node) node {
	c, _ := decodeNode([]byte(encode(n)))
	return c
}

// schemasIn gives every subschema that is an object, in a fixed order.
func schemasIn(n node) []node {
	all := []node{n}
	add := func(v any) {
		if sub, ok := v.(node); ok {
			all = append(all, schemasIn(sub)...)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(n)) {
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			if m, ok := n[key].(node); ok {
				for _, name := range slices.Sorted(maps.Keys(m)) {
					add(m[name])
				}
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			if list, ok := n[key].([]any); ok {
				for _, item := range list {
					add(item)
				}
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems":
			add(n[key])
		}
	}
	return all
}

// palette is what a mutation adds.
var palette = []string{
	`{"type":"string"}`, `{"type":"integer"}`, `{"type":["string","null"]}`, `{"minimum":1}`, `{"maximum":3}`, `{"exclusiveMinimum":0}`, `{"multipleOf":2}`,
	`{"minLength":1}`, `{"maxLength":2}`, `{"maxLength":0}`, `{"minItems":1}`, `{"maxItems":2}`, `{"uniqueItems":true}`, `{"minProperties":1}`, `{"maxProperties":1}`,
	`{"enum":["a","b"]}`, `{"enum":["a"]}`, `{"const":"a"}`, `{"default":"a"}`, `{"pattern":"a"}`, `{"format":"email"}`, `{"not":{"const":"a"}}`,
	`{"additionalProperties":false}`, `{"additionalProperties":{"type":"string"}}`, `{"unevaluatedProperties":false}`, `{"propertyNames":{"maxLength":4}}`,
	`{"required":["to"]}`, `{"dependentRequired":{"to":["bcc"]}}`, `{"allOf":[{"maxLength":3}]}`, `{"allOf":[{"properties":{"to":{"maxLength":3}}}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`,
	`{"oneOf":[{"type":"string"},{"maxLength":2}]}`, `{"items":{"type":"string"}}`, `{"items":false}`, `{"contains":{"type":"string"}}`, `{"prefixItems":[{"type":"string"}]}`,
	`{"if":{"type":"string"},"then":{"maxLength":2}}`, `{"properties":{"to":{"type":"string"}}}`, `{"properties":{"bcc":{}}}`, `{"patternProperties":{"^t":{"type":"string"}}}`, `{"description":"x"}`, `{"nullable":true}`,
}

// mutate changes one thing somewhere in the schema.
func mutate(r *rand.Rand, root node) {
	all := schemasIn(root)
	n := all[r.IntN(len(all))]
	keys := slices.Sorted(maps.Keys(n))
	pickKey := func() string {
		if len(keys) == 0 {
			return ""
		}
		return keys[r.IntN(len(keys))]
	}
	switch r.IntN(12) {
	case 0, 1:
		if key := pickKey(); key != "$defs" && key != "definitions" {
			delete(n, key)
		}
	case 2, 3, 4:
		extra, _ := decodeNode([]byte(palette[r.IntN(len(palette))]))
		for key, v := range extra {
			if _, there := n[key]; !there || r.IntN(3) == 0 {
				n[key] = v
			}
		}
	case 5:
		nudge(r, n, pickKey())
	case 6:
		wrap(r, n, root)
	case 7: // drop or double a member of a list
		key := pickKey()
		if list, ok := n[key].([]any); ok && len(list) > 1 {
			i := r.IntN(len(list))
			if r.IntN(2) == 0 {
				n[key] = slices.Delete(slices.Clone(list), i, i+1)
			} else {
				n[key] = append(slices.Clone(list), list[i])
			}
		}
	case 8: // shuffle a list
		if list, ok := n[pickKey()].([]any); ok {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
	case 9: // drop a property
		if m, ok := n["properties"].(node); ok && len(m) > 0 {
			delete(m, slices.Sorted(maps.Keys(m))[r.IntN(len(m))])
		}
	case 10: // narrow an enum
		if list, ok := n["enum"].([]any); ok && len(list) > 2 {
			n["enum"] = list[1:]
		}
	case 11: // take a keyword from somewhere else
		from := clone(all[r.IntN(len(all))])
		key := slices.Sorted(maps.Keys(from))
		for _, key := range key[:min(1, len(key))] {
			v := from[key]
			if key != "properties" && key != "$defs" && key != "definitions" {
				n[key] = v
			}
		}
	}
}

// nudge makes a number a little different.
func nudge(r *rand.Rand, n node, key string) {
	number, ok := n[key].(json.Number)
	if !ok {
		return
	}
	x, err := number.Int64()
	if err != nil {
		return
	}
	n[key] = json.Number(fmt.Sprint(max(0, x+int64(r.IntN(5))-2)))
}

// wrap puts what a schema says into a branch or a definition.
func wrap(r *rand.Rand, n, root node) {
	if len(n) == 0 || n["$defs"] != nil || n["definitions"] != nil || n["$schema"] != nil {
		return
	}
	inner := maps.Clone(n)
	clear(n)
	switch r.IntN(5) {
	case 0:
		n["allOf"] = []any{inner}
	case 1:
		n["anyOf"] = []any{inner}
	case 2:
		n["oneOf"] = []any{inner}
	case 3:
		n["anyOf"] = []any{inner, node{"type": "null"}}
	case 4:
		defs, ok := root["$defs"].(node)
		if !ok {
			defs = node{}
			root["$defs"] = defs
		}
		name := fmt.Sprintf("m%d", len(defs))
		defs[name] = inner
		n["$ref"] = "#/$defs/" + name
	}
}
