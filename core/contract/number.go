package contract

import (
	"cmp"
	"strconv"
	"strings"
)

// canonicalNumber spells a number, valid in JSON's grammar, by its value: an
// integer that does not end in 0, and the power of ten it is multiplied with
// when that is not 0. Nothing is ever expanded, so that 1e99999999999 costs no
// more than its digits, and the time is linear in len(s).
func canonicalNumber(s string) string {
	if plain(s) {
		return s
	}
	digits, negative := strings.CutPrefix(s, "-")
	digits, exponent := cutExponent(digits)
	whole, fraction, _ := strings.Cut(digits, ".")
	mantissa := strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(mantissa, "0")
	if trimmed == "" {
		return "0"
	}
	exponent = shift(exponent, len(mantissa)-len(trimmed)-len(fraction))
	if exponent != "0" {
		trimmed += "e" + exponent
	}
	if negative {
		return "-" + trimmed
	}
	return trimmed
}

// plain reports whether s is spelled canonically already: "0", or an integer
// that does not end in 0.
func plain(s string) bool {
	return s == "0" || s[len(s)-1] != '0' && strings.IndexByte(s, '.') < 0 && !strings.ContainsAny(s, "eE")
}

// cutExponent separates the exponent, spelled without "+" and leading zeros; "0"
// when there is none.
func cutExponent(s string) (digits, exponent string) {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, "0"
	}
	digits, exponent = s[:i], s[i+1:]
	magnitude := strings.TrimLeft(strings.TrimLeft(exponent, "+-"), "0")
	switch {
	case magnitude == "":
		return digits, "0"
	case exponent[0] == '-':
		return digits, "-" + magnitude
	}
	return digits, magnitude
}

// shift adds by, which is smaller than MaxBytes, to a decimal integer of any length.
func shift(exponent string, by int) string {
	const safe = 18 // digits that fit into an int64 with room for by
	if len(exponent) <= safe {
		n, _ := strconv.ParseInt(exponent, 10, 64) // at most 18 characters: it fits
		return strconv.FormatInt(n+int64(by), 10)
	}
	// The magnitude is far above by, so the sign can't change.
	magnitude, negative := strings.CutPrefix(exponent, "-")
	if negative {
		by = -by
	}
	sum := strings.TrimLeft(addSmall([]byte(magnitude), by), "0")
	if negative {
		return "-" + sum
	}
	return sum
}

// addSmall adds by to the decimal digits, which stand for a larger number.
func addSmall(digits []byte, by int) string {
	carry := by
	for i := len(digits) - 1; i >= 0 && carry != 0; i-- {
		n := int(digits[i]-'0') + carry
		carry = n / 10
		if n %= 10; n < 0 {
			n += 10
			carry--
		}
		digits[i] = byte(n) + '0'
	}
	if carry > 0 {
		return strconv.Itoa(carry) + string(digits)
	}
	return string(digits)
}

// CompareNumbers gives the exact order of two numbers: -1, 0 or +1. The time is
// linear in their spellings; nothing is expanded.
func CompareNumbers(v, w Value) int {
	a, negA := strings.CutPrefix(v.text, "-")
	b, negB := strings.CutPrefix(w.text, "-")
	switch {
	case v.text == w.text:
		return 0
	case negA != negB:
		return sign(!negA)
	case a == "0":
		return -1 // b is above 0: were it below, the signs would differ
	case b == "0":
		return 1
	}
	a, powerA := cutExponent(a)
	b, powerB := cutExponent(b)
	// The power of ten of the first digit decides, then the digits do.
	order := compareIntegers(shift(powerA, len(a)), shift(powerB, len(b)))
	if order == 0 {
		order = strings.Compare(a, b)
	}
	if negA {
		return -order
	}
	return order
}

func sign(positive bool) int {
	if positive {
		return 1
	}
	return -1
}

// compareIntegers orders decimal integers without leading zeros.
func compareIntegers(a, b string) int {
	x, negA := strings.CutPrefix(a, "-")
	y, negB := strings.CutPrefix(b, "-")
	if negA != negB {
		return sign(!negA)
	}
	order := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	if negA {
		return -order
	}
	return order
}
