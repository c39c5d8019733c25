package scan

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// byteFlags tell which checks a text can concern at all.
type byteFlags uint16

const (
	hasControl   byteFlags = 1 << iota // C0 other than tab and newline, DEL
	hasHigh                            // not ASCII
	hasAngle                           // <
	hasBracket                         // [
	hasHash                            // #
	hasPercent                         // %
	hasColon                           // :
	hasQuote                           // " ' `
	hasBackslash                       // \
	hasDigit                           // 0-9
	hasEquals                          // =
	hasUpper                           // A-Z
	hasNewline                         // \n
)

// flagOf gives the flags of one byte.
var flagOf = buildFlags()

// lower gives an ASCII byte in the form in which words are compared.
var lower = buildLower()

func buildFlags() (t [256]byteFlags) {
	for c := range 256 {
		switch b := byte(c); {
		case b == '\n':
			t[c] = hasNewline
		case b == '\t':
		case b < ' ' || b == 0x7f:
			t[c] = hasControl
		case b >= utf8.RuneSelf:
			t[c] = hasHigh
		case '0' <= b && b <= '9':
			t[c] = hasDigit
		case 'A' <= b && b <= 'Z':
			t[c] = hasUpper
		}
	}
	for c, f := range map[byte]byteFlags{
		'<': hasAngle, '[': hasBracket, '#': hasHash, '%': hasPercent, ':': hasColon,
		'"': hasQuote, '\'': hasQuote, '`': hasQuote, '\\': hasBackslash, '=': hasEquals,
	} {
		t[c] = f
	}
	return t
}

func buildLower() (t [256]byte) {
	for c := range 256 {
		t[c] = byte(c)
		if 'A' <= c && c <= 'Z' {
			t[c] = byte(c) + 'a' - 'A'
		}
		if c < ' ' && c != '\n' {
			t[c] = ' '
		}
	}
	return t
}

// normalise fills r.buffer with s as words are compared: compatibility forms
// composed away (NFKC), accents and invisible characters dropped, lower case,
// every sign that is no letter a space or its plain equivalent. r.offsets leads
// back to the raw bytes.
func (r *reading) normalise(s string) byteFlags {
	b := r.buffer[:0]
	var flags byteFlags
	i := 0
	if cap(b) < len(s) {
		b = make([]byte, 0, 2*len(s)+64)
	}
	b = b[:len(s)]
	for ; i < len(s); i++ {
		f := flagOf[s[i]]
		if f&hasHigh != 0 {
			break
		}
		flags |= f
		b[i] = lower[s[i]]
	}
	r.offsets = nil
	if i < len(s) {
		return flags | r.normaliseHigh(s, b[:i])
	}
	r.buffer = b
	return flags
}

// normaliseHigh goes on where s stops being ASCII; b holds what came before.
func (r *reading) normaliseHigh(s string, b []byte) byteFlags {
	flags := hasHigh
	offsets := r.spare[:0]
	if cap(offsets) < len(s)+8 {
		offsets = make([]int32, 0, len(s)+8)
	}
	for i := range b {
		offsets = append(offsets, int32(i))
	}
	for i := len(b); i < len(s); {
		if s[i] < utf8.RuneSelf {
			flags |= flagOf[s[i]]
			b = append(b, lower[s[i]])
			offsets = append(offsets, int32(i))
			i++
			continue
		}
		c, size := utf8.DecodeRuneInString(s[i:])
		before := len(b)
		b = appendPlain(b, c, s[i:i+size])
		for range len(b) - before {
			offsets = append(offsets, int32(i))
		}
		i += size
	}
	r.offsets = append(offsets, int32(len(s)))
	r.buffer, r.spare = b, r.offsets
	return flags
}

// appendPlain appends the comparable form of one character that is not ASCII.
func appendPlain(b []byte, c rune, raw string) []byte {
	if sign, ok := signs[c]; ok {
		return append(b, sign...)
	}
	if ignorable(c) || accent(c) {
		return b
	}
	if d := norm.NFKD.PropertiesString(raw).Decomposition(); d != nil {
		for len(d) > 0 {
			e, size := utf8.DecodeRune(d)
			d = d[size:]
			b = appendLetter(b, e)
		}
		return b
	}
	return appendLetter(b, c)
}

func appendLetter(b []byte, c rune) []byte {
	switch {
	case c < utf8.RuneSelf:
		return append(b, lower[byte(c)])
	case accent(c):
		return b
	case unicode.IsLetter(c) || unicode.IsMark(c):
		if sign, ok := signs[c]; ok {
			return append(b, sign...)
		}
		return utf8.AppendRune(b, unicode.ToLower(c))
	}
	return append(b, ' ')
}

// accent reports whether c is a mark that only changes a letter of a script whose
// words are compared without such marks.
func accent(c rune) bool {
	return c >= 0x300 && (c <= 0x36F || c >= 0x1AB0 && c <= 0x1AFF || c >= 0x1DC0 && c <= 0x1DFF || c >= 0x20D0 && c <= 0x20FF ||
		c >= 0x64B && c <= 0x65F || c == 0x670 || c >= 0x591 && c <= 0x5C7 || c == 0x640)
}

// signs are characters with a plain equivalent that NFKC does not give.
var signs = map[rune]string{
	'‘': "'", '’': "'", 'ʼ': "'", '‚': "'", '‛': "'", '′': "'",
	'“': "\"", '”': "\"", '„': "\"", '‟': "\"", '«': "\"", '»': "\"", '「': "\"", '」': "\"", '『': "\"", '』': "\"", '″': "\"",
	'‹': "'", '›': "'", '。': ". ", '．': ". ", '！': "! ", '？': "? ", '…': " ", '、': ", ", '，': ", ", '：': ": ", '；': "; ",
	'।': ". ", '۔': ". ", '؟': "? ", '،': ", ", '؛': "; ", '·': " ", '•': " ", '–': " ", '—': " ", '‐': "-", '‑': "-", '−': "-",
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i", 'Ø': "o", 'Ł': "l", 'Đ': "d", 'İ': "i",
	'ي': "ی", 'ى': "ی", 'ك': "ک", 'أ': "ا", 'إ': "ا", 'آ': "ا", 'ة': "ه", 'ё': "е", 'Ё': "е",
}

// confusable gives the Latin letter that a letter of another script, or a digit,
// can be taken for; 0 when there is none. The table is this project's own, of
// letters that look alike in common fonts.
func confusable(c rune) byte { return confusables[c] }

var confusables = buildConfusables()

func buildConfusables() map[rune]byte {
	t := map[rune]byte{}
	for latin, likes := range map[byte]string{
		'a': "аαɑ∂а4@ạ", 'b': "ЬьвβƄ8ᖯ", 'c': "сϲᴄⅽ", 'd': "ԁɗᏧ", 'e': "еєҽ℮ε3", 'f': "ƒϝ", 'g': "ɡցǥ9", 'h': "һհни",
		'i': "іιɩӏı1!ⅰ", 'j': "јϳ", 'k': "κкҝ", 'l': "ⅼӀ|ǀ", 'm': "мⅿ", 'n': "пռη", 'o': "оοօσ0ө", 'p': "рρ", 'q': "ԛգ",
		'r': "гᴦ", 's': "ѕꜱ5$ʂ", 't': "тτ7ţ", 'u': "υսυц", 'v': "ѵνᴠⅴ", 'w': "ԝωѡ", 'x': "хχ×ⅹ", 'y': "уγүყ", 'z': "ᴢʐ2",
	} {
		for _, like := range likes {
			t[like] = latin
		}
	}
	return t
}
