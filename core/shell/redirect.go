package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect reads redirections: what they open from here, and what feeds the command.
func (r *reader) redirect(redirs []*syntax.Redirect, p place, run *command) {
	for _, rd := range redirs {
		seen := &run.seen
		stdin := rd.N == nil || rd.N.Value == "0"
		if rd.N != nil && strings.HasPrefix(rd.N.Value, "{") {
			r.sets(strings.Trim(rd.N.Value, "{}"), seen)
			stdin = false
		}
		var target word
		if rd.Hdoc == nil {
			target = r.seenWord(rd.Word, seen)
			if target.opaque != "" {
				seen.mark(target.opaque)
			}
		}
		switch rd.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			if stdin {
				r.hereText(rd, run)
			} else if rd.Hdoc != nil {
				r.inspect(rd.Hdoc, seen)
			}
			continue
		case syntax.RdrIn, syntax.RdrInOut:
			run.input.other = run.input.other || stdin
			r.opens(target, rd.Op == syntax.RdrInOut, p, run)
		case syntax.DplIn, syntax.DplOut:
			run.input.other = run.input.other || stdin && rd.Op == syntax.DplIn || rd.N != nil && stdin
			if !descriptor(target) {
				if text, ok := target.literal(); !ok || strings.Trim(text, fileLetters) != "" {
					seen.mark("bash expands the word after >& twice: write &> or > with 2>&1")
				}
				r.opens(target, rd.Op == syntax.DplOut, p, run)
			}
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			run.input.other = run.input.other || rd.N != nil && stdin
			r.opens(target, true, p, run)
		default:
			r.fail("the command has a redirection that rules can't read: use <, >, >>, 2>&1, << or <<<")
		}
	}
}

// fileLetters mean themselves however often they are expanded.
const fileLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+,:@%"

// hereText reads a here-document or here-string.
func (r *reader) hereText(rd *syntax.Redirect, run *command) {
	in := &run.input
	in.other = in.other || in.here // the last counts, and which that is is a riddle
	in.here = true
	in.literal = false
	if rd.Hdoc == nil {
		return
	}
	seen := findings{}
	r.inspect(rd.Hdoc, &seen)
	run.seen.lists = append(run.seen.lists, seen.lists...)
	run.seen.sets = append(run.seen.sets, seen.sets...)
	if seen.opaque != "" {
		run.seen.mark(seen.opaque)
	}
	in.text, in.literal = body(rd)
}

// body gives the text of a here-document when that is known.
func body(rd *syntax.Redirect) (string, bool) {
	plain := rd.Op == syntax.Hdoc
	expands := true
	for _, part := range rd.Word.Parts {
		lit, ok := part.(*syntax.Lit)
		expands = expands && ok && !strings.Contains(lit.Value, `\`)
	}
	var b strings.Builder
	for _, part := range rd.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || expands && strings.Contains(lit.Value, `\`) {
			return "", false
		}
		b.WriteString(lit.Value)
	}
	text := b.String()
	if !plain {
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		text = strings.Join(lines, "\n")
	}
	return text, true
}

// descriptor reports whether the word after >& or <& is surely one: a number, or "-".
func descriptor(w word) bool {
	text, ok := w.literal()
	return ok && text != "" && len(text) <= 4 && strings.Trim(strings.TrimSuffix(text, "-"), "0123456789") == ""
}

// maxOpened is how many redirections to files a command may have: each is looked up on
// the disk.
const maxOpened = 512

// opens records a file that a redirection opens.
func (r *reader) opens(w word, write bool, p place, run *command) {
	if r.opened++; r.opened > maxOpened {
		r.fail("the command opens too many files by redirections: put it into a script")
		return
	}
	for _, to := range p.paths(w, r.home()) {
		if to.Literal && to.Text == "/dev/null" {
			continue
		}
		run.accesses = append(run.accesses, Access{Path: to, Write: write})
	}
}

// logical is the folder that cd takes a path for: ".." goes back over the name before.
func logical(p Path) string {
	clean := path.Clean(p.Text)
	switch {
	case p.Home && !strings.HasPrefix(clean, "~"):
		return p.Text
	case clean == ".":
		return ""
	case !p.Home && strings.HasPrefix(clean, "~"):
		return "./" + clean
	}
	return clean
}
