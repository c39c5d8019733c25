package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRuleErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "is empty"},
		{"*", "names no tool"},
		{"(ls)", "names no tool"},
		{"Shell(ls)", "must be one of Read"},
		{"bash", `did you mean "Bash"`},
		{"Raed(x)", `did you mean "Read"`},
		{"Edt", `did you mean "Edit"`},
		{"Bash (ls)", `did you mean "Bash"`},
		{" Read", `did you mean "Read"`},
		{"Read()", `write "Read" for all`},
		{"Read(", "no end"},
		{"Read(src", "no end"},
		{"Read(src) ", "text after"},
		{"Read(src)x", "text after"},
		{"Write(src/**)", `write "Edit(src/**)"`},
		{"Grep(src/**)", `write "Read(src/**)"`},
		{"Glob(src/**)", `write "Read(src/**)"`},
		{"Edit(!src/a)", `"!"`},
		{"Edit({a,b})", `"{"`},
		{"Read(src/[a)", `"["`},
		{"Edit(/src/**)", `write "./src/**" for each workspace or "//src/**"`},
		{"mcp__srv", `write "mcp__srv__*"`},
		{"mcp__srv__", "names no tool"},
		{"mcp____x", "names no server"},
		{"mcp__s__t(x)", "parentheses"},
		{"mcp__s __t", "blank"},
		{"mcp__*__t", "only after the second"},
	} {
		r, err := ParseRule(c.text, Allow, Place{}, "", "/people/owner")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want it to say %s", c.text, err, c.want)
		}
		if r.Text() != "" || r.tool != "" {
			t.Errorf("%q: a rule comes with the error", c.text)
		}
	}
	if _, err := ParseRule("Read", NoEffect, Place{}, "", ""); err == nil {
		t.Error("a rule without an effect")
	}
}

func TestRules(t *testing.T) {
	at := Place{Layer: User, File: "/f", Line: 3}
	for _, text := range []string{
		"Read", "Write", "Edit", "Bash", "Grep", "Glob", "Read(*)", "Write(*)", "Bash(*)", "Edit(~/x)", "Edit(//x)",
		"Read(a(b).c)", "mcp__srv__*", "mcp__srv__get_*",
	} {
		r, err := ParseRule(text, Allow, at, "", "/people/owner")
		if err != nil || r.Text() != text || r.Place() != at {
			t.Errorf("%s: %v, %v", text, r, err)
		}
	}
	if _, err := ParseRule("mcp__*__t", Deny, at, "", ""); err != nil {
		t.Errorf("a deny may speak of any server: %v", err)
	}
	if r, err := ParseRule("Edit(/src)", Deny, at, "/ws", ""); err != nil || r.path.base != "/ws" {
		t.Errorf("/p in a project: %v, %v", r, err)
	}
}

func TestAnyProgram(t *testing.T) {
	for _, c := range []struct {
		effect Effect
		text   string
		want   bool
	}{
		{Allow, "Bash", true},
		{Allow, "Bash(*)", true},
		{Allow, "Bash(python *)", true},
		{Allow, "Bash(npm test *)", false},
		{Allow, "Edit", false},
		{Deny, "Bash", false},
	} {
		r, err := ParseRule(c.text, c.effect, Place{}, "", "")
		if err != nil || (r.AnyProgram() != "") != c.want {
			t.Errorf("%s: %q, %v", c.text, r.AnyProgram(), err)
		}
	}
	if _, err := ParseRule("Bash(a | b)", Allow, Place{}, "", ""); err == nil || !strings.Contains(err.Error(), `"Bash(a | b)" can't be read: it`) {
		t.Error(err)
	}
}

// TestParseRuleNeverPanics and takes nothing that it can't give back.
func TestParseRuleNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tool := rapid.SampledFrom([]string{"Read", "Edit", "Write", "mcp__", "x", ""}).Draw(t, "tool")
		text := tool + rapid.StringMatching(`[(][a*!{}/~.\\\[\] ()]{0,9}[)]?`).Draw(t, "rest")
		r, err := ParseRule(text, Deny, Place{}, "/p", "/h")
		if err == nil && r.Text() != text {
			t.Fatalf("%q became %q", text, r.Text())
		}
	})
}

func FuzzParseRule(f *testing.F) {
	for _, seed := range []string{"Read(src/**)", "Edit([[:alpha:]]*)", "mcp__a__b", "Read(!)", `Read(\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.HasPrefix(text, "Bash") {
			t.Skip("commands are read elsewhere")
		}
		r, err := ParseRule(text, Deny, Place{}, "/p", "/h")
		if err != nil && (strings.ContainsAny(err.Error(), "\n\x00") || r.Text() != "") {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func TestWords(t *testing.T) {
	long := strings.Repeat("a", 300)
	for text, want := range map[string]string{"a b": "a b", "a\nb": `"a\nb"`, "\u202ea": `"\u202ea"`, long: long[:200] + "...", "\xff": `"\xff"`} {
		if got := shown(text); got != want {
			t.Errorf("%q is shown as %s", text, got)
		}
	}
	for text, want := range map[string]string{"a": `"a"`, "a\nb": `"a\nb"`, `"a"`: `""a""`} {
		if got := quoted(text); got != want {
			t.Errorf("%q is quoted as %s", text, got)
		}
	}
	if got := listed([]string{"a", "b", "c"}); got != "a, b and c" {
		t.Error(got)
	}
	for a, want := range map[string]int{"abc": 0, "acb": 1, "ab": 1, "xabc": 1, "xyz": 3, "": 3} {
		if got := distance(a, "abc"); got != want {
			t.Errorf("from %q: %d", a, got)
		}
	}
}

func TestNames(t *testing.T) {
	for l, want := range map[Layer]string{
		NoLayer: "unknown layer", Managed: "managed", CommandLine: "command line", User: "user",
		ProjectLocal: "project-local", Project: "project",
	} {
		if l.String() != want {
			t.Errorf("%d is %s", l, l)
		}
	}
	for e, want := range map[Effect]string{NoEffect: "none", Deny: "deny", Ask: "ask", Allow: "allow"} {
		if e.String() != want {
			t.Errorf("%d is %s", e, e)
		}
	}
	if s := (Place{Layer: CommandLine}).String(); s != "command line" {
		t.Error(s)
	}
	if s := (Place{Layer: User, File: "/f"}).String(); s != "user, /f" {
		t.Error(s)
	}
}
