package policy

import (
	"strconv"
	"strings"
	"unicode"
)

// longest is how much of a path or a rule a sentence shows, in bytes.
const longest = 200

// shown puts a text into a sentence: as it is where that can't mislead, quoted where it
// has what is not printed, cut where it is long.
func shown(text string) string {
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	for _, r := range text {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return strconv.QuoteToASCII(text)
		}
	}
	return text
}

// quoted puts a text into a sentence in quotes, its own quotes left as they are so that
// it can be copied.
func quoted(text string) string {
	s := shown(text)
	if strings.HasPrefix(s, `"`) && s != text {
		return s // quoted already
	}
	return `"` + s + `"`
}

// listed joins what a sentence lists.
func listed(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

// nearest gives the candidate that a misspelt name is likely to mean; empty when none is
// near.
func nearest[T ~string](name string, candidates []T) T {
	var best T
	least := len(name)/2 + 1
	if least > 3 {
		least = 3
	}
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(string(c))); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their neighbour.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row
		row = make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before = last
	}
	return row[len(b)]
}
