package scan

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkHidden finds characters that a person does not see: unicode.hidden.
func checkHidden(r *reading) {
	for i := range r.texts {
		t := &r.texts[i]
		if t.flags&hasHigh == 0 {
			continue
		}
		r.spend(len(t.s))
		r.hiddenIn(i, t.s)
	}
}

func (r *reading) hiddenIn(text int, s string) {
	start, end := -1, 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		c, size := utf8.DecodeRuneInString(s[i:])
		if n := honestRun(s, i, c); n > 0 {
			i += n
			continue
		}
		if !hiddenRune(c) {
			i += size
			continue
		}
		if start >= 0 && i > end+8 {
			r.hidden(text, s, start, end)
			start = -1
		}
		if start < 0 {
			start = i
		}
		i += size
		end = i
	}
	if start >= 0 {
		r.hidden(text, s, start, end)
	}
}

// hidden notes a run, with what TAG characters or selectors in it spell.
func (r *reading) hidden(text int, s string, start, end int) {
	var spelled strings.Builder
	for _, c := range s[start:end] {
		if c >= 0xE0020 && c <= 0xE007E {
			spelled.WriteRune(c - 0xE0000)
		} else if c >= 0xE0100 && c <= 0xE01EF {
			spelled.WriteRune(c - 0xE0100 + 16)
		} else if c >= 0xFE00 && c <= 0xFE0F {
			spelled.WriteRune(c - 0xFE00)
		}
		if spelled.Len() > 4*mostEvidence {
			break
		}
	}
	if plain := spelled.String(); strings.TrimSpace(plain) != "" && legible(plain) {
		r.hitDecoded(Hard, text, start, end, fmt.Sprintf("hidden text %q", plain))
		return
	}
	r.hit(Hard, text, start, end)
}

// legible reports whether most of s can be read.
func legible(s string) bool {
	seen := 0
	for _, c := range s {
		if c >= ' ' && c < 0x7F {
			seen++
		}
	}
	return 4*seen >= 3*len(s)
}

// hiddenRune reports whether c shows nothing, reorders what is shown, or means
// only what a private font makes of it.
func hiddenRune(c rune) bool { return ignorable(c) || unicode.Is(unicode.Co, c) || noncharacter(c) }

func noncharacter(c rune) bool { return c >= 0xFDD0 && c <= 0xFDEF || c&0xFFFE == 0xFFFE }

// ignorable are the characters with Default_Ignorable_Code_Point and those format
// and separator characters that act like them (Unicode 17, DerivedCoreProperties).
func ignorable(c rune) bool {
	switch {
	case c == 0xAD, c == 0x34F, c == 0x61C, c == 0x115F, c == 0x1160, c == 0x17B4, c == 0x17B5:
	case c >= 0x180B && c <= 0x180F, c >= 0x200B && c <= 0x200F, c >= 0x2028 && c <= 0x202E, c >= 0x2060 && c <= 0x206F:
	case c == 0x3164, c >= 0xFE00 && c <= 0xFE0F, c == 0xFEFF, c == 0xFFA0, c >= 0xFFF0 && c <= 0xFFFB:
	case c >= 0x1BCA0 && c <= 0x1BCA3, c >= 0x1D173 && c <= 0x1D17A, c >= 0xE0000 && c <= 0xE0FFF, c == 0x2800:
	default:
		return false
	}
	return true
}

const (
	nonJoiner = 0x200C
	zeroJoin  = 0x200D
	blackFlag = 0x1F3F4
	cancelTag = 0xE007F
)

// honestRun gives the length in bytes of a run at i in which such characters are
// needed: a flag of a region, a joined or selected emoji, a joiner between letters
// of a script that has them. 0 when there is none.
func honestRun(s string, i int, c rune) int {
	switch {
	case c == blackFlag:
		return flagLen(s[i:])
	case joiner(c):
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, size := utf8.DecodeRuneInString(s[i+3:])
		if c == zeroJoin && emojiPart(before) && pictograph(after) {
			return 3 + size
		}
		if joiningScript(before) && !joiner(after) {
			return 3
		}
	case c == 0xFE0F || c == 0xFE0E:
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		if pictograph(before) || before >= '0' && before <= '9' || before == '#' || before == '*' || before == 0xA9 || before == 0xAE || textEmoji(before) {
			return 3
		}
	case c >= 0xFE00 && c <= 0xFE02 || c >= 0xE0100 && c <= 0xE01EF:
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		if unicode.Is(unicode.Han, before) || c <= 0xFE02 && (unicode.Is(unicode.Sm, before) || before == 0x3001 || before == 0x3002) {
			return utf8.RuneLen(c)
		}
	case c >= 0x180B && c <= 0x180F:
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		if unicode.Is(unicode.Mongolian, before) {
			return 3
		}
	}
	return 0
}

// flagLen is the length of a region flag at the start of s: a black flag, tags
// that spell at most six letters or digits, and the cancel tag (UTS #51).
func flagLen(s string) int {
	n, tags := 4, 0
	for _, c := range s[4:] {
		n += utf8.RuneLen(c)
		if c == cancelTag && tags >= 3 {
			return n
		}
		c -= 0xE0000
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') || tags == 6 {
			return 0
		}
		tags++
	}
	return 0
}

// emojiPart is what may stand before a joiner in an emoji.
func emojiPart(c rune) bool {
	return pictograph(c) || c == 0xFE0F || c >= 0x1F3FB && c <= 0x1F3FF
}

// pictograph covers the blocks in which emoji stand.
func pictograph(c rune) bool {
	return c >= 0x1F000 && c <= 0x1FAFF || c >= 0x2190 && c <= 0x21FF || c >= 0x2300 && c <= 0x27BF || c >= 0x2900 && c <= 0x297F || c >= 0x2B00 && c <= 0x2BFF
}

func textEmoji(c rune) bool {
	return c == 0x203C || c == 0x2049 || c == 0x2122 || c == 0x2139 || c == 0x3030 || c == 0x303D || c == 0x3297 || c == 0x3299
}

// joiningScript are letters and marks of scripts whose spelling needs joiners.
func joiningScript(c rune) bool {
	return c >= 0x600 && c <= 0x8FF || c >= 0x900 && c <= 0xDFF || c >= 0x1000 && c <= 0x109F || c >= 0x1780 && c <= 0x17FF || c >= 0x1800 && c <= 0x18AF || c >= 0xFB50 && c <= 0xFDCF || c >= 0xFE70 && c <= 0xFEFC
}

func joiner(c rune) bool { return c == zeroJoin || c == nonJoiner }
