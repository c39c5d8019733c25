package scan

import "strings"

// escapedIn decodes runs of percent, backslash and character-reference escapes.
func (r *reading) escapedIn(text int, s string) {
	for i := 0; i < len(s); {
		if s[i] != '%' && s[i] != '\\' && s[i] != '&' {
			i++
			continue
		}
		start, count := i, 0
		var b strings.Builder
		for i < len(s) && b.Len() < mostDecoded {
			c, n := unescape(s[i:])
			if n == 0 {
				if count == 0 || i+1 >= len(s) || s[i] <= ' ' {
					break
				}
				c, n = rune(s[i]), 1 // a plain character between escapes
				if j := i + 1; s[j] != '%' && s[j] != '\\' && s[j] != '&' && !(j+1 < len(s) && wordByte(s[i])) {
					break
				}
			} else {
				count++
			}
			b.WriteRune(c)
			i += n
		}
		if count >= leastCodes {
			r.decoded(text, start, i, "escapes", b.String())
			if letters, _ := plainLetters(b.String()); letters >= leastLetters {
				r.hitDecoded(Soft, text, start, i, "escapes: "+b.String())
			}
		} else if i == start {
			i++
		}
	}
}

// leastLetters is how many letters that need no escape are escaped for a purpose.
const leastLetters = 10

// plainLetters counts the ASCII letters, and the others, in s.
func plainLetters(s string) (letters, others int) {
	for i := range len(s) {
		if asciiLetter(s[i]) {
			letters++
		} else {
			others++
		}
	}
	return letters, others
}

// unescape gives the character that an escape at the start of s stands for.
func unescape(s string) (rune, int) {
	number := func(from, digits int) (rune, int) {
		if len(s) < from+digits || !allHex(s[from:from+digits]) {
			return 0, 0
		}
		var n rune
		for _, c := range s[from : from+digits] {
			n = n<<4 | hexValue(byte(c))
		}
		return n, from + digits
	}
	switch {
	case s[0] == '%':
		return number(1, 2)
	case strings.HasPrefix(s, `\x`):
		return number(2, 2)
	case strings.HasPrefix(s, `\u`):
		return number(2, 4)
	case strings.HasPrefix(s, "&#"):
		end := strings.IndexByte(s[:min(len(s), 10)], ';')
		if end < 0 {
			return 0, 0
		}
		var n rune
		digits, base := s[2:end], rune(10)
		if digits != "" && digits[0]|0x20 == 'x' {
			digits, base = digits[1:], 16
		}
		for _, c := range digits {
			if v := hexValue(byte(c)); v < base {
				n = n*base + v
			}
		}
		return n, end + 1
	case s[0] == '\\' && len(s) >= 4 && s[1] >= '0' && s[1] <= '3':
		var n rune
		for _, c := range s[1:4] {
			if c < '0' || c > '7' {
				return 0, 0
			}
			n = n<<3 | (c - '0')
		}
		return n, 4
	}
	return 0, 0
}

func hexValue(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return 16
}

// codesIn decodes lists of character codes: decimal, or hexadecimal with 0x, or
// pairs of digits.
func (r *reading) codesIn(text int, s string) {
	var room [3][64]byte
	decimal, pairs, bits := room[0][:0], room[1][:0], room[2][:0]
	for i := 0; i < len(s); {
		if s[i] < '0' || s[i] > '9' || i > 0 && wordByte(s[i-1]) {
			i++
			continue
		}
		start, count := i, 0
		decimal, pairs, bits = decimal[:0], pairs[:0], bits[:0]
		end := i
		for i < len(s) && len(decimal) < mostDecoded {
			from := i
			if strings.HasPrefix(s[i:], "0x") || strings.HasPrefix(s[i:], "0X") {
				i += 2
			}
			digits := i
			for i < len(s) && i-digits < 8 && hexByte(s[i]) {
				i++
			}
			if i-digits == 8 && count > 0 == (len(bits) > 0) {
				if v, ok := binary(s[digits:i]); ok {
					bits = append(bits, v)
				}
			} else if i == digits || i-digits > 3 {
				i = max(i, from+1)
				break
			}
			decimal = append(decimal, codeOf(s[digits:i], 10, from == digits))
			pairs = append(pairs, codeOf(s[digits:i], 16, true))
			count++
			end = i
			for i < len(s) && i-end < 3 && strings.IndexByte(" ,;-", s[i]) >= 0 {
				i++
			}
			if i == end {
				break
			}
		}
		if count >= leastCodes {
			r.decoded(text, start, end, "decimal codes", string(decimal))
			r.decoded(text, start, end, "hex codes", string(pairs))
			r.decoded(text, start, end, "binary codes", string(bits))
		}
	}
}

// binary is the character of eight binary digits.
func binary(digits string) (v byte, ok bool) {
	for i := range len(digits) {
		if digits[i] > '1' {
			return 0, false
		}
		v = v<<1 | (digits[i] - '0')
	}
	return v, true
}

func codeOf(digits string, base rune, wanted bool) byte {
	var n rune
	for i := range len(digits) {
		v := hexValue(digits[i])
		if v >= base {
			return 0
		}
		n = n*base + v
	}
	if !wanted || n > 0x7E {
		return 0
	}
	return byte(n)
}
