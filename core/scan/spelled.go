package scan

import "unicode/utf8"

// single watches for words that were spelled letter by letter.
func (z *tokenizer) single(b []byte, start, end, n int) {
	one := n == 1 || b[start] >= utf8.RuneSelf && end-start <= 4 && utf8.RuneCount(b[start:end]) == 1
	if !one {
		z.spaced(b, start)
		return
	}
	if z.singles == 0 {
		z.spacedAt = start
	}
	z.singles++
}

// fewestSpelled is how many one-letter words in a row may spell something.
const fewestSpelled = 5

// spaced ends a run of one-letter words and reads the words they spell. Wider gaps
// than the narrowest part words; without any, words are found inside.
func (z *tokenizer) spaced(b []byte, until int) {
	count, from := z.singles, z.spacedAt
	z.singles = 0
	if count < fewestSpelled {
		return
	}
	var joined []byte
	var at []int
	for i := from; i < until; i++ {
		if isWord[b[i]] && b[i] != '\'' {
			joined, at = append(joined, b[i]), append(at, i)
		}
	}
	z.spelled(joined, at)
}

// spelled finds words in letters that nothing parts; at is where each stands.
func (z *tokenizer) spelled(joined []byte, at []int) {
	for i := 0; i < len(joined); {
		best := 0
		var means mask
		h := uint64(hashSeed)
		for k := 1; i+k <= len(joined) && k < longestWord; k++ {
			h = hashByte(h, joined[i+k-1])
			if e := z.lex.find(h); k > 2 && e != nil && e.kind&wholeWord != 0 && !e.means.none() {
				best, means = k, e.means
			}
		}
		if best == 0 {
			i++
			continue
		}
		z.count++
		z.emit(means, z.raw(at[i]), z.end(at[i+best-1]+1))
		i += best
	}
}
