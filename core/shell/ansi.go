package shell

import "strings"

// ansi reads the inside of $'...'. It fails for what depends on the locale or on the
// version of bash, and for a NUL.
func ansi(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if k := strings.IndexByte(`abeEfnrtv\'"?`, s[i]); k >= 0 {
			b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[k])
			continue
		}
		n, digits, most := 0, 0, 0xff
		switch s[i] {
		case 'x':
			n, digits = number(s[i+1:], 16, 2)
			i += digits
		case 'u', 'U':
			n, digits = number(s[i+1:], 16, map[byte]int{'u': 4, 'U': 8}[s[i]])
			i, most = i+digits, 0x7f
		default:
			n, digits = number(s[i:], 8, 3)
			i += digits - 1
		}
		if digits == 0 || n == 0 || n > most {
			return "", false
		}
		b.WriteByte(byte(n))
	}
	return b.String(), true
}

// number reads up to most digits.
func number(s string, base, most int) (n, digits int) {
	for digits < len(s) && digits < most {
		d := strings.IndexByte("0123456789abcdef", s[digits]|0x20)
		if s[digits] <= '9' {
			d = int(s[digits]) - '0'
		}
		if d < 0 || d >= base {
			break
		}
		n, digits = n*base+d, digits+1
	}
	return n, digits
}
