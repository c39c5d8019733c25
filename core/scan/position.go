package scan

import "sort"

// position is the tier of a hard find at s[start:end] of a text: soft when it is
// quoted, exemplified or the object of a detecting verb in its sentence.
func (r *reading) position(text, start, end int) Tier {
	t := &r.texts[text]
	if t.example || quoted(t.s, start, end) || r.introduced(t, start) {
		return Soft
	}
	return Hard
}

// introduced reports whether the sentence, before the raw byte, has a word that
// detects or exemplifies.
func (r *reading) introduced(t *text, start int) bool {
	v := &r.scanner.words.named
	tokens := r.tokens[t.words.start:t.words.end]
	sentences := r.sentences[t.sentences.start:t.sentences.end]
	k := sort.Search(len(sentences), func(i int) bool { return int(sentences[i].start) > start }) - 1
	if k < 0 {
		return false
	}
	from := int(sentences[k].first) - t.words.start
	n := sort.Search(len(tokens), func(i int) bool { return int(tokens[i].start) >= start })
	for i := n - 1; i >= from && i >= n-24; i-- {
		r.spend(1)
		if tokens[i].means.any(v.detects) || tokens[i].means.any(v.example) {
			return true
		}
	}
	return false
}

// quoteReach is how far around a phrase its quotation marks are looked for, in bytes.
const quoteReach = 240

// quoted reports whether s[start:end] stands in quotation marks, within one line.
func quoted(s string, start, end int) bool {
	if start == 0 || end >= len(s) {
		return false
	}
	before, after := s[max(0, start-quoteReach):start], s[end:min(len(s), end+quoteReach)]
	for i := len(before) - 1; i >= 0; i-- {
		if before[i] == '\n' {
			before = before[i+1:]
			break
		}
	}
	for i := range len(after) {
		if after[i] == '\n' {
			after = after[:i]
			break
		}
	}
	return inMarks(before, after, '"') || inMarks(before, after, '`') || inMarks(before, after, '\'') || inPair(before, after)
}

// inMarks reports whether an odd number of marks stands before and one after.
func inMarks(before, after string, mark byte) bool {
	odd := false
	for i := range len(before) {
		if before[i] != mark {
			continue
		}
		if mark == '\'' && i > 0 && isWord[lower[before[i-1]]] && i+1 < len(before) && isWord[lower[before[i+1]]] {
			continue // an apostrophe
		}
		odd = !odd
	}
	if !odd {
		return false
	}
	for i := range len(after) {
		if after[i] == mark && (mark != '\'' || i+1 == len(after) || !isWord[lower[after[i+1]]]) {
			return true
		}
	}
	return false
}

// pairs are quotation marks that open and close differently.
var pairs = map[rune]rune{'“': '”', '„': '“', '«': '»', '»': '«', '「': '」', '『': '』', '‘': '’', '‹': '›'}

func inPair(before, after string) bool {
	var closing rune
	for _, c := range before {
		if c < 0x80 {
			continue
		}
		if c == closing {
			closing = 0
		} else if close, ok := pairs[c]; ok && closing == 0 {
			closing = close
		}
	}
	if closing == 0 {
		return false
	}
	for _, c := range after {
		if c == closing {
			return true
		}
	}
	return false
}
