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

// phrase notes a match of a rule, unless what stands before it says otherwise.
func (r *reading) phrase(u *rule, text int, tokens []token, m match) {
	v := &r.scanner.words.named
	tier := u.tier
	if r.texts[text].example {
		tier = Soft
	}
	first := tokens[m.first]
	insists := false
	for i := m.first - 1; i >= 0 && first.index-tokens[i].index <= 12; i-- {
		if first.index-tokens[i].index <= before && tokens[i].end <= first.start {
			if tokens[i].means.any(v.insists) {
				insists = true // "do not forget to" negates nothing
			} else if tokens[i].means.any(u.unless) && !insists {
				return
			}
		}
		if tokens[i].means.any(v.detects) || tokens[i].means.any(v.example) {
			tier = Soft
		}
	}
	for i := m.first; i < m.last; i++ {
		if tokens[i].means.any(v.detects) || tokens[i].means.any(v.example) {
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
