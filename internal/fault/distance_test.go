package fault

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"mail", "mail", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"editr", "editor", 1},
		{"serve", "server", 1},
		{"kitten", "sitting", 3},
		{"ab", "ba", 1},
		{strings.Repeat("a", 65), "a", 64},
		{"a", strings.Repeat("a", 1<<20), 64},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
