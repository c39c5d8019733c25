package delta

import (
	"strings"
	"unicode"
)

// maxTable bounds the table of a word-level comparison; beyond it the part that
// differs is shown as one replacement.
const maxTable = 1 << 20

// keptShown is how many bytes of unchanged text are shown in one piece.
const keptShown = 200

// wordRuns compares two texts word by word.
func wordRuns(was, is string) []Run {
	a, b := words(was), words(is)
	first := 0
	for first < len(a) && first < len(b) && a[first] == b[first] {
		first++
	}
	last := 0
	for last < len(a)-first && last < len(b)-first && a[len(a)-1-last] == b[len(b)-1-last] {
		last++
	}
	var r runs
	r.add(Kept, a[:first])
	r.middle(a[first:len(a)-last], b[first:len(b)-last])
	r.add(Kept, a[len(a)-last:])
	return r.all
}

// words cuts a text where a word, white space or another character ends.
func words(s string) []string {
	var all []string
	start, class := 0, 0
	for i, r := range s {
		c := 3
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			c = 1
		case unicode.IsSpace(r):
			c = 2
		}
		if i > start && (c != class || c == 3) {
			all = append(all, s[start:i])
			start = i
		}
		class = c
	}
	if start < len(s) {
		all = append(all, s[start:])
	}
	return all
}

// runs joins words of one kind.
type runs struct{ all []Run }

func (r *runs) add(k RunKind, words []string) {
	if len(words) == 0 {
		return
	}
	text := strings.Join(words, "")
	if k == Kept && len(text) > keptShown {
		half := keptShown / 2
		text = strings.ToValidUTF8(text[:half], "") + " … " + strings.ToValidUTF8(text[len(text)-half:], "")
	}
	r.all = append(r.all, Run{k, visibleText(text)})
}

// middle finds the longest common subsequence of what is left.
func (r *runs) middle(a, b []string) {
	if len(a)*len(b) > maxTable {
		r.add(Removed, a)
		r.add(Added, b)
		return
	}
	width := len(b) + 1
	table := make([]int32, (len(a)+1)*width) // longest from here on
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		kept := i
		for i < len(a) && j < len(b) && a[i] == b[j] {
			i, j = i+1, j+1
		}
		r.add(Kept, a[kept:i])
		from, to := i, j
		for i < len(a) && (j == len(b) || a[i] != b[j]) && (j == len(b) || table[(i+1)*width+j] >= table[i*width+j+1]) {
			i++
		}
		for j < len(b) && (i == len(a) || a[i] != b[j]) && (i == len(a) || table[i*width+j+1] > table[(i+1)*width+j]) {
			j++
		}
		r.add(Removed, a[from:i])
		r.add(Added, b[to:j])
	}
}
