package policy

import (
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/shell"
)

// script is a command while it is judged.
type script struct {
	*Policy
	files     Files
	readsFile bool // some redirection opens a file for reading alone
	paths     []Resolved
}

// remembered asks Files once for each path: a command may name one thousands of times.
type remembered struct {
	Files
	known map[string]resolution
}

type resolution struct {
	real string
	err  error
}

func (r *remembered) Real(path string) (string, error) {
	got, ok := r.known[path]
	if !ok {
		got.real, got.err = r.Files.Real(path)
		r.known[path] = got
	}
	return got.real, got.err
}

// judgeCommand decides a Bash call: deny and ask by any part, allow by every part.
func (p *Policy) judgeCommand(c Call, files Files) Decision {
	read, err := shell.Read(c.Command)
	if err != nil {
		return p.decide(finding{rank: unread, problem: err.Error()})
	}
	s := script{Policy: p, files: &remembered{files, map[string]resolution{}}}
	for i := range read.Parts {
		s.readsFile = s.readsFile || slices.ContainsFunc(read.Parts[i].Accesses, func(a shell.Access) bool { return !a.Write })
	}
	worst, parts := s.whole(), make([]PartDecision, 0, len(read.Parts))
	var all lack
	byMode := false // some part is allowed by the mode and not by a rule
	for i := range read.Parts {
		part := &read.Parts[i]
		f, moded := s.judge(part)
		outcome, _ := p.outcome(f)
		name, _ := f.name()
		parts = append(parts, PartDecision{Text: part.Text, Outcome: outcome, Rule: name})
		byMode = byMode || moded
		all = all.and(f.lack)
		if f.before(worst) {
			worst = f
		}
	}
	if worst.rank == granted && byMode {
		worst.rule = nil
	}
	worst.lack = all
	d := p.decide(worst)
	d.Parts, d.Paths = parts, s.paths
	return d
}

// whole is what the rules say of every command, one without parts too.
func (s *script) whole() finding {
	for _, e := range []struct {
		effect Effect
		rank   rank
	}{{Deny, denied}, {Ask, doubted}} {
		if i := s.bash[e.effect].bare; i != none {
			return s.ruled(e.rank, i, usage{tool: Bash}, nil)
		}
	}
	if s.mode == Plan {
		return finding{rank: planned}
	}
	return finding{rank: granted}
}

// judge gives what decides on a part, and whether it is the mode that allows the command
// in it.
func (s *script) judge(part *shell.Part) (worst finding, moded bool) {
	worst = s.command(part)
	moded = worst.rank == granted && worst.rule == nil && !s.needless(part)
	all := worst.lack
	take := func(f finding) {
		if part.Shadow && f.rank >= planned {
			return // it only objects
		}
		all = all.and(f.lack)
		if f.before(worst) && !(moded && f.rank == granted) {
			worst = f
		}
	}
	for _, a := range part.Accesses {
		take(s.access(a))
	}
	for _, run := range part.Runs {
		take(s.run(run))
	}
	worst.lack = all
	return worst, moded
}

// command judges a part's words.
func (s *script) command(part *shell.Part) finding {
	for _, e := range []struct {
		effect Effect
		rank   rank
	}{{Deny, denied}, {Ask, doubted}} {
		if i := s.meets(e.effect, part); i != none {
			f := s.ruled(e.rank, i, usage{tool: Bash}, nil)
			f.part = part
			return f
		}
	}
	f := finding{part: part}
	switch {
	case s.mode == Plan:
		f.rank = planned
	case s.needless(part):
		f.rank = granted
	default:
		i := s.covered(part)
		switch {
		case i != none:
			f = s.ruled(granted, i, usage{tool: Bash}, nil)
			f.part = part
		case s.mode == Bypass:
			f.rank = granted
		default:
			f.rank, f.lack = lacking, lack{[]string{suggest(part)}, Bypass}
		}
	}
	return f
}

// meets gives the first deny or ask rule that a part could be meant by.
func (s *script) meets(e Effect, part *shell.Part) int {
	law := &s.bash[e]
	return law.rule(law.patterns.May(part))
}

// covered gives the first allow rule that certainly means a part.
func (s *script) covered(part *shell.Part) int {
	law := &s.bash[Allow]
	return law.rule(law.patterns.Covers(part))
}

// rule gives the rule of a pattern, or the one on all commands if that comes first.
func (l *bashLaw) rule(pattern int) int {
	if pattern < 0 {
		return l.bare
	}
	return min(l.rules[pattern], l.bare)
}

// needless reports whether a part needs no rule: it is neutral, and stays inside.
func (s *script) needless(part *shell.Part) bool {
	if !part.Neutral || part.Opaque != "" {
		return false
	}
	for _, to := range part.Inside {
		text, known := s.literal(to)
		if !known {
			return false
		}
		if _, problem, _ := s.locate(text, s.files, true); problem != "" {
			return false
		}
	}
	return true
}

// literal gives a path's text, if it can be told which path it is.
func (p *Policy) literal(path shell.Path) (text string, known bool) {
	if path.Home {
		return p.home + strings.TrimPrefix(path.Text, "~"), true
	}
	return path.Text, path.Literal
}

// access judges a redirection as Read or Edit of its target.
func (s *script) access(a shell.Access) finding {
	u := usage{tool: Read, redirect: true}
	if a.Write {
		u.tool = Edit
	}
	text, known := s.literal(a.Path)
	if !known {
		return s.dark(text, u)
	}
	if s.free(text) || descriptor(text) && !(a.Write && s.readsFile) {
		return finding{rank: granted}
	}
	t, problem, elsewhere := s.locate(text, s.files, true)
	if problem != "" {
		return misplaced(u, text, problem, elsewhere, t)
	}
	s.paths = append(s.paths, t.resolved())
	f := s.weigh(&t, u)
	if i := s.bash[Allow].bare; i != none && f.rank >= lacking {
		if all := s.ruled(granted, i, u, &t); f.rule == nil || all.order.before(f.order) {
			return all
		}
	}
	return f
}

// dark judges a redirection whose target can't be told: every objection to some path
// counts, and only what allows everything allows it.
func (s *script) dark(text string, u usage) finding {
	t := &target{text: text, dark: true}
	if f := s.object(t, u); f.rank != granted {
		return f
	}
	switch i := s.bash[Allow].bare; {
	case i != none:
		return s.ruled(granted, i, u, t)
	case s.mode == Bypass:
		return finding{rank: granted, use: u, target: t}
	}
	return finding{rank: lacking, use: u, target: t, lack: lack{[]string{`"Bash"`}, Bypass}}
}

// run judges a file that a command executes, if it is inside. Rules speak of commands,
// so only the contracts have a say.
func (s *script) run(path shell.Path) finding {
	if len(s.contracts) == 0 {
		return finding{rank: granted}
	}
	text, known := s.literal(path)
	t := target{text: text, dark: true} // it may be any path
	if known {
		t = s.inside(text, s.files)
	}
	return s.contracted(&t, usage{tool: Bash})
}
