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
	if err := continued(text, file); err != nil {
		return nil, err
	}
	d := differ{text: text, bodies: map[*syntax.Word]bool{}, posix: lang == syntax.LangPOSIX}
	syntax.Walk(file, d.visit)
	return file, d.err
}

// continued refuses a comment that ends in a backslash: to bash it ends with the line, and
// the parser reads on. It looks for such lines in the text, and then whether what begins
// the comment is a letter after all.
func continued(text string, file *syntax.File) error {
	marks := map[int]bool{}
	at := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		if strings.HasSuffix(line, "\\\n") {
			for i := range len(line) {
				if line[i] == '#' {
					marks[at+i] = true
				}
			}
		}
		at += len(line)
	}
	if len(marks) == 0 {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
			for i := int(n.Pos().Offset()); i < int(n.End().Offset()); i++ {
				delete(marks, i)
			}
		case *syntax.ParamExp: // $# and ${#x}
			delete(marks, int(n.Pos().Offset())+1)
			delete(marks, int(n.Pos().Offset())+2)
			if n.Exp != nil && n.Rbrace.IsValid() {
				end := n.Rbrace
				if n.Exp.Word != nil {
					end = n.Exp.Word.Pos()
				}
				delete(marks, int(end.Offset())-1)
				delete(marks, int(end.Offset())-2)
			}
		}
		return true
	})
	if len(marks) > 0 {
		return errors.New("a comment ends in a backslash, after which shells read on in different ways: leave the backslash out")
	}
	return nil
}

// unparsed says in the project's words why a script does not parse.
func unparsed(err error) error {
	var lang syntax.LangError
	if errors.As(err, &lang) {
		return fmt.Errorf("the command is for another shell than bash (%s)", problem(err))
	}
	return fmt.Errorf("the command does not parse as bash (%s): correct it", problem(err))
}

// problem says what the parser met, and where.
func problem(err error) string {
	var at syntax.ParseError
	var lang syntax.LangError
	switch {
	case errors.As(err, &at):
		return fmt.Sprintf("line %d, column %d: %s", at.Pos.Line(), at.Pos.Col(), at.Text)
	case errors.As(err, &lang):
		return fmt.Sprintf("line %d, column %d", lang.Pos.Line(), lang.Pos.Col())
	}
	return "it can't be read"
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
	case *syntax.ProcSubst:
		*in = around{depth: in.depth + 1, end: int(n.End().Offset())}
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

// redirect looks at a here-document's end, and at a descriptor's name with a subscript,
// which the parser takes for a word.
func (d *differ) redirect(n *syntax.Redirect, within int) {
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
	if within > 0 && !d.closed(n, bare, within) {
		d.refuse(n, "this here-document begins in a substitution and goes on after it; end it inside")
	}
	if bare == end && n.Hdoc != nil {
		d.bodies[n.Hdoc] = true
		d.body(n, bare)
	}
}

// closed reports whether a here-document ends inside the substitution that it stands in:
// bash takes it to end there in any case.
func (d *differ) closed(n *syntax.Redirect, end string, within int) bool {
	if n.Hdoc != nil {
		return int(n.Hdoc.End().Offset()) < within
	}
	for line := range strings.SplitSeq(d.text[n.Word.End().Offset():min(within, len(d.text))], "\n") {
		if strings.TrimLeft(line, "\t") == end {
			return true
		}
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
