package delta

import (
	"cmp"
	"slices"
	"strconv"
)

// MaxKept is how many signals a stored hold keeps.
const MaxKept = 16

// Merge puts the signals of several comparisons into the one order in which they
// are shown, none twice: what could not be compared, hints by name, schema, output,
// fields, and after them rules that are not of this package; then by path, then by
// reason.
func Merge(lists ...[]Signal) []Signal {
	all := slices.Concat(lists...)
	slices.SortFunc(all, compareSignals)
	return slices.Compact(all)
}

func compareSignals(a, b Signal) int {
	return cmp.Or(
		cmp.Compare(rank(a.Rule), rank(b.Rule)),
		cmp.Compare(a.Path, b.Path), // hints have none: they come by name
		cmp.Compare(a.Reason, b.Reason),
		cmp.Compare(a.Old, b.Old),
		cmp.Compare(a.New, b.New),
		cmp.Compare(a.Rule, b.Rule),
	)
}

// rank is where a rule stands in the order; both hint rules stand in one place.
func rank(r Rule) int {
	switch r {
	case Unavailable:
		return 0
	case HintChange, HintSaferFlip:
		return 1
	case SchemaShape:
		return 2
	case OutputSchema:
		return 3
	case Field:
		return 4
	}
	return 5
}

// Compact prints signals, which are in order, as at most limit lines so that every
// rule is still seen: each rule has one slot, the others go to the signals in
// order, and where a rule is cut its last slot reads "<RULE>:more:+<n>". limit must
// not be less than the number of rules.
func Compact(signals []Signal, limit int) []string {
	slots, left := map[Rule]int{}, limit
	for _, s := range signals {
		if slots[s.Rule] == 0 {
			slots[s.Rule] = 1
			left--
		}
	}
	first := map[Rule]bool{}
	for _, s := range signals {
		if !first[s.Rule] {
			first[s.Rule] = true
		} else if left > 0 {
			slots[s.Rule]++
			left--
		}
	}
	count := map[Rule]int{}
	for _, s := range signals {
		count[s.Rule]++
	}
	var lines []string
	for _, s := range signals {
		switch cut := count[s.Rule] > slots[s.Rule]; {
		case !first[s.Rule]: // the rule's slots are used up
		case cut && slots[s.Rule] == 1:
			lines = append(lines, string(s.Rule)+":more:+"+strconv.Itoa(count[s.Rule]))
			first[s.Rule] = false
		default:
			lines = append(lines, s.String())
			slots[s.Rule]--
			count[s.Rule]--
		}
	}
	return lines
}
