package shell

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// reader reads a script into parts.
type reader struct {
	*source
	names  *names
	parts  []Part
	opened int   // files that redirections open
	seen   place // all places that the line of the script so far may have led to
	err    error
}

// source is a script's text, and what holds everywhere in it.
type source struct {
	text    string
	funcs   map[string]bool // functions that it defines
	wanders bool            // one of them may change the folder
}

// situation is what surrounds a statement.
type situation struct {
	outers  []outside // wrappers
	assigns []word    // assignments that reach in from those
	shadow  bool      // for deny and ask alone: what is around needs the rule
	fed     bool      // a pipe is its standard input
	aside   bool      // another process runs it: it does not change the place
	depth   int       // scripts around
}

// movers are commands that may change the folder, or what cd means.
var movers = map[string]bool{
	"cd": true, "pushd": true, "popd": true, "source": true, ".": true, "eval": true, "trap": true,
	"command": true, "builtin": true, "shopt": true, "set": true,
}

// newSource looks over a script before it is read.
func newSource(text string, file *syntax.File) *source {
	s := &source{text: text, funcs: map[string]bool{}}
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok && f.Name != nil {
			s.funcs[f.Name.Value] = true
			s.wanders = s.wanders || moves(f.Body)
		}
		return true
	})
	return s
}

// moves reports whether a node may change the folder of the shell that runs it.
func moves(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.CoprocClause:
			return false
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				lit := n.Args[0].Lit()
				found = found || lit == "" || strings.Contains(lit, `\`) || movers[lit]
			}
		}
		return !found
	})
	return found
}

// fail keeps the first error.
func (r *reader) fail(text string) {
	if r.err == nil {
		r.err = errors.New(text)
	}
}

// emit adds a part.
func (r *reader) emit(p Part, c situation) {
	if len(r.parts) == maxParts {
		r.fail("the command has too many parts: put it into a script")
		return
	}
	if c.shadow {
		p.Neutral, p.Inside, p.Accesses = true, nil, nil
	}
	if p.shape == nil {
		p.shape = &shape{}
	}
	p.outers = c.outers
	r.parts = append(r.parts, p)
}

// script reads a text that is run as a script: of bash -c, eval, a handler. It reports
// why it can't be told what the text runs.
func (r *reader) script(text string, lang syntax.LangVariant, p place, c situation) (t, f place, why string) {
	if c.depth++; c.depth > 8 {
		r.fail("the command has scripts nested in scripts too deeply: put them into files")
		return p, p, ""
	}
	file, err := parse(text, lang)
	if err != nil {
		return lost(), lost(), "the script in it can't be read"
	}
	inner := newSource(text, file)
	for f := range r.funcs {
		inner.funcs[f] = true
	}
	inner.wanders = inner.wanders || r.wanders
	outer := r.source
	r.source = inner
	t, f = r.lines(file.Stmts, p, c)
	r.source = outer
	for f := range inner.funcs {
		r.funcs[f] = true
	}
	r.wanders = inner.wanders
	return t, f, ""
}

// slice is the text of a node.
func (r *reader) slice(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	return r.text[min(from, len(r.text)):min(max(from, to), len(r.text))]
}
