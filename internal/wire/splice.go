package wire

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Span is a half-open range of bytes.
type Span struct{ Start, End int }

// Edit replaces a span.
type Edit struct {
	Span
	With []byte
}

// Splice gives a copy of raw with all edits made; they may come in any order and
// must not overlap. Edits of the same empty span are made in the order given. A
// span outside raw or an overlap is a mistake of the program: it panics.
func Splice(raw []byte, edits ...Edit) []byte {
	size := len(raw)
	for _, e := range edits {
		size += len(e.With) - (e.End - e.Start)
	}
	if !slices.IsSortedFunc(edits, byPlace) {
		edits = slices.Clone(edits)
		slices.SortStableFunc(edits, byPlace)
	}
	out, done := make([]byte, 0, max(size, 0)), 0
	for _, e := range edits {
		if e.Start < done || e.End < e.Start || e.End > len(raw) {
			panic("wire.Splice: spans overlap or stand outside the message")
		}
		out = append(out, raw[done:e.Start]...)
		out = append(out, e.With...)
		done = e.End
	}
	return append(out, raw[done:]...)
}

func byPlace(a, b Edit) int {
	if a.Start != b.Start {
		return a.Start - b.Start
	}
	return a.End - b.End
}

// Find gives the span of the value at a path of member names in obj, which must
// already have been read strictly; of the whole value when the path is empty. ok
// is false when there is none. Names are compared as the text they mean: an
// escaped spelling is found too.
func Find(obj []byte, path ...string) (s Span, ok bool) {
	at := skipSpace(obj, 0)
	for _, name := range path {
		if at, ok = findMember(obj, at, name); !ok {
			return Span{}, false
		}
	}
	end := skipValue(obj, at)
	if end <= at {
		return Span{}, false
	}
	return Span{at, end}, true
}

// findMember gives the offset of the value of a member of the object at offset at.
func findMember(b []byte, at int, name string) (int, bool) {
	if at >= len(b) || b[at] != '{' {
		return 0, false
	}
	at = skipSpace(b, at+1)
	for at < len(b) && b[at] == '"' {
		end := skipString(b, at)
		if end > len(b) {
			return 0, false
		}
		found := named(b[at:end], name)
		at = skipSpace(b, end)
		if at >= len(b) || b[at] != ':' {
			return 0, false
		}
		at = skipSpace(b, at+1)
		if found {
			return at, true
		}
		at = skipSpace(b, skipValue(b, at))
		if at >= len(b) || b[at] != ',' {
			return 0, false
		}
		at = skipSpace(b, at+1)
	}
	return 0, false
}

// named reports whether a JSON value that was read strictly is the string name.
func named(quoted []byte, name string) bool {
	if len(quoted) < 2 || quoted[0] != '"' {
		return false
	}
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	s, ok := text(quoted)
	return ok && s == name
}

// Members calls do for each member of obj, an object that was read strictly, with
// the text of its name and the span of its value, until do returns false.
func Members(obj []byte, do func(name string, value Span) bool) {
	each(obj, '{', func(at int) (int, bool) {
		end := skipString(obj, at)
		if end > len(obj) || obj[at] != '"' {
			return -1, false
		}
		name, _ := text(obj[at:end]) // what is no text in a Loose entry has replacement characters
		at = skipSpace(obj, end)
		if at >= len(obj) || obj[at] != ':' {
			return -1, false
		}
		at = skipSpace(obj, at+1)
		end = skipValue(obj, at)
		return end, end > at && do(name, Span{at, end})
	})
}

// Elements calls do for the span of each element of arr, an array that was read
// strictly, until do returns false.
func Elements(arr []byte, do func(element Span) bool) {
	each(arr, '[', func(at int) (int, bool) {
		end := skipValue(arr, at)
		return end, end > at && do(Span{at, end})
	})
}

// each walks what stands between commas; item gives the end of the item at an
// offset, and whether to go on.
func each(b []byte, open byte, item func(at int) (end int, on bool)) {
	at := skipSpace(b, 0)
	if at >= len(b) || b[at] != open {
		return
	}
	for at = skipSpace(b, at+1); at < len(b) && b[at] != '}' && b[at] != ']'; at = skipSpace(b, at+1) {
		end, on := item(at)
		if !on {
			return
		}
		if at = skipSpace(b, end); at >= len(b) || b[at] != ',' {
			return
		}
	}
}

// The skippers trust that b was read strictly, but never leave it by more than
// one byte, whatever it holds: a string that does not end gives len(b)+1.

func skipSpace(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r') {
		at++
	}
	return at
}

// skipString gives the offset behind the string that starts at offset at.
func skipString(b []byte, at int) int {
	for i := at + 1; i < len(b); {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			break
		}
		i += q
		slashes := i
		for slashes > at+1 && b[slashes-1] == '\\' {
			slashes--
		}
		if i++; (i-1-slashes)%2 == 0 {
			return i
		}
	}
	return len(b) + 1
}

// skipValue gives the offset behind the value that starts at offset at.
func skipValue(b []byte, at int) int {
	if at >= len(b) {
		return at
	}
	switch b[at] {
	case '"':
		return min(skipString(b, at), len(b))
	case '{', '[':
		for depth := 0; at < len(b); at++ {
			switch b[at] {
			case '"':
				if at = skipString(b, at) - 1; at >= len(b) {
					return len(b)
				}
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
		}
		return at
	}
	for at < len(b) && !strings.ContainsRune(",]} \n\t\r:", rune(b[at])) {
		at++
	}
	return at
}

// Text gives the content of a JSON string that was read strictly; ok is false
// when v is no string.
func Text(v []byte) (s string, ok bool) { return text(v) }

// Quote gives s as a JSON string; invalid UTF-8 becomes the replacement character.
func Quote(s string) []byte {
	b, _ := jsontext.AppendQuote(make([]byte, 0, len(s)+2), s)
	return b
}
