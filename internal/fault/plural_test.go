package fault

import "testing"

func TestPlural(t *testing.T) {
	for want, c := range map[string]struct {
		n   int
		one string
	}{
		"0 paths": {0, "path"}, "1 path": {1, "path"}, "2 paths": {2, "path"},
		"1 entry": {1, "entry"}, "3 entries": {3, "entry"}, "2 days": {2, "day"},
		"1 allow rule": {1, "allow rule"}, "2 more lines": {2, "more line"},
	} {
		if got := Plural(c.n, c.one); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
