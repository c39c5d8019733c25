package scan

import (
	"strings"
	"unicode/utf8"
)

// token is a word, or several, that means something.
type token struct {
	means      mask
	index      int32 // of its last word among the words of the text
	start, end int32 // raw bytes
}

// sentence is a run of tokens that belong together.
type sentence struct {
	first int32 // index of its first token
	start int32 // raw byte
	means mask
}

// tokenizer is the state of cutting one text.
type tokenizer struct {
	r        *reading
	lex      *lexicon
	raws     string  // the text itself
	begun    []begun // phrases that may go on
	hashes   [48]uint64
	singles  int // one-letter words in a row
	spacedAt int // where they began
	lastHash uint64
	lastEnd  int
	lastHit  bool
	count    int32
	first    int32 // token of the current sentence
	startRaw int32
	means    mask
}

// begun is a phrase of which the first words were read.
type begun struct {
	hash  uint64
	start int32
}

// longestWord is how many bytes of a word are compared.
const longestWord = 48

// cut reads one text into tokens.
func (r *reading) cut(t *text) {
	r.spend(len(t.s) + 1)
	t.flags = r.normalise(t.s)
	t.words.start, t.sentences.start = len(r.tokens), len(r.sentences)
	z := &r.tokenizer
	*z = tokenizer{r: r, lex: r.scanner.words, raws: t.s, begun: z.begun[:0], first: int32(len(r.tokens))}
	z.run(r.buffer, t)
	t.words.end, t.sentences.end = len(r.tokens), len(r.sentences)
	t.count = z.count
}

// isWord tells the bytes that words are made of. What is not ASCII in a normalised
// text is a letter.
var isWord = buildIsWord()

func buildIsWord() (t [256]bool) {
	for c := range 256 {
		t[c] = c >= utf8.RuneSelf || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '\''
	}
	return t
}

func (z *tokenizer) run(b []byte, t *text) {
	camel := t.flags&hasUpper != 0 && t.flags&hasHigh == 0 && strings.IndexByte(t.s, ' ') < 0
	for i := 0; i < len(b); {
		c := b[i]
		if isWord[c] && c != '\'' {
			if z.r.scanner.peers.any() && !t.named {
				if end := z.peer(b, i); end > i {
					i = end
					continue
				}
			}
			if end := z.self(b, i); end > i && !t.named && t.field != fieldName {
				z.note("self", i, end)
				i = end
				continue
			}
			i = z.word(b, i, t, camel)
			continue
		}
		i = z.sign(b, i, t)
	}
	z.spaced(b, len(b))
	z.endSentence(len(t.s))
}

// raw is the raw byte of byte i of the buffer.
func (z *tokenizer) raw(i int) int32 {
	if z.r.offsets == nil {
		return int32(i)
	}
	return z.r.offsets[i]
}

// sign reads one byte that belongs to no word, or a link or path that begins there.
func (z *tokenizer) sign(b []byte, i int, t *text) int {
	switch b[i] {
	case '.', '!', '?':
		if b[i] == '.' && startsPath(b, i) {
			return z.path(b, i)
		}
		if i+1 == len(b) || b[i+1] <= ' ' || b[i+1] == '"' || b[i+1] == '<' || b[i+1] == ')' {
			if b[i] != '.' || i < 2 || isWord[b[i-2]] || !isWord[b[i-1]] || i+1 == len(b) { // not after one letter: e.g.
				z.endSentence(int(z.raw(min(i+1, len(b)-1))))
			}
		}
	case '<':
		if end := placeholderEnd(b, i); end > 0 {
			return end
		}
	case '\n':
		if paragraph(b, i+1) {
			z.endSentence(int(z.raw(i)))
		}
	case '/', '~', '$', '%', '\\':
		if b[i] == '\\' && i+1 < len(b) && (b[i+1] == 'n' || b[i+1] == 'r' || b[i+1] == 't') {
			return i + 2 // a newline that was escaped twice
		}
		if startsPath(b, i) {
			return z.path(b, i)
		}
	case '-':
		if i > 0 && i+1 < len(b) && isWord[b[i-1]] && isWord[b[i+1]] {
			return i + 1 // the next word may continue this one
		}
	}
	return i + 1
}

// placeholderEnd is where a value in angle brackets, of one or two words, ends; 0
// when there is none at i. Its words are names and say nothing.
func placeholderEnd(b []byte, i int) int {
	if i > 0 && b[i-1] > ' ' && b[i-1] != '(' {
		return 0
	}
	parts := 0
	for k := i + 1; k < len(b) && k < i+28; k++ {
		switch {
		case b[k] == '>' && k > i+1 && (k+1 == len(b) || b[k+1] != '.'):
			return k + 1
		case b[k] == '_' || b[k] == '-':
			if parts++; parts > 1 {
				return 0
			}
		case !isWord[b[k]]:
			return 0
		}
	}
	return 0
}

// paragraph reports whether an empty line, an item of a list or the entry of a
// parameter, as in "path (str): Where it is", begins at i.
func paragraph(b []byte, i int) bool {
	for i < len(b) && b[i] == ' ' {
		i++
	}
	if i == len(b) || b[i] == '\n' || b[i] == '-' || b[i] == '*' || b[i] == '#' || b[i] == '<' || b[i] == '@' || b[i] == ':' {
		return i < len(b)
	}
	from := i
	for i < len(b) && i-from < longestWord && (isWord[b[i]] || b[i] == '_') {
		i++
	}
	return i > from && i < len(b) && (b[i] == ':' || b[i] == ' ' && i+1 < len(b) && b[i+1] == '(')
}

// endSentence closes the current sentence before the raw byte.
func (z *tokenizer) endSentence(raw int) {
	if int(z.first) < len(z.r.tokens) {
		z.r.sentences = append(z.r.sentences, sentence{first: z.first, start: z.startRaw, means: z.means})
		z.r.seen = z.r.seen.or(z.means)
	}
	z.first, z.startRaw, z.means = int32(len(z.r.tokens)), int32(raw), mask{}
	z.begun = z.begun[:0]
	z.count += 2 // words of two sentences are further apart
}

// emit adds a token.
func (z *tokenizer) emit(m mask, start, end int32) {
	z.means.add(&m)
	z.r.tokens = append(z.r.tokens, token{means: m, index: z.count, start: start, end: end})
}

// word reads the word at i.
func (z *tokenizer) word(b []byte, i int, t *text, camel bool) int {
	start := i
	h := uint64(hashSeed)
	n, mixed := 0, false
	for i < len(b) && isWord[b[i]] {
		c := b[i]
		if c == '\'' {
			if i+1 == len(b) || !isWord[b[i+1]] || elided(b[start:i]) {
				break
			}
			i++
			continue
		}
		if camel && i > start && 'A' <= t.s[i] && t.s[i] <= 'Z' && !('A' <= t.s[i-1] && t.s[i-1] <= 'Z') {
			break
		}
		mixed = mixed || c >= utf8.RuneSelf || c <= '9'
		h = hashByte(h, c)
		n++
		if n < longestWord {
			z.hashes[n] = h
		}
		i++
	}
	if next, ok := z.address(b, start, i, h); ok {
		return next
	}
	z.count++
	z.meaning(b, start, i, n, h, mixed)
	return i
}

// elided reports whether an apostrophe behind w parts words, as in French and
// Italian, rather than standing inside of one.
func elided(w []byte) bool {
	return len(w) <= 2 || len(w) <= 5 && w[len(w)-1] == 'l' && w[len(w)-2] == 'l'
}

// meaning looks a word up: whole, as the end of a phrase, by its beginning, with
// what looks alike made plain, joined to the word before a hyphen.
func (z *tokenizer) meaning(b []byte, start, end, n int, h uint64, mixed bool) {
	z.single(b, start, end, n)
	if b[start] >= utf8.RuneSelf {
		if c, _ := utf8.DecodeRune(b[start:end]); joins(c) {
			if e := z.lex.find(h); e != nil && e.kind&wholeWord != 0 {
				z.emit(e.means, z.raw(start), z.end(end))
				return
			}
			z.inside(b, start, end)
			return
		}
	}
	hit := z.look(h, n, b[start], start, end)
	if mixed {
		if k, m, ok := foldWord(b[start:end]); ok && z.look(k, m, 0, start, end) {
			hit = true
		}
	}
	if !hit && !z.lastHit && start > 0 && b[start-1] == '-' && z.lastEnd == start-1 {
		k := z.lastHash
		for _, c := range b[start:end] {
			k = hashByte(k, c)
		}
		if e := z.lex.find(k); e != nil && e.kind&wholeWord != 0 {
			z.emit(e.means, z.raw(start), z.end(end))
		}
	}
	if !hit && !mixed && n >= fewestJoined && n < longestWord {
		at := make([]int, 0, longestWord)
		for i := start; i < end; i++ {
			at = append(at, i)
		}
		z.spelled(b[start:end], at)
	}
	z.lastHash, z.lastEnd, z.lastHit = h, end, hit
}

// fewestJoined is how many letters without a meaning are taken for words that were
// written without spaces.
const fewestJoined = 18

func (z *tokenizer) end(i int) int32 {
	if z.r.offsets == nil {
		return int32(i)
	}
	return z.r.offsets[i]
}

// look finds the entries of one word, given by its hash, and reports whether there
// was one.
func (z *tokenizer) look(h uint64, n int, first byte, start, end int) bool {
	var means mask
	from := z.raw(start)
	e := z.lex.find(h)
	if e != nil && e.kind&wholeWord != 0 {
		means = e.means
	}
	if lengths := z.lex.prefixes[first]; lengths != 0 && first != 0 {
		for k := min(n, longestWord-1); k > 1; k-- {
			if lengths&(1<<k) == 0 {
				continue
			}
			if p := z.lex.find(z.hashes[k]); p != nil && p.kind&wordPrefix != 0 {
				means = means.or(p.means)
				break
			}
		}
	}
	phrases := z.begun[:0]
	open := len(z.begun)
	for _, p := range z.begun[:open] {
		k := hashNext(p.hash, h)
		f := z.lex.find(k)
		if f == nil {
			continue
		}
		if f.kind&wholeWord != 0 {
			if p.start < from {
				z.emit(f.means, p.start, z.end(end))
			}
		}
		if f.kind&goesOn != 0 {
			phrases = append(phrases, begun{k, p.start})
		}
	}
	z.begun = phrases
	if e != nil && e.kind&goesOn != 0 {
		z.begun = append(z.begun, begun{h, from})
	}
	if !means.none() {
		z.emit(means, from, z.end(end))
	}
	return !means.none() || len(z.begun) > 0
}

// inside finds words anywhere in a run of letters, the longest first.
func (z *tokenizer) inside(b []byte, start, end int) {
	skipped := 0
	for i := start; i < end; {
		if !utf8.RuneStart(b[i]) {
			i++
			continue
		}
		lengths, h, longest := z.lex.prefixes[b[i]], uint64(hashSeed), 0
		var means mask
		if lengths != 0 {
			for k := 1; i+k <= end && k < longestWord && lengths>>k != 0; k++ {
				h = hashByte(h, b[i+k-1])
				if lengths&(1<<k) == 0 {
					continue
				}
				if e := z.lex.find(h); e != nil && e.kind&anywhere != 0 {
					longest, means = k, e.means
				}
			}
		}
		if longest > 0 {
			z.count++
			z.emit(means, z.raw(i), z.end(i+longest))
			i += longest
			continue
		}
		if skipped++; skipped%3 == 0 {
			z.count++
		}
		i++
	}
}

// foldWord gives the hash of a word with what looks like a Latin letter made one,
// when that changes it.
func foldWord(w []byte) (h uint64, n int, changed bool) {
	h = hashSeed
	letters := 0
	for i := 0; i < len(w); {
		c, size := utf8.DecodeRune(w[i:])
		i += size
		if 'a' <= c && c <= 'z' {
			letters++
			h = hashByte(h, byte(c))
			n++
			continue
		}
		if c == '\'' {
			continue
		}
		like := confusable(c)
		if like == 0 {
			return 0, 0, false
		}
		if c > '9' {
			letters++
		}
		h = hashByte(h, like)
		n++
		changed = true
	}
	return h, n, changed && letters > 0
}
