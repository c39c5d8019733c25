package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// differ looks for what bash reads otherwise than the parser.
type differ struct {
	text   string
	around []around
	bodies map[*syntax.Word]bool // here-documents that are expanded
	posix  bool                  // some keywords are programs
	err    error
}

// around is what a node stands in.
type around struct {
	depth  int
	quoted bool // double quotes, or a here-document
	param  bool // ${...} in those
	test   bool // [[ ]]
	end    int  // where the substitution ends; 0 outside of one
}

func (d *differ) refuse(n syntax.Node, why string) {
	if d.err == nil {
		d.err = fmt.Errorf("bash may read line %d, column %d otherwise than rules would: %s", n.Pos().Line(), n.Pos().Col(), why)
	}
}

// visit is called for each node, and with nil when it is left.
func (d *differ) visit(n syntax.Node) bool {
	if n == nil {
		d.around = d.around[:len(d.around)-1]
		return true
	}
	in := around{}
	if k := len(d.around); k > 0 {
		in = d.around[k-1]
	}
	d.node(n, &in)
	if in.depth > maxDepth {
		d.refuse(n, "it is nested too deeply; write it flatter, or put it into a script")
	}
	if d.err != nil {
		return false
	}
	d.around = append(d.around, in)
	return true
}

func (d *differ) node(n syntax.Node, in *around) {
	switch n := n.(type) {
	case *syntax.Word:
		in.quoted = in.quoted || d.bodies[n]
	case *syntax.DblQuoted:
		in.depth++
		in.quoted = true
	case *syntax.Redirect:
		d.redirect(n, in.end)
	case *syntax.CmdSubst:
		*in = around{depth: in.depth + 1, end: int(n.End().Offset())}
		d.substitution(n)
		d.leading(n.Stmts)
	case *syntax.ProcSubst:
		*in = around{depth: in.depth + 1, end: int(n.End().Offset())}
		d.leading(n.Stmts)
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			d.timed(n.Y)
		}
	case *syntax.ParamExp:
		in.depth++
		in.param = in.param || in.quoted
	case *syntax.SglQuoted:
		if in.param {
			d.refuse(n, "inside double quotes, single quotes in ${...} are plain letters; put the value into a variable first")
		}
	case *syntax.TestClause:
		in.depth++
		in.test = true
	case *syntax.ExtGlob:
		if !in.test || strings.ContainsAny(n.Pattern.Value, "$`<>'\"") {
			d.refuse(n, "extended globs are off unless shopt has switched them on; leave them out")
		}
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			d.program(n.Args[0])
		}
	case *syntax.Stmt:
		if n.Coprocess || n.Disown {
			d.refuse(n, "it is an operator of another shell")
		}
	case *syntax.FuncDecl:
		in.depth++
		switch n.Body.Cmd.(type) {
		case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause,
			*syntax.TestClause, *syntax.ArithmCmd:
		default:
			d.refuse(n, "the body of a function is a simple command; put it into { ...; }")
		}
	case *syntax.Subshell, *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause,
		*syntax.TimeClause, *syntax.CoprocClause, *syntax.ArithmExp, *syntax.ParenArithm, *syntax.ParenTest:
		in.depth++
	}
}

// keywords of bash, but time, which is looked through as a program too.
var keywords = map[string]bool{
	"if": true, "then": true, "else": true, "elif": true, "fi": true, "do": true, "done": true, "case": true, "esac": true,
	"while": true, "until": true, "for": true, "select": true, "function": true, "coproc": true, "{": true, "}": true, "!": true, "[[": true, "]]": true, "in": true,
}

// program looks at a command's first word: the parser takes assignments and keywords for
// one after coproc.
func (d *differ) program(w *syntax.Word) {
	lit, ok := w.Parts[0].(*syntax.Lit)
	if !ok {
		return
	}
	variable, rest, _ := splitName(word{form: lit.Value})
	if keywords[w.Lit()] || variable != "" && (strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "+=") || rest != "" && rest[0] == '[' && strings.Contains(rest, "=")) {
		switch w.Lit() {
		case "[[", "]]", "select", "function", "coproc": // programs to a POSIX shell
			if d.posix {
				return
			}
		}
		d.refuse(w, "its first word is an assignment or a keyword to bash; quote it if it is not meant as one")
	}
}

// leading looks at the first command of a substitution.
func (d *differ) leading(list []*syntax.Stmt) {
	if len(list) > 0 {
		d.timed(list[0])
	}
}

// timed looks at a statement that stands where bash does not know time as a keyword, or
// not when it looks for the end of a substitution: then it is a program, and what follows
// are its words.
func (d *differ) timed(s *syntax.Stmt) {
	for !s.Negated {
		binary, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		s = binary.X
	}
	cmd, ok := s.Cmd.(*syntax.TimeClause)
	if !ok || s.Negated {
		return
	}
	if cmd.Stmt != nil && !cmd.Stmt.Negated {
		if call, ok := cmd.Stmt.Cmd.(*syntax.CallExpr); ok && len(call.Assigns) == 0 && len(call.Args) > 0 {
			if lit := call.Args[0].Lit(); lit != "" && lit[0] != '-' {
				return
			}
		}
	}
	d.refuse(cmd, "time is a program here and no keyword; let it time a simple command, or put all into bash -c '...'")
}

// redirect looks at a here-document's end, and at descriptors that the parser and bash
// take for different words.
func (d *differ) redirect(n *syntax.Redirect, within int) {
	if n.N != nil && !strings.HasPrefix(n.N.Value, "{") && (len(n.N.Value) > 3 || len(n.N.Value) > 1 && n.N.Value[0] == '0') {
		d.refuse(n, "the number before the redirection may be a word of the command; write a descriptor as 0 to 999")
	}
	if op := int(n.OpPos.Offset()); op >= 2 && d.text[op-2:op] == "]}" {
		d.refuse(n, "a descriptor's variable has a subscript, which bash evaluates")
	}
	from, to := int(n.Word.Pos().Offset()), int(n.Word.End().Offset())
	if (n.Op == syntax.DplIn || n.Op == syntax.DplOut) && d.text[from] == '-' && to-from > 1 {
		d.refuse(n, "bash closes a descriptor by >&- and takes what follows for a word of the command; put a blank behind it")
	}
	if n.Op != syntax.Hdoc && n.Op != syntax.DashHdoc {
		return
	}
	end := d.text[from:min(to, len(d.text))]
	bare := strings.TrimPrefix(end, "\\")
	for _, q := range []string{"'", `"`} {
		if len(end) > 2 && strings.HasPrefix(end, q) && strings.HasSuffix(end, q) {
			bare = end[1 : len(end)-1]
		}
	}
	if strings.Trim(bare, fileLetters) != "" {
		d.refuse(n, "shells find the end of this here-document in different ways; name it by letters, as in << 'EOF'")
	}
	if within > 0 && !d.last(n, bare, within) {
		d.refuse(n, "what follows a here-document in a substitution may be lost; end the substitution right after it")
	}
	if bare == end && n.Hdoc != nil {
		d.bodies[n.Hdoc] = true
		d.body(n, bare)
	}
}

// last reports whether a here-document ends inside the substitution that it stands in,
// and nothing follows it there: bash writes a substitution anew before it reads it, and
// what stands behind a here-document is then read otherwise.
func (d *differ) last(n *syntax.Redirect, end string, within int) bool {
	rest := d.text[min(int(n.Word.End().Offset()), within-1) : within-1]
	for i := 0; rest != ""; i++ {
		line, after, _ := strings.Cut(rest, "\n")
		switch {
		case i == 0:
			if strings.Trim(line, " \t") != "" {
				return false
			}
		case line == end || n.Op == syntax.DashHdoc && strings.TrimLeft(line, "\t") == end:
			return strings.Trim(after, " \t\n") == ""
		}
		rest = after
	}
	return false
}

// body looks whether bash may find the end of an expanded here-document elsewhere: it
// looks for it line by line, in substitutions and quotes too, after it has joined lines
// that end in a backslash.
func (d *differ) body(n *syntax.Redirect, end string) {
	from, to := int(n.Hdoc.Pos().Offset()), int(n.Hdoc.End().Offset())
	text := d.text[from:min(to, len(d.text))]
	if last := strings.LastIndexByte(text, '\n'); strings.TrimLeft(text[last+1:], "\t") == end {
		text = text[:last+1] // the parser counts the end to the text
	}
	const odd = "shells find the end of this here-document in different ways; quote its end, as in << 'EOF'"
	if strings.HasSuffix(text, "\\\n") || n.Op == syntax.DashHdoc && strings.Contains(text, "\\\n") {
		d.refuse(n, odd)
	}
	for _, lines := range []string{text, strings.ReplaceAll(text, "\\\n", "")} {
		for line := range strings.SplitSeq(lines, "\n") {
			if strings.TrimLeft(line, "\t") == end {
				d.refuse(n, odd)
			}
		}
	}
}

// substitution looks at backquotes, inside which bash reads backslashes twice.
func (d *differ) substitution(n *syntax.CmdSubst) {
	if n.TempFile || n.ReplyVar {
		d.refuse(n, "it is a substitution of another shell")
	}
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if n.Backquotes && strings.Contains(d.text[from:min(to, len(d.text))], "\\") {
		d.refuse(n, "backslashes between backquotes are read twice; write $(...)")
	}
}
