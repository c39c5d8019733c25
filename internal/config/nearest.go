package config

import "strings"

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
		if d := distance(plain(name), plain(k)); d < far {
			best, far = k, d
		}
	}
	return best
}

// plain lets trustMode, trust-mode and trust_mode be one spelling.
func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// distance is the number of letters to insert, drop, change or swap with their
// neighbour that lead from a to b.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
