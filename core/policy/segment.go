package policy

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// segment is one name of a path pattern: what stands between two slashes.
type segment struct {
	deep   bool   // "**": any number of folders, none too
	plain  bool   // no wildcard: only prefix, the whole name
	prefix string // the letters before the first wildcard
	suffix string // the letters after the last
	tokens []token
}

// token is one element of a segment with wildcards. The zero token is a star.
type token struct {
	kind tokenKind
	char rune
	set  *class
}

type tokenKind uint8

const (
	star tokenKind = iota
	one
	char
	oneOf
)

// class is what stands in brackets.
type class struct {
	not    bool
	fold   bool
	ranges [][2]rune
	named  []func(rune) bool
}

// parseSegment reads one name of a pattern, folded already where fold says so. The
// error ends a sentence that begins with the pattern.
func parseSegment(text string, fold bool) (segment, error) {
	if allStars(text) {
		return segment{deep: true}, nil
	}
	var tokens []token
	for rest := text; rest != ""; {
		t, after, err := parseToken(rest, fold)
		if err != nil {
			return segment{}, err
		}
		rest = after
		if t.kind == star && len(tokens) > 0 && tokens[len(tokens)-1].kind == star {
			continue // two stars inside a name say no more than one
		}
		tokens = append(tokens, t)
	}
	return newSegment(tokens), nil
}

// allStars reports whether a name stands for any number of folders: git takes more
// stars than two for two.
func allStars(text string) bool { return len(text) > 1 && strings.Trim(text, "*") == "" }

func parseToken(text string, fold bool) (t token, rest string, err error) {
	r, size := utf8.DecodeRuneInString(text)
	rest = text[size:]
	switch r {
	case '*':
		return token{kind: star}, rest, nil
	case '?':
		return token{kind: one}, rest, nil
	case '[':
		set, after, ok := parseClass(rest)
		if !ok {
			return token{}, "", fmt.Errorf(`has a "[" without its "]"; for the character itself write "\["`)
		}
		set.fold = fold
		return token{kind: oneOf, set: set}, after, nil
	case '\\':
		if rest == "" {
			return token{}, "", fmt.Errorf(`has a backslash with nothing to escape; for the character itself write "\\"`)
		}
		r, size = utf8.DecodeRuneInString(rest)
		return token{kind: char, char: byteOr(r, size, rest)}, rest[size:], nil
	}
	return token{kind: char, char: byteOr(r, size, text)}, rest, nil
}

// byteOr keeps a byte that is no UTF-8 apart from every character: it stands for
// itself, beyond all code points.
func byteOr(r rune, size int, text string) rune {
	if r == utf8.RuneError && size == 1 {
		return unicode.MaxRune + 1 + rune(text[0])
	}
	return r
}

// classNamed gives the POSIX classes that gitignore knows, over ASCII as git has them.
func classNamed(name string) func(rune) bool {
	in := func(lo, hi rune) func(rune) bool { return func(r rune) bool { return lo <= r && r <= hi } }
	either := func(all ...func(rune) bool) func(rune) bool {
		return func(r rune) bool {
			for _, f := range all {
				if f(r) {
					return true
				}
			}
			return false
		}
	}
	digit, upper, lower := in('0', '9'), in('A', 'Z'), in('a', 'z')
	switch name {
	case "digit":
		return digit
	case "upper":
		return upper
	case "lower":
		return lower
	case "alpha":
		return either(upper, lower)
	case "alnum":
		return either(upper, lower, digit)
	case "xdigit":
		return either(digit, in('a', 'f'), in('A', 'F'))
	case "blank":
		return func(r rune) bool { return r == ' ' || r == '\t' }
	case "space":
		return either(in('\t', '\r'), in(' ', ' '))
	case "cntrl":
		return either(in(0, 31), in(127, 127))
	case "graph":
		return in('!', '~')
	case "print":
		return in(' ', '~')
	case "punct":
		return either(in('!', '/'), in(':', '@'), in('[', '`'), in('{', '~'))
	}
	return nil
}

// parseClass reads what follows a "[". A "]" that comes first is a member.
func parseClass(text string) (set *class, rest string, ok bool) {
	set = &class{}
	if strings.HasPrefix(text, "!") || strings.HasPrefix(text, "^") {
		set.not, text = true, text[1:]
	}
	for first := true; text != ""; first = false {
		if text[0] == ']' && !first {
			return set, text[1:], true
		}
		if strings.HasPrefix(text, "[:") {
			name, after, closed := strings.Cut(text[2:], ":]")
			named := classNamed(name)
			if !closed || named == nil {
				return nil, "", false
			}
			set.named, text = append(set.named, named), after
			continue
		}
		var lo, hi rune
		if lo, text, ok = classMember(text); !ok {
			return nil, "", false
		}
		hi = lo
		if len(text) > 1 && text[0] == '-' && text[1] != ']' {
			if hi, text, ok = classMember(text[1:]); !ok {
				return nil, "", false
			}
		}
		set.ranges = append(set.ranges, [2]rune{lo, hi})
	}
	return nil, "", false
}

func classMember(text string) (r rune, rest string, ok bool) {
	if text[0] == '\\' {
		text = text[1:]
		if text == "" {
			return 0, "", false
		}
	}
	r, size := utf8.DecodeRuneInString(text)
	return byteOr(r, size, text), text[size:], true
}

func (c *class) has(r rune) bool {
	if c.fold {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if c.holds(f) {
				return !c.not
			}
		}
	}
	return c.holds(r) != c.not
}

func (c *class) holds(r rune) bool {
	for _, span := range c.ranges {
		if span[0] <= r && r <= span[1] {
			return true
		}
	}
	for _, named := range c.named {
		if named(r) {
			return true
		}
	}
	return false
}

// newSegment finds the letters at both ends, which refuse most names at once.
func newSegment(tokens []token) segment {
	letters := func(tokens []token) string {
		var b strings.Builder
		for _, t := range tokens {
			if t.char > unicode.MaxRune {
				b.WriteByte(byte(t.char - unicode.MaxRune - 1))
				continue
			}
			b.WriteRune(t.char)
		}
		return b.String()
	}
	head := 0
	for head < len(tokens) && tokens[head].kind == char {
		head++
	}
	if head == len(tokens) {
		return segment{plain: true, prefix: letters(tokens)}
	}
	tail := len(tokens)
	for tokens[tail-1].kind == char {
		tail--
	}
	return segment{prefix: letters(tokens[:head]), suffix: letters(tokens[tail:]), tokens: tokens[head:tail]}
}

// matches reports whether a name is one that the segment means. Both are folded
// already where the file system folds.
func (s *segment) matches(name string) bool {
	if s.plain {
		return name == s.prefix
	}
	if len(name) < len(s.prefix)+len(s.suffix) || !strings.HasPrefix(name, s.prefix) || !strings.HasSuffix(name, s.suffix) {
		return false
	}
	return matchTokens(s.tokens, name[len(s.prefix):len(name)-len(s.suffix)])
}

// matchTokens is the usual walk that goes back to the last star.
func matchTokens(tokens []token, name string) bool {
	i, at := 0, 0
	back, mark := -1, 0
	for {
		if i < len(tokens) && tokens[i].kind == star {
			back, mark = i, at
			i++
			continue
		}
		if at == len(name) && i == len(tokens) {
			return true
		}
		if at < len(name) && i < len(tokens) {
			r, size := utf8.DecodeRuneInString(name[at:])
			if tokens[i].takes(byteOr(r, size, name[at:])) {
				i++
				at += size
				continue
			}
		}
		if back < 0 || mark >= len(name) {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[mark:])
		mark += size
		i, at = back+1, mark
	}
}

func (t token) takes(r rune) bool {
	switch t.kind {
	case one:
		return true
	case oneOf:
		return t.set.has(r)
	case star, char:
	}
	return t.char == r
}
