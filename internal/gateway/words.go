package gateway

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// first gives at most so many characters of a text.
func first(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}

// cut is first with a sign that there was more.
func cut(s string, most int) string {
	if short := first(s, most); len(short) < len(s) {
		return short + "…"
	}
	return s
}

// Bounds of texts that are not ours, in bytes.
const (
	maxKept   = 200  // a name in the audit or the log
	maxReason = 2000 // what a fault says, in an answer or the log
)

// bounded is at most so many bytes of a text, and valid UTF-8: for the audit, the log
// and what faults say.
func bounded(s string, most int) string {
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "?")
}

// oneLine makes one line of a text: no control or invisible character can pass for
// the structure around it.
func oneLine(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	return cut(strings.Join(strings.Fields(s), " "), most)
}

const maxWords = 32 // of a query

// wordsOf splits a text into words of letters and digits, and names in camelCase
// into their parts as well.
func wordsOf(s string) []string {
	var words []string
	for _, whole := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		words = append(words, whole)
		if parts := humps(whole); len(parts) > 1 {
			words = append(words, parts...)
		}
	}
	return words
}

// humps splits readHTTPHeader into read, HTTP and Header.
func humps(s string) []string {
	var parts []string
	runes := []rune(s)
	start := 0
	for i := 1; i < len(runes); i++ {
		up := unicode.IsUpper(runes[i])
		switch {
		case up && !unicode.IsUpper(runes[i-1]),
			up && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
			parts = append(parts, string(runes[start:i]))
			start = i
		}
	}
	return append(parts, string(runes[start:]))
}

// filler words say nothing of a tool: they are left out unless there is no other.
var filler = map[string]bool{
	"a": true, "all": true, "an": true, "and": true, "are": true, "at": true, "be": true, "by": true, "can": true, "for": true,
	"from": true, "how": true, "i": true, "in": true, "is": true, "it": true, "me": true, "my": true, "of": true, "on": true,
	"or": true, "some": true, "that": true, "the": true, "this": true, "to": true, "tool": true, "tools": true, "want": true,
	"what": true, "which": true, "with": true,
}

// match is a query for the index: any of the words, each of three letters or more
// also as the beginning of a longer one. Every word is quoted and made of letters
// and digits alone, so nothing in it is syntax. Empty when the text has no word.
func match(query string) string {
	words := wordsOf(first(query, 2000))
	telling := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return filler[strings.ToLower(w)] })
	if len(telling) > 0 {
		words = telling
	}
	var b strings.Builder
	for i, w := range words[:min(len(words), maxWords)] {
		if i > 0 {
			b.WriteString(" OR ")
		}
		b.WriteString(`"` + first(w, 64) + `"`)
		if len(w) >= 3 {
			b.WriteByte('*')
		}
	}
	return b.String()
}

// described is a contract's text as the index and the one-line answers use it.
type described struct {
	title, description string
	parameters         string // names
	details            string // descriptions of parameters
}

const (
	maxDetails = 16 << 10 // bytes of parameter texts that are searched
	maxNesting = 6
)

func describe(root contract.Value) described {
	d := described{title: textAt(root, "title"), description: textAt(root, "description")}
	if d.title == "" {
		if annotations, ok := root.Get("annotations"); ok {
			d.title = textAt(annotations, "title")
		}
	}
	var names, details strings.Builder
	if schema, ok := root.Get("inputSchema"); ok {
		collect(schema, &names, &details, 0)
	}
	d.parameters, d.details = names.String(), details.String()
	return d
}

func textAt(v contract.Value, name string) string {
	t, ok := v.Get(name)
	if !ok || t.Kind() != contract.String {
		return ""
	}
	return t.Text()
}

// collect gathers the names and descriptions of a schema's properties, nested ones
// included.
func collect(schema contract.Value, names, details *strings.Builder, depth int) {
	if depth > maxNesting || names.Len()+details.Len() > maxDetails {
		return
	}
	if properties, ok := schema.Get("properties"); ok {
		for _, m := range properties.Members() {
			names.WriteString(strings.Join(wordsOf(m.Name), " "))
			names.WriteByte(' ')
			details.WriteString(textAt(m.Value, "description"))
			details.WriteByte(' ')
			collect(m.Value, names, details, depth+1)
		}
	}
	if items, ok := schema.Get("items"); ok {
		collect(items, names, details, depth+1)
	}
	for _, choice := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := schema.Get(choice); ok {
			for _, v := range list.Items() {
				collect(v, names, details, depth+1)
			}
		}
	}
}

const maxParameters = 12 // in a signature

// signature is a tool's name and parameters in one line: name(path: string, depth?: integer).
func signature(name string, root contract.Value) string {
	var b strings.Builder
	b.WriteString(name)
	b.WriteByte('(')
	schema, _ := root.Get("inputSchema")
	properties, _ := schema.Get("properties")
	needed := map[string]bool{}
	if list, ok := schema.Get("required"); ok {
		for _, v := range list.Items() {
			needed[v.Text()] = true
		}
	}
	shown := 0
	for _, wanted := range []bool{true, false} { // what is required comes first
		for _, m := range properties.Members() {
			if needed[m.Name] != wanted {
				continue
			}
			if shown++; shown > 1 {
				b.WriteString(", ")
			}
			if shown > maxParameters {
				b.WriteString("…)")
				return b.String()
			}
			b.WriteString(oneLine(m.Name, 40))
			if !wanted {
				b.WriteByte('?')
			}
			b.WriteString(": ")
			b.WriteString(typeOf(m.Value))
		}
	}
	b.WriteByte(')')
	return b.String()
}

// typeOf is the type of a parameter in one word.
func typeOf(schema contract.Value) string {
	t, _ := schema.Get("type")
	switch t.Kind() {
	case contract.String:
		if items, ok := schema.Get("items"); ok && t.Text() == "array" {
			return typeOf(items) + "[]"
		}
		return oneLine(t.Text(), 20)
	case contract.Array:
		var all []string
		for _, v := range t.Items() {
			all = append(all, oneLine(v.Text(), 20))
		}
		return cut(strings.Join(all, "|"), 60)
	case contract.Null, contract.Bool, contract.Number, contract.Object:
	}
	return "any"
}
