package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxPattern is the most bytes that a pattern may have.
const maxPattern = 4096

// Pattern is what stands between the parentheses of a Bash rule. The zero Pattern means
// no command.
type Pattern struct{ *meaning }

// meaning is what a pattern means. Immutable.
type meaning struct {
	own    *matcher // of the words as they are written
	plain  *matcher // of what env runs, where the pattern is an env with assignments
	inner  string   // the program that runs in the end
	exact  string   // the form, where it has no star
	words  []word
	reason string // of AnyProgram
}

// ParsePattern reads a pattern. The error says what is wrong in one sentence.
func ParsePattern(text string) (Pattern, error) {
	words, n, err := patternWords(text)
	if err != nil {
		return Pattern{}, err
	}
	p := Pattern{&meaning{words: words[n:], inner: innermost(words)}}
	form := patternForm(words, n)
	p.own = newMatcher(form)
	if !strings.ContainsAny(form, string([]byte{star, starIn, tail})) {
		p.exact = form
	}
	if rest := words[n:]; len(rest) > 0 && rest[0].is("env") {
		if u, ok := unwrap(rest, "env", true); ok && !u.sealed && u.opaque == "" {
			all := append(append(words[:n:n], u.assigns...), u.inside...)
			p.plain = newMatcher(patternForm(all, n+len(u.assigns)))
			p.words = u.inside
		}
	}
	p.reason = grants(p.words)
	return p, nil
}

// patternWords reads a pattern as a command: its words, of which the first n assign.
func patternWords(text string) (words []word, n int, err error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, 0, errors.New("it is empty: write Bash for every command")
	case len(text) > maxPattern:
		return nil, 0, fmt.Errorf("it has more than %d bytes", maxPattern)
	}
	if err := plain(text); err != nil {
		return nil, 0, errors.New("it holds control characters or is not valid UTF-8")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, 0, fmt.Errorf("it is no command of bash (%s): quote what is not meant as an operator", problem(err))
	}
	if len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, 0, errors.New("it is more than one command, or has a comment: write a rule for each")
	}
	r := patternReader{reader: reader{source: newSource(text, file), names: new(names)}}
	words, n = r.statement(file.Stmts[0])
	return words, n, r.err
}

// patternReader reads the words of a pattern.
type patternReader struct{ reader }

const operators = "it has an operator or a keyword: a rule is one command; quote what is not meant so"

func (r *patternReader) statement(s *syntax.Stmt) (words []word, n int) {
	if s.Negated || s.Background || s.Coprocess || len(s.Redirs) > 0 || s.Semicolon.IsValid() || len(s.Comments) > 0 {
		r.fail(operators)
		return nil, 0
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		for _, a := range cmd.Assigns {
			words = append(words, r.assign(a))
		}
		n = len(words)
		for _, w := range cmd.Args {
			words = append(words, r.read(w.Parts, ""))
		}
	case *syntax.DeclClause:
		words = append(words, plainWord(cmd.Variant.Value))
		for _, a := range cmd.Args {
			if a.Name == nil {
				words = append(words, r.read(a.Value.Parts, ""))
				continue
			}
			words = append(words, r.assign(a))
		}
	case *syntax.TimeClause:
		words = append(words, plainWord("time"))
		if cmd.PosixFormat {
			words = append(words, plainWord("-p"))
		}
		if cmd.Stmt != nil {
			more, _ := r.statement(cmd.Stmt)
			words = append(words, more...)
		}
	default:
		r.fail(operators)
	}
	return words, n
}

// assign reads an assignment of a pattern.
func (r *patternReader) assign(a *syntax.Assign) word {
	head := a.Name.Value
	switch {
	case a.Array != nil || a.Index != nil:
		r.fail("it assigns to an array: rules name plain variables")
		return word{}
	case a.Naked:
		return plainWord(head)
	case a.Append:
		head += "+"
	}
	if a.Value == nil {
		return plainWord(head + "=")
	}
	return r.read(a.Value.Parts, head+"=")
}

// read reads a word of a pattern: stars are stars, and nothing else is expanded.
func (r *patternReader) read(parts []syntax.WordPart, head string) word {
	cs := cells{kept: true}
	for i := range len(head) {
		cs.list = append(cs.list, cell{c: head[i], quoted: true})
	}
	for _, part := range parts {
		if !constant(part) {
			r.fail("it has an expansion: write * for what may vary, and quote what is meant as it stands")
		}
		r.add(&cs, part, false)
	}
	n := len(cs.list)
	if cs.braces(); len(cs.list) != n {
		r.fail("braces are an expansion: write a rule for each, or quote them")
	}
	var b strings.Builder
	w := word{exact: true}
	for i, x := range cs.list {
		switch {
		case x.kind != letter:
			r.fail("it has a quoted letter that rules can't tell")
		case !x.quoted && x.c == '*':
			w.exact = false
			if !strings.HasSuffix(b.String(), string(rune(star))) {
				b.WriteByte(star)
			}
		case i == 0 && !x.quoted && x.c == '~':
			if cs.user() {
				r.fail("~user is an expansion: write the path, or quote it")
			}
			w.tilde = true
			b.WriteByte(tilde)
		case mark(x.c):
			r.fail("it holds a control character")
		default:
			b.WriteByte(x.c)
		}
	}
	w.form = b.String()
	return w
}

// constant reports whether a part of a word is the same whenever it is read.
func constant(part syntax.WordPart) bool {
	switch part := part.(type) {
	case *syntax.Lit, *syntax.SglQuoted:
		return true
	case *syntax.DblQuoted:
		for _, p := range part.Parts {
			if _, ok := p.(*syntax.Lit); !ok {
				return false
			}
		}
		return true
	}
	return false
}

// patternForm makes a pattern's form: the first n words are assignments, in which a star
// stays within the value. A last star after a blank or a colon also matches the end.
func patternForm(words []word, n int) string {
	last := len(words) - 1
	ends := false
	if last >= n && last > 0 {
		switch f := words[last].form; {
		case f == string(rune(star)):
			ends, words = true, words[:last]
		case strings.HasSuffix(f, ":"+string(rune(star))) && len(f) > 2:
			ends = true
		}
	}
	if !ends && last == 0 && n == 0 && strings.HasSuffix(words[0].form, ":"+string(rune(star))) && len(words[0].form) > 2 {
		ends = true
	}
	if ends && len(words) > last {
		words = append(words[:last:last], word{form: strings.TrimSuffix(words[last].form, ":"+string(rune(star)))})
	}
	declares := n < len(words) && declaring(words[n])
	named := func(i int) bool { return i < n || declares && i > n && operand(words[i]) && words[i].form[0] != star }
	list := append([]word(nil), words...)
	for i := range list {
		if named(i) {
			list[i].form = strings.ReplaceAll(list[i].form, string(rune(star)), string(rune(starIn)))
		}
	}
	form := join(list, named)
	if ends {
		form += string(rune(tail))
	}
	return form
}

// Covers reports whether the part is certainly one that the pattern means: for allow
// rules. It is false for every opaque part.
func (p Pattern) Covers(part *Part) bool {
	if p.meaning == nil || part.shape == nil || part.Opaque != "" || part.form == "" {
		return false
	}
	for _, o := range part.outers {
		if p.exact != "" && p.exact == o.form {
			return true
		}
		if !o.script && p.inner != "" && p.inner == part.inner && p.own.covers(o.form) {
			return true
		}
	}
	if part.sealed && p.exact == "" && (p.inner == "" || p.inner != part.inner) {
		return false
	}
	return p.own.covers(part.form) || p.plain != nil && p.plain.covers(part.form)
}

// May reports whether the part could be one that the pattern means: for deny and ask
// rules. It is true for every opaque part.
func (p Pattern) May(part *Part) bool {
	switch {
	case p.meaning == nil:
		return false
	case part.Opaque != "":
		return true
	case part.shape == nil || part.form == "":
		return false
	}
	return p.own.may(part.shape) || p.plain != nil && p.plain.may(part.shape)
}

// AnyProgram says how the pattern lets any program be run (an interpreter with free
// arguments, say: "python *"); empty when it does not. For the banner only.
func (p Pattern) AnyProgram() string {
	if p.meaning == nil {
		return ""
	}
	return p.reason
}

// interpreters run what their arguments say, beyond what rules look through.
var interpreters = map[string]string{
	"python": "runs any code", "python3": "runs any code", "python2": "runs any code", "node": "runs any code", "deno": "runs any code",
	"bun": "runs any code", "ruby": "runs any code", "perl": "runs any code", "php": "runs any code", "lua": "runs any code",
	"awk": "runs any code", "gawk": "runs any code", "mawk": "runs any code", "osascript": "runs any code", "tclsh": "runs any code",
	"npx": "runs any package", "bunx": "runs any package", "pnpx": "runs any package", "uvx": "runs any package", "pipx": "runs any package",
	"bash": "runs any script", "sh": "runs any script", "dash": "runs any script", "zsh": "runs any script", "ksh": "runs any script",
	"source": "runs any script", ".": "runs any script", "fish": "runs any script", "busybox": "runs any program", "parallel": "runs any program",
	"watch": "runs any program", "script": "runs any program", "strace": "runs any program", "gdb": "runs any program", "ssh": "runs any program",
	"docker": "runs any program", "podman": "runs any program", "chroot": "runs any program", "unshare": "runs any program",
	"git": "runs any program by -c and aliases", "sed": "runs any program by its e command", "vim": "runs any program", "vi": "runs any program", "ed": "runs any program",
	"flock": "runs any program", "systemd-run": "runs any program", "fd": "runs any program by -x", "go": "runs any program by go run",
	"cargo": "runs any program by cargo run",
}

// byOption have an option that runs any program, wherever it stands.
var byOption = map[string]string{
	"make": "runs any program by --eval", "tar": "runs any program by --to-command", "rsync": "runs any program by -e",
}

// grants says how words let any program be run.
func grants(words []word) string {
	if len(words) == 0 {
		return ""
	}
	if !words[0].exact {
		return "its program is a star: it runs any program"
	}
	base := words[0].form[strings.LastIndexByte(words[0].form, '/')+1:]
	if why, known := byOption[base]; known && some(words[1:], func(w word) bool { return w.form != "" && w.form[0] == star }) {
		return base + " " + why
	}
	why, known := interpreters[base]
	if !known || len(words) < 2 || words[1].form[0:1] != string(rune(star)) && !strings.HasPrefix(words[1].form, "-c") && !strings.HasPrefix(words[1].form, "-e") {
		return ""
	}
	if !some(words[1:], func(w word) bool { return !w.exact }) {
		return ""
	}
	return base + " " + why
}
