package delta

import (
	"math/big"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// wrongBound says what is wrong with the value of a bound.
func wrongBound(key keyword, v contract.Value) string {
	switch key {
	case kwUniqueItems:
		if v.Kind() != contract.Bool {
			return " has to be true or false"
		}
	case kwExclusiveMinimum, kwExclusiveMaximum:
		if v.Kind() != contract.Number && v.Kind() != contract.Bool {
			return " has to be a number, or in draft-04 true or false"
		}
	case kwMinimum, kwMaximum:
		if v.Kind() != contract.Number {
			return " has to be a number"
		}
	case kwMultipleOf:
		if v.Kind() != contract.Number || v.Text() == "0" || v.Text()[0] == '-' {
			return " has to be a number above 0"
		}
	default:
		if v.Kind() != contract.Number || v.Text()[0] == '-' || !isInteger(v) {
			return " has to be a count"
		}
	}
	return ""
}

// saysNothing reports whether a bound admits everything.
func saysNothing(key keyword, v contract.Value) bool {
	switch key {
	case kwUniqueItems:
		return !v.Bool()
	case kwMinLength, kwMinItems, kwMinProperties:
		return v.Text() == "0"
	default:
		return false
	}
}

// isInteger reports whether a number is whole: its canonical spelling has no
// negative power of ten then.
func isInteger(v contract.Value) bool { return !strings.Contains(v.Text(), "e-") }

// limit is one end of the numbers that a place admits.
type limit struct {
	value     contract.Value
	exclusive bool
	given     bool
}

// lower and upper give the tighter one of the inclusive and the exclusive bound.
func (p *place) lower() limit { return p.tighter(kwMinimum, kwExclusiveMinimum, 1) }
func (p *place) upper() limit { return p.tighter(kwMaximum, kwExclusiveMaximum, -1) }

// tighter gives the bound that is further in a direction.
func (p *place) tighter(inclusive, exclusive keyword, direction int) limit {
	var l limit
	if v, ok := p.word(inclusive); ok {
		l = limit{v, false, true}
	}
	if v, ok := p.word(exclusive); ok && (!l.given || direction*contract.CompareNumbers(v, l.value) >= 0) {
		l = limit{v, true, true}
	}
	return l
}

// looser reports whether the live bound admits a number that the approved one does
// not. direction is 1 for lower bounds. Where only integers are admitted, what lies
// between them does not count.
func looser(approved, live limit, direction int, integers bool) bool {
	switch {
	case !approved.given:
		return false
	case !live.given:
		return true
	}
	order := direction * contract.CompareNumbers(live.value, approved.value)
	if order > 0 || order == 0 && (live.exclusive || !approved.exclusive) {
		return false
	}
	if !integers {
		return true
	}
	l, okL := outermost(live, direction)
	a, okA := outermost(approved, direction)
	return !okL || !okA || int(direction)*l.Cmp(a) < 0
}

// most is how many digits, written or by power of ten, arithmetic is done with.
// Beyond it bounds are compared by magnitude alone.
const most = 2000

// rational gives the number, unless it is too long to calculate with.
func rational(v contract.Value) (*big.Rat, bool) {
	digits, power, _ := strings.Cut(v.Text(), "e")
	if len(digits) > most || len(strings.TrimPrefix(power, "-")) > 4 {
		return nil, false
	}
	if exp, ok := new(big.Int).SetString("0"+strings.TrimPrefix(power, "-"), 10); ok && exp.Cmp(big.NewInt(most)) > 0 {
		return nil, false
	}
	return new(big.Rat).SetString(v.Text())
}

// outermost gives the integer next to the bound that it still admits.
func outermost(l limit, direction int) (*big.Int, bool) {
	r, ok := rational(l.value)
	if !ok {
		return nil, false
	}
	n := new(big.Int)
	n.Div(r.Num(), r.Denom()) // rounds down: the denominator is above 0
	one := big.NewInt(1)
	switch whole := r.IsInt(); {
	case whole && l.exclusive:
		n.Add(n, big.NewInt(int64(direction)))
	case !whole && direction > 0:
		n.Add(n, one)
	}
	return n, true
}

// isMultiple reports whether v is a whole multiple of unit, which is above 0. Where
// they are too long to calculate with it says no.
func isMultiple(v, unit contract.Value) bool {
	if v.Text() == unit.Text() || v.Text() == "0" {
		return true
	}
	x, okX := rational(v)
	y, okY := rational(unit)
	return okX && okY && new(big.Rat).Quo(x, y).IsInt()
}

// boundsLoosened gives the bounds of the approved place that admit more now.
func boundsLoosened(a, l *place, integers bool) []keyword {
	var loosened []keyword
	add := func(is bool, k keyword) {
		if is {
			loosened = append(loosened, k)
		}
	}
	lower, upper := a.lower(), a.upper()
	add(looser(lower, l.lower(), 1, integers), pick(lower.exclusive, kwExclusiveMinimum, kwMinimum))
	add(looser(upper, l.upper(), -1, integers), pick(upper.exclusive, kwExclusiveMaximum, kwMaximum))
	if unit, ok := a.word(kwMultipleOf); ok {
		step, has := l.word(kwMultipleOf)
		add(!(has && isMultiple(step, unit)) && !(integers && isMultiple(one(), unit)), kwMultipleOf)
	}
	for _, k := range [...]keyword{kwMinLength, kwMinItems, kwMinProperties} {
		add(countLooser(a, l, k, 1), k)
	}
	for _, k := range [...]keyword{kwMaxLength, kwMaxItems, kwMaxProperties} {
		add(countLooser(a, l, k, -1), k)
	}
	_, was := a.word(kwUniqueItems)
	_, is := l.word(kwUniqueItems)
	add(was && !is, kwUniqueItems)
	return loosened
}

func pick(first bool, a, b keyword) keyword {
	if first {
		return a
	}
	return b
}

// countLooser compares a count; direction is 1 where more is tighter.
func countLooser(a, l *place, k keyword, direction int) bool {
	was, ok := a.word(k)
	is, still := l.word(k)
	return ok && (!still || direction*contract.CompareNumbers(is, was) < 0)
}

// containsLoosened gives what of contains and its counts admits more now.
func containsLoosened(a, l *place) []keyword {
	was, is := a.part(kwContains), l.part(kwContains)
	if was == nil {
		return nil
	}
	_, capped := a.word(kwMaxContains)
	if is == nil {
		if none := a.minContains(); none.Text() == "0" && !capped {
			return nil // it admitted everything
		}
		return []keyword{kwContains}
	}
	var loosened []keyword
	if contract.CompareNumbers(l.minContains(), a.minContains()) < 0 {
		loosened = append(loosened, kwMinContains)
	}
	if countLooser(a, l, kwMaxContains, -1) {
		loosened = append(loosened, kwMaxContains)
	}
	if capped && was.class != is.class { // fewer that count is more that is admitted
		loosened = append(loosened, kwContains)
	}
	return loosened
}
