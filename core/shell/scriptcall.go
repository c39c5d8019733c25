package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shellCall looks through a shell: its script is a word, a file or its standard input.
func shellCall(words []word, base string) (unwrapped, bool) {
	u := unwrapped{shell: base, runs: inputScript, sealed: words[0].form != base}
	text, i := false, 1
	for ; i < len(words); i++ {
		o, ok := words[i].literal()
		if !ok {
			u.opaque = "a word that is not literal may be its script"
			return u, true
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
		if o[0] == '+' || strings.Trim(o[1:], "ceuxlso") != "" || strings.Count(o, "o") > 1 {
			u.sealed, u.opaque = true, fromInput(words[i+1:])
			return u, true
		}
		text = text || strings.Contains(o, "c")
		if strings.Contains(o, "o") {
			if i++; i == len(words) || !usual(words[i]) {
				u.sealed = true
				return u, true
			}
		}
		if strings.Contains(o, "s") && !text {
			return u, true
		}
	}
	switch {
	case i >= len(words):
		return u, !text
	case text:
		u.runs = textScript
		u.text, _ = words[i].literal()
	default:
		u.runs, u.file = fileScript, words[i]
		if !u.file.exact || streamed(u.file.form) {
			u.opaque = "its script is not a file known by name"
		}
	}
	return u, true
}

// fromInput says why a shell with an option that is not known here may run what none of
// its words says: without a script it takes its standard input.
func fromInput(rest []word) string {
	for _, w := range rest {
		if text, ok := w.literal(); !ok || !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+") {
			return ""
		}
	}
	return "it may take its script from its standard input"
}

// usual reports whether an option of set -o changes nothing in how a script is read.
func usual(w word) bool {
	return w.is("pipefail") || w.is("errexit") || w.is("nounset") || w.is("xtrace")
}

// evalCall looks through eval.
func evalCall(words []word) (unwrapped, bool) {
	u := unwrapped{shell: "bash", runs: evalScript}
	args := words[1:]
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	var list []string
	for _, w := range args {
		text, ok := w.literal()
		if !ok {
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
	u := unwrapped{shell: "bash", runs: handlerScript, always: true}
	args := words[1:]
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if some(args, func(w word) bool { return w.many }) || len(args) > 0 && !args[0].exact {
		u.opaque = "its handler is not literal"
		return u, true
	}
	if len(args) < 2 || strings.HasPrefix(args[0].form, "-") || args[0].form == "" || strings.Trim(args[0].form, "0123456789") == "" {
		return u, false
	}
	u.text, _ = args[0].literal()
	for _, w := range args[1:] {
		u.always = u.always && (w.is("EXIT") || w.is("0"))
	}
	return u, true
}

// runsScript adds the parts of a wrapper that runs a script, and what the script does.
func (r *reader) runsScript(run *command, u *unwrapped, p place, c situation) (t, f place) {
	outer := r.part(run, p, "")
	in := c.inside(outer, true)
	in.assigns = run.before
	t, f = p, p
	text, why := u.text, ""
	switch u.runs {
	case fileScript:
		outer.Runs = append(outer.Runs, p.paths(u.file, r.home())...)
		r.emit(outer, c)
		return p, p
	case inputScript:
		if text = run.input.text; !run.input.here || !run.input.literal || run.input.other {
			outer.Opaque = "it takes its script from its standard input"
			r.emit(outer, c)
			return p, p
		}
	case handlerScript:
		p = lost()
	default:
	}
	before := len(r.parts)
	in.aside = in.aside || u.runs != evalScript
	switch u.shell {
	case "bash":
		var et, ef place
		if et, ef, why = r.script(text, syntax.LangBash, p, in); u.runs == evalScript {
			t, f = et, ef
		}
	default:
		why = r.otherShell(u.shell, text, p, in)
	}
	if u.runs == handlerScript && !u.always {
		t, f = lost(), lost()
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
func (r *reader) otherShell(shell, text string, p place, c situation) (why string) {
	const differs = "shells differ in how they read its script"
	if (shell == "zsh" || shell == "ksh") && strings.Trim(text, commonLetters) != "" {
		return differs
	}
	if _, err := parse(text, syntax.LangPOSIX); err != nil {
		return differs
	}
	first := len(r.parts)
	_, _, why = r.script(text, syntax.LangBash, p, c)
	second := len(r.parts)
	r.script(text, syntax.LangPOSIX, p, c)
	if same(r.parts[first:second], r.parts[second:]) {
		r.parts = r.parts[:second]
	}
	if shell == "zsh" {
		for _, part := range r.parts[first:] {
			if has(zshWords, part.inner) {
				return differs
			}
		}
	}
	return why
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
	c.outers = append(c.outers[:len(c.outers):len(c.outers)], outside{form: outer.form, script: script, away: outer.away})
	return c
}
