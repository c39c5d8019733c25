package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// cell is one byte of a word, or something in it that is not literal.
type cell struct {
	c      byte
	kind   cellKind
	quoted bool
}

type cellKind uint8

const (
	letter cellKind = iota
	inWord          // any text within the word
	spread          // any text, of any number of words
	globbed
)

// cells builds a word.
type cells struct {
	list []cell
	kept bool // something in it is quoted: it is a word even when empty
}

// word reads a word of a command.
func (r *reader) word(w *syntax.Word) word {
	var seen findings
	return r.seenWord(w, &seen)
}

// seenWord reads a word and records what reading it does.
func (r *reader) seenWord(w *syntax.Word, seen *findings) word {
	before := seen.opaque
	seen.opaque = ""
	r.inspect(w, seen)
	out := r.spell(w.Parts, true)
	out.opaque = seen.opaque
	if before != "" {
		seen.opaque = before
	}
	if out.exact {
		t, _ := out.literal()
		out.text = quoteText(t)
		if out.tilde {
			out.text = t
		}
	} else {
		out.text = r.slice(w)
	}
	return out
}

// spell gives the word that parts make. Expanded says that braces, globs and splitting
// apply, as they do but in assignments.
func (r *reader) spell(parts []syntax.WordPart, expanded bool) word {
	var cs cells
	for _, part := range parts {
		r.add(&cs, part, false)
	}
	if expanded {
		cs.braces()
		cs.globs()
		if value := cs.value(); value > 0 {
			cs.homes(value)
		}
	} else {
		cs.homes(0)
		for i := range cs.list {
			if k := &cs.list[i].kind; *k == spread {
				*k = inWord
			}
		}
	}
	return cs.word()
}

// add takes one part of a word.
func (r *reader) add(cs *cells, part syntax.WordPart, quoted bool) {
	switch part := part.(type) {
	case *syntax.Lit:
		cs.letters(part.Value, quoted)
	case *syntax.SglQuoted:
		cs.kept = true
		text, ok := part.Value, true
		if part.Dollar {
			text, ok = ansi(part.Value)
		}
		if !ok {
			cs.list = append(cs.list, cell{kind: inWord})
			return
		}
		for i := range len(text) {
			cs.list = append(cs.list, cell{c: text[i], quoted: true})
		}
	case *syntax.DblQuoted:
		cs.kept = cs.kept || len(part.Parts) != 1 || !several(part.Parts[0])
		if part.Dollar && r.names.may("TEXTDOMAIN") { // it may be translated
			cs.list = append(cs.list, cell{kind: inWord})
			return
		}
		for _, p := range part.Parts {
			r.add(cs, p, true)
		}
	default:
		kind := spread
		if quoted && !several(part) {
			kind = inWord
		}
		if single(part) && (quoted || !r.names.may("IFS")) {
			kind, cs.kept = inWord, true
		}
		cs.list = append(cs.list, cell{kind: kind, quoted: quoted})
	}
}

// single reports whether a part is one word even without quotes: a process substitution,
// or a number.
func single(part syntax.WordPart) bool {
	switch part := part.(type) {
	case *syntax.ParamExp:
		return numericParameter(part) && part.Param.Value != "!"
	case *syntax.ProcSubst, *syntax.ArithmExp:
		return true
	}
	return false
}

// several reports whether a part gives several words even in double quotes.
func several(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil {
		return false
	}
	return p.Param.Value == "@" || wholeArray(p.Index) || p.Names != 0 || p.Excl
}

// letters takes literal text with its backslashes.
func (cs *cells) letters(s string, quoted bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			cs.list = append(cs.list, cell{c: c, quoted: quoted})
			continue
		}
		next := s[i+1]
		switch {
		case next == '\n':
			i++
		case quoted && strings.IndexByte("$`\"\\", next) < 0:
			cs.list = append(cs.list, cell{c: c, quoted: true})
		default:
			i++
			cs.list = append(cs.list, cell{c: next, quoted: true})
		}
	}
}

// find gives the first place from i on with an unquoted byte, or -1.
func (cs *cells) find(i int, set string) int {
	for ; i < len(cs.list); i++ {
		if x := cs.list[i]; x.kind == letter && !x.quoted && strings.IndexByte(set, x.c) >= 0 {
			return i
		}
	}
	return -1
}

// last gives the last place with an unquoted byte, or -1.
func (cs *cells) last(c byte) int {
	for i := len(cs.list) - 1; i >= 0; i-- {
		if x := cs.list[i]; x.kind == letter && !x.quoted && x.c == c {
			return i
		}
	}
	return -1
}

// cut puts something that is not literal in place of some cells.
func (cs *cells) cut(from, to int, kind cellKind) {
	cs.list = append(cs.list[:from+1], cs.list[to:]...)
	cs.list[from] = cell{kind: kind}
}

// braces takes everything between the first and the last brace for unknown, where it may
// be a brace expansion.
func (cs *cells) braces() {
	from, to := cs.find(0, "{"), cs.last('}')
	if from < 0 || to < from {
		return
	}
	comma := cs.find(from, ",")
	dots := cs.find(from, ".")
	for dots >= 0 && dots+1 < to && !(cs.list[dots+1].kind == letter && !cs.list[dots+1].quoted && cs.list[dots+1].c == '.') {
		dots = cs.find(dots+1, ".")
	}
	if comma >= 0 && comma < to || dots >= 0 && dots+1 < to {
		cs.cut(from, to+1, cs.inBraces(from, to))
	}
}

// inBraces is what a brace expansion gives: words with the text around, but for one that
// is the whole word, or has something in it that is not literal.
func (cs *cells) inBraces(from, to int) cellKind {
	if from == 0 && to == len(cs.list)-1 {
		return spread
	}
	for _, x := range cs.list[from:to] {
		if x.kind != letter {
			return spread
		}
	}
	return globbed
}

// globs takes what a glob may match for unknown.
func (cs *cells) globs() {
	if from := cs.find(0, "["); from >= 0 {
		to := cs.last(']')
		for i := from; i < len(cs.list); i++ {
			if cs.list[i].kind != letter {
				to = len(cs.list) - 1
			}
		}
		if to > from+1 {
			cs.cut(from, to+1, globbed)
		}
	}
	for i := range cs.list {
		if x := &cs.list[i]; x.kind == letter && !x.quoted && (x.c == '*' || x.c == '?') {
			*x = cell{kind: globbed}
		}
	}
}

// value gives where the value of a word begins that is shaped as an assignment; 0 for
// none. Bash expands a ~ in it, whatever the command.
func (cs *cells) value() int {
	var head strings.Builder
	for i, x := range cs.list {
		if x.kind == letter && !x.quoted && x.c == '=' {
			_, _, ok := splitName(word{form: head.String() + "="})
			if !ok {
				return 0
			}
			return i + 1
		}
		head.WriteByte(x.c)
	}
	return 0
}

// homes takes a ~ for unknown, with the name of a user behind it, that begins the value of
// an assignment or stands after a colon in it. One that begins the word is told apart.
func (cs *cells) homes(value int) {
	for i := max(value, 1); i < len(cs.list); i++ {
		if x := cs.list[i]; x.kind != letter || x.quoted || x.c != '~' || i != value && cs.list[i-1].c != ':' {
			continue
		}
		to := i + 1
		for to < len(cs.list) && cs.list[to].kind == letter && cs.list[to].c != '/' && cs.list[to].c != ':' {
			to++
		}
		cs.cut(i, to, inWord)
	}
}

// word makes a word of cells.
func (cs *cells) word() word {
	w := word{exact: true}
	var b strings.Builder
	spreads, globs, others := 0, 0, 0
	for i, x := range cs.list {
		m := byte(0)
		switch {
		case x.kind == spread:
			m = anyWord
			spreads++
		case x.kind == globbed:
			m = anyWord
			globs++
		case x.kind == inWord || mark(x.c):
			m = anyText
			others++
		case i == 0 && x.c == '~' && !x.quoted:
			if user := cs.user(); user {
				m = anyText
			} else {
				w.tilde = true
				b.WriteByte(tilde)
			}
			others++
			if w.tilde {
				continue
			}
		default:
			b.WriteByte(x.c)
			others++
			continue
		}
		w.exact = false
		b.WriteByte(m)
	}
	w.form, w.many, w.split = b.String(), spreads+globs > 0, spreads > 0
	if !cs.kept && others == 0 && w.many {
		w.gone = true
		w.form = string(rune(gap))
		if spreads == 0 {
			w.form = string(rune(globGap))
		}
	}
	return w
}

// user reports whether a leading ~ names a user or a folder of the shell.
func (cs *cells) user() bool {
	return len(cs.list) > 1 && (cs.list[1].kind != letter || cs.list[1].quoted || cs.list[1].c != '/')
}
