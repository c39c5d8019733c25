package call

import (
	"regexp"
	"testing"
	"time"

	"github.com/dlclark/regexp2"
	"pgregory.net/rapid"
)

func TestTranslate(t *testing.T) {
	for pattern, want := range map[string]string{
		`^[a-z_]+$`:    `^[a-z_]+$`,
		`a.b`:          `a[^\n\r\x{2028}\x{2029}]b`,
		`\d{2,4}-\w\/`: `\d{2,4}-\w\/`,
		`[\s\d]`:       `[` + ecmaSpace + `\d]`,
		`\S`:           `[^` + ecmaSpace + `]`,
		`(?:a|b)*?`:    `(?:a|b)*?`,
		`[^.]`:         `[^.]`,
		`[a\]b]`:       `[a\]b]`,
		`größe`:        `größe`,
		`(?=a)`:        ``, // look-ahead
		`(?<n>a)`:      ``, // a named group
		`(?i)a`:        ``, // no such thing in ECMA-262
		`(a)\1`:        ``, // back-reference
		`\cA`:          ``,
		`\u0041`:       ``,
		`\p{L}`:        ``,
		`\A`:           ``, // the beginning in Go, an A in ECMA-262
		`\Q.\E`:        ``,
		`[]a]`:         ``, // empty, then a]
		`[^]`:          ``,
		`[[:alpha:]]`:  ``,
		`[\b]`:         ``, // a backspace
		`[\S]`:         ``,
		`a{,3}`:        ``, // as written in ECMA-262
		`a{`:           ``,
		`[a`:           ``,
		`\`:            ``,
	} {
		got, ok := translate(pattern)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v; want %q", pattern, got, ok, want)
		}
	}
}

// Where the linear engine is used, it answers as an engine made for ECMA-262 does.
func TestEnginesAgree(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "b", "ab", ".", "^", "$", `\d`, `\w`, `\W`, `\D`, `\b`, "[a-c]", "[^a]", "[0-9_]", `\.`, `\-`, `\/`, "(?:a|b)", "(a)", "x|y", "é", `\n`, `\t`,
	})
	times := rapid.SampledFrom([]string{"", "", "", "*", "+", "?", "*?", "{2}", "{1,2}", "{0,}"})
	// No U+2028: behind a "." and stars the other engine takes it for a letter, which it is
	// not to ECMA-262 (the table above has it).
	text := rapid.StringOfN(rapid.SampledFrom([]rune("aabbcx09_-. é\n\r\t./")), 0, 12, -1)
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		pattern := ""
		for range rapid.IntRange(1, 5).Draw(t, "pieces") {
			pattern += piece.Draw(t, "piece") + times.Draw(t, "times")
		}
		linear, ok := translate(pattern)
		if !ok {
			t.Skip("not for the linear engine")
		}
		fast, err := regexp.Compile(linear)
		slow, err2 := regexp2.Compile(pattern, regexp2.ECMAScript|regexp2.Unicode)
		if err != nil || err2 != nil {
			t.Skip("refused by one")
		}
		slow.MatchTimeout = time.Second
		s := text.Draw(t, "text")
		want, err := slow.MatchString(s)
		if err != nil {
			t.Skip(err)
		}
		compared++
		if got := fast.MatchString(s); got != want {
			t.Fatalf("%q on %q: %v, and the other says %v", pattern, s, got, want)
		}
	})
	if compared == 0 {
		t.Error("nothing was compared")
	}
}
