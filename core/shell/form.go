package shell

import "strings"

// A form is a part as patterns see it: the bytes of its words, with marks between and
// in place of what is not literal. Marks are control characters; a word that holds one
// of those itself is not literal.
const (
	sep     = 0x00 // between two words
	anyText = 0x01 // any text within a word
	anyWord = 0x02 // any text, of any number of words but with the text around in its place
	name    = 0x03 // a name follows, over which no star reaches
	tilde   = 0x04 // a ~ that means the home directory
	gap     = 0x05 // nothing, or any number of further words
	globGap = 0x06 // as gap; for allow always some words, for a glob that matches nothing stays as it is
	star    = 0x07 // of patterns: any text
	starIn  = 0x0e // of patterns: any text within a word
	tail    = 0x0f // of patterns: the end, or further words
)

// mark reports whether a byte is a mark.
func mark(c byte) bool { return c <= star || c == starIn || c == tail }

// word is one word of a command.
type word struct {
	form   string
	text   string // for people
	exact  bool   // literal
	tilde  bool   // begins with a ~ that is expanded
	gone   bool   // may be nothing at all
	many   bool   // may be several words
	split  bool   // and any text may be in those
	array  bool   // assigns an array in parentheses
	opaque string // why reading it may run any command
}

// plainWord is a literal word that holds no mark.
func plainWord(text string) word {
	return word{form: text, exact: true, text: quoteText(text)}
}

// unknownWords stands for further words that can't be told.
func unknownWords() word {
	return word{form: string(rune(gap)), text: "...", gone: true, many: true, split: true}
}

// literal gives a word's text when that is known.
func (w word) literal() (string, bool) {
	if !w.exact {
		return "", false
	}
	if w.tilde {
		return "~" + w.form[1:], true
	}
	return w.form, true
}

// is reports whether a word is this text.
func (w word) is(text string) bool { return w.exact && !w.tilde && w.form == text }

// prefix gives the known text that a word begins with.
func (w word) prefix() string { return unmarked(w.form) }

// unmarked is what a form has before its first mark.
func unmarked(form string) string {
	for i := range len(form) {
		if mark(form[i]) {
			return form[:i]
		}
	}
	return form
}

// join makes a form of words; named says which of them hold a name.
func join(words []word, named func(int) bool) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 && !w.gone {
			b.WriteByte(sep)
		}
		if named(i) {
			b.WriteByte(name)
		}
		b.WriteString(w.form)
	}
	return b.String()
}

// quoteText gives a literal word as people and rules see it.
func quoteText(text string) string {
	if text != "" && !strings.ContainsAny(text, " \t\n'\"") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// texts gives words as people and rules see them.
func texts(words []word) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.text
	}
	return strings.Join(list, " ")
}

// splitName gives the variable's name that a word assigns to or names, and what follows
// it: "=", "+=", "[" or nothing. ok says that the name is known.
func splitName(w word) (variable, rest string, ok bool) {
	p := w.prefix()
	i := 0
	for i < len(p) && (p[i] == '_' || p[i] >= 'a' && p[i] <= 'z' || p[i] >= 'A' && p[i] <= 'Z' || i > 0 && p[i] >= '0' && p[i] <= '9') {
		i++
	}
	if i == 0 {
		return "", "", false
	}
	variable, rest = p[:i], w.form[i:]
	ok = rest == "" || rest[0] == '=' || rest[0] == '[' || strings.HasPrefix(rest, "+=")
	return variable, rest, ok
}

// lowerCase reports whether a name belongs to the script: programs and shells read
// variables with upper-case names.
func lowerCase(variable string) bool { return strings.ToLower(variable) == variable }
