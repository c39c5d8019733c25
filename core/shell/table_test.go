//go:build unix

package shell

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// linear is what a Table must give: each pattern asked in its turn.
func linear(patterns []Pattern, part *Part, meets func(Pattern, *Part) bool) int {
	return slices.IndexFunc(patterns, func(p Pattern) bool { return meets(p, part) })
}

func checkTable(t interface{ Fatalf(string, ...any) }, patterns []Pattern, part *Part) {
	table := NewTable(patterns)
	if got, want := table.May(part), linear(patterns, part, Pattern.May); got != want {
		t.Fatalf("May gives %d, asked in turn %d: %+v", got, want, part)
	}
	if got, want := table.Covers(part), linear(patterns, part, Pattern.Covers); got != want {
		t.Fatalf("Covers gives %d, asked in turn %d: %+v", got, want, part)
	}
}

// TestTableOfForms draws forms of parts and patterns.
func TestTableOfForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		patterns := make([]Pattern, rapid.IntRange(0, 6).Draw(t, "patterns"))
		for i := range patterns {
			form := forms(t, "pattern", true)
			if form == "" {
				continue // the zero Pattern
			}
			m := &meaning{own: newMatcher(form), inner: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "inner")}
			if unmarked(form) == form {
				m.exact = form
			}
			if rapid.IntRange(0, 9).Draw(t, "env") == 0 {
				m.plain = newMatcher(form + "a")
			}
			patterns[i] = Pattern{m}
		}
		part := &Part{shape: &shape{
			form: forms(t, "part", false), free: rapid.IntRange(0, 4).Draw(t, "free") == 0, vague: true,
			sealed: rapid.Bool().Draw(t, "sealed"), inner: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "runs"),
		}}
		for i, c := range []byte(part.form) {
			if (c == sep || c == '/') && i+1 < len(part.form) && rapid.Bool().Draw(t, "starts") {
				part.starts = append(part.starts, i+1)
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "outers") {
			part.outers = append(part.outers, outside{forms(t, "outer", false), rapid.Bool().Draw(t, "script")})
		}
		if rapid.IntRange(0, 9).Draw(t, "opaque") == 0 {
			part.Opaque = "it is drawn so"
		}
		checkTable(t, patterns, part)
	})
}

// TestTableOfScripts holds real patterns against the parts of many scripts.
func TestTableOfScripts(t *testing.T) {
	sets := append(grantedSets(t), thousand(t))
	for seed := range rounds(3000) {
		s, err := Read(script(seed))
		if err != nil {
			continue
		}
		for i := range s.Parts {
			for _, set := range sets[:len(sets)-1] {
				checkTable(t, set, &s.Parts[i])
			}
		}
	}
	for _, command := range []string{daily, "git status", "/usr/bin/git commit -m x", "sudo rm -rf /", `"$x" status`, "FOO=7 make 7", "env FOO=7 make 7", "timeout 60 pytest 6 x", "ls --version8", "gi$x t"} {
		s, err := Read(command)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Parts {
			checkTable(t, sets[len(sets)-1], &s.Parts[i])
		}
	}
	checkTable(t, sets[0], &Part{})
	checkTable(t, nil, &Part{Opaque: "it may be any"})
}
