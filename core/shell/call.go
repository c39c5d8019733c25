package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// command is a simple command with what surrounds it.
type command struct {
	before   []word // assignments
	words    []word
	accesses []Access
	input    input
	seen     findings // of what is not a word of its own: redirections
}

// input is a command's standard input, as far as rules care.
type input struct {
	here    bool // a here-document or here-string
	literal bool // its text is known
	text    string
	other   bool // something else
}

// call reads a simple command.
func (r *reader) call(cmd *syntax.CallExpr, redirs []*syntax.Redirect, p place, c situation) (t, f place) {
	var run command
	var seen findings
	for _, a := range cmd.Assigns {
		run.before = append(run.before, r.assignment(a, &seen))
	}
	for _, w := range cmd.Args {
		run.words = append(run.words, r.seenWord(w, &seen))
	}
	return r.perform(&run, &seen, redirs, p, c)
}

// declaration reads declare, export and their kin, which the parser knows as keywords.
func (r *reader) declaration(cmd *syntax.DeclClause, redirs []*syntax.Redirect, p place, c situation) (t, f place) {
	run := command{words: []word{plainWord(cmd.Variant.Value)}}
	var seen findings
	for _, a := range cmd.Args {
		if a.Name == nil {
			run.words = append(run.words, r.seenWord(a.Value, &seen))
			continue
		}
		run.words = append(run.words, r.assignment(a, &seen))
	}
	return r.perform(&run, &seen, redirs, p, c)
}

// perform adds the parts of a simple command.
func (r *reader) perform(run *command, seen *findings, redirs []*syntax.Redirect, p place, c situation) (t, f place) {
	r.redirect(redirs, p, run)
	seen.sets = append(seen.sets, run.seen.sets...)
	seen.lists = append(seen.lists, run.seen.lists...)
	t, f = p, p
	switch {
	case len(run.words) > 0:
		run.before = append(c.assigns[:len(c.assigns):len(c.assigns)], run.before...)
		t, f = r.simple(run, p, c)
	default:
		r.alone(run, redirs, c)
	}
	r.report("", &findings{sets: seen.sets, lists: seen.lists}, p, c)
	return t, f
}

// alone adds assignments and redirections without a command: a part each.
func (r *reader) alone(run *command, redirs []*syntax.Redirect, c situation) {
	r.names.assigned(run.before)
	whole := join(run.before, always)
	outers := c.outers
	if len(run.before) > 1 {
		c.outers = append(outers[:len(outers):len(outers)], outside{form: whole, script: true})
	}
	for _, w := range run.before {
		variable, _, ok := splitName(w)
		r.emit(Part{
			Text:    w.text,
			shape:   &shape{form: join([]word{w}, always)},
			Opaque:  w.opaque,
			Neutral: ok && lowerCase(variable) && w.opaque == "",
		}, c)
	}
	c.outers = outers
	r.redirected(run, redirs, c)
}

// redirections adds the part of a compound command's redirections.
func (r *reader) redirections(redirs []*syntax.Redirect, p place, c situation) {
	if len(redirs) == 0 {
		return
	}
	var run command
	r.redirect(redirs, p, &run)
	r.redirected(&run, redirs, c)
	r.report("", &findings{sets: run.seen.sets, lists: run.seen.lists}, p, c)
}

// redirected adds redirections as a part of their own, if they open anything.
func (r *reader) redirected(run *command, redirs []*syntax.Redirect, c situation) {
	if len(run.accesses) == 0 && run.seen.opaque == "" {
		return
	}
	var list []string
	for _, rd := range redirs {
		text := rd.Op.String() + " " + r.slice(rd.Word)
		if rd.N != nil {
			text = rd.N.Value + text
		}
		list = append(list, text)
	}
	r.emit(Part{
		Text:     trimmed(strings.Join(list, " ")),
		Opaque:   run.seen.opaque,
		Neutral:  run.seen.opaque == "",
		Accesses: run.accesses,
	}, c)
}

// assignments reads assignments for their words alone.
func (r *reader) assignments(list []*syntax.Assign) []word {
	var seen findings
	out := make([]word, len(list))
	for i, a := range list {
		out[i] = r.assignment(a, &seen)
	}
	return out
}

// assignment reads one assignment, or a name that is declared.
func (r *reader) assignment(a *syntax.Assign, seen *findings) word {
	before := seen.opaque
	seen.opaque = ""
	head := a.Name.Value
	if a.Array != nil || a.Index != nil {
		r.names.array(a.Name.Value)
	}
	if a.Index != nil {
		r.arithmetic(a.Index, seen)
		head += "[" + r.slice(a.Index) + "]"
	}
	if !a.Naked {
		if a.Append {
			head += "+"
		}
		head += "="
	}
	out := word{form: head, text: head, exact: true}
	switch {
	case a.Array != nil:
		for _, e := range a.Array.Elems {
			r.arithmetic(e.Index, seen)
			if e.Value != nil {
				r.inspect(e.Value, seen)
			}
		}
		out = word{form: head + string(rune(anyText)), text: head + r.slice(a.Array), array: true}
	case a.Value != nil:
		r.inspect(a.Value, seen)
		v := r.spell(a.Value.Parts, false)
		out.form, out.exact = head+v.form, v.exact
		out.text = head + r.slice(a.Value)
		if value, ok := v.literal(); ok && !v.tilde {
			out.text = quoteText(head + value)
		}
	}
	out.opaque = seen.opaque
	if !a.Naked && evaluated(a.Name.Value) && !(out.exact && harmless(a.Name.Value, out.form[len(head):])) {
		out.opaque = special
	}
	seen.opaque = before
	return out
}

// simple adds the parts of a command that has words.
func (r *reader) simple(run *command, p place, c situation) (t, f place) {
	r.names.assigned(run.before)
	r.names.assigned(run.words)
	program, known := run.words[0].literal()
	if !known || program == "" || program == "~" {
		r.names.any = true
		r.emit(r.part(run, p, "its program is not literal"), c)
		return lost(), lost()
	}
	base := program[strings.LastIndexByte(program, '/')+1:]
	if (base == "env" || base == "exec") && len(run.words) > 1 && strings.HasPrefix(run.words[1].prefix(), "-") {
		r.names.add("HOME") // it may be taken out of the environment
	}
	if w, ok := unwrap(run.words, base, false); ok {
		if (base != program || r.funcs[program]) && !w.sealed && w.opaque == "" {
			return r.disguised(run, &w, program, p, c)
		}
		return r.wrapped(run, &w, p, c)
	}
	part := r.part(run, p, "")
	var seen findings
	if part.Opaque == "" && base == program {
		part.Opaque = r.builtin(program, run, &seen)
	}
	part.Neutral = part.Opaque == "" && len(run.before) == 0 && base == program && neutral(program, run, c.fed)
	if base == "find" {
		r.found(run, part, p, c)
		return r.after(program, run, part, p)
	}
	if file := run.words[1:]; part.Opaque == "" && (program == "source" || program == ".") && len(file) > 0 {
		if file[0].is("--") && len(file) > 1 {
			file = file[1:]
		}
		part.Runs = append(part.Runs, p.paths(file[0], r.home())...)
	}
	if program == "cd" {
		return r.cd(run, part, p, c)
	}
	r.emit(part, c)
	r.report("", &seen, p, c)
	return r.after(program, run, part, p)
}

// part makes the part of a command, opaque for this reason or for what is in it.
func (r *reader) part(run *command, p place, why string) Part {
	for _, list := range [][]word{run.before, run.words} {
		for _, w := range list {
			if why == "" {
				why = w.opaque
			}
		}
	}
	if why == "" {
		why = run.seen.opaque
	}
	part := r.wrapperPart(run.before, run.words)
	part.Opaque, part.Neutral, part.Accesses = why, false, run.accesses
	part.inner, _ = run.words[0].literal()
	if strings.Contains(part.inner, "/") {
		part.Runs = p.paths(run.words[0], r.home())
	}
	return part
}

// wrapperPart makes the part that speaks for a wrapper: deny and ask see it, and what it
// runs needs the rule.
func (r *reader) wrapperPart(before, words []word) Part {
	all := append(before[:len(before):len(before)], words...)
	n := len(before)
	vague := !literalAll(all)
	declares := 0
	if declaring(words[0]) {
		declares = 1
	}
	named := func(i int) bool { return i < n || declares > 0 && i > n && operand(all[i]) }
	part := Part{Text: texts(all), Neutral: true, shape: &shape{form: join(all, named), vague: vague}}
	if n > 0 {
		part.starts = append(part.starts, len(join(all[:n], named))+1)
	}
	if program, ok := words[0].literal(); ok {
		at := len(part.form) - len(join(all[n:], func(i int) bool { return named(i + n) }))
		if k := strings.LastIndexByte(program, '/'); k >= 0 {
			part.starts = append(part.starts, at+k+1)
		}
	}
	return part
}

// declaring reports whether a command declares variables by its operands.
func declaring(w word) bool {
	switch w.form {
	case "export", "readonly", "declare", "typeset", "local":
		return w.exact
	}
	return false
}

// operand reports whether a declaration's word is a name and not an option.
func operand(w word) bool {
	p := w.prefix()
	return p == "" && !w.exact || p != "" && p[0] != '-' && p[0] != '+'
}

// after is the place after a command that was not looked into.
func (r *reader) after(program string, run *command, part Part, p place) (t, f place) {
	switch {
	case part.Opaque != "":
		r.names.any = true
		return lost(), lost()
	case r.funcs[program] && r.wanders:
		return lost(), lost()
	case r.funcs[program]:
		return p, p
	}
	switch program {
	case "pushd", "popd", "source", ".", "shopt":
		return lost(), lost()
	case "exit":
		if !p.lost && (len(run.words) == 1 || len(run.words) == 2 && status(run.words[1])) {
			return nowhere(), nowhere()
		}
	}
	return p, p
}

// status reports whether a word is surely a number that exit takes.
func status(w word) bool {
	text, ok := w.literal()
	return ok && text != "" && len(text) <= 3 && strings.Trim(text, "0123456789") == "" || w.text == "$?" || w.text == `"$?"`
}

// cd adds a cd, and gives the places that it leads to and that it may leave.
func (r *reader) cd(run *command, part Part, p place, c situation) (t, f place) {
	args := run.words[1:]
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	t, f = lost(), p
	part.Neutral = false
	switch {
	case part.Opaque != "" || r.funcs["cd"] || r.names.may("CDPATH") || len(run.before) > 0:
		f = lost()
	case len(args) == 0:
		home := word{form: string(rune(tilde)), text: "~", exact: true, tilde: true}
		t, part.Inside = led(p.paths(home, r.home()))
	case len(args) == 1 && args[0].exact && args[0].form != "" && !args[0].is("-") && (args[0].form[0] != '-' && args[0].form[0] != '+' || len(run.words) == 3):
		t, part.Inside = led(p.paths(args[0], r.home()))
		part.Neutral = true
	}
	part.Neutral = part.Neutral && len(part.Inside) > 0 && part.Inside[0].Literal
	if p.lost { // what was read before may have changed what cd is
		t, f = lost(), lost()
	}
	r.emit(part, c)
	return t, f
}

// led is the place where a cd led. A ".." leads up from the name that was gone by, or if
// that fails from the folder itself, so both are possible; the likelier must lie inside.
func led(to []Path) (place, []Path) {
	var p place
	for i, path := range to {
		if !path.Literal && !path.Home || len(path.Text) > maxDir || strings.Count(path.Text, "..") > maxUps {
			return lost(), nil
		}
		clean := logical(path)
		if i == 0 {
			to = []Path{{Text: clean, Literal: path.Literal, Home: path.Home}}
		}
		p = p.or(place{dirs: []string{clean}})
		if clean != path.Text && strings.Contains(path.Text, "..") {
			p = p.or(place{dirs: []string{path.Text}})
		}
	}
	return p, to
}
