package contract

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files of this package anew")

func TestReorderedKeysAreNoChange(t *testing.T) {
	a := Parse([]byte(`{"name":"t","inputSchema":{"type":"object","maxProperties":10}}`))
	b := Parse([]byte(` {"inputSchema" : {"maxProperties":1.0E1, "type":"\u006fbject"}, "name":"t"} `))
	if !a.Equal(b) || a.Digest() != b.Digest() {
		t.Errorf("%s is not %s", a.Canonical(), b.Canonical())
	}
}

// The golden file fixes the exact canonical bytes and the digest: a change of
// either would make every stored approval a stranger.
func TestCanonicalBytesAreFixed(t *testing.T) {
	type line struct {
		Why       string `json:"why"`
		Raw       string `json:"raw"`
		Canonical string `json:"canonical"`
		Digest    Digest `json:"digest"`
	}
	path := filepath.Join("testdata", "canonical.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []line
	if err := json.Unmarshal(text, &lines); err != nil {
		t.Fatal(err)
	}
	for i, l := range lines {
		c := Parse([]byte(l.Raw))
		if *update {
			lines[i].Canonical, lines[i].Digest = string(c.Canonical()), c.Digest()
			continue
		}
		if string(c.Canonical()) != l.Canonical || c.Digest() != l.Digest {
			t.Errorf("%s:\n%s\nhas the canonical form\n%s %s\nnot\n%s %s", l.Why, l.Raw, c.Canonical(), c.Digest(), l.Canonical, l.Digest)
		}
		if c.Parsable() && !Parse(c.Canonical()).Equal(c) {
			t.Errorf("%s: the canonical form means something else", l.Why)
		}
	}
	if len(lines) < 10 {
		t.Errorf("only %d golden lines", len(lines))
	}
	if *update {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(lines); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatCantBeReadOneWaySaysWhy(t *testing.T) {
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	tests := []struct{ name, raw, problem string }{
		{"nothing", ``, `it is empty`},
		{"white space", " \n", `it is empty`},
		{"cut off", `{"a":1`, `it ends too early, at byte 6`},
		{"cut off in a list", `{"a":[`, `it ends too early, at byte 6 ("/a")`},
		{"cut off in a string", `{"a":"x`, `it ends too early, at byte 7 ("/a")`},
		{"second value", `{"a":1}{}`, `something stands behind the JSON value, after byte 7`},
		{"trailing text", `{} x`, `something stands behind the JSON value, after byte 2`},
		{"trailing comma", `{"a":1,}`, `it is no valid JSON: `},
		{"list with a comma", `{"a":[1,]}`, `it is no valid JSON: `},
		{"duplicate", `{"a":1,"a":1}`, `a name stands twice in one object, at byte 7 ("/a")`},
		{"duplicate in another spelling", `{"a":1,"\u0061":1}`, `a name stands twice in one object, at byte 7 ("/a")`},
		{"duplicate far inside", `{"a":[{"b":{"c":1,"c":2}}]}`, `a name stands twice in one object, at byte 18 ("/a/0/b/c")`},
		{"duplicate of a hostile name", `{"\u202e":1,"\u202e":2}`, `("/\u202e")`},
		{"long name", `{"` + strings.Repeat("é", 100) + `":1,"` + strings.Repeat("é", 100) + `":2}`, `..."`},
		{"name is a number", `{1:2}`, `the name of a member is no string, at byte 1`},
		{"name is an object", `{{}:2}`, `the name of a member is no string, at byte 1`},
		{"lone high surrogate", `{"a":"\ud800"}`, `it is no valid JSON: invalid surrogate pair`},
		{"lone low surrogate in a name", `{"\udc00":1}`, `it is no valid JSON: invalid surrogate pair`},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", `it is no valid JSON: invalid UTF-8, at byte 6 ("/a")`},
		{"surrogate as UTF-8", "{\"a\":\"\xed\xa0\x80\"}", `it is no valid JSON: invalid UTF-8, at byte 6 ("/a")`},
		{"byte order mark", "\ufeff{}", `it is no valid JSON: invalid character '\ufeff'`},
		{"control character", "{\"a\":\"\n\"}", `it is no valid JSON: invalid character '\n'`},
		{"leading zero", `{"a":01}`, `it is no valid JSON: `},
		{"not a number", `{"a":NaN}`, `it is no valid JSON: `},
		{"plus", `{"a":+1}`, `it is no valid JSON: `},
		{"wrong literal", `{"a":nul}`, `it is no valid JSON: `},
		{"single quotes", `{'a':1}`, `it is no valid JSON: `},
		{"comment", `{"a":1/**/}`, `it is no valid JSON: `},
		{"bracket closes brace", `{"a":1]`, `it is no valid JSON: `},
		{"brace closes bracket", `{"a":[1}`, `it is no valid JSON: `},
		{"no comma before a list", `{"a":[1 [2]]}`, `it is no valid JSON: `},
		{"no comma before a text", `{"a":1 "b":2}`, `it is no valid JSON: `},
		{"no digits", `{"a":-}`, `it is no valid JSON: `},
		{"no value", `{"a":}`, `it is no valid JSON: `},
		{"no comma", `{"a":[1 2]}`, `it is no valid JSON: `},
		{"a list", `[{"name":"t"}]`, `it is a JSON value, but no object: array`},
		{"null", `null`, `it is a JSON value, but no object: null`},
		{"text", `"t"`, `it is a JSON value, but no object: string`},
		{"too deep", deep(MaxDepth + 1), `it is nested over 128 levels, at byte 132`},
		{"far too deep", strings.Repeat(`{"a":`, 20_000), `it is nested over 128 levels, at byte 639`},
		{"annotations a list", `{"annotations":[]}`, `its annotations are no object: array`},
		{"annotations a string", `{"annotations":"x"}`, `its annotations are no object: string`},
		{"hint a string", `{"annotations":{"readOnlyHint":"true"}}`, `its annotation readOnlyHint is neither true nor false: string`},
		{"hint a number", `{"annotations":{"openWorldHint":1}}`, `its annotation openWorldHint is neither true nor false: number`},
		{"hint an object", `{"annotations":{"idempotentHint":{}}}`, `its annotation idempotentHint is neither true nor false: object`},
		{"hint a list", `{"annotations":{"destructiveHint":[]}}`, `its annotation destructiveHint is neither true nor false: array`},
		{"too large", `{"a":"` + strings.Repeat("x", MaxBytes) + `"}`, `it is too large: 1048584 bytes, and 1048576 is the limit`},
		{"too large when canonical", `{"a":[10` + strings.Repeat(",10", MaxBytes/4) + `]}`, `its canonical form has 1048587 bytes, and 1048576 is the limit`},
	}
	seen := map[Digest]string{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := Parse([]byte(test.raw))
			if c.Parsable() || !strings.Contains(c.Problem(), test.problem) {
				t.Errorf("problem is %q, not %q", c.Problem(), test.problem)
			}
			if c.IsZero() || !c.Digest().valid() || !c.Equal(Parse([]byte(test.raw))) {
				t.Errorf("it is no contract equal to itself: %q", c.Digest())
			}
			if other, ok := seen[c.Digest()]; ok {
				t.Errorf("it has the digest of %q", other)
			}
			seen[c.Digest()] = test.name
			if c.Root().Kind() != Null || c.Canonical() != nil || c.Name() != "" {
				t.Errorf("something can be read of it: %s", c.Canonical())
			}
			if keeps := len(test.raw) <= MaxBytes; keeps != bytes.Equal(c.Raw(), []byte(test.raw)) {
				t.Errorf("keeps %d bytes of %d", len(c.Raw()), len(test.raw))
			}
		})
	}
}

func TestAtTheLimitIsReadable(t *testing.T) {
	for name, raw := range map[string]string{
		"depth":  `{"a":` + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1) + `}`,
		"size":   `{"a":"` + strings.Repeat("x", MaxBytes-8) + `"}`,
		"number": `{"a":` + strings.Repeat("9", MaxBytes-6) + `}`,
		"zeros":  `{"a":0.` + strings.Repeat("0", MaxBytes-9) + `1}`,
		"power":  `{"a":1e-` + strings.Repeat("9", MaxBytes-9) + `}`,
		"names":  manyNames(30_000),
	} {
		c := Parse([]byte(raw))
		if !c.Parsable() {
			t.Errorf("%s: %s", name, c.Problem())
		} else if !Parse(c.Canonical()).Equal(c) {
			t.Errorf("%s: the canonical form means something else", name)
		}
	}
}

// manyNames is an object with n members, the names in falling order.
func manyNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = `"` + strings.Repeat("z", i%7) + string(rune('a'+i%26)) + json.Number(itoa(n-i)).String() + `":` + itoa(i)
	}
	return "{" + strings.Join(names, ",") + "}"
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// A contract that can't be read must not pass for a readable one, even for one
// whose canonical form is what was hashed for it.
func TestUnparsableHasADomainOfItsOwn(t *testing.T) {
	readable := Parse([]byte(`{"a":1}`))
	for _, raw := range []string{`{"a":1}`, string(readable.Canonical()), unparsableDomain + `{"a":1}`} {
		if d := digestUnparsable([]byte(raw)); d == readable.Digest() {
			t.Errorf("%q has the digest of a readable contract", raw)
		}
	}
	if bad := Parse([]byte(`{"a":1,"a":1}`)); bad.Equal(readable) || readable.Equal(bad) {
		t.Error("an unparsable contract equals a readable one")
	}
}

func TestTheZeroContractIsNone(t *testing.T) {
	var zero Contract
	if !zero.IsZero() || zero.Parsable() || zero.Equal(zero) || zero.Problem() != "" || zero.Canonical() != nil {
		t.Errorf("the zero contract passes for one: %+v", zero)
	}
	if zero.Class(Read) != Destructive {
		t.Errorf("the zero contract has the class %s", zero.Class(Read))
	}
}

func TestAContractKeepsItsOwnBytes(t *testing.T) {
	raw := []byte(`{"name":"tool"}`)
	c := Parse(raw)
	copy(raw, `{"name":"evil"}`)
	if string(c.Raw()) != `{"name":"tool"}` || c.Name() != "tool" {
		t.Errorf("the caller's buffer is the contract: %s", c.Raw())
	}
}

func TestFields(t *testing.T) {
	c := Parse([]byte(`{"name":"n","title":"T","description":"d","inputSchema":true,"outputSchema":{"a":1},"annotations":{"title":"x"}}`))
	if c.Name() != "n" || c.Title() != "T" || c.Description() != "d" {
		t.Errorf("texts are %q %q %q", c.Name(), c.Title(), c.Description())
	}
	in, ok := c.InputSchema()
	if !ok || in.Kind() != Bool || !in.Bool() {
		t.Errorf("input schema is %v %v", in, ok)
	}
	if out, ok := c.OutputSchema(); !ok || out.Kind() != Object {
		t.Errorf("output schema is %v %v", out, ok)
	}
	if a, ok := c.Annotations(); !ok || a.Kind() != Object {
		t.Errorf("annotations are %v %v", a, ok)
	}
	c = Parse([]byte(`{"name":1,"title":null,"outputSchema":null,"inputSchema":null,"annotations":null}`))
	if c.Name() != "" || c.Title() != "" || c.Description() != "" {
		t.Errorf("texts are %q %q %q", c.Name(), c.Title(), c.Description())
	}
	if _, ok := c.InputSchema(); !ok {
		t.Error("a null input schema is not there")
	}
	if _, ok := c.OutputSchema(); ok {
		t.Error("a null output schema is there")
	}
	if _, ok := c.Annotations(); ok {
		t.Error("null annotations are there")
	}
}

// Every class that a tool can have is explained by the word that String prints.
func TestEveryClassIsExplained(t *testing.T) {
	var names []string
	for _, term := range ClassTerms() {
		names = append(names, term.Name)
		if _, ok := ParseClass(term.Name); !ok || term.Label == "" || term.Sentence == "" {
			t.Errorf("%+v", term)
		}
	}
	if got := strings.Join(names, " "); got != "read write destructive" {
		t.Error(got)
	}
}
