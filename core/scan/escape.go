package scan

import (
	"strings"
	"unicode/utf8"
)

// checkEscape finds control characters, which can act on a terminal:
// terminal.escape. Tab and newline are none, nor a carriage return before a newline.
func checkEscape(r *reading) {
	for i := range r.texts {
		t := &r.texts[i]
		if t.flags&(hasControl|hasHigh|hasBackslash) == 0 {
			continue
		}
		r.spend(len(t.s))
		if t.flags&(hasControl|hasHigh) != 0 {
			r.controlsIn(i, t.s)
		}
		if t.flags&hasBackslash != 0 {
			r.writtenEscapesIn(i, t.s)
		}
	}
}

func (r *reading) controlsIn(text int, s string) {
	start, end := -1, 0
	for i := 0; i < len(s); i++ {
		n := controlAt(s, i)
		if n == 0 {
			continue
		}
		if start >= 0 && i > end+32 {
			r.hit(Hard, text, start, end)
			start = -1
		}
		if start < 0 {
			start = i
		}
		end = i + n
		i = end - 1
	}
	if start >= 0 {
		r.hit(Hard, text, start, end)
	}
}

// controlAt is the length of a control character at i, 0 when there is none. C1
// controls are two bytes in UTF-8.
func controlAt(s string, i int) int {
	switch c := s[i]; {
	case c == '\t' || c == '\n':
		return 0
	case c == '\r':
		if i+1 < len(s) && s[i+1] == '\n' {
			return 0
		}
		return 1
	case c < ' ' || c == 0x7F:
		return 1
	case c == 0xC2 && i+1 < len(s) && s[i+1] < 0xA0:
		return 2
	}
	return 0
}

// escapes are spellings of the escape character before a control sequence: a
// program that prints the text by way of printf or echo -e acts on them.
var escapes = []string{`\x1b[`, `\033[`, `\e[`, `\u001b[`, `\x1b]`, `\033]`, `\u001b]`, `\x9b`, `\e]`}

func (r *reading) writtenEscapesIn(text int, s string) {
	for i := strings.IndexByte(s, '\\'); i >= 0; {
		for _, e := range escapes {
			if len(s) >= i+len(e) && strings.EqualFold(s[i:i+len(e)], e) {
				end := i + len(e)
				for end < len(s) && end < i+24 && s[end] < utf8.RuneSelf && !asciiLetter(s[end]) {
					end++
				}
				r.hit(Soft, text, i, end)
				break
			}
		}
		next := strings.IndexByte(s[i+1:], '\\')
		if next < 0 {
			return
		}
		i += 1 + next
	}
}

func asciiLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
