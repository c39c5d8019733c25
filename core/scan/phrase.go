package scan

import "math/bits"

// vocabulary are the meanings that the program itself asks for.
type vocabulary struct {
	detects, example, insists, rotated, reversed, machine, call, peer, pure, convo, think mask
}

func (l *lexicon) vocabulary() vocabulary {
	return vocabulary{
		detects:  l.bitOf("detect"),
		example:  l.bitOf("example"),
		insists:  l.bitOf("insist"),
		rotated:  l.bitOf("rotated"),
		reversed: l.bitOf("reversed"),
		machine:  l.bitOf("machine"),
		call:     l.bitOf("call"),
		peer:     l.bitOf("peer"),
		pure:     l.bitOf("pure"),
		convo:    l.bitOf("convo"),
		think:    l.bitOf("think"),
	}
}

func checkPhrases(r *reading) {
	r.applyRules("phrase.injection")
	r.checkTags()
}

func checkDirectives(r *reading) { r.applyRules("directive.imperative") }

// applyRules looks for the phrases of one check in every text.
func (r *reading) applyRules(id string) {
	set := r.scanner.words.checks[id]
	if set == nil {
		return
	}
	for i := range r.texts {
		t := &r.texts[i]
		if t.words.end == t.words.start {
			continue
		}
		tokens := r.tokens[t.words.start:t.words.end]
		if len(set.across) > 0 {
			var all mask
			for k := t.sentences.start; k < t.sentences.end; k++ {
				all = all.or(r.sentences[k].means)
			}
			for _, a := range set.across {
				r.try(a.rule, i, tokens, &all)
			}
		}
		for k := t.sentences.start; k < t.sentences.end; k++ {
			s := &r.sentences[k]
			end := t.words.end
			if k+1 < t.sentences.end {
				end = int(r.sentences[k+1].first)
			}
			r.rulesIn(set, i, tokens[int(s.first)-t.words.start:end-t.words.start], &s.means)
		}
	}
}

// rulesIn applies the rules whose meanings all stand in one sentence.
func (r *reading) rulesIn(set *ruleSet, text int, tokens []token, means *mask) {
	for w := range means {
		for word := means[w] & set.anchors[w]; word != 0; word &= word - 1 {
			first := 64*w + bits.TrailingZeros64(word)
			for k := range set.byAnchor[first] {
				if a := &set.byAnchor[first][k]; means.first(&a.by) == first {
					r.try(a.rule, text, tokens, means)
				}
			}
		}
	}
}

// try looks for a rule in tokens if their meanings allow it.
func (r *reading) try(rule int32, text int, tokens []token, means *mask) {
	u := &r.scanner.words.rules[rule]
	r.spend(1)
	if u.possible(means) && (!u.names || r.texts[text].named) {
		u.find(tokens, r.spend, func(m match) { r.phrase(u, text, tokens, m) })
	}
}

// phrase notes a match of a rule, unless what the tool is about, or what stands
// before it, says otherwise.
func (r *reading) phrase(u *rule, text int, tokens []token, m match) {
	v := &r.scanner.words.named
	at := int(tokens[m.first].start)
	if !u.off.none() && r.topic(text, at).any(u.off) || u.later && r.opens(text, at) || u.whole && !r.describes(text) || u.param && !r.explains(text) {
		return
	}
	tier := u.tier
	if r.texts[text].example {
		tier = Soft
	}
	first := tokens[m.first]
	insists := false
	for i := m.first - 1; i >= 0 && first.index-tokens[i].index <= 12; i-- {
		if first.index-tokens[i].index <= before && tokens[i].end <= first.start {
			if tokens[i].means.meets(&v.insists) {
				insists = true // "do not forget to" negates nothing
			} else if tokens[i].means.meets(&u.unless) && !insists {
				return
			}
		}
		if tokens[i].means.meets(&v.detects) || tokens[i].means.meets(&v.example) {
			tier = Soft
		}
	}
	for i := m.first; i < m.last; i++ {
		if u.window > 0 && u.tier == Soft && i > m.first && tokens[i].means.meets(&u.unless) {
			return // in any order, so that a negation stands between as well as before
		}
		if tokens[i].means.meets(&v.detects) || tokens[i].means.meets(&v.example) {
			tier = Soft
		}
	}
	start, end := int(first.start), int(first.end)
	for i := m.first; i <= m.last; i++ {
		end = max(end, int(tokens[i].end))
	}
	if tier == Hard && quoted(r.texts[text].s, start, end) {
		tier = Soft
	}
	r.hit(tier, text, start, end)
	r.hits[len(r.hits)-1].rule = u.id
}

// opening is how many words of a description say what the tool is.
const opening = 14

// topic is what a text is about: what the name of the tool means and the opening
// words of its description, unless the match stands in those, and the name of the
// parameter that the text describes.
func (r *reading) topic(text, at int) mask {
	if r.texts[text].place < 0 {
		return mask{} // decoded
	}
	if r.about == nil {
		r.about = &[2]mask{}
		for i := range r.texts {
			if r.texts[i].field == fieldName {
				r.about[0] = r.about[0].or(r.meant(i, opening))
			} else if r.describes(i) {
				r.about[1] = r.about[1].or(r.meant(i, opening))
			}
		}
	}
	about := r.about[0]
	if !r.opens(text, at) {
		about = about.or(r.about[1])
	}
	up := r.places[r.texts[text].place].up
	for i := text - 1; i >= 0 && i > text-nearby; i-- {
		if r.spend(1); r.texts[i].named && r.texts[i].place == up {
			return about.or(r.meant(i, opening))
		}
	}
	return about
}

// nearby is how far before a description the name of its parameter is looked for,
// in texts.
const nearby = 16

// meant is what the first words of a text mean, within its first sentence.
func (r *reading) meant(text, words int) (m mask) {
	t := &r.texts[text]
	for _, k := range r.tokens[t.words.start:t.words.end] {
		if r.spend(1); k.index > int32(words) || r.describes(text) && !r.opens(text, int(k.start)) {
			break
		}
		m = m.or(k.means)
	}
	return m
}

// describes reports whether a text is the description of the whole tool.
func (r *reading) describes(text int) bool {
	t := &r.texts[text]
	return t.place >= 0 && t.field == fieldDescription && !t.named && r.places[t.place].up < 0
}

// explains reports whether a text is the description of a part of a schema.
func (r *reading) explains(text int) bool {
	t := &r.texts[text]
	return t.place >= 0 && t.field == fieldDescription && !t.named && r.places[t.place].up >= 0
}

// opens reports whether the raw byte stands in the sentence that says what the tool
// is: the first one of its description.
func (r *reading) opens(text, at int) bool {
	if !r.describes(text) {
		return false
	}
	sentences := r.sentences[r.texts[text].sentences.start:r.texts[text].sentences.end]
	if len(sentences) == 0 || sentences[0].start > 0 { // nothing in the first one has a meaning
		return false
	}
	return len(sentences) == 1 || at < int(sentences[1].start)
}
