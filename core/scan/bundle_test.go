package scan

import (
	"strings"
	"testing"
)

func bundleOf(rules string) []byte {
	return []byte(`{"format":1,"version":"test 1","rules":[` + rules + `]}`)
}

const aRule = `{"id":"acme-1","title":"A","tier":"hard","fields":["description"],"pattern":"(?i)acme \\d+","contains":["ACME"],"references":["x"]}`

func TestParseBundle(t *testing.T) {
	b, err := ParseBundle(bundleOf(aRule + `,{"id":"b","title":"B","tier":"soft","pattern":"zebra"},{"id":"c","title":"C","tier":"soft","fields":["all"],"pattern":"x","disabled":true}`))
	if err != nil || b.Rules() != 2 || !strings.HasPrefix(b.Version(), "test 1+") {
		t.Fatalf("%v %v", b, err)
	}
	s := New(b, nil)
	for text, want := range map[string]string{
		"Asks Acme 7 for help.":               "bundle.acme-1 hard",
		"Detects mentions such as acme 7.":    "bundle.acme-1 soft",
		"Feeds a zebra and another zebra.":    "bundle.b soft",
		"Acme without a number, or ac and me": "",
	} {
		v := s.Scan(tool(t, "act", text))
		got := ""
		if len(v.Findings) > 0 {
			got = v.Findings[0].Check + map[Tier]string{Hard: " hard", Soft: " soft"}[v.Findings[0].Tier]
		}
		if got != want || !v.Complete {
			t.Errorf("%s: %+v", text, v)
		}
	}
	if v := s.Scan(tool(t, "act", "Acts.", `"title":"acme 7"`)); v.Outcome != Clean {
		t.Errorf("a field that the rule does not name: %+v", v)
	}
	var none *Bundle
	if none.Version() != "" || none.Rules() != 0 {
		t.Error("no bundle has a version")
	}
}

func TestRefusedBundles(t *testing.T) {
	rule := func(old, with string) string { return string(bundleOf(strings.Replace(aRule, old, with, 1))) }
	for want, raw := range map[string]string{
		"can't be read":               "{",
		"cannot be parsed":            "",
		"unknown field":               `{"format":1,"version":"1","rules":[],"more":1}`,
		"stands behind":               string(bundleOf(aRule)) + "{}",
		"format 2":                    `{"format":2,"version":"1","rules":[]}`,
		"has no version":              `{"format":1,"version":" 1","rules":[]}`,
		"no rule that runs":           string(bundleOf(strings.Replace(aRule, `"id"`, `"disabled":true,"id"`, 1))),
		"rules, and 2000":             string(bundleOf(strings.Repeat(aRule+",", 2000) + aRule)),
		"another rule has this id":    string(bundleOf(aRule + "," + aRule)),
		"an id is":                    rule("acme-1", "Acme 1"),
		"it has no title":             rule(`"A"`, `" "`),
		`its tier is "medium"`:        rule("hard", "medium"),
		`its field "body"`:            rule("description", "body"),
		"1 to 2000":                   rule(`(?i)acme \\d+`, ""),
		"no RE2 expression":           rule(`(?i)acme`, `(?=acme`),
		"matches the empty text":      rule(`acme \\d+`, `a*`),
		"contains has an empty":       rule(`"ACME"`, `""`),
		"is the limit":                strings.Repeat(" ", MaxBundleBytes+1),
		`rule 1 ("acme-1"): its tier`: rule("hard", ""),
	} {
		if raw == "" {
			continue
		}
		b, err := ParseBundle([]byte(raw))
		if err == nil || b != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	_, err := ParseBundle(bundleOf(strings.Replace(aRule, "hard", "x", 1) + "," + strings.Replace(strings.Replace(aRule, "acme-1", "two", 1), `"A"`, `""`, 1)))
	if err == nil || !strings.Contains(err.Error(), "acme-1") || !strings.Contains(err.Error(), "two") {
		t.Errorf("not every wrong rule is named: %v", err)
	}
}

func FuzzParseBundle(f *testing.F) {
	f.Add(bundleOf(aRule))
	f.Add(bundleText)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if b, err := ParseBundle(raw); (err == nil) != (b != nil && b.Rules() > 0 && b.Version() != "") {
			t.Fatalf("%v %v", b, err)
		}
	})
}

// The files of the program itself are read by builtIn, which would panic.
func TestReadLexicon(t *testing.T) {
	const words = "go: go run~_off\nstop: stop 止まる\nxgo: gehen*\nnever: detect example insist peer call machine pure convo think"
	for _, c := range []struct{ words, rules, problem string }{
		{words, "a phrase.injection hard any:5 across names unless:go|stop absent:stop = go&base|stop <3 stop!go", ""},
		{words, "# nothing\n\n", ""},
		{"loose", "", "before the first meaning"},
		{"go: ", "a b hard = stay", `no word means "stay"`},
		{words, "a phrase.injection hard go stop", `no " = "`},
		{words, "a phrase.injection = go", "an id, a check, a tier and a step"},
		{words, "a phrase.injection medium = go", "is no tier"},
		{words, "a phrase.injection hard often = go", "is no option"},
		{words, "a phrase.injection hard any:x = go", "invalid syntax"},
		{words, "a phrase.injection hard unless:stay = go", "no word means"},
		{words, "a phrase.injection hard = go <x stop", "invalid syntax"},
		{words, "a phrase.injection hard = go !stay", "no word means"},
		{words, "a phrase.injection hard = go!stay", "no word means"},
		{words, "a phrase.injection hard = go go go go go go go go go", "more than 8 steps"},
		{strings.Join(manyMeanings(), " x\n"), "", "one meaning more"},
	} {
		_, err := readLexicon(c.words, c.rules)
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %q", c.rules, err, c.problem)
		}
	}
}

func manyMeanings() (names []string) {
	for i := range mostMeanings + 1 {
		names = append(names, "m"+strings.Repeat("a", i)+":")
	}
	return names
}

// Every meaning is needed: by a rule, or by the program.
func TestNoMeaningIsIdle(t *testing.T) {
	l := builtIn()
	used := mask{}
	for _, r := range l.rules {
		for _, s := range r.steps {
			used = used.or(s.any).or(s.base).or(s.not)
		}
		used = used.or(r.unless).or(r.absent).or(r.off)
	}
	for _, name := range []string{"base", "detect", "example", "insist", "rotated", "reversed", "machine", "call", "pure", "convo", "think"} {
		used = used.or(l.bitOf(name))
	}
	for name, i := range l.meanings {
		if !used.any(bit(i)) {
			t.Errorf("no rule asks for %q", name)
		}
	}
	ids := map[string]bool{}
	for _, r := range l.rules {
		if ids[r.id] {
			t.Errorf("two rules are called %s", r.id)
		}
		ids[r.id] = true
	}
}
