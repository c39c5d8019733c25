package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shellCall looks through a shell that is called in a plain way: its script is a word, a
// file or its standard input. Any other option may change where the script is, or how it
// is read.
func shellCall(words []word, base string) unwrapped {
	u := unwrapped{shell: base, runs: inputScript}
	opaque := func(why string) unwrapped {
		u.opaque = why
		return u
	}
	text, input, i := false, false, 1
	for ; i < len(words); i++ {
		o, ok := words[i].literal()
		if !ok {
			return opaque("a word that is not literal may be its script")
		}
		if o == "-" || o == "--" {
			i++
			break
		}
		if o == "--noprofile" || o == "--norc" || o == "--login" {
			continue
		}
		if len(o) < 2 || o[0] != '-' && o[0] != '+' {
			break
		}
		if o[0] == '+' || strings.Trim(o[1:], "ceuxlsonv") != "" || strings.Count(o, "o") > 1 {
			return opaque("its option " + o + " may change what script it takes, or how it reads it")
		}
		text = text || strings.Contains(o, "c")
		input = input || strings.Contains(o, "s")
		if strings.Contains(o, "o") {
			if i++; i == len(words) || !usual(words[i]) {
				return opaque("its option -o may change how it reads its script")
			}
		}
	}
	switch {
	case text && input:
		return opaque("with both -c and -s it may run its standard input too")
	case text && i >= len(words):
		u.runs = noScript
	case text:
		u.runs = textScript
		if u.text, text = words[i].literal(); !text || words[i].tilde {
			return opaque("a word that is not literal may be its script")
		}
	case input || i >= len(words):
	default:
		u.runs, u.file = fileScript, words[i]
		if !u.file.exact || streamed(u.file.form) {
			return opaque("its script is not a file known by name")
		}
	}
	return u
}

// usual reports whether an option of set -o changes nothing in how a script is read.
func usual(w word) bool {
	return w.is("pipefail") || w.is("errexit") || w.is("nounset") || w.is("xtrace")
}

// evalCall looks through eval.
func evalCall(words []word) (unwrapped, bool) {
	u := unwrapped{runs: evalScript}
	args := words[1:]
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	var list []string
	for _, w := range args {
		text, ok := w.literal()
		if !ok || w.tilde {
			u.opaque = "what it evaluates is not literal"
			return u, true
		}
		list = append(list, text)
	}
	u.text = strings.Join(list, " ")
	return u, true
}

// trapCall looks through trap; without a handler it runs nothing.
func trapCall(words []word) (unwrapped, bool) {
	u := unwrapped{runs: handlerScript, always: true}
	args := words[1:]
	options := len(args) > 0 && !args[0].is("--") && strings.HasPrefix(args[0].prefix(), "-")
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if some(args, func(w word) bool { return w.many }) || len(args) > 0 && (!args[0].exact || args[0].tilde) {
		u.opaque = "its handler is not literal"
		return u, true
	}
	if options || len(args) < 2 || args[0].is("") || args[0].is("-") || signal(args[0].form) {
		return u, false
	}
	u.text = args[0].form
	for _, w := range args[1:] {
		u.always = u.always && (w.is("EXIT") || w.is("0"))
	}
	return u, true
}

// signal reports whether a handler is the number of a signal that every system has: then
// it is none, and that signal's handler is taken away.
func signal(text string) bool {
	n, digits := number(text, 10, 2)
	return digits == len(text) && n <= 31 && (n > 0 || text == "0") && !(n > 0 && text[0] == '0')
}

// runsScript adds the parts of a wrapper that runs a script, and what the script does.
func (r *reader) runsScript(run *command, u *unwrapped, p place, c situation) (t, f place) {
	outer := r.part(run, p, "")
	in := c.inside(outer, true)
	in.assigns = run.before
	t, f = p, p
	text, from, why := u.text, p, ""
	switch u.runs {
	case fileScript:
		outer.Runs = append(outer.Runs, p.paths(u.file, r.home())...)
		r.emit(outer, c)
		return p, p
	case inputScript:
		if text = run.input.text; !run.input.here || !run.input.literal || run.input.other {
			outer.Opaque = "it takes its script from its standard input"
			r.emit(outer, c)
			r.glimpsed(run, p, c)
			return p, p
		}
		in.stdin = true
	case handlerScript:
		from = lost()
		if !u.always {
			t, f = lost(), lost()
		}
	default:
	}
	if u.shell != "" { // eval and trap are read by the shell around
		in.shell = u.shell
	}
	in.aside = in.aside || u.runs != evalScript
	before := len(r.parts)
	var et, ef place
	switch in.shell {
	case "", "bash":
		et, ef, why = r.script(text, syntax.LangBash, from, in)
	default:
		et, ef, why = r.otherShell(in.shell, text, from, in)
	}
	if u.runs == evalScript {
		t, f = et, ef
	}
	if outer.Opaque == "" {
		outer.Opaque = why
	}
	outer.Neutral = outer.Opaque == "" && len(r.parts) > before
	r.emit(outer, c)
	return t, f
}

// otherShell reads a script for a shell that is not bash, or may not be: as bash and as
// POSIX have it, for what is a test to one is a command to the other.
func (r *reader) otherShell(shell, text string, p place, c situation) (t, f place, why string) {
	const differs = "shells differ in how they read its script"
	_, err := r.parse(text, syntax.LangPOSIX)
	if err != nil || (shell == "zsh" || shell == "ksh") && strings.Trim(text, commonLetters) != "" {
		c.shadow = true
		r.script(text, syntax.LangBash, p, c)
		return lost(), lost(), differs
	}
	first := len(r.parts)
	t, f, why = r.script(text, syntax.LangBash, p, c)
	second := len(r.parts)
	pt, pf, other := r.script(text, syntax.LangPOSIX, p, c)
	if why == "" {
		why = other
	}
	if same(r.parts[first:second], r.parts[second:]) {
		r.parts = r.parts[:second]
	}
	if shell == "zsh" {
		for _, part := range r.parts[first:] {
			if has(zshWords, part.inner) {
				return lost(), lost(), differs
			}
		}
	}
	return t.or(pt), f.or(pf), why
}

// commonLetters are those that mean the same to all shells.
const commonLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n\t_./:,@+-;&|'"

// zshWords stand before a command in zsh.
var zshWords = []string{"repeat", "noglob", "nocorrect", "-", "foreach", "always", "end"}

// same reports whether two readings gave the same parts.
func same(a, b []Part) bool {
	return slices.EqualFunc(a, b, func(x, y Part) bool { return x.form == y.form && x.Text == y.Text && x.Opaque == y.Opaque })
}

// inside is the situation in a wrapper.
func (c situation) inside(outer Part, script bool) situation {
	c.outers = append(c.outers[:len(c.outers):len(c.outers)], outside{form: outer.form, script: script})
	return c
}
