package delta

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// checkTotal proves what has to hold for any two contracts.
func checkTotal(t testing.TB, approved, live contract.Contract) []Signal {
	t.Helper()
	signals := Compare(approved, live)
	if again := Compare(approved, live); !slices.Equal(signals, again) {
		t.Errorf("two answers: %v and %v", printed(signals), printed(again))
	}
	if !slices.Equal(signals, Merge(signals)) {
		t.Errorf("not in order, or twice: %v", printed(signals))
	}
	for _, s := range signals {
		if strings.ContainsAny(s.String(), "\n\r\u2028\u202e\u200b") {
			t.Errorf("%q can't be read", s)
		}
	}
	if approved.Parsable() && live.Parsable() {
		bare := contract.Parse(approved.Canonical())
		if again := Compare(bare, live); !slices.Equal(signals, again) {
			t.Errorf("spelling matters: %v and %v", printed(signals), printed(again))
		}
	}
	if lines := Compact(signals, MaxKept); len(lines) > MaxKept {
		t.Errorf("%d lines are kept", len(lines))
	}
	checkReview(t, Gate{}, approved, live)
	return signals
}

// Nothing changed is nothing to hold, whatever the schema is; a malformed one is held.
func TestEqualContractsPass(t *testing.T) {
	for _, c := range gateCases(t) {
		approved, live := c.contracts(t)
		for _, x := range []contract.Contract{approved, live} {
			signals := checkTotal(t, x, x)
			for _, s := range signals {
				if s.Reason != Unparsable && s.Reason != ApprovedUnknown {
					t.Errorf("%s: %s gives %v against itself", c.Name, x.Raw(), printed(signals))
				}
			}
		}
		checkTotal(t, approved, live)
		checkTotal(t, live, approved)
	}
}

// TestTangledInputIsHeld has inputs that would take a naive comparison for ever, or
// all memory, or its stack.
func TestTangledInputIsHeld(t *testing.T) {
	chain := func(n int, leaf string) string { // each definition is used by the one before
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
		}
		fmt.Fprintf(&b, `"d%d":%s}}`, n, leaf)
		return b.String()
	}
	clique := func(n int, leaf string) string { // everything leads to everything
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"properties":{"x":%s`, i, leaf)
			for j := range n {
				fmt.Fprintf(&b, `,"p%d":{"$ref":"#/$defs/d%d"}`, j, j)
			}
			b.WriteString(`}}`)
			if i < n-1 {
				b.WriteByte(',')
			}
		}
		b.WriteString(`}}`)
		return b.String()
	}
	ring := func(n int, leaf string) string { // a long way round
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
		for i := range n {
			extra := ""
			if i == n-1 {
				extra = `,"x":` + leaf
			}
			fmt.Fprintf(&b, `"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"}%s}}`, i, (i+1)%n, extra)
			if i < n-1 {
				b.WriteByte(',')
			}
		}
		b.WriteString(`}}`)
		return b.String()
	}
	bareRing := `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/c"},"c":{"$ref":"#/$defs/a"}}}`
	allOfRing := `{"allOf":[{"$ref":"#"}],"anyOf":[{"$ref":"#"}],"not":{"$ref":"#"},"maximum":%s}`
	choices := func(n int, leaf string) string { // every branch of every choice with every other
		return `{"allOf":[` + strings.Repeat(`{"anyOf":[{"maximum":3,"minimum":1},{"maximum":2,"minimum":1}]},`, n) + leaf + `],"type":"integer"}`
	}
	many := func(n int, leaf string) string {
		return `{"anyOf":[` + strings.Repeat(leaf+",", n) + `{}]}`
	}
	for name, test := range map[string]struct {
		approved, live string
		want           string // "", "*" for anything, or the one signal
	}{
		"chain, narrower":      {chain(40, `{"maxLength":3}`), chain(40, `{"maxLength":2}`), ""},
		"chain, wider":         {chain(40, `{"maxLength":3}`), chain(40, `{"maxLength":4}`), "unparsable:#"},
		"short chain, wider":   {chain(3, `{"maxLength":3}`), chain(3, `{"maxLength":4}`), "*"},
		"clique, narrower":     {clique(30, `{"maxLength":3}`), clique(30, `{"maxLength":2}`), ""},
		"clique, equal":        {clique(30, `{"maxLength":3}`), clique(30, `{"maxLength":3,"title":"x"}`), ""},
		"clique, wider":        {clique(30, `{"maxLength":3}`), clique(30, `{"maxLength":4}`), "*"},
		"ring, narrower":       {ring(300, `{"maxLength":3}`), ring(300, `{"maxLength":2}`), ""},
		"ring, other length":   {ring(200, `{}`), ring(301, `{}`), "*"},
		"long ring":            {ring(5000, `{"maxLength":3}`), ring(5000, `{"maxLength":4}`), "unparsable:#"},
		"bare ring":            {bareRing, `{"type":"string"}`, "ref:#"},
		"new bare ring":        {`{}`, bareRing, "ref:#"},
		"bare ring as it was":  {bareRing, strings.ReplaceAll(bareRing, `"c":{`, `"c":{"title":"x",`), ""},
		"holds itself":         {fmt.Sprintf(allOfRing, "3"), fmt.Sprintf(allOfRing, "2"), "*"},
		"holds itself, equal":  {fmt.Sprintf(allOfRing, "3"), fmt.Sprintf(allOfRing, "3.0"), ""},
		"choices":              {choices(30, `{"maximum":9}`), choices(30, `{"maximum":8}`), "*"},
		"many branches":        {many(9000, `{"type":"string"}`), many(9000, `{"type":"string","maxLength":3}`), ""},
		"too many places":      {`{}`, `{"properties":{` + strings.Repeat(`"a":{}`, 0) + properties(25_000) + `}}`, "unparsable:#"},
		"many narrower":        {`{"properties":{` + properties(15_000) + `}}`, `{"properties":{` + strings.ReplaceAll(properties(15_000), "{}", `{"maxLength":1}`) + `}}`, ""},
		"many requirements":    {`{"properties":{"x":{},"y":{}}}`, `{"properties":{"x":{"$ref":"#/$defs/m"},"y":{"$ref":"#/$defs/m"}},"$defs":{"m":{"required":[` + numbered(110_000) + `]}}}`, "*"},
		"holds itself pinned":  {`{"type":"integer","allOf":[{"$ref":"#"}]}`, `{"type":"integer","allOf":[{"$ref":"#"}],"enum":[1,2]}`, "enum-introduced:#"},
		"long digits":          {`{"multipleOf":1` + strings.Repeat("7", 3000) + `}`, `{"multipleOf":3` + strings.Repeat("7", 3000) + `}`, "bound:#"},
		"many gone":            {`{"properties":{` + properties(9_000) + `}}`, `{"properties":{` + properties(8_000) + `}}`, ""},
		"long id":              {`{"properties":{` + longly(`"$ref":"#x"`) + `}}`, `{"$id":"https://example.com/` + strings.Repeat("x", 400_000) + `","properties":{` + longly(`"$ref":"y"`) + `}}`, "unparsable:#"},
		"long id, local":       {`{"properties":{` + longly(`"$ref":"#"`) + `}}`, `{"$id":"https://example.com/` + strings.Repeat("x", 400_000) + `","properties":{` + longly(`"$ref":"#"`) + `}}`, "*"},
		"long name":            {`{"properties":{"` + strings.Repeat("x", 400_000) + `":{"properties":{` + longly(`"maxLength":3`) + `}}}}`, `{"properties":{"` + strings.Repeat("x", 400_000) + `":{"properties":{` + longly(`"maxLength":4`) + `}}}}`, "unparsable:#"},
		"long name, narrower":  {`{"properties":{"` + strings.Repeat("x", 400_000) + `":{"properties":{` + longly(`"maxLength":4`) + `}}}}`, `{"properties":{"` + strings.Repeat("x", 400_000) + `":{"properties":{` + longly(`"maxLength":3`) + `}}}}`, ""},
		"long name, required":  {`{"properties":{"` + strings.Repeat("x", 400_000) + `":{}}}`, `{"properties":{"` + strings.Repeat("x", 400_000) + `":{"required":[` + numbered(50_000) + `]}}}`, "unparsable:#"},
		"long name, malformed": {`{}`, `{"properties":{"` + strings.Repeat("x", 400_000) + `":{"properties":{` + longly(`"maxLength":-1`) + `}}}}`, "unparsable:#"},
		"deep items":           {deep(120, `{"maxLength":3}`), deep(120, `{"maxLength":4}`), "*"},
		"huge bounds":          {`{"maximum":1e99999999999999999999}`, `{"maximum":1e99999999999999999998}`, ""},
		"huge bounds, looser":  {`{"maximum":1e99999999999999999998}`, `{"maximum":1e99999999999999999999}`, "bound:#"},
		"huge integer bounds":  {`{"type":"integer","minimum":1e5000}`, `{"type":"integer","exclusiveMinimum":9e4999}`, "bound:#"},
		"huge multiple":        {`{"multipleOf":1e-5000}`, `{"multipleOf":2e-5000}`, "bound:#"},
		"range without end":    {`{"type":"integer"}`, `{"type":"integer","minimum":0,"maximum":1e3000}`, ""},
		"fine steps":           {`{"type":"number"}`, `{"type":"number","minimum":0,"maximum":1,"multipleOf":1e-900}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if racing && len(test.live) > 50_000 {
				t.Skip("large inputs are slow under the race detector; they run without it")
			}
			approved, live := tool(test.approved), tool(test.live)
			got := checkTotal(t, approved, live)
			switch {
			case test.want == "*" && len(got) == 0, test.want == "" && len(got) > 0,
				len(test.want) > 1 && !slices.Equal(printed(got), []string{"GATE-SCHEMA-SHAPE:" + test.want}):
				t.Errorf("gives %.300v (%d)", printed(got), len(got))
			}
		})
	}
}

func properties(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"p%d":{}`, i)
	}
	return strings.Join(names, ",")
}

// longly is ten thousand properties that say this.
func longly(says string) string {
	return strings.ReplaceAll(properties(10_000), "{}", "{"+says+"}")
}

func numbered(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"%x"`, i)
	}
	return strings.Join(names, ",")
}

func deep(n int, leaf string) string {
	return strings.Repeat(`{"items":`, n) + leaf + strings.Repeat(`}`, n)
}

// Two schemas that mean the same have no signals, whatever was respelled.
func TestSpellingIsQuiet(t *testing.T) {
	schemas, _ := seeds(t)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 3000 {
		base := schemas[r.IntN(len(schemas))]
		if i >= len(schemas) {
			base = clone(base)
			mutate(r, base)
		} else {
			base = schemas[i]
		}
		live := clone(base)
		for range 1 + r.IntN(4) {
			respell(r, live, i)
		}
		a, l := encode(base), encode(live)
		if signals := Compare(tool(a), tool(l)); len(signals) > 0 && signals[0].Reason != Unparsable {
			t.Fatalf("%s\nbecomes\n%s\nand is held for %v", a, l, printed(signals))
		}
	}
}

// respell changes what validates nothing: texts, unknown keywords, order, and where
// a schema stands.
func respell(r *rand.Rand, root node, n int) {
	all := schemasIn(root)
	s := all[r.IntN(len(all))]
	switch r.IntN(5) {
	case 0:
		s[[]string{"title", "description", "$comment", "x-note", "deprecated", "markdownDescription"}[r.IntN(6)]] = fmt.Sprint("text ", n)
	case 1:
		s["examples"] = []any{node{"default": "x", "enum": []any{"y"}}}
	case 2:
		for _, key := range []string{"enum", "required"} {
			if list, ok := s[key].([]any); ok {
				slices.Reverse(list)
			}
		}
	case 3:
		_, mentions := s["$ref"]
		if !mentions && s["$id"] == nil && s["id"] == nil && s["$schema"] == nil && s["$defs"] == nil && s["definitions"] == nil &&
			s["$anchor"] == nil && !strings.Contains(encode(root), `"$ref"`) && !strings.Contains(encode(root), `"$dynamicRef"`) {
			inner := node{}
			for key, v := range s {
				inner[key] = v
			}
			clear(s)
			defs, ok := root["$defs"].(node)
			if !ok {
				defs = node{}
				root["$defs"] = defs
			}
			name := fmt.Sprint("moved", len(defs))
			defs[name] = inner
			s["$ref"] = "#/$defs/" + name
		}
	case 4:
		if t, ok := s["type"].(string); ok {
			s["type"] = []any{t}
		}
	}
}
