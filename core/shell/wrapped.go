package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxShadows is how many words of a command are looked at as if they began it.
const maxShadows = 8

// wrapped adds the parts of a wrapper and of what it runs.
func (r *reader) wrapped(run *command, u *unwrapped, p place, c situation) (t, f place) {
	switch {
	case u.opaque != "":
		r.names.any = true
		r.emit(r.part(run, p, u.opaque), c)
		return lost(), lost()
	case u.sealed:
		r.sealed(run, p, c)
		return p, p
	case u.runs != noScript:
		return r.runsScript(run, u, p, c)
	}
	outer := r.part(run, p, "")
	outer.Accesses = nil
	inner := *run
	inner.before = append(run.before[:len(run.before):len(run.before)], u.assigns...)
	inner.words = u.inside
	if !r.nests(c) {
		return p, p
	}
	t, f = r.simple(&inner, p, c.inside(outer, false))
	outer.Neutral = outer.Opaque == ""
	r.emit(outer, c)
	if !u.inShell {
		return p, p
	}
	return t, f
}

// maxNested is how many wrappers may stand in each other.
const maxNested = 16

// nests reports whether one more wrapper may stand inside.
func (r *reader) nests(c situation) bool {
	if len(c.outers) >= maxNested {
		r.fail("the command has wrappers in wrappers too deeply: call the program itself")
	}
	return r.err == nil
}

// sealed adds a command that runs what its later words say, in a way that is not known:
// only a rule on itself allows it, and deny and ask look at every word as if it began
// the command.
func (r *reader) sealed(run *command, p place, c situation) {
	words := run.words
	part := r.part(run, p, "")
	part.sealed, part.free = true, true
	part.inner = innermost(words)
	if first := words[1]; part.Opaque == "" && !(first.exact && !strings.HasPrefix(first.form, "-") && !strings.Contains(first.form, "=")) &&
		!literalAll(words) {
		part.Opaque = "a word that is not literal may be the command that it runs"
	}
	for _, w := range words[1:] {
		if w.exact && strings.Contains(w.form, "/") {
			part.Runs = append(part.Runs, p.paths(w, r.home())...)
		}
		if relative(w) && (part.inner == "" || part.inner == w.form) {
			part.Away = part.folders(p)
		}
	}
	if c.shadow {
		r.emit(part, c)
		return
	}
	at := len(r.parts)
	r.emit(part, c)
	c.shadow = true
	c.outers = nil
	if strings.HasSuffix(words[0].form, "xargs") { // it adds words, in a way that is not known
		more := r.wrapperPart(nil, append(replace(words, "{}", anyWord), unknownWords()))
		more.free = true
		r.emit(more, c)
	}
	if !r.shadows(words, c) && at < len(r.parts) {
		r.parts[at].Opaque = "too many of its words may be the command that it runs"
	}
}

// shadows reads words of a sealed command as commands and scripts. It reports whether it
// could do so for all.
func (r *reader) shadows(words []word, c situation) bool {
	inShell, looks := false, 0
	for i, w := range words {
		text, ok := w.literal()
		if !ok {
			continue
		}
		base := text[strings.LastIndexByte(text, '/')+1:]
		if inShell && strings.ContainsAny(text, " \t\n;&|<>()$`") {
			r.script(text, syntax.LangBash, lost(), c)
			looks++
		}
		_, wraps := wrappers[base]
		switch base {
		case "sh", "bash", "dash", "zsh", "ksh":
			inShell, wraps = true, true
		case "eval", "trap":
			inShell, wraps = true, true
		case "find":
			wraps = true
		}
		if wraps && i > 0 {
			r.simple(&command{words: words[i:]}, lost(), c)
			looks++
		}
		if looks > maxShadows {
			return false
		}
	}
	return true
}

// innermost gives the program that runs in the end; empty where that is not known.
func innermost(words []word) string {
	for range maxNested {
		for len(words) > 0 && strings.Contains(words[0].prefix(), "=") && !strings.HasPrefix(words[0].form, "-") {
			words = words[1:]
		}
		if len(words) == 0 {
			return ""
		}
		program, ok := words[0].literal()
		if !ok {
			return ""
		}
		base := program[strings.LastIndexByte(program, '/')+1:]
		u, wraps := unwrap(words, base, true)
		switch {
		case !wraps:
			return program
		case u.sealed:
			switch base {
			case "sudo", "doas", "busybox":
			default:
				return ""
			}
			if len(words) < 2 || !words[1].exact || strings.HasPrefix(words[1].form, "-") || strings.Contains(words[1].form, "=") {
				return ""
			}
			words = words[1:]
		case u.runs != noScript || u.opaque != "":
			return ""
		default:
			words = u.inside
		}
	}
	return ""
}

// found adds a find, and what it runs by -exec and its kin: allow needs both.
func (r *reader) found(run *command, part Part, p place, c situation) (t, f place) {
	words := run.words
	for i := 1; i < len(words) && part.Opaque == ""; i++ {
		if !words[i].exact && mayExecute(words[i]) && (words[i].many || some(words[i+1:], mayEnd)) {
			part.Opaque = "a word that is not literal may be -exec: give find a literal folder, or one that begins with a letter"
		}
	}
	r.emit(part, c)
	for i := 1; i < len(words); i++ {
		if !executes(words[i]) {
			continue
		}
		if !r.nests(c) {
			break
		}
		end := i + 1
		for end < len(words) && !words[end].is(";") && !(words[end].is("+") && words[end-1].is("{}")) {
			end++
		}
		inside := words[i+1 : end]
		if len(inside) == 0 {
			continue
		}
		m := byte(anyText)
		if end < len(words) && words[end].is("+") {
			m = anyWord
		}
		from := p
		if strings.HasSuffix(words[i].form, "dir") {
			from = lost()
			r.names.add(moving)
		}
		ends := 0
		for k, w := range inside { // what is not literal may end the command
			if k == 0 || w.exact || w.prefix() != "" {
				continue
			}
			if ends++; ends > maxShadows {
				r.fail("a find has too many words that are not literal after -exec: put the command into a script")
				break
			}
			r.simple(&command{before: run.before, words: replace(inside[:k], "{}", m)}, from, c.inside(part, true))
		}
		r.simple(&command{before: run.before, words: replace(inside, "{}", m)}, from, c.inside(part, true))
		i = end
	}
	return p, p
}

func executes(w word) bool { return w.is("-exec") || w.is("-execdir") || w.is("-ok") || w.is("-okdir") }

// mayEnd reports whether a word may end the command of an -exec.
func mayEnd(w word) bool { return !w.exact || w.is(";") || w.is("+") }

// mayExecute reports whether a word that is not literal may be -exec or its kin, or
// hold it.
func mayExecute(w word) bool {
	if w.split {
		return true
	}
	p := w.prefix()
	s := w.form[strings.LastIndexFunc(w.form, func(c rune) bool { return c < 0x80 && mark(byte(c)) })+1:]
	for _, o := range []string{"-exec", "-execdir", "-ok", "-okdir"} {
		if strings.HasPrefix(o, p) && strings.HasSuffix(o, s) {
			return true
		}
	}
	return false
}
