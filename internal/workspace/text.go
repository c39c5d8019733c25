package workspace

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// form is how a file's text is written down, apart from what it says: it is kept when
// the file is changed.
type form struct {
	order binary.ByteOrder // of UTF-16; nil: bytes as they are, UTF-8 as a rule
	mark  bool             // begins with a byte order mark
	crlf  bool             // every line ends in CR LF
}

var (
	mark8  = []byte{0xEF, 0xBB, 0xBF}
	markLE = []byte{0xFF, 0xFE}
	markBE = []byte{0xFE, 0xFF}
)

// decode gives the text of a file with lines that end in LF, and its form. ok is false
// for what is no text: something with NUL bytes that is no UTF-16 with its mark.
func decode(raw []byte) (text []byte, f form, ok bool) {
	switch {
	case bytes.HasPrefix(raw, markLE) && len(raw)%2 == 0:
		f.order, f.mark = binary.LittleEndian, true
		text, ok = fromUTF16(raw[2:], f.order)
	case bytes.HasPrefix(raw, markBE) && len(raw)%2 == 0:
		f.order, f.mark = binary.BigEndian, true
		text, ok = fromUTF16(raw[2:], f.order)
	default:
		text, f.mark = bytes.CutPrefix(raw, mark8)
		ok = bytes.IndexByte(text, 0) < 0
	}
	if !ok {
		return nil, form{}, false
	}
	if n := bytes.Count(text, []byte("\r\n")); n > 0 && n == bytes.Count(text, []byte("\n")) {
		f.crlf = true
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	return text, f, true
}

// encode is the inverse of decode.
func (f form) encode(text []byte) []byte {
	if f.crlf {
		// A text that has both is one whose author wrote out what is meant.
		if !bytes.Contains(text, []byte("\r\n")) {
			text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
		}
	}
	switch {
	case f.order != nil:
		units := utf16.Encode([]rune(string(text)))
		raw := make([]byte, 2, 2+2*len(units))
		f.order.PutUint16(raw, 0xFEFF)
		for _, u := range units {
			raw = f.order.(binary.AppendByteOrder).AppendUint16(raw, u)
		}
		return raw
	case f.mark && !bytes.HasPrefix(text, mark8):
		return append(bytes.Clone(mark8), text...)
	}
	return text
}

// fromUTF16 fails for what it could not write back the same.
func fromUTF16(raw []byte, order binary.ByteOrder) ([]byte, bool) {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = order.Uint16(raw[2*i:])
	}
	var text []byte
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if utf16.IsSurrogate(r) {
			if i+1 == len(units) {
				return nil, false
			}
			if r = utf16.DecodeRune(r, rune(units[i+1])); r == utf8.RuneError {
				return nil, false
			}
			i++
		}
		if r == 0 {
			return nil, false
		}
		text = utf8.AppendRune(text, r)
	}
	return text, true
}

// imageType is the MIME type of an image that agents can be shown; empty for the rest.
func imageType(raw []byte) string {
	switch {
	case bytes.HasPrefix(raw, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(raw, []byte{0xFF, 0xD8, 0xFF}):
		return "image/jpeg"
	case bytes.HasPrefix(raw, []byte("GIF87a")), bytes.HasPrefix(raw, []byte("GIF89a")):
		return "image/gif"
	case len(raw) > 12 && bytes.HasPrefix(raw, []byte("RIFF")) && string(raw[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}
