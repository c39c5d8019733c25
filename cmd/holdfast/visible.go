package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible gives foreign text so that a terminal shows all of it and obeys none of
// it: what can't be seen (controls, bidirectional marks, zero-width and tag
// characters, blanks that look like a space, bytes that are no UTF-8) is written as
// an escape, a line feed too.
func visible(s string) string { return show(s, false) }

// paragraph is visible, but keeps line feeds: for text of our own that may hold
// foreign names.
func paragraph(s string) string { return show(s, true) }

func show(s string, lines bool) string {
	var b strings.Builder
	for i, n := 0, 0; i < len(s); i += n {
		var r rune
		r, n = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' && lines:
			b.WriteByte('\n')
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case hidden(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// blanks are letters and symbols that draw nothing although Unicode calls them
// graphic: fillers and the empty Braille pattern.
var blanks = map[rune]bool{0x115f: true, 0x1160: true, 0x17b4: true, 0x17b5: true, 0x2800: true, 0x3164: true, 0xffa0: true}

func hidden(r rune) bool {
	return !unicode.IsPrint(r) || blanks[r] || unicode.Is(unicode.Variation_Selector, r)
}

// cut shortens text for a column; the whole is in the answer with --json.
func cut(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:width-1]) + "…"
}
