package fault

import "strings"

// shortest is how long a known name must be to be recognized as a part of another.
const shortest = 4 // bytes

// Nearest is the known name that another one most likely means, empty when none is near:
// of those with the fewest differences the first, case, hyphens and underscores aside;
// else one that the name begins or ends with, as ReadFile does with Read.
func Nearest(name string, known []string) string {
	asked := plain(name)
	best, least := "", 3
	if len(name) < 5 {
		least = 2
	}
	for _, k := range known {
		if d := len(plain(k)) - len(asked); d >= least || -d >= least {
			continue
		}
		if d := Distance(asked, plain(k)); d < least {
			best, least = k, d
		}
	}
	if best != "" || len(asked) > far {
		return best
	}
	for _, k := range known {
		if p := plain(k); len(p) >= shortest && len(k) > len(best) && (strings.HasPrefix(asked, p) || strings.HasSuffix(asked, p)) {
			best = k
		}
	}
	return best
}

// plain lets trustMode, trust-mode and trust_mode be one spelling.
func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}
