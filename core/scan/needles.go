package scan

import (
	"strings"
	"unicode/utf8"
)

// needles finds in one pass over a text which rules of a bundle it can concern: those
// of which it holds a word that they need. A word is looked for by the two of its
// bytes that stand together most seldom in prose.
type needles struct {
	lists  [1 << 12]uint16 // by pairOf: 1 + index in words; 0 for a pair that leads to none
	words  [][]needle
	always []int    // rules that need no word
	slow   []needle // words that no pair leads to: of one byte, or not ASCII
}

// needle is one word of one rule.
type needle struct {
	word string // in lower case
	at   int    // where its rarest pair stands in it
	rule int
}

// prepareNeedles makes the needles of all rules.
func prepareNeedles(rules []signature) *needles {
	n := &needles{}
	for i, u := range rules {
		if len(u.needs) == 0 {
			n.always = append(n.always, i)
		}
		for _, word := range u.needs {
			n.add(needle{word: word, rule: i})
		}
	}
	return n
}

func (n *needles) add(w needle) {
	if len(w.word) < 2 || strings.IndexFunc(w.word, func(c rune) bool { return c >= utf8.RuneSelf }) >= 0 {
		n.slow = append(n.slow, w)
		return
	}
	best := -1
	for i := range len(w.word) - 1 {
		if c := seldom(w.word[i]) + seldom(w.word[i+1]); c > best {
			best, w.at = c, i
		}
	}
	list := &n.lists[pairOf(w.word[w.at], w.word[w.at+1])]
	if *list == 0 {
		n.words = append(n.words, nil)
		*list = uint16(len(n.words)) // at most 1 << 12
	}
	n.words[*list-1] = append(n.words[*list-1], w)
}

// seldom grades how seldom a byte of a word stands in prose.
func seldom(c byte) int {
	if i := strings.IndexByte(" etaoinsrhldcumfpgwybv", c); i >= 0 {
		return i
	}
	return 26
}

// pairOf folds two bytes, in lower case, into twelve bits.
func pairOf(a, b byte) int { return int(lower[a]&63)<<6 | int(lower[b]&63) }

// in notes the rules that s can concern.
func (n *needles) in(s string, concerned []bool) {
	clear(concerned)
	for _, k := range n.always {
		concerned[k] = true
	}
	if len(n.slow) > 0 {
		low := strings.ToLower(s)
		for _, w := range n.slow {
			concerned[w.rule] = concerned[w.rule] || strings.Contains(low, w.word)
		}
	}
	pair := 0
	for i := range len(s) {
		pair = pair<<6&(1<<12-1) | int(lower[s[i]]&63)
		list := n.lists[pair]
		if list == 0 {
			continue
		}
		for k := range n.words[list-1] {
			w := &n.words[list-1][k]
			from := i - 1 - w.at
			if from >= 0 && from+len(w.word) <= len(s) && !concerned[w.rule] && foldsTo(s[from:], w.word) {
				concerned[w.rule] = true
			}
		}
	}
}

// foldsTo reports whether s begins with a word of ASCII in lower case, whatever the
// case in s.
func foldsTo(s, word string) bool {
	for i := range len(word) {
		if c := s[i]; c != word[i] && !('A' <= c && c <= 'Z' && c|0x20 == word[i]) {
			return false
		}
	}
	return true
}
