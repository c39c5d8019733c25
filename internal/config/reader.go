package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// maxProblems bounds how many mistakes of a file are told at once.
const maxProblems = 20

// maxBrackets bounds how deep a file may be: the parser recurses, and must not be led
// until its stack ends.
const maxBrackets = 100_000

// reader reads one file and collects everything that is wrong with it. It is used
// by one goroutine, once.
type reader struct {
	file     string
	data     []byte
	strict   bool
	problems []string
	warnings []string
}

// at is one value in the file and its key, written as a path from the top.
type at struct {
	key string
	v   *hujson.Value
}

// entry is one member of an object.
type entry struct {
	name string
	at
	nameOffset int
}

// keys maps the names that an object may have to what reads them.
type keys map[string]func(at)

// read reads the whole file into c.
func (r *reader) read(c *Config) {
	r.data = bytes.TrimPrefix(r.data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(r.data) {
		r.problemAt(invalidUTF8(r.data), "", "the file is not valid UTF-8")
		return
	}
	if len(bytes.TrimSpace(r.data)) == 0 {
		r.problems = append(r.problems, r.file+": the file is empty; {} is the smallest that there is, and means the defaults")
		return
	}
	if bytes.Count(r.data, []byte("["))+bytes.Count(r.data, []byte("{")) > maxBrackets {
		r.problems = append(r.problems, fmt.Sprintf("%s: the file opens more than %d brackets", r.file, maxBrackets))
		return
	}
	v, err := hujson.Parse(r.data)
	if err != nil {
		r.syntax(err)
		return
	}
	r.top(at{v: &v}, c)
}

var syntaxError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^hujson: line (\d+), column (\d+): (?s:(.*))$`) })

// syntax reports that the file is no JSON. The message may quote a character or a
// literal of the file; literals can be secrets, so only the position is given then.
func (r *reader) syntax(err error) {
	m := syntaxError().FindStringSubmatch(err.Error())
	if m == nil {
		r.problems = append(r.problems, r.file+": not readable as JSON with comments")
		return
	}
	what := m[3]
	if strings.Contains(what, "literal") || len(what) > 100 {
		what = "invalid value"
	}
	if strings.Contains(what, "after top-level value") {
		what = "something follows after the closing bracket; a file is one object"
	}
	if strings.Contains(what, "unexpected EOF") {
		what = "the file ends too early; a bracket or quote is not closed"
	}
	r.problems = append(r.problems, fmt.Sprintf("%s:%s:%s: %s", r.file, m[1], m[2], what))
}

func invalidUTF8(b []byte) int {
	for n := 0; n < len(b); {
		c, size := utf8.DecodeRune(b[n:])
		if c == utf8.RuneError && size == 1 {
			return n
		}
		n += size
	}
	return 0
}

// problem reports a mistake at a value; why is a sentence part without the value
// of anything that may be a secret.
func (r *reader) problem(a at, format string, args ...any) {
	r.problemAt(a.v.StartOffset, a.key, fmt.Sprintf(format, args...))
}

func (r *reader) problemAt(offset int, key, why string) {
	line, column := r.position(offset)
	text := fmt.Sprintf("%s:%d:%d: ", r.file, line, column)
	if key != "" {
		text += key + ": "
	}
	r.problems = append(r.problems, text+why)
}

// warn reports what loading puts up with; strict does not.
func (r *reader) warn(a at, format string, args ...any) {
	if r.strict {
		r.problem(a, format, args...)
		return
	}
	line, _ := r.position(a.v.StartOffset)
	r.warnings = append(r.warnings, fmt.Sprintf("%s:%d: %s: %s", r.file, line, a.key, fmt.Sprintf(format, args...)))
}

func (r *reader) position(offset int) (line, column int) {
	before := r.data[:min(offset, len(r.data))]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return line, column
}

// source is file:line of a value.
func (r *reader) source(offset int) string {
	line, _ := r.position(offset)
	return r.file + ":" + strconv.Itoa(line)
}

// fault makes one error of all problems, a line each.
func (r *reader) fault() error {
	shown := r.problems
	hint := "Every key is described in docs/configuration.md."
	if len(shown) > maxProblems {
		hint = fmt.Sprintf("Not shown: %s. %s", fault.Plural(len(shown)-maxProblems, "more mistake"), hint)
		shown = shown[:maxProblems]
	}
	return fault.New(fault.BadInput, strings.Join(shown, "\n"), hint)
}

// members gives the members of an object, each name once, in order.
func (r *reader) members(a at) ([]entry, bool) {
	object, ok := a.v.Value.(*hujson.Object)
	if !ok {
		r.problem(a, "must be an object, { ... }")
		return nil, false
	}
	seen := make(map[string]int)
	var list []entry
	for n := range object.Members {
		m := &object.Members[n]
		name := m.Name.Value.(hujson.Literal).String()
		e := entry{name: name, at: at{key: join(a.key, name), v: &m.Value}, nameOffset: m.Name.StartOffset}
		if first, twice := seen[name]; twice {
			line, _ := r.position(first)
			r.problemAt(e.nameOffset, e.key, fmt.Sprintf("stands here for the second time; the first is in line %d", line))
			continue
		}
		seen[name] = e.nameOffset
		list = append(list, e)
	}
	return list, true
}

func join(path, name string) string {
	if path == "" {
		return show(name)
	}
	return path + "." + show(name)
}

// show prints a name or a short word of the file.
func show(s string) string {
	if c := []rune(s); len(c) > 40 {
		s = string(c[:40]) + "..."
	}
	q := strconv.QuoteToASCII(s)
	return q[1 : len(q)-1]
}

// object reads an object of known keys. foreign are keys that other programs have,
// and what to say about them.
func (r *reader) object(a at, known keys, foreign map[string]string) {
	list, ok := r.members(a)
	if !ok {
		return
	}
	for _, e := range list {
		if read, ok := known[e.name]; ok {
			read(e.at)
			continue
		}
		why := "unknown key"
		if says, ok := foreign[e.name]; ok {
			why += "; " + says
		} else if near := nearest(e.name, known); near != "" {
			why += "; did you mean " + near + "?"
		} else {
			why += "; known here are " + strings.Join(sortedKeys(known), ", ")
		}
		r.problemAt(e.nameOffset, e.key, why)
	}
}

func sortedKeys(known keys) []string {
	var list []string
	for k := range known {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// literal readers: each reports and gives the zero value when the value is of
// another kind. They quote nothing: a value may be a secret at the wrong place.

func (r *reader) text(a at) (string, bool) {
	if l, ok := a.v.Value.(hujson.Literal); ok && l.Kind() == '"' {
		return l.String(), true
	}
	r.problem(a, "must be a string, \"...\"")
	return "", false
}

func (r *reader) boolean(a at) (bool, bool) {
	if l, ok := a.v.Value.(hujson.Literal); ok && (l.Kind() == 't' || l.Kind() == 'f') {
		return l.Bool(), true
	}
	r.problem(a, "must be true or false")
	return false, false
}

// count reads a whole number of at least low.
func (r *reader) count(a at, low int) (int, bool) {
	if l, ok := a.v.Value.(hujson.Literal); ok && l.Kind() == '0' {
		n, err := strconv.Atoi(string(l))
		if err == nil && n >= low && n <= 1<<30 {
			return n, true
		}
	}
	r.problem(a, "must be a whole number of at least %d", low)
	return 0, false
}

// bytes reads a size: a number of bytes, or a string with a unit.
func (r *reader) bytes(a at) (int, bool) {
	if l, ok := a.v.Value.(hujson.Literal); ok {
		text, unit := string(l), 1
		if l.Kind() == '"' {
			text = l.String()
			for _, u := range []struct {
				name string
				size int
			}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}} {
				if rest, ok := strings.CutSuffix(text, u.name); ok {
					text, unit = strings.TrimSpace(rest), u.size
					break
				}
			}
		}
		n, err := strconv.Atoi(text)
		if err == nil && n > 0 && n <= (1<<30)/unit {
			return n * unit, true
		}
	}
	r.problem(a, "must be a size from 1 byte to 1 GiB: a number of bytes, or a string such as \"4MiB\" (KiB, MiB, GiB)")
	return 0, false
}

// duration reads a duration of at least low, as Go writes it.
func (r *reader) duration(a at, low time.Duration) (time.Duration, bool) {
	l, ok := a.v.Value.(hujson.Literal)
	if ok && l.Kind() == '0' {
		r.problem(a, "must be a string with a unit, for example \"90s\"")
		return 0, false
	}
	text, ok := r.text(a)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		r.problem(a, "is not a duration; write for example \"90s\", \"5m\" or \"1h30m\"")
		return 0, false
	}
	if d < low {
		r.problem(a, "must be at least %s", low)
		return 0, false
	}
	return d, true
}

// oneOf reads a string that must be one of a few words.
func (r *reader) oneOf(a at, words ...string) (string, bool) {
	text, ok := r.text(a)
	if !ok || slices.Contains(words, text) {
		return text, ok
	}
	r.problem(a, "\"%s\" is not one of %s", show(text), list(words))
	return "", false
}

func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return strings.Join(quoted, ", ")
}

// texts reads a list of strings.
func (r *reader) texts(a at) ([]string, bool) {
	array, ok := a.v.Value.(*hujson.Array)
	if !ok {
		r.problem(a, "must be a list of strings, [ ... ]")
		return nil, false
	}
	var list []string // nil when empty: no list and an empty one are the same
	for n := range array.Elements {
		text, ok := r.text(at{key: fmt.Sprintf("%s[%d]", a.key, n), v: &array.Elements[n]})
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

var errTooBig = errors.New("too big")

// readBounded reads a file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, errTooBig
	}
	return data, err
}

// reason is the cause of a file error without the path, which the caller names.
func reason(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
