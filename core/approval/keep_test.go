package approval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
)

// keeping gives a bench with a baseline, where held changes may wait.
func keeping(t testing.TB, mode string, offers ...Offer) *bench {
	b := trusted(t, mode, offers...)
	b.s.Settings.OnHold = OnHoldKeep
	b.j.answer(wide("a").Contract, benign("a").Contract) // the other way round it narrows
	return b
}

func TestS35KeepWaits(t *testing.T) {
	b := keeping(t, "scan", benign("a"))
	b.pass(wide("a"))
	b.wrote("a:approved>approved:waits")
	b.is("a", "approved baseline_trust waiting held structural")
	if r := b.rec("a"); !r.Approved.Equal(benign("a").Contract) || !r.InReview() {
		t.Error("what is approved changed, or nobody is told")
	}
	b.still(wide("a"))
	b.ok(Approve(b.s, b.review("a")))
	b.is("a", "approved user_approved")
	claim := tool("a", `,"description":"Sends."`+toWide+`,"annotations":{"readOnlyHint":true,"openWorldHint":false,"destructiveHint":false}`)
	b.pass(claim) // a claim of more safety is held, and may wait
	b.is("a", "approved user_approved waiting held structural")
	b.pass(wide("a"))
	b.wrote("a:approved>approved:update_withdrawn")
	b.is("a", "approved user_approved")
	b.quiet(wide("a"))

	m := keeping(t, "manual", benign("a"))
	m.pass(edited("a")) // in manual mode a change of texts waits too
	m.is("a", "approved baseline_trust waiting held manual")
	if m.j.scans != 1 {
		t.Error("what waits was not scanned")
	}
	m.still(edited("a"))
	if m.j.scans != 1 {
		t.Error("the same bytes were scanned twice")
	}
	m.j.bundle = "b2"
	m.pass(edited("a"))
	m.wrote("a:approved>approved:waits")
	m.s.Settings.DefaultMode = "scan" // as approved/differs: it is clean and silent
	m.pass(edited("a"))
	m.is("a", "approved scan_approved anchored baseline_trust")
}

// TestS36WhatBlocksUnderKeep is every condition of section 9, each alone.
func TestS36WhatBlocksUnderKeep(t *testing.T) {
	base := benign("a").Contract
	text := `,"description":"Sends."`
	for name, c := range map[string]struct {
		live  Offer
		judge func(j *judge, live contract.Contract)
		waits bool
	}{
		"texts":                 {live: edited("a"), waits: true},
		"new required name":     {live: tool("a", text+toRequire+readOnly), judge: func(j *judge, l contract.Contract) { j.answer(l, base, shape("required-dropped", "to")) }},
		"a narrower type":       {live: wide("a"), judge: func(j *judge, l contract.Contract) { j.answer(l, base, shape("type", "properties/to")) }},
		"reverse default":       {live: wide("a"), judge: func(j *judge, l contract.Contract) { j.answer(l, base, shape("default", "properties/to")) }, waits: true},
		"reverse enum":          {live: wide("a"), judge: func(j *judge, l contract.Contract) { j.answer(l, base, shape("enum-introduced", "properties/to")) }, waits: true},
		"reverse hint":          {live: wide("a"), judge: func(j *judge, l contract.Contract) { j.answer(l, base, delta.Signal{Rule: delta.HintChange}) }, waits: true},
		"reverse can't be told": {live: wide("a"), judge: func(j *judge, l contract.Contract) { j.answer(l, base, delta.Signal{Rule: delta.Unavailable}) }},
		"open world":            {live: tool("a", text+toString+`,"annotations":{"readOnlyHint":true}`)},
		"not read-only":         {live: tool("a", text+toString+`,"annotations":{"openWorldHint":false}`)},
		"output added":          {live: tool("a", text+toString+readOnly+`,"outputSchema":{}`), waits: true},
		"forward can't be told": {live: edited("a"), judge: func(j *judge, l contract.Contract) { j.answer(base, l, delta.Signal{Rule: delta.Unavailable}) }},
		"an unknown rule":       {live: edited("a"), judge: func(j *judge, l contract.Contract) { j.answer(base, l, delta.Signal{Rule: "GATE-NEW"}) }},
		"a field": {live: edited("a"), judge: func(j *judge, l contract.Contract) {
			j.answer(base, l, delta.Signal{Rule: delta.Field, Reason: "_meta"})
		}, waits: true},
		"const": {live: edited("a"), judge: func(j *judge, l contract.Contract) { j.answer(base, l, shape("const", "properties/to")) }},
		"default, new": {live: tool("a", text+schema(`"to":{"type":"string","default":"x"},"cc":{"type":"string"}`)+readOnly), judge: func(j *judge, l contract.Contract) {
			j.answer(base, l, shape("default", "properties/to"))
			j.answer(l, base)
		}},
		"default, gone":      {live: edited("a"), judge: func(j *judge, l contract.Contract) { j.answer(base, l, shape("default", "properties/to")) }, waits: true},
		"default, who knows": {live: edited("a"), judge: func(j *judge, l contract.Contract) { j.answer(base, l, shape("default", "properties/nowhere")) }},
		"new property, enum": {live: tool("a", text+schema(`"to":{"type":"string"},"cc":{"type":"string"},"n":{"enum":[1,2]}`)+readOnly), judge: func(j *judge, l contract.Contract) {
			j.answer(base, l, shape("new-property", "properties/n"))
			j.answer(l, base)
		}, waits: true},
		"new property, const": {live: tool("a", text+schema(`"to":{"type":"string"},"cc":{"type":"string"},"n":{"const":1}`)+readOnly), judge: func(j *judge, l contract.Contract) {
			j.answer(base, l, shape("new-property", "properties/n"))
			j.answer(l, base)
		}},
		"new property, nowhere":  {live: edited("a"), judge: func(j *judge, l contract.Contract) { j.answer(base, l, shape("new-property", "properties/n")) }},
		"a property dropped":     {live: tool("a", text+schema(`"to":{"type":"string"}`)+readOnly), judge: func(j *judge, l contract.Contract) { j.answer(base, l); j.answer(l, base) }},
		"soft finding":           {live: soft("a"), waits: true},
		"dangerous text":         {live: danger("a")},
		"a scan that can't tell": {live: tool("a", `,"description":"PARTIAL"`+toString+readOnly)},
		"unreadable":             {live: unparsable("a")},
	} {
		t.Run(name, func(t *testing.T) {
			b := keeping(t, "manual", benign("a"))
			if c.judge != nil {
				c.judge(b.j, c.live.Contract)
			}
			b.pass(c.live)
			if r := b.rec("a"); r.Waiting() != c.waits || (r.Status == Approved) != c.waits {
				t.Errorf("it is %s, want waiting %v", state(r), c.waits)
			}
			b.s.Settings.OnHold = OnHoldBlock
			b.pass(c.live)
			if r := b.rec("a"); r.Status != Changed {
				t.Errorf("block: it is %s", state(r))
			}
			b.s.Settings.OnHold = OnHoldKeep
			b.still(c.live) // what is changed never becomes waiting
		})
	}
}

func schema(properties string) string {
	return `,"inputSchema":{"type":"object","properties":{` + properties + `}}`
}

func TestHintsTowardsDanger(t *testing.T) {
	for _, c := range []struct {
		from, to    string
		unannotated contract.Class
		more        bool
	}{
		{`{"readOnlyHint":true}`, `{"readOnlyHint":true}`, contract.Read, false},
		{`{"readOnlyHint":true}`, `{"readOnlyHint":false}`, contract.Read, true},
		{`{"destructiveHint":false}`, `{"destructiveHint":true}`, contract.Read, true},
		{`{"destructiveHint":true}`, `{"destructiveHint":false}`, contract.Read, false},
		{`{"openWorldHint":false}`, `{}`, contract.Read, true},
		{`{}`, `{"openWorldHint":false}`, contract.Read, false},
		{`{"idempotentHint":true}`, `{}`, contract.Read, true},
		{`{}`, `{"idempotentHint":true}`, contract.Read, false},
		{`{}`, `{"readOnlyHint":false}`, contract.Read, true}, // read to destructive by the class alone
		{`{}`, `{"readOnlyHint":false}`, contract.Destructive, false},
		{`{"readOnlyHint":false}`, `{}`, contract.Read, false},
	} {
		from, to := tool("a", `,"annotations":`+c.from).Contract, tool("a", `,"annotations":`+c.to).Contract
		if moreDangerous(from, to, c.unannotated) != c.more {
			t.Errorf("%+v", c)
		}
	}
}

func TestKeepOutputSchema(t *testing.T) {
	with := tool("a", `,"outputSchema":{"type":"object"}`+toString+readOnly)
	other := tool("a", `,"outputSchema":{"type":"array"}`+toString+readOnly)
	for name, live := range map[string]Offer{"changed": other, "removed": tool("a", toString+readOnly)} {
		b := keeping(t, "manual", with)
		b.pass(live)
		if r := b.rec("a"); r.Status != Changed {
			t.Errorf("%s: it is %s", name, state(r))
		}
	}
}

func TestS48ChangedNeverWaits(t *testing.T) {
	b := trusted(t, "scan", benign("a"))
	b.j.answer(wide("a").Contract, benign("a").Contract)
	b.pass(wide("a"))
	b.s.Settings.OnHold = OnHoldKeep
	b.still(wide("a"))
	b.pass(soft("a"))
	b.is("a", "changed baseline_trust held scan_findings")
	b.pass(benign("a"))
	b.pass(wide("a"))
	b.is("a", "approved baseline_trust waiting held structural")
	b.s.Settings.OnHold = OnHoldBlock
	b.is("a", "approved baseline_trust waiting held structural") // a setting changes no record
	b.pass(wide("a"))
	b.wrote("a:approved>changed:held")
	b.is("a", "changed baseline_trust held structural")
}

func TestS53Dismiss(t *testing.T) {
	b := keeping(t, "manual", benign("a"))
	b.refused(CodeNothingWaits)(Dismiss(b.s, b.review("a")))
	b.pass(edited("a"))
	b.refused(CodeNotForAgents)(Dismiss(b.s, func() ReviewRequest { r := b.review("a"); r.Actor = agent; return r }()))
	b.ok(Dismiss(b.s, b.review("a")))
	b.wrote("a:approved>approved:dismissed")
	b.is("a", "approved baseline_trust waiting declined held manual")
	if b.rec("a").InReview() {
		t.Error("it is in the queue still")
	}
	if c := b.ok(Dismiss(b.s, b.review("a"))); !c.Empty() {
		t.Error("dismissed twice")
	}
	b.still(edited("a"))
	b.pass(benign("a"))
	b.pass(edited("a")) // it comes back, and is still declined
	b.is("a", "approved baseline_trust waiting declined held manual")
	b.s.Settings.DefaultMode = "scan"
	b.j.bundle = "b2"
	b.pass(edited("a"))
	b.is("a", "approved baseline_trust waiting declined held declined")
	if b.rec("a").InReview() {
		t.Error("it is in the queue again")
	}
	b.s.Settings.DefaultMode = "manual"
	b.pass(wide("a"))
	if !b.rec("a").InReview() {
		t.Error("another update does not wait anew")
	}
	b.pass(edited("a"))
	b.s.Settings.OnHold = OnHoldBlock
	b.pass(edited("a"))
	b.is("a", "changed baseline_trust declined held manual")
	if !b.rec("a").InReview() {
		t.Error("a changed tool is not in the queue")
	}
	b.s.Settings.DefaultMode = "scan"
	b.j.bundle = "b3"
	b.pass(edited("a"))
	b.is("a", "changed baseline_trust declined held declined")
	b.pass(benign("a")) // reverted: nothing was approved anew, so it stays declined
	b.is("a", "approved baseline_trust declined")
	b.pass(edited("a"))
	b.is("a", "changed baseline_trust declined held declined")
	b.s.Settings.DefaultMode = "auto"
	b.pass(edited("a"))
	b.is("a", "approved auto_approve anchored baseline_trust")
}

// TestKeepOfOtherKinds: of what is no tool only texts wait.
func TestKeepOfOtherKinds(t *testing.T) {
	prompt := func(rest string) Offer { o := tool("a", rest); o.Kind = Prompt; return o }
	b := trusted(t, "manual", prompt(`,"arguments":[]`))
	b.s.Settings.OnHold = OnHoldKeep
	b.pass(prompt(`,"arguments":[],"description":"new"`))
	b.is("a", "approved baseline_trust waiting held manual")
	b.pass(prompt(`,"arguments":[{"name":"x"}]`))
	b.is("a", "changed baseline_trust held manual")
}

// input is a contract with this input schema.
func input(schema string) contract.Contract { return tool("t", `,"inputSchema":`+schema).Contract }

func TestStillDeclares(t *testing.T) {
	deep := func(inner string) string { return `{"properties":{"o":` + inner + `}}` }
	for name, c := range map[string]struct {
		approved, live string
		want           bool
	}{
		"equal":                    {`{"properties":{"a":{}}}`, `{"properties":{"a":{}}}`, true},
		"one more":                 {`{"properties":{"a":{}}}`, `{"properties":{"a":{},"b":{}}}`, true},
		"one less":                 {`{"properties":{"a":{},"b":{}}}`, `{"properties":{"a":{}}}`, false},
		"none left":                {`{"properties":{"a":{}}}`, `{}`, false},
		"no schema left":           {`{"properties":{"a":{}}}`, `true`, false},
		"texts":                    {`{"properties":{"a":{"description":"x"}}}`, `{"properties":{"a":{"description":"y"}}}`, true},
		"a property named so":      {`{"properties":{"properties":{}}}`, `{"properties":{}}`, false},
		"inside a property":        {deep(`{"properties":{"a":{}}}`), deep(`{"properties":{"b":{}}}`), false},
		"inside items":             {`{"items":{"properties":{"a":{}}}}`, `{"items":{}}`, false},
		"inside items, there":      {`{"items":{"properties":{"a":{}}}}`, `{"items":{"properties":{"a":{"type":"string"}}}}`, true},
		"items gone":               {`{"items":{"properties":{"a":{}}}}`, `{}`, false},
		"items without properties": {`{"items":{"type":"string"}}`, `{}`, true},
		"items as a boolean":       {`{"items":true}`, `{}`, true},
		"tuple":                    {`{"prefixItems":[{"properties":{"a":{}}},{}]}`, `{"prefixItems":[{"properties":{}},{}]}`, false},
		"tuple as items":           {`{"items":[{"properties":{"a":{}}}]}`, `{"items":[{"properties":{"a":{}}},{}]}`, true},
		"tuple gone":               {`{"prefixItems":[{"properties":{"a":{}}}]}`, `{}`, false},
		"tuple that is none":       {`{"prefixItems":{"properties":{"a":{}}}}`, `{}`, true}, // no keyword of a known form
		"branch kept":              {`{"anyOf":[{"type":"null"},{"properties":{"a":{}}}]}`, `{"anyOf":[{"properties":{"a":{}}},{"type":"null"}]}`, true},
		"branch changed":           {`{"anyOf":[{"type":"null"},{"properties":{"a":{}}}]}`, `{"anyOf":[{"type":"null"},{"properties":{"b":{}}}]}`, false},
		"branch grew":              {`{"anyOf":[{"type":"null"},{"properties":{"a":{}}}]}`, `{"anyOf":[{"type":"null"},{"properties":{"a":{},"b":{}}},{}]}`, true},
		"branch gone":              {`{"anyOf":[{"type":"null"},{"properties":{"a":{}}}]}`, `{"anyOf":[{"type":"null"}]}`, false},
		"patternProperties":        {`{"patternProperties":{"^x":{"properties":{"a":{}}}}}`, `{"patternProperties":{}}`, false},
		"patternProperties, plain": {`{"patternProperties":{"^x":{}}}`, `{}`, true},
		"patternProperties, there": {`{"patternProperties":{"^/~x":{"properties":{"a":{}}}}}`, `{"patternProperties":{"^/~x":{"properties":{"a":true}}}}`, true},
		"reference, same":          {`{"$defs":{"d":{"properties":{"a":{}}}},"$ref":"#/$defs/d"}`, `{"$defs":{"e":{"properties":{"a":{"type":"string"}}}},"$ref":"#/$defs/e"}`, true},
		"reference, lost":          {`{"$defs":{"d":{"properties":{"a":{}}}},"$ref":"#/$defs/d"}`, `{"$defs":{"d":{"properties":{}}},"$ref":"#/$defs/d"}`, false},
		"reference, inlined":       {`{"$defs":{"d":{"properties":{"a":{}}}},"$ref":"#/$defs/d"}`, `{"properties":{"a":{}}}`, true},
		"reference and beside":     {`{"properties":{"a":{},"b":{}}}`, `{"$defs":{"d":{"properties":{"a":{}}}},"$ref":"#/$defs/d","properties":{"b":{}}}`, true},
		"recursive":                {`{"properties":{"next":{"$ref":"#"},"a":{}}}`, `{"properties":{"next":{"$ref":"#"},"a":{"type":"string"}}}`, true},
		"recursive, one less":      {`{"properties":{"next":{"$ref":"#"},"a":{}}}`, `{"properties":{"next":{"$ref":"#"}}}`, false},
		"reference elsewhere":      {`{"properties":{"a":{"$ref":"https://x/y"}}}`, `{"properties":{"a":{"$ref":"https://x/y"},"b":{}}}`, false},
		"live reference elsewhere": {`{"properties":{"a":{}}}`, `{"properties":{"a":{"$ref":"https://x/y"}}}`, false},
		"reference to itself":      {`{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"properties":{"a":{"$ref":"#/properties/a"},"b":{}}}`, false},
		"dynamic":                  {`{"properties":{"a":{"$dynamicRef":"#x"}}}`, `{"properties":{"a":{"$dynamicRef":"#x"},"b":{}}}`, false},
		"recursive draft":          {`{"properties":{"a":{"$recursiveRef":"#"}}}`, `{"properties":{"a":{"$recursiveRef":"#"},"b":{}}}`, false},
		"branches that refer":      {`{"$defs":{"d":{"properties":{"a":{}}}},"anyOf":[{"$ref":"#/$defs/d"}]}`, `{"$defs":{"d":{}},"anyOf":[{"$ref":"#/$defs/d"}]}`, false},
		"branches that refer deep": {`{"$defs":{"d":{"properties":{"a":{}}}},"anyOf":[{"items":[{"$ref":"#/$defs/d"}]}]}`, `{"$defs":{"d":{}},"anyOf":[{"items":[{"$ref":"#/$defs/d"}]}]}`, false},
	} {
		if got := stillDeclares(input(c.approved), input(c.live)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !stillDeclares(tool("t", "").Contract, tool("t", "").Contract) {
		t.Error("no schema on either side")
	}
	wide := func(n int, extra string) contract.Contract {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"p%d":{},`, i)
		}
		return input(`{"properties":{` + b.String() + extra + `"z":{}}}`)
	}
	if !stillDeclares(wide(19_000, ""), wide(19_000, `"y":{},`)) || stillDeclares(wide(21_000, ""), wide(21_000, `"y":{},`)) {
		t.Error("the limit of steps is not where it should be")
	}
}

func TestLocateAndTarget(t *testing.T) {
	root, _ := input(`{"$defs":{"d":{"properties":{"x":{"default":1}}},"loop":{"$ref":"#/$defs/loop"}},
		"properties":{"a/b~c":{"default":1},"r":{"$ref":"#/$defs/d"},"l":{"$ref":"#/$defs/loop"},"t":{"prefixItems":[{},{"default":2}]},"all":{"$ref":"#"}}}`).InputSchema()
	for path, want := range map[string]bool{
		"#":                              true,
		"properties/a~1b~0c":             true,
		"properties/r/properties/x":      true,
		"properties/t/prefixItems/1":     true,
		"properties/t/prefixItems/2":     false,
		"properties/t/prefixItems/-1":    false,
		"properties/t/prefixItems/x":     false,
		"properties/none":                false,
		`properties/a\\b`:                false,
		"properties/l":                   false,
		"properties/l/properties/x":      false,
		"properties/all/properties/none": false,
	} {
		if got := locate(root, path); (len(got) > 0) != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !has(locate(root, "properties/r/properties/x"), "default") || has(locate(root, "#"), "default") {
		t.Error("default")
	}
	for ref, want := range map[string]bool{
		`"#"`: true, `"#/$defs/d"`: true, `"#/properties/a~1b~0c"`: true, `"#anchor"`: false, `"x#/a"`: false, `"#/a%20b"`: false, `"#/none"`: false, `1`: false, `""`: false,
	} {
		v, _ := tool("t", `,"r":`+ref).Contract.Root().Get("r")
		if _, ok := target(root, v); ok != want {
			t.Errorf("%s: %v", ref, ok)
		}
	}
}

func TestEnumAlone(t *testing.T) {
	for property, want := range map[string]bool{
		`{}`:                                   true,
		`true`:                                 true,
		`{"enum":["a","b"]}`:                   true,
		`{"type":"string","enum":["a","b"]}`:   true,
		`{"type":"string","enum":["a",1]}`:     false, // one is left
		`{"type":"integer","enum":[1,2]}`:      false, // not told apart here
		`{"enum":["a","a"]}`:                   false,
		`{"enum":["a"]}`:                       false,
		`{"enum":[]}`:                          false,
		`{"enum":"a"}`:                         false,
		`{"const":1}`:                          false,
		`{"default":1}`:                        false,
		`{"type":"null"}`:                      false,
		`{"type":["string","null"]}`:           false,
		`{"maxLength":0}`:                      false,
		`{"maxLength":9}`:                      true,
		`{"minimum":1}`:                        false,
		`{"anyOf":[{"enum":[1,2]}]}`:           false,
		`{"items":{"enum":[1,2]}}`:             true,
		`{"items":{"default":2}}`:              false,
		`{"items":[{"default":2}]}`:            false,
		`{"prefixItems":[{"const":2}]}`:        false,
		`{"properties":{"x":{"default":2}}}`:   false,
		`{"properties":{"default":{}}}`:        true,
		`{"additionalProperties":{"$id":"x"}}`: false,
		`{"$ref":"#/$defs/good"}`:              true,
		`{"$ref":"#/$defs/bad"}`:               false,
		`{"$ref":"#/$defs/loop"}`:              true,
		`{"items":{"$ref":"https://x"}}`:       false,
	} {
		root, _ := input(`{"$defs":{"good":{"enum":[1,2]},"bad":{"properties":{"x":{"const":1}}},"loop":{"properties":{"x":{"$ref":"#/$defs/loop"}}}},"properties":{"n":` + property + `}}`).InputSchema()
		if got := enumAlone(root, locate(root, "properties/n")); got != want {
			t.Errorf("%s: %v", property, got)
		}
	}
	var many strings.Builder
	for i := range maxSteps {
		fmt.Fprintf(&many, `"p%d":{},`, i)
	}
	root, _ := input(`{"properties":{"n":{"properties":{` + many.String() + `"z":{}}}}}`).InputSchema()
	if enumAlone(root, locate(root, "properties/n")) {
		t.Error("long work was done")
	}
}
