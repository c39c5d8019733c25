package settings

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

const (
	maxProblems = 20 // mistakes of a file that are told at once
	maxDepth    = 32 // of brackets in a settings file
)

// reader reads one file of settings and collects everything that is wrong with it.
type reader struct {
	source
	problems []string
	first    int // line of the first problem
}

// at is one value and its key, written as a path from the top.
type at struct {
	key string
	v   *hujson.Value
}

// text is a string of the file and its line.
type text struct {
	value string
	line  int
}

// keys maps the names that an object may have to what reads them.
type keys map[string]func(at)

var syntaxError = regexp.MustCompile(`^hujson: line (\d+), column (\d+): (?s:(.*))$`)

// parse gives the value of the whole file; what is wrong stands in problems then.
func (r *reader) parse() (at, bool) {
	switch {
	case !utf8.Valid(r.data):
		r.say(1, "", "the file is not valid UTF-8")
		return at{}, false
	case len(bytes.TrimSpace(r.data)) == 0:
		r.say(1, "", "the file is empty; {} is the smallest that there is, and says nothing")
		return at{}, false
	case tooDeep(r.data):
		r.say(1, "", fmt.Sprintf("the file has brackets over %d deep", maxDepth))
		return at{}, false
	}
	v, err := hujson.Parse(r.data)
	if err == nil {
		return at{v: &v}, true
	}
	line, what := 1, "not readable as JSON with comments"
	if m := syntaxError.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
		what = m[3]
		switch {
		case strings.Contains(what, "after top-level value"):
			what = "something follows after the closing bracket; a file is one object"
		case strings.Contains(what, "unexpected EOF"):
			what = "the file ends too early; a bracket or quote is not closed"
		case strings.Contains(what, "literal"), len(what) > 100:
			what = "invalid value"
		}
	}
	r.say(line, "", what)
	return at{}, false
}

// tooDeep reports whether brackets open more than maxDepth deep: the parser recurses,
// and must not be led until its stack ends. Texts and comments are passed over as the
// parser does.
func tooDeep(data []byte) bool {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			i += commentLength(data[i:])
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// commentLength is how many bytes to pass over for the comment that begins here; 0
// where none begins.
func commentLength(data []byte) int {
	end, found := 0, false
	switch {
	case bytes.HasPrefix(data, []byte("//")):
		end = bytes.IndexByte(data, '\n')
		found = end >= 0
	case bytes.HasPrefix(data, []byte("/*")):
		end = bytes.Index(data[2:], []byte("*/")) + 3
		found = end >= 3
	default:
		return 0
	}
	if !found {
		return len(data)
	}
	return end
}

// say notes a problem; why is a sentence part.
func (r *reader) say(line int, key, why string) {
	if len(r.problems) == 0 {
		r.first = line
	}
	where := fmt.Sprintf("%s:%d: ", r.path, line)
	if key != "" {
		where += key + ": "
	}
	r.problems = append(r.problems, where+why)
}

func (r *reader) wrong(a at, format string, args ...any) {
	r.say(r.line(a.v.StartOffset), a.key, fmt.Sprintf(format, args...))
}

func (r *reader) line(offset int) int {
	return 1 + bytes.Count(r.data[:min(offset, len(r.data))], []byte("\n"))
}

// err is one error of all problems, a line each; nil when there are none.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	shown, hint := r.problems, "Put the file right; nothing starts before."
	if len(shown) > maxProblems {
		hint = fmt.Sprintf("Not shown: %s. %s", fault.Plural(len(shown)-maxProblems, "more mistake"), hint)
		shown = shown[:maxProblems]
	}
	return &Problem{At: r.place(r.first), fault: fault.New(fault.BadInput, strings.Join(shown, "\n"), hint)}
}

// object reads an object of known keys, each at most once.
func (r *reader) object(a at, known keys) {
	object, ok := a.v.Value.(*hujson.Object)
	if !ok {
		r.wrong(a, "must be an object, { ... }")
		return
	}
	seen := map[string]int{}
	for n := range object.Members {
		m := &object.Members[n]
		name, line := m.Name.Value.(hujson.Literal).String(), r.line(m.Name.StartOffset)
		key := strings.TrimPrefix(a.key+"."+show(name), ".")
		if first, twice := seen[name]; twice {
			r.say(line, key, fmt.Sprintf("stands here for the second time; the first is in line %d", first))
			continue
		}
		seen[name] = line
		read, ok := known[name]
		if !ok {
			r.say(line, key, "unknown key; "+nearest(name, sorted(known)))
			continue
		}
		read(at{key: key, v: &m.Value})
	}
}

// array reads each element of a list.
func (r *reader) array(a at, read func(at)) {
	array, ok := a.v.Value.(*hujson.Array)
	if !ok {
		r.wrong(a, "must be a list, [ ... ]")
		return
	}
	for n := range array.Elements {
		read(at{key: fmt.Sprintf("%s[%d]", a.key, n), v: &array.Elements[n]})
	}
}

// text reads a string that is not empty and has no control characters.
func (r *reader) text(a at) (text, bool) {
	l, ok := a.v.Value.(hujson.Literal)
	if !ok || l.Kind() != '"' {
		r.wrong(a, "must be a string, \"...\"")
		return text{}, false
	}
	t := text{value: l.String(), line: r.line(a.v.StartOffset)}
	if why := unprintable(t.value); why != "" {
		r.wrong(a, "%s", why)
		return text{}, false
	}
	return t, true
}

// texts reads a list of strings.
func (r *reader) texts(into *[]text, check func(string) error) func(at) {
	return func(a at) {
		r.array(a, func(e at) {
			t, ok := r.text(e)
			if !ok {
				return
			}
			if t.value == "" {
				r.wrong(e, "must not be empty")
				return
			}
			if check != nil {
				if err := check(t.value); err != nil {
					r.wrong(e, "%s", err)
					return
				}
			}
			*into = append(*into, t)
		})
	}
}

// truth reads true or false.
func (r *reader) truth(take func(value bool, line int)) func(at) {
	return func(a at) {
		l, ok := a.v.Value.(hujson.Literal)
		if !ok || l.Kind() != 't' && l.Kind() != 'f' {
			r.wrong(a, "must be true or false")
			return
		}
		take(l.Bool(), r.line(a.v.StartOffset))
	}
}

// oneOf reads a string that is one of a few words.
func (r *reader) oneOf(into *text, words ...string) func(at) {
	return func(a at) {
		t, ok := r.text(a)
		if !ok {
			return
		}
		if !slices.Contains(words, t.value) {
			r.wrong(a, "%q is not one of them; %s", show(t.value), nearest(t.value, words))
			return
		}
		*into = t
	}
}

func sorted(known keys) []string {
	var list []string
	for k := range known {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// nearest is a sentence part that names the known word that was probably meant, or all.
func nearest(name string, known []string) string {
	if best := fault.Nearest(name, known); best != "" {
		return "did you mean " + best + "?"
	}
	return "known here are " + strings.Join(known, ", ")
}

// show prints a word of the file, cut and escaped.
func show(s string) string {
	if c := []rune(s); len(c) > 40 {
		s = string(c[:40]) + "..."
	}
	q := strconv.QuoteToASCII(s)
	return q[1 : len(q)-1]
}

var errControl = errors.New("must not have control characters")

// unprintable says why a string can't stand in settings; empty when it can.
func unprintable(s string) string {
	for _, c := range s {
		if c < 0x20 && c != '\t' && c != '\n' || c >= 0x7f && c < 0xa0 {
			return errControl.Error()
		}
	}
	return ""
}
