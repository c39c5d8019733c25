package scan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// rule says which meanings are a phrase when they come together.
type rule struct {
	id     string
	check  string
	tier   Tier
	steps  []step
	needs  []mask // of each step, the meanings that take it in any form
	window int32  // for steps in any order: the words that they may span; 0 when in order
	across bool   // sentences do not end it
	names  bool   // looked for in the names of properties alone
	unless mask   // meanings that, just before it, make it no phrase
	absent mask   // meanings that may stand nowhere in the sentence
	whole  bool   // only in the description of the tool itself
	param  bool   // only in descriptions inside of its schemas
	later  bool   // not in the sentence that says what the tool is
	off    mask   // meanings that the tool is not about
}

// step is one token of a phrase.
type step struct {
	any  mask // has one of these
	base mask // or one of these, and is the plain form of its word, as in an order
	not  mask // and none of these
	gap  int32
}

func (s *step) takes(m *mask) bool {
	return (m.meets(&s.any) || m[0]&baseBit != 0 && m.meets(&s.base)) && !m.meets(&s.not)
}

// baseBit is the meaning "base", which is the first.
const baseBit = 1

// before is how many words before a phrase negate or excuse it.
const before = 5

// readRules reads phrases.txt: one rule a line,
//
//	id check hard|soft [any:WORDS] [across] [names] [later] [whole] [param] [unless:a|b] [absent:a|b] [off:a|b] = step step ...
//
// A step is meanings with | between them; one with &base counts only where the word
// stands in its plain form, as in an order; ! adds meanings that the token must not
// have; <n before a step is how many
// words may stand between it and the step before (5 when it is not said).
func (l *lexicon) readRules(rules string) error {
	var problems []error
	for number, line := range strings.Split(rules, "\n") {
		line, _, _ = strings.Cut(line, "#")
		head, body, ok := strings.Cut(line, " = ")
		if !ok {
			if strings.TrimSpace(line) != "" {
				problems = append(problems, fmt.Errorf("rule in line %d: no \" = \"", number+1))
			}
			continue
		}
		r, err := l.readRule(strings.Fields(head), strings.Fields(body))
		if err != nil {
			problems = append(problems, fmt.Errorf("rule in line %d: %w", number+1, err))
			continue
		}
		set := l.checks[r.check]
		if set == nil {
			set = &ruleSet{}
			l.checks[r.check] = set
		}
		if r.across {
			set.across = append(set.across, anchored{rule: int32(len(l.rules))})
		} else {
			set.anchor(r.rarest(), int32(len(l.rules)))
		}
		l.rules = append(l.rules, r)
	}
	return errors.Join(problems...)
}

// ruleSet are the rules of one check, as indices.
type ruleSet struct {
	anchors  mask // meanings that lead to a rule
	byAnchor [mostMeanings][]anchored
	across   []anchored // those that sentences do not end
}

// anchored is a rule that a meaning leads to, and all meanings that lead to it: it is
// tried for the first of them that a sentence has.
type anchored struct {
	rule int32
	by   mask
}

func (s *ruleSet) anchor(by mask, rule int32) {
	s.anchors = s.anchors.or(by)
	for i := range mostMeanings {
		if by.any(bit(i)) {
			s.byAnchor[i] = append(s.byAnchor[i], anchored{rule, by})
		}
	}
}

// rarest are the meanings of the step that the fewest can take.
func (r *rule) rarest() mask {
	least := r.needs[0]
	for _, n := range r.needs[1:] {
		if n.count() < least.count() {
			least = n
		}
	}
	return least
}

func (l *lexicon) readRule(head, body []string) (rule, error) {
	if len(head) < 3 || len(body) == 0 {
		return rule{}, errors.New("it needs an id, a check, a tier and a step")
	}
	r := rule{id: head[0], check: head[1]}
	switch head[2] {
	case "hard":
	case "soft":
		r.tier = Soft
	default:
		return rule{}, fmt.Errorf("%q is no tier", head[2])
	}
	for _, o := range head[3:] {
		if err := l.readOption(&r, o); err != nil {
			return rule{}, err
		}
	}
	gap := int32(5)
	for _, b := range body {
		if n, ok := strings.CutPrefix(b, "<"); ok {
			k, err := strconv.ParseInt(n, 10, 16)
			if err != nil {
				return rule{}, err
			}
			gap = int32(k)
			continue
		}
		s, err := l.readStep(b)
		if err != nil {
			return rule{}, err
		}
		s.gap, gap = gap, 5
		r.steps, r.needs = append(r.steps, s), append(r.needs, s.any.or(s.base))
	}
	if len(r.steps) > maxSteps {
		return r, fmt.Errorf("it has more than %d steps", maxSteps)
	}
	return r, nil
}

func (l *lexicon) readOption(r *rule, o string) error {
	name, value, _ := strings.Cut(o, ":")
	var err error
	switch name {
	case "any":
		var k int64
		k, err = strconv.ParseInt(value, 10, 16)
		r.window = int32(k)
	case "names":
		r.names = true
	case "across":
		r.across = true
	case "later":
		r.later = true
	case "whole":
		r.whole = true
	case "param":
		r.param = true
	case "off":
		r.off, err = l.set(value)
	case "unless":
		r.unless, err = l.set(value)
	case "absent":
		r.absent, err = l.set(value)
	default:
		err = fmt.Errorf("%q is no option", name)
	}
	return err
}

func (l *lexicon) readStep(b string) (s step, err error) {
	b, not, _ := strings.Cut(b, "!")
	for name := range strings.SplitSeq(b, "|") {
		name, base := strings.CutSuffix(name, "&base")
		m, err := l.meaning(name, false)
		if err != nil {
			return s, err
		}
		if base {
			s.base = s.base.or(m)
		} else {
			s.any = s.any.or(m)
		}
	}
	if not != "" {
		s.not, err = l.set(not)
	}
	return s, err
}

func (l *lexicon) set(names string) (m mask, err error) {
	for name := range strings.SplitSeq(names, "|") {
		n, err := l.meaning(name, false)
		if err != nil {
			return m, err
		}
		m = m.or(n)
	}
	return m, nil
}

// possible reports whether all that r needs is among the meanings.
func (r *rule) possible(m *mask) bool {
	for i := range r.needs {
		if !m.meets(&r.needs[i]) {
			return false
		}
	}
	return !m.meets(&r.absent)
}

// match is where a rule was found: tokens, both included.
type match struct{ first, last int }

// find gives every place where r is in tokens, from left to right, without overlap.
// The time is linear in the tokens.
func (r *rule) find(tokens []token, spend func(int), found func(match)) {
	var state [maxSteps]reach
	spend(len(tokens) * len(r.steps))
	if r.window > 0 {
		r.findAny(tokens, found)
		return
	}
	for i := range tokens {
		t := &tokens[i]
		for k := len(r.steps) - 1; k >= 0; k-- {
			if !r.steps[k].takes(&t.means) {
				continue
			}
			if k == 0 {
				state[0] = reach{index: t.index, end: t.end, first: i, set: true}
			} else if p := state[k-1]; p.set && t.index-p.index <= r.steps[k].gap+1 && t.start >= p.end {
				state[k] = reach{index: t.index, end: t.end, first: p.first, set: true}
			} else {
				continue
			}
			if k == len(r.steps)-1 && state[k].set {
				found(match{state[k].first, i})
				state = [maxSteps]reach{}
				break
			}
		}
	}
}

// reach is how far one beginning of a rule came.
type reach struct {
	index int32
	end   int32
	first int
	set   bool
}

// maxSteps is how many steps a rule can have.
const maxSteps = 8

// findAny finds the steps in any order within the window.
func (r *rule) findAny(tokens []token, found func(match)) {
	var last [maxSteps]int // 1 + index of the last token that took the step
	for i := range tokens {
		took := false
		for k := range r.steps {
			// A token takes one step, the one that waits longest for it.
			if r.steps[k].takes(&tokens[i].means) && (!took || last[k] == 0) {
				last[k], took = i+1, true
			}
		}
		if !took {
			continue
		}
		first := i
		for k := range r.steps {
			if last[k] == 0 {
				first = -1
				break
			}
			first = min(first, last[k]-1)
		}
		if first >= 0 && tokens[i].index-tokens[first].index <= r.window {
			found(match{first, i})
			last = [maxSteps]int{}
		}
	}
}
