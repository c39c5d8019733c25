package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

func toolWith(schema string) contract.Contract {
	return contract.Parse([]byte(`{"name":"t","inputSchema":` + schema + `}`))
}

// fits reports what the schemas say of arguments under a schema.
func fits(schema, args string) string {
	var s schemas
	return s.check(context.Background(), toolWith(schema), []byte(args))
}

func TestValidation(t *testing.T) {
	obj := func(properties string) string { return `{"type":"object","properties":{` + properties + `}}` }
	for _, c := range []struct{ name, schema, args, problem string }{
		{"open", `{"type":"object"}`, `{"a":1}`, ``},
		{"no properties", `{"type":"object","properties":{},"additionalProperties":false}`, `{}`, ``},
		{"no properties, one given", `{"type":"object","properties":{},"additionalProperties":false}`, `{"a":1}`, `arguments has members that the approved schema does not know: a (additionalProperties)`},
		{"true", `true`, `{"a":1}`, ``},
		{"false", `false`, `{}`, `arguments is not allowed (false)`},
		{"type", obj(`"a":{"type":"integer"}`), `{"a":"x"}`, `arguments/a must be integer and is string (type)`},
		{"integer with a fraction of zero", obj(`"a":{"type":"integer"}`), `{"a":1.0}`, ``},
		{"required", `{"type":"object","required":["b","a"]}`, `{}`, `arguments lacks a, b (required)`},
		{"required, none given", `{"type":"object","properties":{"x":{}},"required":["a"]}`, `{}`, `arguments lacks a (required)`},
		{"deep", obj(`"a":{"type":"array","items":{"type":"object","properties":{"b/c":{"type":"string"}}}}`), `{"a":[{"b/c":"x"},{"b/c":1}]}`, `arguments/a/1/b~1c must be string and is number (type)`},
		{"enum", obj(`"a":{"enum":["x","y"]}`), `{"a":"z"}`, `arguments/a is none of the listed values (enum)`},
		// a number is no string, whatever a library makes of it
		{"enum, number for string", obj(`"a":{"enum":["1"]}`), `{"a":1}`, `(enum)`},
		{"enum, string for number", obj(`"a":{"enum":[1]}`), `{"a":"1"}`, `(enum)`},
		{"enum, number among strings", obj(`"a":{"enum":["1",2]}`), `{"a":1}`, `(enum)`},
		{"enum, nested", obj(`"a":{"enum":[["1"],{"b":"1"}]}`), `{"a":{"b":1}}`, `(enum)`},
		{"const, number for string", obj(`"a":{"const":"1"}`), `{"a":1}`, `(const)`},
		{"enum, equal numbers", obj(`"a":{"enum":[1.0]}`), `{"a":1e0}`, ``},
		{"const, large", obj(`"a":{"const":9007199254740993}`), `{"a":9007199254740992}`, `(const)`},
		{"const, large, equal", obj(`"a":{"const":9007199254740993}`), `{"a":9007199254740993}`, ``},
		{"maximum, large", obj(`"a":{"maximum":9007199254740992}`), `{"a":9007199254740993}`, `must be at most 9007199254740992 (maximum)`},
		{"minimum", obj(`"a":{"minimum":0.5}`), `{"a":0.25}`, `must be at least 0.5 (minimum)`},
		{"multipleOf", obj(`"a":{"multipleOf":0.1}`), `{"a":0.3}`, ``},
		{"maxLength counts characters", obj(`"a":{"maxLength":2}`), `{"a":"üü"}`, ``},
		{"minItems", obj(`"a":{"minItems":2}`), `{"a":[1]}`, `must have at least 2 item(s) (minItems)`},
		{"uniqueItems", obj(`"a":{"uniqueItems":true}`), `{"a":[1,1.0]}`, `has an item twice (uniqueItems)`},
		{"pattern", obj(`"a":{"pattern":"^[a-z]+$"}`), `{"a":"A"}`, `does not match the pattern (pattern)`},
		{"pattern, look-ahead", obj(`"a":{"pattern":"^(?!x)[a-z]+$"}`), `{"a":"xa"}`, `does not match the pattern`},
		{"pattern, look-ahead that fits", obj(`"a":{"pattern":"^(?!x)[a-z]+$"}`), `{"a":"ax"}`, ``},
		{"pattern, back-reference", obj(`"a":{"pattern":"^(a+)-\\1$"}`), `{"a":"aa-a"}`, `does not match the pattern`},
		{"pattern, digits are ASCII", obj(`"a":{"pattern":"^\\d$"}`), `{"a":"٣"}`, `does not match the pattern`},
		{"pattern, $ is the end", obj(`"a":{"pattern":"^a$"}`), `{"a":"a\n"}`, `does not match the pattern`},
		{"format is an annotation", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string","format":"email"}}}`, `{"a":"nobody"}`, ``},
		{"draft-07 tuples", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"a":["x",1]}`, `additionalItems`},
		{"draft-07 ignores what stands beside $ref", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"s":{"type":"string"}},"type":"object","properties":{"a":{"$ref":"#/definitions/s","maxLength":1}}}`, `{"a":"xx"}`, ``},
		{"2020-12 does not", `{"$defs":{"s":{"type":"string"}},"type":"object","properties":{"a":{"$ref":"#/$defs/s","maxLength":1}}}`, `{"a":"xx"}`, `maxLength`},
		{"2020-12 tuples without a dialect", obj(`"a":{"prefixItems":[{"type":"string"}],"items":false}`), `{"a":["x",1]}`, `arguments/a/1 is not allowed (false)`},
		{"unevaluated", `{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, `arguments/b is not allowed (false)`},
		{"anyOf", obj(`"a":{"anyOf":[{"type":"string"},{"type":"null"}]}`), `{"a":1}`, `arguments/a fits none of the allowed forms (anyOf)`},
		{"oneOf, two", obj(`"a":{"oneOf":[{"type":"number"},{"minimum":0}]}`), `{"a":1}`, `fits more than one of the allowed forms (oneOf)`},
		{"not", `{"not":{"required":["a"]}}`, `{"a":1}`, `has a form that is excluded (not)`},
		{"recursion", `{"type":"object","properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, `{"a":{"a":{"b":1}}}`, `arguments/a/a has members`},
		{"draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"maximum":1,"exclusiveMaximum":true}}}`, `{"a":1}`, `exclusiveMaximum`},
		{"three of many", `{"properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"},"d":{"type":"null"}}}`, `{"a":1,"b":1,"c":1,"d":1}`, `arguments/c must be null and is number (type); and 1 more`},
		{"broken arguments", obj(`"a":{"type":"string"}`), `{"a":"x","a":"y"}`, `name something twice`},
		{"huge number", obj(`"a":{"type":"number"}`), `{"a":1e999999}`, `an exponent over 400`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := fits(c.schema, c.args)
			if (got == "") != (c.problem == "") || !strings.Contains(got, c.problem) {
				t.Errorf("got  %q\nwant %q", got, c.problem)
			}
		})
	}
}

// A schema that can't be applied lets nothing through, and says why.
func TestSchemaThatCannotBeApplied(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(secret, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for schema, why := range map[string]string{
		`{"$ref":"file://` + secret + `"}`:                                             `it refers to "file://`,
		`{"$ref":"https://schemas.example.com/x.json"}`:                                `it refers to "https://schemas.example.com/x.json", and nothing outside the contract is loaded`,
		`{"$schema":"https://example.com/dialect","type":"object"}`:                    `it refers to "https://example.com/dialect"`,
		`{"$ref":"#/$defs/gone"}`:                                                      `a reference in it can't be resolved`,
		`{"type":"strange"}`:                                                           `it is not valid JSON Schema`,
		`{"properties":{"a":{"pattern":"("}}}`:                                         `it is not valid JSON Schema`,
		`"no schema"`:                                                                  `it is not valid JSON Schema`,
		`{"properties":{"a":{"minimum":1e999999}}}`:                                    `out of all bounds`,
		`{"enum":[` + strings.Repeat("{},", maxPlaces) + `{}]}`:                        `over 3000 places`,
		`{"properties":{"a":{"pattern":"` + strings.Repeat("a", maxPattern+1) + `"}}}`: `one of over 10000 bytes`,
		`{"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, maxRefs) + `{"$ref":"#"}],"$defs":{"a":{}}}`: `over 1000 references`,
		`{"patternProperties":{"` + strings.Repeat("a", maxPattern+1) + `":{}}}`:                            `one of over 10000 bytes`,
		`{"allOf":[` + strings.Repeat(`{"pattern":"a"},`, maxPatterns) + `{"pattern":"a"}]}`:                `over 1000 regular expressions`,
	} {
		got := fits(schema, `{}`)
		if !strings.Contains(got, why) || !strings.Contains(got, "the approved input schema") {
			t.Errorf("%.60s: %q does not say %q", schema, got, why)
		}
	}
}

// A tool that says nothing of its arguments takes any object.
func TestNoSchema(t *testing.T) {
	var s schemas
	if got := s.check(t.Context(), contract.Parse([]byte(`{"name":"t"}`)), []byte(`{"a":1}`)); got != "" {
		t.Error(got)
	}
}

// Neither a hostile schema nor hostile arguments hold a call up for long.
func TestValidationIsBounded(t *testing.T) {
	twice := `{"$defs":{"e0":{"type":"string"}`
	for i := 1; i <= 40; i++ {
		twice += fmt.Sprintf(`,"e%d":{"allOf":[{"$ref":"#/$defs/e%d"},{"$ref":"#/$defs/e%d"}]}`, i, i-1, i-1)
	}
	twice += `},"properties":{"a":{"$ref":"#/$defs/e40"}}}`
	slow := "\"" + strings.Repeat("a", 40) + "!\""
	for name, c := range map[string]struct{ schema, args, says string }{
		"schema that doubles": {twice, `{"a":"x"}`, "take too much work"},
		"backtracking":        {`{"properties":{"a":{"pattern":"^(?=a)(a+)+$"}}}`, `{"a":` + slow + `}`, "take too much work"},
		"backtracking, often": {`{"properties":{"a":{"items":{"pattern":"^(?=a)(a+)+$"}}}}`, `{"a":[` + strings.Repeat(`"`+strings.Repeat("a", 16)+`!",`, 5000) + `"a"]}`, "take too much work"},
		"linear":              {`{"properties":{"a":{"pattern":"^(a+)+$"}}}`, `{"a":` + slow + `}`, "does not match"},
		"many faults":         {`{"properties":{"a":{"items":{"type":"null"}}}}`, `{"a":[` + strings.Repeat("1,", 20_000) + `1]}`, "must be null and is number (type); and many more"},
		"many uniques":        {`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Repeat("1,", 100_000) + `1]}`, "has an item twice (uniqueItems)"},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			got := fits(c.schema, c.args)
			if !strings.Contains(got, c.says) {
				t.Errorf("got %q", got)
			}
			if took := time.Since(begun); took > 10*maxTime {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A validation that ended for want of time leaves the compiled schema usable.
func TestBudgetIsOfOneValidation(t *testing.T) {
	var s schemas
	c := toolWith(`{"properties":{"a":{"pattern":"^(?=a)(a+)+$"}}}`)
	for range 2 {
		if got := s.check(t.Context(), c, []byte(`{"a":"`+strings.Repeat("a", 40)+`!"}`)); !strings.Contains(got, "too much work") {
			t.Fatal(got)
		}
		if got := s.check(t.Context(), c, []byte(`{"a":"aaa"}`)); got != "" {
			t.Fatal(got)
		}
	}
}

// Compiled schemas are kept, and not without bound.
func TestSchemasAreBounded(t *testing.T) {
	var s schemas
	first := toolWith(`{"type":"object","required":["first"]}`)
	kept := s.of(first)
	for i := range maxSchemas * 2 {
		s.of(toolWith(fmt.Sprintf(`{"type":"object","title":"%d"}`, i)))
		if i%100 == 0 && s.of(first) != kept {
			t.Fatal("what is used was dropped")
		}
	}
	if n := len(s.newer) + len(s.old); n > maxSchemas {
		t.Errorf("%d schemas are kept", n)
	}
}

// One schema is applied by many at once; -race watches.
func TestValidationAtOnce(t *testing.T) {
	var s schemas
	c := toolWith(`{"properties":{"a":{"pattern":"^(?!x)[a-z]+$","enum":["abc"]}},"required":["a"]}`)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 100 {
				if got := s.check(t.Context(), c, []byte(`{"a":"abc"}`)); got != "" {
					t.Error(got)
				}
				if got := s.check(t.Context(), c, []byte(`{"a":"xbc"}`)); got == "" {
					t.Error("accepted")
				}
			}
		})
	}
	group.Wait()
	if len(s.of(c).idle) > maxInstances {
		t.Errorf("%d copies are kept", len(s.of(c).idle))
	}
}

// No refusal echoes a value, whatever rule is broken.
func TestNoValueIsEchoed(t *testing.T) {
	schema := `{"type":"object","properties":{
		"s":{"type":"string","maxLength":1},"p":{"pattern":"^x$"},"e":{"enum":["x"]},"c":{"const":"x"},"n":{"maximum":1,"multipleOf":7},
		"o":{"oneOf":[{"const":"a"},{"const":"b"}]},"l":{"items":{"enum":[1]},"maxItems":1,"uniqueItems":true,"contains":{"const":2}},
		"x":{"not":{}},"i":{"if":{"type":"string"},"then":{"minLength":999}},"f":false,
		"r":{"required":["q"],"propertyNames":{"maxLength":3},"dependentRequired":{"k":["z"]},"additionalProperties":{"type":"null"}}},
		"additionalProperties":false}`
	var s schemas
	c := toolWith(schema)
	const value = "hunter2"
	values := []any{value, value + "?", []any{value, value}, map[string]any{"k": value}, 424242, 424242.5, []any{map[string]any{"k": value}}}
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.MapOfN(rapid.SampledFrom([]string{"s", "p", "e", "c", "n", "o", "l", "x", "i", "f", "r", "other"}), rapid.SampledFrom(values), 1, 12).Draw(t, "args")
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		got := s.check(context.Background(), c, raw)
		if got == "" {
			t.Skip("valid")
		}
		if strings.Contains(got, value) || strings.Contains(got, "424242") {
			t.Fatalf("%s is echoed: %s", raw, got)
		}
		if strings.ContainsAny(got, "\n\r") || len(got) > 1000 {
			t.Fatalf("not one short line: %q", got)
		}
	})
}

// Names come from the agent: they are cut and shown as they are.
func TestNamesAreShownSafely(t *testing.T) {
	got := fits(`{"type":"object","additionalProperties":false}`, `{"a\u202e\n`+strings.Repeat("x", 200)+`":1}`)
	if !strings.Contains(got, `a\u202e\nxxx`) || strings.Contains(got, strings.Repeat("x", 70)) {
		t.Errorf("%q", got)
	}
}

// Every schema of every published server in the corpus can be applied.
func TestCorpusSchemasCanBeApplied(t *testing.T) {
	dir := os.Getenv("HOLDFAST_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	files, _ := filepath.Glob(filepath.Join(dir, "listings", "*", "*.json"))
	if len(files) == 0 {
		t.Skip("SKIPPED: the corpus of published listings is not there (HOLDFAST_CORPUS)")
	}
	seen := make(map[contract.Digest]bool)
	for _, file := range files {
		if strings.Count(filepath.Base(file), ".") > 3 { // .init.json and other kinds
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var listing struct{ Tools []json.RawMessage }
		if json.Unmarshal(text, &listing) != nil || len(listing.Tools) == 0 {
			var result struct {
				Result struct{ Tools []json.RawMessage }
			}
			if json.Unmarshal(text, &result) != nil {
				continue
			}
			listing.Tools = result.Result.Tools
		}
		for _, raw := range listing.Tools {
			c := contract.Parse(raw)
			if seen[c.Digest()] {
				continue
			}
			seen[c.Digest()] = true
			if s := prepare(c); s.broken != "" {
				t.Errorf("%s: %s", file, s.broken)
			}
		}
	}
	t.Logf("%d contracts", len(seen))
	if len(seen) < 500 {
		t.Errorf("only %d contracts were found in %s", len(seen), dir)
	}
}

func BenchmarkCheck(b *testing.B) {
	for name, c := range map[string]struct{ schema, args string }{
		"open":   {`{"type":"object"}`, `{"a":1}`},
		"empty":  {`{"type":"object","properties":{},"additionalProperties":false}`, `{}`},
		"small":  {`{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"number"}},"required":["path"],"additionalProperties":false}`, `{"path":"/srv/documents/readme.txt","head":20}`},
		"100 KB": {`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, `{"text":"` + string(bytes.Repeat([]byte("x"), 100<<10)) + `"}`},
	} {
		b.Run(name, func(b *testing.B) {
			var s schemas
			tool, args := toolWith(c.schema), []byte(c.args)
			b.ReportAllocs()
			for b.Loop() {
				if got := s.check(b.Context(), tool, args); got != "" {
					b.Fatal(got)
				}
			}
		})
	}
}

func BenchmarkDo(b *testing.B) {
	for _, tool := range []string{"read", "write"} {
		b.Run(tool, func(b *testing.B) {
			w, d := newWorld()
			r := request(tool, `{"text":"hello there","n":3}`)
			b.ReportAllocs()
			for b.Loop() {
				w.entries, w.durable = w.entries[:0], w.durable[:0]
				if _, refusal, err := d.Do(b.Context(), r); refusal != nil || err != nil {
					b.Fatal(refusal, err)
				}
			}
		})
	}
}
