package scan

import (
	_ "embed"
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strings"
	"unicode/utf8"
)

// mask is a set of meanings.
type mask [8]uint64

func (m mask) any(n mask) bool {
	return m[0]&n[0]|m[1]&n[1]|m[2]&n[2]|m[3]&n[3]|m[4]&n[4]|m[5]&n[5]|m[6]&n[6]|m[7]&n[7] != 0
}
func (m mask) none() bool { return m == mask{} }

func (m mask) or(n mask) mask {
	return mask{m[0] | n[0], m[1] | n[1], m[2] | n[2], m[3] | n[3], m[4] | n[4], m[5] | n[5], m[6] | n[6], m[7] | n[7]}
}

// add gives m the meanings of n, in place.
func (m *mask) add(n *mask) {
	for i := range m {
		m[i] |= n[i]
	}
}

// meets reports, without a copy, whether m and n have a meaning in common.
func (m *mask) meets(n *mask) bool {
	return m[0]&n[0]|m[1]&n[1]|m[2]&n[2]|m[3]&n[3]|m[4]&n[4]|m[5]&n[5]|m[6]&n[6]|m[7]&n[7] != 0
}

// count is how many meanings m has.
func (m mask) count() (n int) {
	for _, word := range m {
		n += bits.OnesCount64(word)
	}
	return n
}

// first is the first of the meanings in n that m has too, past the last when there
// is none.
func (m *mask) first(n *mask) int {
	w := 0
	for w < len(m)-1 && m[w]&n[w] == 0 {
		w++
	}
	return 64*w + bits.TrailingZeros64(m[w]&n[w])
}

func bit(i int) (m mask) { m[i/64] = 1 << (i % 64); return m }

// mostMeanings is how many meanings a mask holds, less one.
const mostMeanings = 64*8 - 1

// lexicon says what words mean, and which meanings together are a phrase.
type lexicon struct {
	wordTable
	meanings map[string]int
	prefixes [256]uint64 // by first byte: lengths in bytes of entries that are prefixes
	rules    []rule
	checks   map[string]*ruleSet // the rules of each check
	named    vocabulary
	commands *regexp.Regexp // what decoded text must not hold
}

// entry is what one word, prefix or beginning of a phrase of several words means.
type entry struct {
	hash  uint64 // never 0
	means mask
	kind  entryKind
}

type entryKind byte

const (
	wholeWord entryKind = 1 << iota
	wordPrefix
	anywhere // in scripts without spaces between words
	goesOn   // more words may follow
)

const (
	hashSeed  = 14695981039346656037
	hashPrime = 1099511628211
)

func hashByte(h uint64, c byte) uint64 { return (h ^ uint64(c)) * hashPrime }

// hashNext is the hash of a phrase with one more word.
func hashNext(h, word uint64) uint64 { return (h*31 ^ word) * hashPrime }

//go:embed lexicon.txt
var lexiconText string

//go:embed phrases.txt
var phrasesText string

// builtIn is the lexicon that is part of the program.
func builtIn() *lexicon { return must(readLexicon(lexiconText, phrasesText)) }

// readLexicon reads the words and the rules. Their form is described at the top of
// each file.
func readLexicon(words, rules string) (*lexicon, error) {
	l := &lexicon{meanings: map[string]int{}, checks: map[string]*ruleSet{}, commands: regexp.MustCompile(commands)}
	if err := errors.Join(l.readWords(words), l.readRules(rules)); err != nil {
		return nil, err
	}
	l.named = l.vocabulary()
	return l, nil
}

// meaning is the mask of a name; a name that is new gets a place only where words
// are read.
func (l *lexicon) meaning(name string, define bool) (mask, error) {
	if i, ok := l.meanings[name]; ok {
		return bit(i), nil
	}
	if !define {
		return mask{}, fmt.Errorf("no word means %q", name)
	}
	i := len(l.meanings)
	if i == mostMeanings {
		return mask{}, fmt.Errorf("%q is one meaning more than %d", name, mostMeanings)
	}
	l.meanings[name] = i
	return bit(i), nil
}

func (l *lexicon) readWords(words string) error {
	for i, name := range []string{"base", "url", "mail", "host", "path", "secretpath", "rotated", "peer", "payee", "self"} {
		l.meanings[name] = i
	}
	for _, w := range rotatedWords {
		l.note(hashWord(rot13(w)), l.bitOf("rotated"), wholeWord)
	}
	var current mask
	var foreign bool // words that English does not inflect
	for number, line := range strings.Split(words, "\n") {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range strings.Fields(line) {
			name, isName := strings.CutSuffix(word, ":")
			if isName {
				m, err := l.meaning(name, true)
				if err != nil {
					return fmt.Errorf("line %d: %w", number+1, err)
				}
				current, foreign = m, name[0] == 'x'
				continue
			}
			if current.none() {
				return fmt.Errorf("line %d: %q stands before the first meaning", number+1, word)
			}
			l.addWord(word, current, foreign)
		}
	}
	return nil
}

// addWord adds one entry of the file in all its forms.
func (l *lexicon) addWord(word string, m mask, foreign bool) {
	kind := wholeWord
	stem, isPrefix := strings.CutSuffix(word, "*")
	if isPrefix {
		kind = wordPrefix
	}
	exact := foreign || strings.HasPrefix(stem, "=")
	parts := strings.Split(plainWords(strings.TrimPrefix(stem, "=")), "_")
	if len(parts) == 1 {
		parts[0] = strings.TrimSuffix(parts[0], "~")
	}
	if joined(parts[0]) && strings.HasPrefix(stem, "=") {
		l.note(hashWord(parts[0]), m, wholeWord)
		return
	}
	if joined(parts[0]) {
		for _, p := range parts {
			l.note(hashWord(p), m, anywhere)
			l.prefixes[p[0]] |= 1 << min(len(p), 63)
		}
		return
	}
	if len(parts) > 1 {
		l.addPhrase(parts, m)
		return
	}
	if isPrefix {
		l.note(hashWord(parts[0]), m, kind)
		l.prefixes[parts[0][0]] |= 1 << min(len(parts[0]), 63)
		return
	}
	base := l.bitOf("base")
	if exact || len(parts[0]) < 3 {
		if !inflected(parts[0]) {
			m = m.or(base)
		}
		l.note(hashWord(parts[0]), m, kind)
		return
	}
	for i, form := range forms(parts[0]) {
		if i == 0 {
			l.note(hashWord(form), m.or(base), kind)
		} else {
			l.note(hashWord(form), m, kind)
		}
	}
}

func (l *lexicon) bitOf(name string) mask { return bit(l.meanings[name]) }

// addPhrase adds words that mean something together. A word that ends in ~ stands
// for all its forms; the phrase is a base where all its words are.
func (l *lexicon) addPhrase(parts []string, m mask) {
	type head struct {
		hash uint64
		base bool
	}
	heads := []head{{base: true}}
	for i, p := range parts {
		words := []string{p}
		if stem, ok := strings.CutSuffix(p, "~"); ok {
			words = forms(stem)
		}
		var next []head
		for _, h := range heads {
			for k, w := range words {
				n := head{hashWord(w), h.base && k == 0}
				if i > 0 {
					n.hash = hashNext(h.hash, n.hash)
				}
				next = append(next, n)
			}
		}
		for _, n := range next {
			switch {
			case i < len(parts)-1:
				l.note(n.hash, mask{}, goesOn)
			case n.base:
				l.note(n.hash, m.or(l.bitOf("base")), wholeWord)
			default:
				l.note(n.hash, m, wholeWord)
			}
		}
		heads = next
	}
}

// inflected reports whether a word looks like no base.
func inflected(w string) bool {
	return len(w) > 3 && (strings.HasSuffix(w, "ed") || strings.HasSuffix(w, "ing") || strings.HasSuffix(w, "s"))
}

// forms are a word of English and its regular inflections, the word first.
func forms(w string) []string {
	all := []string{w}
	last := w[len(w)-1]
	vowel := strings.IndexByte("aeiou", last) >= 0
	switch {
	case last == 'e':
		return append(all, w+"s", w+"d", w[:len(w)-1]+"ing")
	case last == 'y' && len(w) > 2 && strings.IndexByte("aeiou", w[len(w)-2]) < 0:
		return append(all, w[:len(w)-1]+"ies", w[:len(w)-1]+"ied", w+"ing")
	case last == 's' || last == 'x' || last == 'z' || strings.HasSuffix(w, "ch") || strings.HasSuffix(w, "sh"):
		all = append(all, w+"es")
	default:
		all = append(all, w+"s")
	}
	all = append(all, w+"ed", w+"ing")
	if n := len(w); !vowel && n > 2 && strings.IndexByte("wxy", last) < 0 && strings.IndexByte("aeiou", w[n-2]) >= 0 {
		all = append(all, w+string(last)+"ed", w+string(last)+"ing")
	}
	return all
}

func hashWord(w string) uint64 {
	h := uint64(hashSeed)
	for i := range len(w) {
		h = hashByte(h, w[i])
	}
	return h
}

// plainWords is an entry in the form in which texts are compared.
func plainWords(s string) string {
	var b []byte
	for i, c := range s {
		if c < utf8.RuneSelf {
			if c != '\'' {
				b = append(b, lower[byte(c)])
			}
			continue
		}
		b = appendPlain(b, c, s[i:i+utf8.RuneLen(c)])
	}
	return string(b)
}

// joined reports whether words of the script that w begins in are found anywhere
// in a run of letters: the script writes no spaces, or joins particles to words.
func joined(w string) bool {
	c, _ := utf8.DecodeRuneInString(w)
	return joins(c)
}

func joins(c rune) bool {
	return c >= 0x590 && c <= 0x1FFF || c >= 0x3040
}
