package shell

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// reader reads a script into parts.
type reader struct {
	*source
	names  *names
	parts  []Part
	parsed int   // bytes, over all scripts in each other
	looks  int   // at words that may begin a command
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
	astray  bool      // of shadows: the folder may be another than the one that is known
	fed     bool      // a pipe is its standard input
	shell   string    // that reads the script around; empty for bash
	stdin   bool      // the script is what that shell has as its standard input
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
		p.Neutral, p.Inside, p.Shadow = true, nil, true
	}
	if c.astray {
		p.wander()
	}
	if p.shape == nil {
		p.shape = &shape{}
	}
	p.outers = c.outers
	r.parts = append(r.parts, p)
}

// wander adds that each path of a part which is relative may be another one.
func (p *Part) wander() {
	for _, a := range p.Accesses {
		if a.Path.Literal && !strings.HasPrefix(a.Path.Text, "/") {
			p.Accesses = append(slices.Clip(p.Accesses), Access{Path: Path{Text: a.Path.Text}, Write: a.Write})
		}
	}
	for _, run := range p.Runs {
		if run.Literal && !strings.HasPrefix(run.Text, "/") {
			p.Runs = append(slices.Clip(p.Runs), Path{Text: run.Text})
		}
	}
}

// maxParsed is how much is parsed in one command, each script in it anew: a script in a
// script is read for each shell that may read it.
const maxParsed = 4 * MaxCommand

// parse parses a script in the command.
func (r *reader) parse(text string, lang syntax.LangVariant) (*syntax.File, error) {
	if r.parsed += len(text); r.parsed > maxParsed {
		r.fail("the command has scripts nested in scripts that are too long together: put them into files")
		return &syntax.File{}, nil
	}
	return parse(text, lang)
}

// script reads a text that is run as a script: of bash -c, eval, a handler. It reports
// why it can't be told what the text runs.
func (r *reader) script(text string, lang syntax.LangVariant, p place, c situation) (t, f place, why string) {
	if c.depth++; c.depth > 8 {
		r.fail("the command has scripts nested in scripts too deeply: put them into files")
		return p, p, ""
	}
	file, err := r.parse(text, lang)
	if err != nil {
		return lost(), lost(), "the script in it can't be read"
	}
	inner := newSource(text, file)
	for f := range r.funcs {
		inner.funcs[f] = true
	}
	inner.wanders = inner.wanders || r.wanders
	if c.stdin && eats(file, text, inner.funcs) {
		why = "a command in it may read or change what is left of the script: give that command < /dev/null, or send the script itself as the command"
		c.shadow = true
	}
	c.stdin = false
	outer := r.source
	r.source = inner
	t, f = r.lines(file.Stmts, p, c)
	r.source = outer
	for f := range inner.funcs {
		r.funcs[f] = true
	}
	r.wanders = inner.wanders
	return t, f, why
}

// slice is the text of a node.
func (r *reader) slice(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	return r.text[min(from, len(r.text)):min(max(from, to), len(r.text))]
}
