package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// lines reads the statements of a script. Where an expansion fails, or an assignment, bash
// drops what is left of the line and goes on with the next one, from wherever it is then.
func (r *reader) lines(list []*syntax.Stmt, p place, c situation) (t, f place) {
	around := r.seen
	t, f = p, p
	fails := false
	for i, s := range list {
		if i > 0 {
			p = t.or(f)
		}
		if i > 0 && s.Pos().Line() > list[i-1].End().Line() {
			if fails {
				p = p.or(r.seen)
			}
			fails, r.seen = false, nowhere()
		}
		t, f = r.statement(s, p, c)
		fails = fails || mayFail(s)
	}
	if fails {
		t, f = t.or(r.seen), f.or(r.seen)
	}
	r.seen = around.or(r.seen)
	return t, f
}

// mayFail reports whether an expansion or an assignment in a node may fail.
func mayFail(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp, *syntax.Assign:
			found = true
		case *syntax.ParamExp:
			found = found || n.Excl || n.Index != nil || n.Slice != nil || n.Repl != nil || n.Exp != nil
		}
		return !found
	})
	return found
}

// statements reads a list, and gives the places where it ends with status 0, and with
// another.
func (r *reader) statements(list []*syntax.Stmt, p place, c situation) (t, f place) {
	c.fed = false
	t, f = p, p
	for i, s := range list {
		if i > 0 {
			p = t.or(f)
		}
		t, f = r.statement(s, p, c)
	}
	return t, f
}

// statement reads one statement.
func (r *reader) statement(s *syntax.Stmt, p place, c situation) (t, f place) {
	if r.err != nil {
		return p, p
	}
	c.aside = c.aside || s.Background
	if !c.aside {
		r.seen = r.seen.or(p)
		defer func() { r.seen = r.seen.or(t).or(f) }()
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		t, f = r.call(cmd, s.Redirs, p, c)
	case *syntax.DeclClause:
		t, f = r.declaration(cmd, s.Redirs, p, c)
	default:
		t, f = r.compound(s.Cmd, p, c)
		if _, isFunc := s.Cmd.(*syntax.FuncDecl); isFunc {
			p = lost()
		}
		r.redirections(s.Redirs, p, c)
	}
	if len(s.Redirs) > 0 {
		f = f.or(p) // where one fails, nothing is run
	}
	if s.Negated {
		t, f = f, t
	}
	if s.Background {
		return p, p
	}
	return t, f
}

// compound reads what is not a simple command.
func (r *reader) compound(cmd syntax.Command, p place, c situation) (t, f place) {
	fed := c.fed
	c.fed = false
	switch cmd := cmd.(type) {
	case nil:
		return p, p
	case *syntax.Block:
		return r.statements(cmd.Stmts, p, c)
	case *syntax.Subshell:
		c.aside = true
		r.statements(cmd.Stmts, p, c)
	case *syntax.BinaryCmd:
		c.fed = fed
		return r.binary(cmd, p, c)
	case *syntax.IfClause:
		return r.conditional(cmd, p, c)
	case *syntax.WhileClause:
		p = r.loopPlace(cmd, p)
		r.statements(cmd.Cond, p, c)
		r.statements(cmd.Do, p, c)
	case *syntax.ForClause:
		p = r.loop(cmd, p, c)
	case *syntax.CaseClause:
		return r.choice(cmd, p, c)
	case *syntax.FuncDecl:
		c.aside = true
		r.statement(cmd.Body, lost(), c)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		r.expression(cmd, p, c)
		if r.funcs["let"] {
			return lost(), lost()
		}
	case *syntax.TimeClause:
		return r.timed(cmd, p, c)
	case *syntax.CoprocClause:
		r.coprocess(cmd, p, c)
	default:
		r.fail("the command has a construct that rules can't read")
	}
	return p, p
}

// binary reads two statements with an operator between. A chain is read in a loop, for
// it may be as long as the command.
func (r *reader) binary(cmd *syntax.BinaryCmd, p place, c situation) (t, f place) {
	fed := c.fed
	c.fed = false
	switch cmd.Op {
	case syntax.AndStmt:
		t, f = r.statement(cmd.X, p, c)
		yt, yf := r.statement(cmd.Y, t, c)
		return yt, yf.or(f)
	case syntax.OrStmt:
		t, f = r.statement(cmd.X, p, c)
		yt, yf := r.statement(cmd.Y, f, c)
		return t.or(yt), yf
	case syntax.Pipe, syntax.PipeAll:
		c.fed, c.aside = fed, true
		r.statement(cmd.X, p, c)
		c.fed = true
		r.statement(cmd.Y, p, c)
	default:
		r.fail("the command has an operator that rules can't read")
	}
	return p, p
}

// conditional reads an if with its elifs and its else.
func (r *reader) conditional(cmd *syntax.IfClause, p place, c situation) (t, f place) {
	if len(cmd.Cond) == 0 { // an else
		return r.statements(cmd.Then, p, c)
	}
	ct, cf := r.statements(cmd.Cond, p, c)
	t, f = r.statements(cmd.Then, ct, c)
	if cmd.Else == nil {
		return t.or(cf), f
	}
	et, ef := r.conditional(cmd.Else, cf, c)
	return t.or(et), f.or(ef)
}

// loopPlace is the place in a loop: unknown where a round may lead elsewhere.
func (r *reader) loopPlace(n syntax.Node, p place) place {
	if moves(n) || r.calls(n) {
		return lost()
	}
	return p
}

// calls reports whether a node may call a function that changes the folder.
func (r *reader) calls(n syntax.Node) bool {
	if !r.wanders {
		return false
	}
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			found = found || r.funcs[call.Args[0].Lit()]
		}
		return !found
	})
	return found
}

// loop reads for and select; it gives the place after.
func (r *reader) loop(cmd *syntax.ForClause, p place, c situation) place {
	var seen findings
	switch l := cmd.Loop.(type) {
	case *syntax.WordIter:
		for _, w := range l.Items {
			r.inspect(w, &seen)
		}
		r.sets(l.Name.Value, &seen)
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			r.arithmetic(x, &seen)
		}
	}
	r.report(r.heading(cmd), &seen, p, c)
	p = r.loopPlace(cmd, p)
	r.statements(cmd.Do, p, c)
	return p
}

// heading is how a loop begins, for people.
func (r *reader) heading(cmd *syntax.ForClause) string {
	from, to := int(cmd.Pos().Offset()), int(cmd.DoPos.Offset())
	return trimmed(r.text[min(from, len(r.text)):min(max(from, to), len(r.text))])
}

// choice reads a case.
func (r *reader) choice(cmd *syntax.CaseClause, p place, c situation) (t, f place) {
	var seen findings
	r.inspect(cmd.Word, &seen)
	for _, item := range cmd.Items {
		for _, w := range item.Patterns {
			r.inspect(w, &seen)
		}
	}
	r.report("case "+r.slice(cmd.Word), &seen, p, c)
	t, f = p, p
	through := p
	for _, item := range cmd.Items {
		it, ifail := r.statements(item.Stmts, through, c)
		t, f = t.or(it), f.or(ifail)
		through = p
		if item.Op != syntax.Break {
			through = t.or(f)
		}
	}
	return t, f
}

// expression reads [[ ]], (( )) and let: no part, unless they may run something.
func (r *reader) expression(cmd syntax.Command, p place, c situation) {
	var seen findings
	switch cmd := cmd.(type) {
	case *syntax.TestClause:
		r.inspect(cmd, &seen)
	case *syntax.ArithmCmd:
		r.arithmetic(cmd.X, &seen)
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			r.arithmetic(x, &seen)
		}
		if seen.opaque == "" {
			w := plainWord("let")
			text := r.slice(cmd)
			r.emit(Part{Text: text, shape: &shape{form: join([]word{w, unknownWords()}, nobody), vague: true, inner: "let"}}, c)
		}
	}
	r.report(r.slice(cmd), &seen, p, c)
}

// timed reads the keyword time: a wrapper when a simple command follows.
func (r *reader) timed(cmd *syntax.TimeClause, p place, c situation) (t, f place) {
	if cmd.Stmt == nil {
		return p, p
	}
	call, simple := cmd.Stmt.Cmd.(*syntax.CallExpr)
	if simple && len(call.Args) > 0 && call.Args[0].Lit() == "--" {
		r.fail("bash passes over the -- of time, and the parser does not; leave it out")
		return p, p
	}
	if simple && len(call.Args) > 0 && !cmd.Stmt.Negated {
		words := []word{plainWord("time")}
		if cmd.PosixFormat {
			words = append(words, plainWord("-p"))
		}
		words = append(words, r.assignments(call.Assigns)...)
		for _, a := range call.Args {
			words = append(words, r.word(a))
		}
		outer := r.wrapperPart(nil, words)
		t, f = r.statement(cmd.Stmt, p, c.inside(outer, false))
		r.emit(outer, c)
		return t, f
	}
	return r.statement(cmd.Stmt, p, c)
}

// coprocess reads a coproc, which sets a variable of its name.
func (r *reader) coprocess(cmd *syntax.CoprocClause, p place, c situation) {
	var seen findings
	variable := "COPROC"
	plain := !cmd.Stmt.Negated
	switch cmd.Stmt.Cmd.(type) {
	case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause, *syntax.TestClause, *syntax.ArithmCmd:
	case *syntax.CallExpr, *syntax.DeclClause: // to bash its first word is the program, never a name
		plain = plain && cmd.Name == nil
	default: // a pipe, for one, of which bash takes the first command alone
		plain = false
	}
	if redirs := cmd.Stmt.Redirs; !plain || len(redirs) > 0 && redirs[0].Pos().Offset() < cmd.Stmt.Cmd.Pos().Offset() {
		r.fail("bash and the parser may take different words for the coprocess: put it into { ...; }")
		return
	}
	if cmd.Name != nil {
		if variable = cmd.Name.Lit(); variable == "" || strings.Contains(variable, `\`) {
			r.fail("the name of a coprocess is not plain: name it by letters")
			return
		}
	}
	r.names.array(variable)
	r.sets(variable, &seen)
	r.report("coproc "+variable, &seen, p, c)
	c.aside = true
	r.statement(cmd.Stmt, p, c)
}
