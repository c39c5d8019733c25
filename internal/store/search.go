package store

import (
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// oddText stands in the text of every entry that holds a text which is not UTF-8
// (see record.Encode).
const oddText = `{"base64":"`

// escaped is how text, lower-cased, stands within the lower-cased text of an entry
// that holds it, for each character is escaped by itself. It may stand elsewhere
// too ("n" in "\n", a member's name): holds decides.
func escaped(text string) string {
	b, err := jsontext.AppendQuote(nil, lower(text))
	if err != nil {
		return oddText // only a text that is not UTF-8 can hold it
	}
	return string(b[1 : len(b)-1])
}

// lower changes A to Z alone, as SQLite's lower does.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// holds reports whether text is part of any text of the entry. Members' names are
// no texts of it, but those of a detail are.
func (e storedEntry) holds(text string) bool {
	text = lower(text)
	d := jsontext.NewDecoder(strings.NewReader(e.body))
	odd := false
	for {
		t, err := d.ReadToken()
		if err != nil {
			return false // the end: the text was decoded before
		}
		if t.Kind() != '"' {
			continue
		}
		s := t.String()
		if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 {
			named := inDetail(d.StackPointer())
			odd = s == "base64" && !named
			if !named {
				continue
			}
		} else if odd {
			b, _ := base64.StdEncoding.DecodeString(s) // it was decoded before
			s, odd = string(b), false
		}
		if strings.Contains(lower(s), text) {
			return true
		}
	}
}

// inDetail reports whether a pointer is of a member of a detail.
func inDetail(p jsontext.Pointer) bool {
	up := string(p.Parent())
	return up == "/act/detail" || up == "/transition/detail"
}
