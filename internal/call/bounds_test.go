package call

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// list is a JSON array of n times an item, and a last one.
func list(item string, n int, last string) string {
	return "[" + strings.Repeat(item+",", n) + last + "]"
}

func items(rules string) string {
	return `{"type":"object","properties":{"s":{"items":` + rules + `}}}`
}

// hostile are schemas and arguments that a server and an agent could wish to be slow.
var hostile = map[string]struct{ schema, args string }{
	"large program":          {items(`{"pattern":"^` + strings.Repeat("(?:a?b?){500}", 40) + `$"}`), `{"s":["` + strings.Repeat("ab", 10_000) + `c"]}`},
	"program at the limit":   {items(`{"pattern":"^` + strings.Repeat("(?:a?b?){500}", 5) + `$"}`), `{"s":["` + strings.Repeat("ab", 200_000) + `c"]}`},
	"many programs":          {`{"patternProperties":{` + manyPatterns(900) + `}}`, `{"` + strings.Repeat("ab", 100_000) + `":1}`},
	"enum of numbers":        {items(`{"enum":` + list("1e390", 1000, "1") + `}`), `{"s":` + list("2e390", 400, "1") + `}`},
	"enum of strings":        {items(`{"enum":` + list(`"x"`, 15_000, "1") + `}`), `{"s":` + list(`"y"`, 40_000, "1") + `}`},
	"enum of lists":          {items(`{"enum":[` + list("1", 20_000, "2") + `]}`), `{"s":` + list(list("1", 20_000, "3"), 20, "1") + `}`},
	"const":                  {items(`{"const":` + list("1e390", 15_000, "1") + `}`), `{"s":` + list(list("1e390", 15_000, "1"), 8, "1") + `}`},
	"multipleOf":             {items(`{"multipleOf":1e-390}`), `{"s":` + list("2e390", 150_000, "1") + `}`},
	"multipleOf, digits":     {items(`{"multipleOf":0.` + strings.Repeat("7", 390) + `}`), `{"s":` + list(strings.Repeat("3", 390)+"."+strings.Repeat("3", 390), 1000, "1") + `}`},
	"minimum":                {items(`{"minimum":1e-390}`), `{"s":` + list("2e-390", 140_000, "1") + `}`},
	"integer":                {items(`{"type":"integer"}`), `{"s":` + list("1.5e-390", 100_000, "1") + `}`},
	"unique":                 {`{"properties":{"s":{"uniqueItems":true}}}`, `{"s":` + list("1e390", 170_000, "1") + `}`},
	"required":               {`{"type":"object","required":` + distinct(60_000) + `}`, `{"s":1}`},
	"required, often":        {items(`{"required":` + distinct(50_000) + `}`), `{"s":` + list("{}", 100_000, "{}") + `}`},
	"false":                  {items(`false`), `{"s":` + list("1", 500_000, "1") + `}`},
	"choices, all wrong":     {items(`{"anyOf":` + list("false", 2500, "false") + `}`), `{"s":` + list("1", 100_000, "1") + `}`},
	"choices, all of a type": {items(`{"anyOf":` + list(`{"type":"null"}`, 2500, `{"type":"null"}`) + `}`), `{"s":` + list("1", 100_000, "1") + `}`},
	"not, deep":              {items(chain(`{"not":`, `{"type":"string"}`, 100)), `{"s":` + list("1", 100_000, "1") + `}`},
	"unevaluated":            {`{"properties":{"s":{"allOf":` + list(`{"minProperties":1}`, 2500, "{}") + `,"unevaluatedProperties":false}}}`, `{"s":{` + members(30_000) + `"z":1}}`},
	"contains":               {items(`{"contains":{"const":1}}`), `{"s":` + list(list("2", 500, "3"), 500, "1") + `}`},
	"long references":        {`{"$defs":{` + references(900, false) + `},"properties":{"s":{"items":{"$ref":"#/$defs/d0"}}}}`, `{"s":` + list("1", 100_000, "1") + `}`},
	"references in a circle": {`{"$defs":{` + references(900, true) + `},"properties":{"s":{"items":{"$ref":"#/$defs/d0"}}}}`, `{"s":` + list("1", 100_000, "1") + `}`},
	"doubling, failing":      {doubling(40), `{"a":1}`},
	"names":                  {`{"propertyNames":{"pattern":"^(?:a?b?){200}$"}}`, `{` + members(60_000) + `"z":1}`},
	"false names":            {`{"propertyNames":false}`, `{` + members(60_000) + `"z":1}`},
	"long text":              {`{"properties":{"s":{"allOf":` + list(`{"maxLength":1}`, 2500, "{}") + `}}}`, `{"s":"` + strings.Repeat("ü", 500_000) + `"}`},
}

func manyPatterns(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"^(?:a?b?){%d}c$":true`, 1+i%1000)
	}
	return b.String()
}

// distinct is a JSON array of n texts.
func distinct(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"x%d",`, i)
	}
	return "[" + b.String() + `"last"]`
}

func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":1,`, i)
	}
	return b.String()
}

func chain(open, end string, n int) string {
	return strings.Repeat(open, n) + end + strings.Repeat("}", n)
}

func references(n int, circle bool) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	if circle {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d0"}`, n)
	} else {
		fmt.Fprintf(&b, `"d%d":{"type":"null"}`, n)
	}
	return b.String()
}

func doubling(n int) string {
	twice := `{"$defs":{"e0":{"type":"string"}`
	for i := 1; i <= n; i++ {
		twice += fmt.Sprintf(`,"e%d":{"anyOf":[{"$ref":"#/$defs/e%d"},{"$ref":"#/$defs/e%d"}]}`, i, i-1, i-1)
	}
	return twice + fmt.Sprintf(`},"properties":{"a":{"not":{"not":{"$ref":"#/$defs/e%d"}}}}}`, n)
}

// TestHostileSchemas: none of them takes a validation much longer than it may; what is
// over has some room for a machine that is busy and for the race detector.
func TestHostileSchemas(t *testing.T) {
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			if len(c.args) > 1<<20 || len(c.schema) > 1<<20 {
				t.Fatalf("%d and %d bytes: no such thing comes", len(c.schema), len(c.args))
			}
			s := prepare(toolWith(c.schema))
			if s.broken != "" {
				t.Fatal(s.broken)
			}
			v, err := decode([]byte(c.args))
			if err != nil {
				t.Fatal(err)
			}
			in, err := s.take()
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			got := in.validate(t.Context(), v)
			took := time.Since(begun)
			t.Logf("%s for %d units: %.100s", took, in.budget.work, got)
			if took > 6*maxTime {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// Who leaves is not worked for.
func TestValidationEndsWithTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := hostile["enum of strings"]
	var s schemas
	tool := toolWith(c.schema)
	if got := s.check(t.Context(), tool, []byte(`{"s":["y"]}`)); !strings.Contains(got, "(enum)") {
		t.Fatal(got)
	}
	if got := s.check(ctx, tool, []byte(c.args)); got != givenUp {
		t.Errorf("%q", got)
	}
	// Nor is waited for a turn.
	sch := s.of(tool)
	for range cap(sch.turns) {
		sch.turns <- struct{}{}
	}
	if got := s.check(ctx, tool, []byte(c.args)); got != givenUp {
		t.Errorf("%q", got)
	}
}

// TestLargeHonestArguments: what people do fits into the budget.
func TestLargeHonestArguments(t *testing.T) {
	word := `{"type":"string","pattern":"^[a-zA-Z0-9_.-]{1,64}$","minLength":1,"maxLength":64}`
	object := `{"type":"object","required":["id","name"],"additionalProperties":false,"properties":{"id":{"type":"integer","minimum":0},"name":{"type":"string"},"kind":{"enum":["a","b","c"]}}}`
	var values []string
	for i := range 1000 {
		values = append(values, fmt.Sprintf(`"value-%d"`, i))
	}
	enum := `{"type":"string","enum":[` + strings.Join(values, ",") + `]}`
	for name, c := range map[string]struct{ schema, args string }{
		"text of 1 MB":              {`{"properties":{"s":{"type":"string","minLength":1}}}`, `{"s":"` + strings.Repeat("x", 1_000_000) + `"}`},
		"base64 of 100 KB":          {`{"properties":{"s":{"type":"string","pattern":"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"}}}`, `{"s":"` + strings.Repeat("QUJD", 25_000) + `"}`},
		"text with a bounded count": {`{"properties":{"s":{"type":"string","pattern":"^[\\s\\S]{1,1000}$"}}}`, `{"s":"` + strings.Repeat("x", 1000) + `"}`},
		"10,000 strings":            {items(`{"type":"string"}`), `{"s":` + list(`"some/path/of/a/file.txt"`, 10_000, `"x"`) + `}`},
		"10,000 words":              {items(word), `{"s":` + list(`"some_word-of.20bytes"`, 10_000, `"x"`) + `}`},
		"10,000 unique":             {`{"properties":{"s":{"uniqueItems":true}}}`, `{"s":[` + numbers(10_000) + `]}`},
		"10,000 numbers":            {items(`{"type":"number","minimum":0,"multipleOf":0.01}`), `{"s":` + list("12.34", 10_000, "0") + `}`},
		"enum of 1,000":             {items(enum), `{"s":` + list(`"value-999"`, 10_000, `"value-0"`) + `}`},
		"5,000 objects":             {items(object), `{"s":` + list(`{"id":17,"name":"a name","kind":"c"}`, 5000, `{"id":1,"name":""}`) + `}`},
		"5,000 choices":             {items(`{"oneOf":[{"type":"string"},` + object + `,{"type":"null"}]}`), `{"s":` + list(`{"id":17,"name":"a name","kind":"c"}`, 5000, `null`) + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := prepare(toolWith(c.schema))
			v, err := decode([]byte(c.args))
			if err != nil || s.broken != "" {
				t.Fatal(s.broken, err)
			}
			begun := time.Now()
			s.idle[0].budget.time = time.Minute // the work is what is tested, not the machine
			if got := s.idle[0].validate(t.Context(), v); got != "" {
				t.Error(got)
			}
			t.Logf("%s for %d units of %d", time.Since(begun), s.idle[0].budget.work, maxWork)
		})
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, i)
	}
	return b.String()
}

// TestGatesAgree: with the gates, values fit exactly when they fit the library's own
// reading of the same schema.
func TestGatesAgree(t *testing.T) {
	number := rapid.OneOf(
		rapid.SampledFrom([]string{"0", "-0", "1", "1.0", "10e-1", "100e-2", "1e2", "100", "100.0", "0.5", "5e-1", "-1", "12", "1.2e1", "0e9", "0.50"}),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?`))
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		leaf := []*rapid.Generator[string]{number, rapid.SampledFrom([]string{"null", "true", "false", `""`, `"1"`, `"a"`, `"ab"`, `"é"`, "[]", "{}"})}
		if depth == 0 {
			return rapid.OneOf(leaf...)
		}
		inner := value(depth - 1)
		array := rapid.Custom(func(t *rapid.T) string {
			return "[" + strings.Join(rapid.SliceOfN(inner, 0, 3).Draw(t, "items"), ",") + "]"
		})
		object := rapid.Custom(func(t *rapid.T) string {
			var parts []string
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "names") {
				parts = append(parts, fmt.Sprintf("%q:%s", name, inner.Draw(t, "member")))
			}
			return "{" + strings.Join(parts, ",") + "}"
		})
		return rapid.OneOf(append(leaf, array, object)...)
	}
	types := rapid.SampledFrom([]string{`"string"`, `"integer"`, `"number"`, `["null","boolean"]`, `"array"`, `"object"`, `["integer","string"]`})
	rapid.Check(t, func(t *rapid.T) {
		v := value(2).Draw(t, "value")
		other := value(2).Draw(t, "other")
		pick := rapid.SampledFrom([]string{v, other})
		var rules []string
		for _, rule := range []string{`"type":` + types.Draw(t, "type"), `"enum":[` + pick.Draw(t, "enum") + `,` + value(1).Draw(t, "more") + `]`, `"const":` + pick.Draw(t, "const"), `"uniqueItems":true`, `"multipleOf":0.5`} {
			if rapid.Bool().Draw(t, "with") {
				rules = append(rules, rule)
			}
		}
		draft := rapid.SampledFrom([]string{"", `"$schema":"http://json-schema.org/draft-07/schema#",`, `"$schema":"http://json-schema.org/draft-06/schema#",`, `"$schema":"https://json-schema.org/draft/2019-09/schema",`}).Draw(t, "draft")
		schema := "{" + draft + `"properties":{"v":{` + strings.Join(rules, ",") + `}}}`
		args := `{"v":` + v + `}`
		document, err := decode([]byte(schema))
		if err != nil {
			t.Skip(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("urn:x", document); err != nil {
			t.Fatal(err)
		}
		plain, err := c.Compile("urn:x")
		if err != nil {
			t.Skip(err)
		}
		decoded, err := decode([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		want := plain.Validate(decoded) == nil
		if got := fits(schema, args); (got == "") != want {
			t.Fatalf("%s under %s: %q, and without gates it fits: %v", args, schema, got, want)
		}
	})
}

// Two numbers have one key exactly when they are equal as fractions.
func TestDecimals(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,2})(\.[0-9]{1,3})?([eE][+-]?[0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if (decimalOf(json.Number(a)) == decimalOf(json.Number(b))) != (x.Cmp(y) == 0) {
			t.Fatalf("%s and %s", a, b)
		}
		if decimalOf(json.Number(a)).whole() != x.IsInt() {
			t.Fatalf("%s", a)
		}
	})
}

// Every place has its gate, whichever way it is reached and whatever the dialect.
func TestEveryPlaceHasAGate(t *testing.T) {
	long := distinct(15_000)
	for name, schema := range map[string]string{
		"draft-07":        `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"s":{"items":{"enum":` + long + `}}}}`,
		"draft-04":        `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"s":{"items":{"enum":["x",1]}}}}`,
		"2019-09":         `{"$schema":"https://json-schema.org/draft/2019-09/schema","properties":{"s":{"items":{"enum":` + long + `}}}}`,
		"reference":       `{"properties":{"s":{"items":{"$ref":"#/x/y"}}},"x":{"y":{"enum":` + long + `}}}`,
		"own id":          `{"$id":"https://example.com/root","properties":{"s":{"items":{"$ref":"other"}}},"$defs":{"p":{"$id":"other","enum":` + long + `}}}`,
		"dynamic":         `{"$id":"https://example.com/root","properties":{"s":{"items":{"$dynamicRef":"#n"}}},"$defs":{"n":{"$dynamicAnchor":"n","enum":` + long + `}}}`,
		"pattern of name": `{"patternProperties":{"^s$":{"items":{"enum":` + long + `}}}}`,
		"conditional":     `{"properties":{"s":{"items":{"if":{"type":"string"},"then":{"enum":` + long + `}}}}}`,
	} {
		document, err := decode([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		in, err := compile(document)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		v, err := decode([]byte(`{"s":["y"]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := in.validate(t.Context(), v); !strings.Contains(got, "(enum)") {
			t.Errorf("%s: %q", name, got)
		}
		reached := 0
		for _, p := range places(in.compiled, map[*jsonschema.Schema]bool{}) {
			if p.Bool != nil {
				continue
			}
			reached++
			if p.Format == nil || p.Format.Name != "gate" || p.Enum != nil || p.Const != nil || p.Types != nil || p.UniqueItems {
				t.Errorf("%s: %s has no gate", name, p.Location)
			}
		}
		if reached < 3 {
			t.Errorf("%s: only %d places", name, reached)
		}
	}
}

// places are the compiled places that can be reached from s.
func places(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) []*jsonschema.Schema {
	if s == nil || seen[s] {
		return nil
	}
	seen[s] = true
	next := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties, s.UnevaluatedItems, s.Contains, s.Items2020}
	if s.DynamicRef != nil {
		next = append(next, s.DynamicRef.Ref)
	}
	next = slices.Concat(next, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems)
	for _, m := range []map[string]*jsonschema.Schema{s.Properties, s.DependentSchemas} {
		for _, p := range m {
			next = append(next, p)
		}
	}
	for _, p := range s.PatternProperties {
		next = append(next, p)
	}
	for _, x := range []any{s.Items, s.AdditionalItems, s.AdditionalProperties} {
		switch x := x.(type) {
		case *jsonschema.Schema:
			next = append(next, x)
		case []*jsonschema.Schema:
			next = append(next, x...)
		}
	}
	all := []*jsonschema.Schema{s}
	for _, p := range next {
		all = append(all, places(p, seen)...)
	}
	return all
}

// FuzzValidation: any schema on any arguments ends in time.
func FuzzValidation(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"enum":[1,"x",{"b":[1.0]}],"pattern":"^(a+)+$"}}}`), []byte(`{"a":{"b":[1]}}`))
	f.Add([]byte(`{"$ref":"#"}`), []byte(`{}`))
	f.Add([]byte(`{"uniqueItems":true,"items":{"const":-0,"multipleOf":1e-400}}`), []byte(`{"a":[0,-0.0]}`))
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		if len(schema) > 4<<10 || len(args) > 4<<10 {
			t.Skip("large")
		}
		c := toolWith(string(schema))
		if !c.Parsable() {
			t.Skip("no contract")
		}
		begun := time.Now()
		var s schemas
		_ = s.check(context.Background(), c, args)
		if took := time.Since(begun); took > 20*maxTime {
			t.Fatalf("it took %s", took)
		}
	})
}
