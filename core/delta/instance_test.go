package delta

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// generator writes instances that a schema is likely to admit, and breaks some.
type generator struct {
	r     *rand.Rand
	root  node
	depth int
}

func (g *generator) value(schema any) any {
	g.depth++
	defer func() { g.depth-- }()
	n, ok := schema.(node)
	if !ok || g.depth > 8 || g.r.IntN(12) == 0 {
		return g.any()
	}
	n = g.flat(n, 0)
	if list, ok := n["enum"].([]any); ok && len(list) > 0 && g.r.IntN(8) > 0 {
		return list[g.r.IntN(len(list))]
	}
	if v, ok := n["const"]; ok && g.r.IntN(8) > 0 {
		return v
	}
	switch g.kind(n) {
	case "object":
		return g.object(n)
	case "array":
		return g.array(n)
	case "string":
		return g.string(n)
	case "integer", "number":
		return g.number(n)
	case "boolean":
		return g.r.IntN(2) == 0
	case "null":
		return nil
	}
	return g.any()
}

// flat joins references and one branch of every choice into one schema.
func (g *generator) flat(n node, depth int) node {
	if depth > 6 {
		return n
	}
	out := maps.Clone(n)
	join := func(v any) {
		branch, ok := v.(node)
		if !ok {
			return
		}
		for key, v := range g.flat(branch, depth+1) {
			if have, ok := out[key].(node); ok && key == "properties" {
				more, _ := v.(node)
				have = maps.Clone(have)
				for name, sub := range more {
					if _, there := have[name]; !there {
						have[name] = sub
					}
				}
				out[key] = have
			} else if _, there := out[key]; !there || g.r.IntN(2) == 0 {
				out[key] = v
			}
		}
	}
	if ref, ok := n["$ref"].(string); ok {
		join(g.target(ref))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := n[key].([]any); ok && len(list) > 0 {
			join(list[g.r.IntN(len(list))])
		}
	}
	if list, ok := n["allOf"].([]any); ok {
		for _, branch := range list {
			join(branch)
		}
	}
	return out
}

func (g *generator) target(ref string) any {
	var at any = g.root
	for _, step := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		n, ok := at.(node)
		if step == "" || !ok {
			break
		}
		at = n[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}

func (g *generator) kind(n node) string {
	switch t := n["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			s, _ := t[g.r.IntN(len(t))].(string)
			return s
		}
	}
	switch {
	case n["properties"] != nil || n["required"] != nil || n["additionalProperties"] != nil:
		return "object"
	case n["items"] != nil || n["prefixItems"] != nil || n["contains"] != nil:
		return "array"
	case n["minimum"] != nil || n["maximum"] != nil || n["multipleOf"] != nil:
		return "number"
	case n["minLength"] != nil || n["maxLength"] != nil || n["pattern"] != nil:
		return "string"
	}
	return ""
}

func (g *generator) object(n node) any {
	out := node{}
	props, _ := n["properties"].(node)
	required, _ := n["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if g.r.IntN(3) > 0 || slices.Contains(required, any(name)) && g.r.IntN(10) > 0 {
			out[name] = g.value(props[name])
		}
	}
	for _, name := range required {
		if s, ok := name.(string); ok && out[s] == nil && g.r.IntN(10) > 0 {
			out[s] = g.value(props[s])
		}
	}
	if g.r.IntN(3) == 0 {
		extra := n["additionalProperties"]
		if g.r.IntN(2) == 0 {
			extra = nil
		}
		out[[]string{"zz", "to", "t", "bcc", "other"}[g.r.IntN(5)]] = g.value(extra)
	}
	return out
}

func (g *generator) array(n node) any {
	out := []any{}
	prefix, _ := n["prefixItems"].([]any)
	if list, ok := n["items"].([]any); ok {
		prefix = list
	}
	for i := range g.r.IntN(4) {
		switch {
		case i < len(prefix):
			out = append(out, g.value(prefix[i]))
		case g.r.IntN(4) == 0 && n["contains"] != nil:
			out = append(out, g.value(n["contains"]))
		default:
			out = append(out, g.value(n["items"]))
		}
	}
	return out
}

func (g *generator) string(n node) any {
	length := g.r.IntN(4)
	for _, key := range []string{"minLength", "maxLength"} {
		if v, ok := n[key].(json.Number); ok && g.r.IntN(2) == 0 {
			if x, err := v.Int64(); err == nil && x < 200 {
				length = max(0, int(x)+g.r.IntN(3)-1)
			}
		}
	}
	return strings.Repeat([]string{"a", "b", "é", "-"}[g.r.IntN(4)], length)
}

func (g *generator) number(n node) any {
	x := int64(g.r.IntN(12) - 3)
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if v, ok := n[key].(json.Number); ok && g.r.IntN(2) == 0 {
			if y, err := v.Int64(); err == nil {
				x = y + int64(g.r.IntN(3)) - 1
			}
		}
	}
	if n["type"] != "integer" && g.r.IntN(4) == 0 {
		return json.Number(encode(x) + ".5")
	}
	return json.Number(encode(x))
}

func (g *generator) any() any {
	switch g.r.IntN(9) {
	case 0:
		return nil
	case 1:
		return g.r.IntN(2) == 0
	case 2:
		return json.Number(encode(g.r.IntN(8) - 2))
	case 3:
		return json.Number("1.5")
	case 4:
		return []any{}
	case 5:
		return []any{"a", json.Number("1")}
	case 6:
		return node{}
	case 7:
		return node{"zz": "a"}
	}
	return []string{"", "a", "b", "ab", "abc", "a@b.example"}[g.r.IntN(6)]
}

// keysOf gives every key of every object in an instance.
func keysOf(v any, into map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			keysOf(item, into)
		}
	case node:
		for key, item := range v {
			into[key] = true
			keysOf(item, into)
		}
	}
}

// reached walks everything that a schema uses, through its local references, and
// calls f with each place and its path. It stops where a reference leads back.
func reached(root node, f func(path string, n node)) {
	g := &generator{root: root}
	var walk func(path string, n node, through []string)
	walk = func(path string, n node, through []string) {
		f(path, n)
		sub := func(step string, v any) {
			if m, ok := v.(node); ok {
				walk(path+"/"+step, m, through)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(n)) {
			switch v := n[key].(type) {
			case node:
				switch key {
				case "properties", "patternProperties", "dependentSchemas":
					for _, name := range slices.Sorted(maps.Keys(v)) {
						sub(key+"/"+name, v[name])
					}
				case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems":
					sub(key, v)
				}
			case []any:
				if key == "allOf" || key == "anyOf" || key == "oneOf" || key == "prefixItems" || key == "items" {
					for i, item := range v {
						sub(fmt.Sprint(key, "/", i), item)
					}
				}
			case string:
				if target, ok := g.target(v).(node); ok && (key == "$ref" || key == "$dynamicRef") && !slices.Contains(through, v) {
					walk(path, target, append(slices.Clone(through), v))
				}
			}
		}
	}
	walk("", root, nil)
}

// declared gives, for each name that is declared, the places where it is.
func declared(root node) map[string]string {
	names := map[string]string{}
	reached(root, func(path string, n node) {
		if m, ok := n["properties"].(node); ok {
			for name := range m {
				names[name] += " " + path
			}
		}
	})
	return names
}

// steering gives what would be sent without the model thinking: every default, and
// every value of an enum or const.
func steering(root node) map[string]bool {
	values := map[string]bool{}
	reached(root, func(_ string, s node) {
		if v, ok := s["default"]; ok {
			values["default "+canonical(v)] = true
		}
		only, isConst := s["const"]
		list, isEnum := s["enum"].([]any)
		if isConst && !isEnum {
			list = []any{only}
		}
		for _, v := range list {
			if isConst && canonical(v) != canonical(only) {
				continue // both stand there: they intersect
			}
			values["member "+canonical(v)] = true
			if isConst || len(list) == 1 {
				values["const "+canonical(v)] = true
			}
		}
	})
	return values
}

// canonical spells a value in one way.
func canonical(v any) string {
	return string(contract.Parse([]byte(`{"v":` + encode(v) + `}`)).Canonical())
}
