package shell

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxDepth is how deep a script may be nested: far more than people write, and little
// enough that reading takes linear time.
const maxDepth = 100

// parse reads a script, and refuses what bash might read in another way.
func parse(text string, lang syntax.LangVariant) (*syntax.File, error) {
	if err := plain(text); err != nil {
		return nil, err
	}
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, unparsed(err)
	}
	d := differ{text: text, bodies: map[*syntax.Word]bool{}, posix: lang == syntax.LangPOSIX}
	syntax.Walk(file, d.visit)
	return file, d.err
}

// unparsed says in the project's words why a script does not parse.
func unparsed(err error) error {
	var at syntax.ParseError
	var lang syntax.LangError
	switch {
	case errors.As(err, &at):
		return fmt.Errorf("the command does not parse as bash (line %d, column %d: %s): correct it", at.Pos.Line(), at.Pos.Col(), at.Text)
	case errors.As(err, &lang):
		return fmt.Errorf("the command is for another shell than bash (line %d, column %d)", lang.Pos.Line(), lang.Pos.Col())
	}
	return errors.New("the command does not parse as bash: correct it")
}

// plain refuses bytes that shells and terminals read in more than one way.
func plain(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("the command is not valid UTF-8: write other bytes as $'\\xHH'")
	}
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\t' && c != '\n') || c == 0x7f {
			return fmt.Errorf("the command holds the control character %#02x at byte %d: write it as $'\\x%02x'", c, i+1, c)
		}
	}
	return nil
}

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
		d.redirect(n)
	case *syntax.CmdSubst:
		*in = around{depth: in.depth + 1}
		d.substitution(n)
	case *syntax.ProcSubst:
		*in = around{depth: in.depth + 1}
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
	"while": true, "until": true, "for": true, "select": true, "function": true, "coproc": true, "{": true, "}": true, "!": true, "[[": true,
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
		if !d.posix || w.Lit() != "[[" && w.Lit() != "select" && w.Lit() != "function" && w.Lit() != "coproc" {
			d.refuse(w, "its first word is an assignment or a keyword to bash; quote it if it is not meant as one")
		}
	}
}

// redirect looks at a here-document's end, and at a descriptor's name with a subscript,
// which the parser takes for a word.
func (d *differ) redirect(n *syntax.Redirect) {
	if op := int(n.OpPos.Offset()); n.N == nil && op >= 2 && d.text[op-2:op] == "]}" {
		d.refuse(n, "a descriptor's variable has a subscript, which bash evaluates")
	}
	if n.Hdoc == nil {
		return
	}
	quoted := false
	for _, p := range n.Word.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			quoted = quoted || strings.Contains(p.Value, "\\")
		case *syntax.SglQuoted:
			quoted = true
			if p.Dollar {
				d.refuse(n, "the end of a here-document has odd quotes; name it by letters")
			}
		case *syntax.DblQuoted:
			quoted = true
			if p.Dollar {
				d.refuse(n, "the end of a here-document has odd quotes; name it by letters")
			}
		default:
			d.refuse(n, "the end of a here-document is not plain text; name it by letters")
		}
	}
	if !quoted {
		d.bodies[n.Hdoc] = true
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
