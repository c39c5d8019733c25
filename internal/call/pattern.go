package call

import (
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of the programs that Go's engine makes of regular expressions: it writes
// counted repetitions out, so that forty bytes can become thousands of instructions,
// each of which may be tried at each character.
const (
	maxProgram  = 20_000  // instructions of one expression
	maxPrograms = 200_000 // of all expressions of a schema
	maxDirect   = 1 << 16 // instructions × bytes of a match that is not looked at on its way
)

// pattern compiles a regular expression of a schema, once, which is one of ECMA-262
// (JSON Schema 2020-12 core, section 6.4). Most can be matched in linear time by
// Go's engine; what it lacks (look-around, back-references) or makes too large is
// matched by a backtracking one, within what is left of the validation's time.
func (in *instance) pattern(pattern string) (jsonschema.Regexp, error) {
	if p := in.patterns[pattern]; p != nil {
		return p, nil
	}
	if p := in.linear(pattern); p != nil {
		in.patterns[pattern] = p
		return p, nil
	}
	re, err := regexp2.Compile(pattern, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		return nil, err
	}
	p := &backtracking{re, &in.budget}
	in.patterns[pattern] = p
	return p, nil
}

// linear compiles for Go's engine; nil when it can't or had better not run there.
func (in *instance) linear(pattern string) jsonschema.Regexp {
	linear, ok := translate(pattern)
	if !ok {
		return nil
	}
	tree, err := syntax.Parse(linear, syntax.Perl)
	if err != nil {
		return nil
	}
	size := program(tree)
	if size > maxProgram || in.programs+size > maxPrograms {
		return nil
	}
	re, err := regexp.Compile(linear)
	if err != nil {
		return nil
	}
	in.programs += size
	return &linearPattern{re, pattern, size, &in.budget}
}

// program is about how many instructions an expression becomes.
func program(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += program(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpRepeat:
		return (n + 1) * max(re.Min, re.Max, 1)
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		return n + 2
	default:
		return n + 1
	}
}

// linearPattern belongs to one instance, whose budget its matches are paid from.
type linearPattern struct {
	*regexp.Regexp
	written string
	size    int // instructions
	b       *budget
}

func (p *linearPattern) String() string { return p.written }

// MatchString lets a large match read the text through the budget, so that it can end
// at every character.
func (p *linearPattern) MatchString(s string) bool {
	if len(s) <= maxDirect/max(p.size, 1) {
		p.b.spend(10 + len(s) + p.size*len(s)/16)
		return p.Regexp.MatchString(s)
	}
	return p.MatchReader(&metered{left: s, b: p.b, each: 5 + p.size/8})
}

// metered is a text of which every character is paid for.
type metered struct {
	left string
	b    *budget
	each int
}

func (m *metered) ReadRune() (r rune, size int, err error) {
	m.b.spend(m.each)
	if m.left == "" {
		return 0, 0, io.EOF
	}
	r, size = utf8.DecodeRuneInString(m.left)
	m.left = m.left[size:]
	return r, size, nil
}

// The backtracking engine looks at its clock this often; by itself it does so every 100 ms.
func init() { regexp2.SetTimeoutCheckPeriod(10 * time.Millisecond) }

// backtracking belongs to one instance, so that its time-out can be set for a match.
type backtracking struct {
	re *regexp2.Regexp
	b  *budget
}

func (p *backtracking) String() string { return p.re.String() }

// MatchString gives up the whole validation when a match takes too long, for
// neither answer would be true.
func (p *backtracking) MatchString(s string) bool {
	p.b.spend(visit + len(s))
	p.re.MatchTimeout = p.b.left()
	ok, err := p.re.MatchString(s)
	if err != nil {
		panic(overBudget{})
	}
	return ok
}

// ecmaSpace is what \s means in ECMA-262, in the brackets of a Go class.
const ecmaSpace = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

// translate writes an ECMA-262 expression for Go's engine. ok is false for
// whatever might mean something else there.
func translate(pattern string) (out string, ok bool) {
	var b strings.Builder
	class := false // inside [...]
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\':
			i++
			if i == len(pattern) || !escape(&b, pattern[i], class) {
				return "", false
			}
		case class && c == '[', class && c == '&', class && c == '~', c >= 0x80:
			// [: and && begin something in other dialects; beyond ASCII ECMA may count in UTF-16
			if c < 0x80 {
				return "", false
			}
			b.WriteByte(c)
		case class:
			class = c != ']'
			b.WriteByte(c)
		case c == '[':
			rest := pattern[i+1:]
			if strings.HasPrefix(rest, "]") || strings.HasPrefix(rest, "^]") { // empty in ECMA, a literal in Go
				return "", false
			}
			class = true
			b.WriteByte(c)
			if strings.HasPrefix(rest, "^") {
				b.WriteByte('^')
				i++
			}
		case c == '.':
			b.WriteString(`[^\n\r\x{2028}\x{2029}]`)
		case c == '(' && strings.HasPrefix(pattern[i+1:], "?") && !strings.HasPrefix(pattern[i+1:], "?:"):
			return "", false
		case c == '{' && !countAt(pattern[i+1:]):
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), !class
}

// escape writes what follows a backslash.
func escape(b *strings.Builder, c byte, class bool) bool {
	switch {
	case c == 's' && class:
		b.WriteString(ecmaSpace)
	case c == 's':
		b.WriteString("[" + ecmaSpace + "]")
	case c == 'S' && !class:
		b.WriteString("[^" + ecmaSpace + "]")
	case strings.IndexByte("dDwWtnrfv", c) >= 0, (c == 'b' || c == 'B') && !class,
		c < 0x80 && c > ' ' && !word(c):
		b.WriteByte('\\')
		b.WriteByte(c)
	default:
		return false
	}
	return true
}

// countAt reports whether s starts with the rest of a counted repetition.
func countAt(s string) bool {
	end := strings.IndexByte(s, '}')
	if end <= 0 {
		return false
	}
	for i, c := range []byte(s[:end]) {
		if (c < '0' || c > '9') && (c != ',' || i == 0) {
			return false
		}
	}
	return strings.Count(s[:end], ",") <= 1
}

func word(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
