package call

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// decimal is a number as digits × 10^exponent, neither beginning nor ending with a
// zero; zero has no digits. Two numbers are equal when their decimals are: nothing is
// rounded, and no exact fraction has to be computed.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// decimalOf reads a JSON number that decode has let through.
func decimalOf(n json.Number) (d decimal) {
	text := string(n)
	text, d.negative = strings.CutPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		d.exponent, _ = strconv.Atoi(text[i+1:]) // decode has bounded it
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	d.exponent -= len(fraction)
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	d.exponent += len(digits) - len(d.digits)
	if d.digits == "" {
		return decimal{}
	}
	return d
}

func (d decimal) whole() bool { return d.exponent >= 0 }

// keyer writes values so that two are equal as JSON Schema means it (2020-12 core,
// section 4.2.2) exactly when their keys are: a number by its value, an object
// whatever the order of its members.
type keyer struct {
	b     []byte
	limit int // bytes; a longer key equals none that is looked for, and is not written to its end
}

// add appends a value; false when the key is over the limit.
func (k *keyer) add(v any) bool {
	switch v := v.(type) {
	case nil:
		k.b = append(k.b, 'n')
	case bool:
		k.b = strconv.AppendBool(k.b, v)
	case json.Number:
		d := decimalOf(v)
		if d.negative {
			k.b = append(k.b, '-')
		} else {
			k.b = append(k.b, '+')
		}
		k.b = append(append(k.b, d.digits...), 'e')
		k.b = append(strconv.AppendInt(k.b, int64(d.exponent), 10), ';')
	case string:
		return k.text(v)
	case []any:
		if !k.open('[', len(v)) {
			return false
		}
		for _, item := range v {
			if !k.add(item) {
				return false
			}
		}
	case map[string]any:
		if !k.open('{', len(v)) {
			return false
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !k.text(name) || !k.add(v[name]) {
				return false
			}
		}
	}
	return len(k.b) <= k.limit
}

// open begins a value of n parts, each of which has a byte at least.
func (k *keyer) open(kind byte, n int) bool {
	k.b = append(k.b, kind)
	k.b = append(strconv.AppendInt(k.b, int64(n), 10), ':')
	return len(k.b)+n <= k.limit
}

func (k *keyer) text(s string) bool {
	if len(k.b)+len(s) > k.limit {
		return false
	}
	k.b = append(strconv.AppendInt(append(k.b, '"'), int64(len(s)), 10), ':')
	k.b = append(k.b, s...)
	return len(k.b) <= k.limit
}
