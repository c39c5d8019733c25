package policy

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// coversText is pattern.covers on text, below one root.
func coversText(t *testing.T, text, path string, folder bool) bool {
	t.Helper()
	p, err := parsePattern(text, "/ws", "/people/owner")
	if err != nil {
		t.Fatalf("pattern %q %v", text, err)
	}
	v := view{names: [][]string{split("/ws/" + path)}, rels: [][]string{split("/" + path)}}
	return v.matches(&p, folder)
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		folder, want  bool
	}{
		// A bare name has any depth, and covers what is below.
		{".env", ".env", false, true},
		{".env", "a/b/.env", false, true},
		{".env", ".env/x", false, true},
		{".env", ".environment", false, false},
		{"*.pem", "certs/x.pem", false, true},
		{"*.md", "a.md/b.sh", false, true},
		{"*", "x", false, true},
		// A slash that is not the last one anchors.
		{"./.env", ".env", false, true},
		{"./.env", "a/.env", false, false},
		{"secrets/**", "a/secrets/b", false, false},
		{"src/*.ts", "src/a.ts", false, true},
		{"src/*.ts", "src/x/a.ts", false, false},
		{"src/*", "src/a/b", false, true},
		// dir/** covers dir.
		{"secrets/**", "secrets", false, true},
		{"secrets/**", "secrets/a/b", false, true},
		{"secrets/***", "secrets/a/b", false, true},
		// A last slash is for folders.
		{"secrets/", "secrets", false, false},
		{"secrets/", "secrets", true, true},
		{"secrets/", "a/secrets/k", false, true},
		{"a/secrets/", "a/secrets/k", false, true},
		// Two stars.
		{"**/secrets/**", "secrets/b", false, true},
		{"a/**/z", "a/b/c/z", false, true},
		{"a/**/z", "a/z", false, true},
		{"a/**/z", "a/z/y", false, true},
		{"a/**/z", "b/a/z", false, false},
		{"a/**/b/**/c", "a/b/x/b/c", false, true},
		{"a/**/b/c", "a/b/b/x", false, false},
		{"**", "x", false, true},
		{"**", "", true, true},
		{"**/*", "", true, false},
		{"a**c", "abc", false, true},
		{"a**c", "a/c", false, false},
		// One character, classes, escapes.
		{"?.key", "a.key", false, true},
		{"?.key", "ä.key", false, true},
		{"?.key", "ab.key", false, false},
		{"[!ab].key", "c.key", false, true},
		{"[^ab].key", "a.key", false, false},
		{"[a-c]x", "bx", false, true},
		{"[a-c]x", "dx", false, false},
		{"[]x]", "]", false, true},
		{"[a-]", "-", false, true},
		{`[\]]`, "]", false, true},
		{"[[:digit:]x]z", "7z", false, true},
		{"[[:digit:]]z", "az", false, false},
		{`\*.key`, "*.key", false, true},
		{`\*.key`, "a.key", false, false},
		{`\!a`, "!a", false, true},
		{`\{a}`, "{a}", false, true},
		{"[{]a", "{a", false, true},
		{"a b.txt", "a b.txt", false, true},
		{"a*b*c", "axxbxxc", false, true},
		{"a*b*c", "axxbxx", false, false},
		{"*a?", "aab", false, true},
		// Absolute, home, project.
		{"//ws/a", "a", false, true},
		{"//ws/a", "b/a", false, false},
		{"//ws", "a", false, true},
		{"//*/a", "a", false, true},
		{"/a", "a", false, true},
		{"/a", "b/a", false, false},
		{"~/x/**", "x/a", false, false},
	} {
		if got := coversText(t, c.pattern, c.path, c.folder); got != c.want {
			t.Errorf("%q covers %q (folder %t): %t, want %t", c.pattern, c.path, c.folder, got, c.want)
		}
	}
}

func TestPatternErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":           "is empty",
		"!a":         `"!"`,
		"{a,b}":      `"{"`,
		"a/[b":       `"["`,
		"[[:no:]]":   `"["`,
		"[a-":        `"["`,
		`[a\`:        `"["`,
		`[a-\`:       `"["`,
		`a\`:         "backslash",
		"a//b":       "two slashes",
		"a/../b":     `".."`,
		"./":         "names nothing",
		"//":         "names nothing",
		"~":          `"~/**"`,
		"a\x01":      "control character",
		"a\xff":      "UTF-8",
		"/p":         `"./p"`,
		"~/p":        "home directory is not known",
		"src/./main": `"."`,
	} {
		_, err := parsePattern(text, "", "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want it to say %q", text, err, want)
		}
	}
}

func TestNamedClasses(t *testing.T) {
	// The classes of wildmatch, each with members and others.
	for name, c := range map[string][2]string{
		"digit": {"09", "a/"}, "upper": {"AZ", "az0"}, "lower": {"az", "AZ"}, "alpha": {"aZ", "0_"},
		"alnum": {"a0Z", "-"}, "xdigit": {"fF9", "gG"}, "blank": {" \t", "a\n"}, "space": {" \n\r", "a"},
		"cntrl": {"\x01\x7f", "a"}, "graph": {"!~a", " "}, "print": {" ~", "\x01"}, "punct": {"!/:@[`{~", "a0"},
	} {
		f := classNamed(name)
		for _, r := range c[0] {
			if !f(r) {
				t.Errorf("[:%s:] has no %q", name, r)
			}
		}
		for _, r := range c[1] {
			if f(r) {
				t.Errorf("[:%s:] has %q", name, r)
			}
		}
	}
}

func TestFoldedPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"README.md", "readme.MD", true},
		{"caf\u00e9", "cafe\u0301", true},
		{"CAFE\u0301*", "caf\u00e9s", true},
		{"stra\u00dfe", "STRASSE", true},
		{"[A-C]x", "Bx", true},
		{"[[:upper:]]x", "ax", true},
		{"[!a]x", "Ax", false},
		{".env", ".e\u200cnv", true}, // HFS+ passes over a zero-width character
		{".env", ".envx", false},
	} {
		p, err := parsePattern(c.pattern, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if p, err = p.folded(); err != nil {
			t.Fatal(err)
		}
		if got := p.covers(split("/"+foldName(c.path)), false); got != c.want {
			t.Errorf("folded %q covers %q: %t, want %t", c.pattern, c.path, got, c.want)
		}
	}
	p, _ := parsePattern("Caf\u00e9", "", "")
	if p.covers([]string{"cafe\u0301"}, false) || p.covers([]string{"caf\u00e9"}, false) {
		t.Error("names are told apart where the file system tells them apart")
	}
}

// TestBytes: a name need not be UTF-8, and "?" is then one byte.
func TestBytes(t *testing.T) {
	p, err := parsePattern("a?b", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if !p.covers([]string{"a\xffb"}, false) || p.covers([]string{"a\xff\xfeb"}, false) {
		t.Error("? is one byte where there is no character")
	}
	i := ParseIgnore([]byte("x\xffy*\n"))
	if ignored, _ := i.Match("x\xffyz", false); !ignored {
		t.Error("a byte stands for itself")
	}
	if ignored, _ := i.Match("x\xfeyz", false); ignored {
		t.Error("and for no other")
	}
}

// patternText draws patterns of a small alphabet, so that they match often.
func patternText() *rapid.Generator[string] {
	atom := rapid.SampledFrom([]string{
		"a", "b", "c", "ab", ".", "*", "?", "**", "/", "/", "[ab]", "[!a]", "[a-b]", `\a`, `\*`, "a", "b",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(atom, 1, 7).Draw(t, "atoms"), "")
	})
}

func pathText() *rapid.Generator[string] {
	name := rapid.SampledFrom([]string{"a", "b", "c", "ab", "aa", "a.b", ".a", "*", "abc"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 5).Draw(t, "names"), "/")
	})
}

// TestPatternsAgainstSlowMatcher compares with a second, slow opinion: the pattern as
// a regular expression, tried on the path and on every folder above it.
func TestPatternsAgainstSlowMatcher(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, path, folder := patternText().Draw(t, "pattern"), pathText().Draw(t, "path"), rapid.Bool().Draw(t, "folder")
		if strings.HasPrefix(text, "/") {
			text = "." + text
		}
		p, err := parsePattern(text, "", "")
		if err != nil {
			t.Skip("no pattern")
		}
		v := view{rels: [][]string{split("/" + path)}}
		if got, want := v.matches(&p, folder), slowCovers(text, path, folder); got != want {
			t.Fatalf("%q covers %q (folder %t): %t, the slow matcher says %t", text, path, folder, got, want)
		}
	})
}

// slowCovers is written from gitignore(5) and knows nothing of pattern.
func slowCovers(text, path string, folder bool) bool {
	body, onlyFolders := strings.CutSuffix(strings.TrimPrefix(text, "."+"/"), "/")
	if strings.HasPrefix(text, "./") {
		body = "/" + body
	}
	anchored := strings.Contains(body, "/")
	body = strings.TrimPrefix(body, "/")
	stars := regexp.MustCompile(`^\*\*+$`)
	var b strings.Builder
	b.WriteString("^")
	if !anchored {
		b.WriteString("(?:[^/]+/)*")
	}
	names := strings.Split(body, "/")
	last := len(names)
	for last > 0 && stars.MatchString(names[last-1]) {
		last-- // dir/** covers dir and all below, which every match does
	}
	if last == 0 && !onlyFolders {
		return true
	}
	for i, name := range names[:last] {
		if stars.MatchString(name) {
			b.WriteString("(?:[^/]+/)*")
			continue
		}
		b.WriteString(slowName(name))
		if i < last-1 {
			b.WriteString("/")
		}
	}
	b.WriteString("$")
	re := regexp.MustCompile(b.String())
	parts := strings.Split(path, "/")
	for n := 1; n <= len(parts); n++ {
		if onlyFolders && n == len(parts) && !folder {
			break
		}
		if last == 0 || re.MatchString(strings.Join(parts[:n], "/")) {
			return true
		}
	}
	return last == 0 // the root itself is a folder
}

func slowName(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '*':
			b.WriteString("[^/]*")
		case '?':
			b.WriteString("[^/]")
		case '[':
			end := i + strings.IndexByte(name[i:], ']')
			b.WriteString(strings.Replace(name[i:end+1], "[!", "[^/", 1))
			i = end
		case '\\':
			i++
			b.WriteString(regexp.QuoteMeta(name[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(name[i : i+1]))
		}
	}
	return b.String()
}

// TestReachesBelow: what covers something below a folder, could.
func TestReachesBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := patternText().Draw(t, "pattern")
		p, err := parsePattern(text, "/w", "")
		if err != nil {
			t.Skip("no pattern")
		}
		above, rest := pathText().Draw(t, "above"), pathText().Draw(t, "rest")
		full := view{names: [][]string{split("/w/" + above + "/" + rest)}, rels: [][]string{split("/" + above + "/" + rest)}}
		up := view{names: [][]string{split("/w/" + above)}, rels: [][]string{split("/" + above)}}
		if full.matches(&p, true) && !up.mayMatchBelow(&p) {
			t.Fatalf("%q covers %s/%s, and mayMatchBelow(%s) denies it", text, above, rest, above)
		}
	})
}
