package config

import (
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// nearest is the known name that a misspelled one most likely means; empty when
// none is near.
func nearest(name string, known keys) string {
	best, far := "", 3
	if len(name) < 5 {
		far = 2
	}
	for _, k := range sortedKeys(known) {
		if plain(k) == plain(name) {
			return k
		}
		if d := fault.Distance(plain(name), plain(k)); d < far {
			best, far = k, d
		}
	}
	return best
}

// plain lets trustMode, trust-mode and trust_mode be one spelling.
func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}
