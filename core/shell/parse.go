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

// maxOpen is how many brackets may be open, those in quotes too: the parser takes much
// memory for each.
const maxOpen = 10 * maxDepth

// shallow refuses what is nested so deeply that even parsing it takes long.
func shallow(text string) error {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			open++
		case ')', '}', ']':
			open = max(open-1, 0)
		}
		if open > maxOpen {
			return errors.New("the command opens too many brackets: put it into a script")
		}
	}
	return nil
}

// parse reads a script, and refuses what bash might read in another way.
func parse(text string, lang syntax.LangVariant) (*syntax.File, error) {
	if err := plain(text); err != nil {
		return nil, err
	}
	if err := shallow(text); err != nil {
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
