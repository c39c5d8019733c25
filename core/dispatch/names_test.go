package dispatch

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var servable = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, c := range []struct{ server, name, direct, own string }{
		{"files", "read", "files__read", "read"},
		{"files", "read_file-2", "files__read_file-2", "read_file-2"},
		// Pinned: an alias that changed would break what agents and tokens know.
		{"files", "read.file", "files__read_file--c214cb95f8b9", "read_file--c214cb95f8b9"},
		{"files", "", "files__", "--7aca9491a62b"},
		{"files", "größe", "files__gr__e--52c17b15ff25", "gr__e--52c17b15ff25"},
		{"files", long, "files__" + strings.Repeat("a", 43) + "--a6ffadb12c62", long},
		{"files", "read_file--c214cb95f8b9", "files__read_file--c214cb95f8b9--1b6e32ad70a0", "read_file--c214cb95f8b9--1b6e32ad70a0"},
	} {
		if got := directName(c.server, c.name); got != c.direct {
			t.Errorf("direct name of %s %q: %q, want %q", c.server, c.name, got, c.direct)
		}
		if got := ownName(c.server, c.name); got != c.own {
			t.Errorf("own name of %s %q: %q, want %q", c.server, c.name, got, c.own)
		}
	}
}

func TestNamesAreServableAndApart(t *testing.T) {
	server := rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,31}`)
	tool := rapid.OneOf(rapid.StringMatching(`[a-z_-]{1,70}`), rapid.StringMatching(`a--[0-9a-f]{12}`), rapid.StringN(0, 80, -1))
	rapid.Check(t, func(t *rapid.T) {
		s1, t1 := server.Draw(t, "server"), tool.Draw(t, "tool")
		s2, t2 := server.Draw(t, "server"), tool.Draw(t, "tool")
		if rapid.Bool().Draw(t, "the other is the alias of this") {
			s2, t2 = s1, ownName(s1, t1)
		}
		if d := directName(s1, t1); !servable.MatchString(d) || !strings.HasPrefix(d, s1+"__") {
			t.Fatalf("direct name %q", d)
		}
		if o := ownName(s1, t1); !servable.MatchString(o) {
			t.Fatalf("own name %q", o)
		}
		if (s1 != s2 || t1 != t2) && directName(s1, t1) == directName(s2, t2) {
			t.Fatalf("%s %q and %s %q are both %q", s1, t1, s2, t2, directName(s1, t1))
		}
		if t1 != t2 && ownName(s1, t1) == ownName(s1, t2) {
			t.Fatalf("%q and %q of %s are both %q", t1, t2, s1, ownName(s1, t1))
		}
	})
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"read", "read", true},
		{"read", "reads", false},
		{"*", "", true},
		{"*", "a/b.c", true},
		{"", "", true},
		{"", "a", false},
		{"?", "", false},
		{"?", "ß", true},
		{"read_*", "read_file", true},
		{"read_*", "read", false},
		{"*file", "read_file_file", true},
		{"*a*b*", "xxaxxbxx", true},
		{"*a*b*", "xxbxxaxx", false},
		{"a**", "a", true},
		{"a*c", "abd", false},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{"a*", "a*", true},
		{`\*`, "x", false},
	} {
		if got := match(c.pattern, c.s); got != c.want {
			t.Errorf("match(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}

// TestMatchAgainstRegexp checks the matcher against one built another way.
func TestMatchAgainstRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "pattern")
		s := rapid.StringMatching(`[abc]{0,10}`).Draw(t, "text")
		expr := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		if want := regexp.MustCompile("^" + expr + "$").MatchString(s); match(pattern, s) != want {
			t.Fatalf("match(%q, %q) is not %v", pattern, s, want)
		}
	})
}

func TestMatchTakesNoLongWork(t *testing.T) {
	if match(strings.Repeat("*a", 500)+"b", strings.Repeat("a", 5000)) {
		t.Error("matched")
	}
}
