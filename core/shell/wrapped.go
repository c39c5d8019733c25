package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxShadows is how many words of a command are looked at as if they began it.
const maxShadows = 8

// maxLooks is how many words are looked at so in all, where they stand in each other.
const maxLooks = 64

// wrapped adds the parts of a wrapper and of what it runs.
func (r *reader) wrapped(run *command, u *unwrapped, p place, c situation) (t, f place) {
	switch {
	case u.opaque != "":
		r.names.any = true
		part := r.part(run, p, u.opaque)
		if u.shell == "" {
			r.emit(part, c)
			return lost(), lost()
		}
		for _, w := range run.words[1:] {
			if !strings.HasPrefix(w.form, "-") {
				part.Runs = append(part.Runs, p.paths(w, r.home())...)
			}
		}
		r.emit(part, c)
		r.glimpsed(run, p, c)
		return lost(), lost()
	case u.sealed:
		r.sealed(run, p, c)
		return r.after(run.words[0].form, run, Part{}, p)
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

// disguised adds a wrapper that may be another program: it is called by a path, or a
// function has its name. Only a rule on itself allows it; deny and ask also look at what
// it would run.
func (r *reader) disguised(run *command, u *unwrapped, program string, p place, c situation) (t, f place) {
	part := r.part(run, p, "")
	part.sealed, part.free = true, true
	part.inner = innermost(run.words)
	r.emit(part, c)
	inner := *run
	inner.accesses = nil
	c.shadow = true
	wt, wf := r.wrapped(&inner, u, p, c)
	t, f = r.after(program, run, part, p)
	return t.or(wt), f.or(wf)
}

// glimpsed reads what may be a script of a shell that is opaque, for what deny and ask
// say of paths.
func (r *reader) glimpsed(run *command, p place, c situation) {
	c.shadow, c.aside = true, true
	looks := 0
	look := func(text string) {
		if looks++; looks <= maxShadows {
			r.script(text, syntax.LangBash, p, c)
		}
	}
	if run.input.literal {
		look(run.input.text)
	}
	for _, w := range run.words[1:] {
		if text, ok := w.literal(); ok && strings.Trim(text, fileLetters) != "" {
			look(text)
		}
	}
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
		if !w.exact || !strings.Contains(w.form, "/") {
			continue
		}
		part.Runs = append(part.Runs, p.paths(w, r.home())...)
		if strings.HasSuffix(words[0].form, "env") { // by -C from another folder
			part.Runs = append(part.Runs, Path{Text: w.text})
		}
	}
	at := len(r.parts)
	r.emit(part, c)
	c.shadow, c.aside = true, true
	if !r.shadows(words, p, c) && at < len(r.parts) {
		r.parts[at].Opaque = "too many of its words may be the command that it runs"
	}
}

// shadows reads words of a sealed command as commands. It reports whether it could do so
// for all.
func (r *reader) shadows(words []word, p place, c situation) bool {
	looks := 0
	for i, w := range words[1:] {
		text, ok := w.literal()
		if !ok {
			continue
		}
		c.astray = c.astray || strings.HasPrefix(text, "-") // it may lead to another folder
		base := text[strings.LastIndexByte(text, '/')+1:]
		_, wraps := wrappers[base]
		switch base {
		case "sh", "bash", "dash", "zsh", "ksh", "eval", "trap", "find", "sudo", "doas", "busybox":
			wraps = true
		}
		if !wraps {
			continue
		}
		looks++
		if r.looks++; looks > maxShadows || r.looks > maxLooks {
			return false
		}
		r.simple(&command{words: words[i+1:]}, p, c)
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
		case u.runs != noScript || u.opaque != "" || base != program:
			return ""
		default:
			words = u.inside
		}
	}
	return ""
}

// found adds a find, and what it runs by -exec and its kin: allow needs both.
func (r *reader) found(run *command, part Part, p place, c situation) {
	words := run.words
	for i := 1; i < len(words) && part.Opaque == ""; i++ {
		if !words[i].exact && mayExecute(words[i]) && (words[i].many || some(words[i+1:], mayEnd)) {
			part.Opaque = "a word that is not literal may be -exec: give find a literal folder, or one that begins with a letter"
		}
	}
	r.emit(part, c)
	end := 0
	for i := 1; i < len(words); i++ {
		if !executes(words[i]) {
			continue
		}
		if i < end { // the one before may be the value of something
			r.looks++
		}
		if r.looks > maxLooks {
			r.fail("a find has too many -exec in each other: put the command into a script")
		}
		if !r.nests(c) {
			break
		}
		end = i + 1
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
	}
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
