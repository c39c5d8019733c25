package delta

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// scalars are the values over which small schemas are judged exhaustively.
func scalars() []string {
	pool := []string{"null", "true", "false", `""`, `"a"`, `"b"`, `"ab"`}
	for i := -4; i <= 12; i++ {
		pool = append(pool, fmt.Sprintf("%g", float64(i)/4))
	}
	return append(pool, "4", "5", "6", "[]", `["a"]`, "[1]", "[1,1]", "{}", `{"p":1}`, `{"p":"a"}`, `{"q":1}`, `{"p":1,"q":1}`)
}

// smallSchemas writes schemas of every kind out: atoms, pairs of atoms, and
// combinations of them.
func smallSchemas() []string {
	atoms := []string{
		`"type":"integer"`, `"type":"number"`, `"type":"string"`, `"type":"boolean"`, `"type":"null"`, `"type":["integer","null"]`, `"type":"array"`, `"type":"object"`,
		`"minimum":0`, `"minimum":1`, `"exclusiveMinimum":0`, `"maximum":0`, `"maximum":1`, `"exclusiveMaximum":1`, `"multipleOf":1`, `"multipleOf":0.5`,
		`"enum":[0,1]`, `"enum":["a",1]`, `"const":1`, `"const":"a"`, `"enum":[]`,
		`"maxLength":0`, `"maxLength":1`, `"minLength":1`, `"pattern":"a"`,
		`"required":["p"]`, `"properties":{"p":{"type":"string"}}`, `"properties":{"p":{}}`, `"additionalProperties":false`, `"additionalProperties":{"type":"string"}`,
		`"unevaluatedProperties":false`, `"patternProperties":{"p":{"type":"integer"}}`, `"propertyNames":{"const":"p"}`, `"minProperties":1`, `"maxProperties":1`, `"dependentRequired":{"p":["q"]}`,
		`"items":{"type":"string"}`, `"items":false`, `"prefixItems":[{"type":"string"}]`, `"prefixItems":[{}]`, `"minItems":1`, `"maxItems":0`, `"uniqueItems":true`, `"unevaluatedItems":false`,
		`"contains":{"type":"string"}`, `"not":{"const":1}`, `"if":{"type":"string"},"then":{"maxLength":1}`,
	}
	schemas := []string{"true", "false", "{}"}
	for _, a := range atoms {
		schemas = append(schemas, "{"+a+"}")
	}
	pairs := [][2]string{
		{`"type":"integer"`, `"minimum":0,"maximum":1`},
		{`"type":"integer"`, `"minimum":1,"maximum":1`},
		{`"type":"integer"`, `"exclusiveMinimum":0,"exclusiveMaximum":2`},
		{`"type":"number"`, `"minimum":0,"maximum":1`},
		{`"type":"number"`, `"minimum":1,"maximum":1`},
		{`"type":"number"`, `"minimum":0,"exclusiveMaximum":1,"multipleOf":1`},
		{`"type":"string"`, `"maxLength":0`},
		{`"type":"string"`, `"minLength":1,"maxLength":1`},
		{`"type":"string"`, `"enum":["a",1]`},
		{`"type":"boolean"`, `"not":{"const":true}`},
		{`"type":["string","null"]`, `"maxLength":0`},
		{`"type":"integer"`, `"minimum":0,"maximum":2,"not":{"enum":[0,1]}`},
		{`"type":"string"`, `"nullable":true`},
		{`"contains":{"type":"string"}`, `"maxContains":1`},
		{`"contains":{"const":"a"}`, `"maxContains":1`},
		{`"contains":{"type":"string"}`, `"minContains":0`},
		{`"properties":{"p":{}}`, `"additionalProperties":false`},
		{`"properties":{"p":{}}`, `"unevaluatedProperties":false`},
		{`"additionalProperties":{"type":"integer"}`, `"unevaluatedProperties":false`},
		{`"prefixItems":[{}]`, `"items":false`},
		{`"prefixItems":[{}]`, `"unevaluatedItems":false`},
		{`"items":{"type":"string"}`, `"unevaluatedItems":false`},
		{`"allOf":[{"properties":{"p":{}}}]`, `"unevaluatedProperties":false`},
		{`"anyOf":[{"properties":{"p":{}}},{"required":["q"]}]`, `"unevaluatedProperties":false`},
	}
	for _, p := range pairs {
		schemas = append(schemas, "{"+p[0]+","+p[1]+"}", "{"+p[1]+"}")
	}
	small := []string{`{"type":"string"}`, `{"type":"integer"}`, `{"const":"a"}`, `{"const":1}`, `{"enum":["a","b"]}`, `{"minimum":1}`, `{"maximum":1}`, `{"type":"null"}`, `{}`, `{"maxLength":0}`, `{"$ref":"#/$defs/s"}`}
	for _, a := range small {
		schemas = append(schemas, `{"allOf":[`+a+`]}`, `{"anyOf":[`+a+`]}`, `{"oneOf":[`+a+`]}`, `{"not":`+a+`}`, `{"type":"integer","allOf":[`+a+`]}`)
		for _, b := range small[:8] {
			schemas = append(schemas, `{"anyOf":[`+a+`,`+b+`]}`, `{"oneOf":[`+a+`,`+b+`]}`)
		}
	}
	defs := `"$defs":{"s":{"type":"string","maxLength":1}}`
	for _, a := range []string{`"$ref":"#/$defs/s"`, `"$ref":"#/$defs/s","minLength":1`, `"$ref":"#/$defs/s","maxLength":0`, `"$ref":"#/$defs/s","type":"string"`, `"anyOf":[{"$ref":"#/$defs/s"},{"type":"null"}]`} {
		schemas = append(schemas, "{"+a+"}")
	}
	for i, s := range schemas {
		if strings.Contains(s, "#/$defs/s") {
			schemas[i] = strings.TrimSuffix(s, "}") + "," + defs + "}"
		}
	}
	return schemas
}

// Every pair of small schemas, at the root and as a property: a pass never widens
// and never pins.
func TestSmallSchemasExhaustively(t *testing.T) {
	pool := scalars()
	var instances []any
	for _, s := range pool {
		instances = append(instances, decode(t, s))
	}
	type small struct {
		text     string
		admits   uint64
		contract contract.Contract
	}
	var all []small
	for _, text := range smallSchemas() {
		v := compile(t, text)
		if v == nil {
			t.Fatalf("the validator refuses %s", text)
		}
		s := small{text: text, contract: tool(text)}
		for i, instance := range instances {
			if v.Validate(instance) == nil {
				s.admits |= 1 << i
			}
		}
		all = append(all, s)
	}
	if len(pool) > 64 {
		t.Fatal("too many values for the bits")
	}
	silent := 0
	for i, a := range all {
		for j, l := range all {
			if racing && i != j && (i+j)%10 > 0 {
				continue
			}
			if len(Compare(a.contract, l.contract)) > 0 {
				if a.text == l.text {
					t.Errorf("%s is held although nothing changed", a.text)
				}
				continue
			}
			silent++
			if more := l.admits &^ a.admits; more != 0 && !declaredOnce(a.text, l.text, pool[bits.TrailingZeros64(more)]) {
				t.Errorf("a pass widens: %s\nbecomes %s\nwhich admits %s", a.text, l.text, pool[bits.TrailingZeros64(more)])
			}
			if bits.OnesCount64(a.admits) > 1 && bits.OnesCount64(l.admits) == 1 {
				if v := pool[bits.TrailingZeros64(l.admits)]; v[0] != '[' && v[0] != '{' {
					t.Errorf("a pass pins: %s\nbecomes %s\nwhich admits %s alone", a.text, l.text, v)
				}
			}
		}
	}
	t.Logf("%d schemas, %d pairs pass", len(all), silent)
	if silent < 2*len(all) && !racing {
		t.Errorf("only %d of %d pairs pass", silent, len(all)*len(all))
	}
}

// declaredOnce reports whether the instance names the property p, which exactly one
// of two places declares that are compared: the promise leaves that out.
func declaredOnce(a, l, instance string) bool {
	atRoot := func(s string) bool { return strings.HasPrefix(s, `{"properties":{"p"`) }
	inside := func(s string) bool { return !atRoot(s) && strings.Contains(s, `"properties":{"p"`) }
	return strings.Contains(instance, `"p"`) && (atRoot(a) != atRoot(l) || inside(a) != inside(l))
}
