package call

import (
	"regexp"
	"strings"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// newPattern compiles a regular expression of a schema, which is one of ECMA-262
// (JSON Schema 2020-12 core, section 6.4). Most can be matched in linear time by
// Go's engine; what it lacks (look-around, back-references) is matched by a
// backtracking one, within what is left of the validation's time.
func newPattern(pattern string, b *budget) (jsonschema.Regexp, error) {
	if linear, ok := translate(pattern); ok {
		if re, err := regexp.Compile(linear); err == nil {
			return linearPattern{re, pattern}, nil
		}
	}
	re, err := regexp2.Compile(pattern, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		return nil, err
	}
	return &backtracking{re, b}, nil
}

type linearPattern struct {
	*regexp.Regexp
	written string
}

func (p linearPattern) String() string { return p.written }

// backtracking belongs to one instance, so that its time-out can be set for a match.
type backtracking struct {
	re *regexp2.Regexp
	b  *budget
}

func (p *backtracking) String() string { return p.re.String() }

// MatchString gives up the whole validation when a match takes too long, for
// neither answer would be true.
func (p *backtracking) MatchString(s string) bool {
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
