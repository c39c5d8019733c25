package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// field is one key of a tool's arguments: what its schema says of it and how it is
// read, from one place so that they can't differ.
type field struct {
	key      string
	about    string
	required bool
	kind     kind
	low      int      // of numbers
	high     int      // of numbers
	longest  int      // of texts, in characters; 0 is no limit of its own
	words    []string // of choices

	text *string
	num  **int
	flag *bool
	may  **bool
}

// kind is what a value must be.
type kind uint8

const (
	anyText   kind = iota // any string
	someText              // a string that is not empty
	wordText              // any string without NUL: it becomes an argument of a program
	pathText              // a path: not empty, without control characters
	globText              // a pattern of paths: a path that can't climb
	shellText             // a command: not blank, without control characters but tab and newline
	choice                // one of words
	number                // a whole number
	boolean               // true or false
)

// Patterns of the schemas. They are read alike as ECMA 262 and as RE2, and say what
// kind.fault says.
const (
	controls      = `[\x00-\x1f\x7f-\x9f]`
	shellControls = `[\x00-\x08\x0b-\x1f\x7f-\x9f]`
	notBlank      = `[^\x00-\x20\x7f-\x9f]`
	climbs        = `(^|[/\\{,])(\\?\.){2}([/\\},]|$)`
)

// schema is the field's JSON Schema.
func (f field) schema() map[string]any {
	s := map[string]any{"description": f.about, "type": "string"}
	not := func(pattern string) map[string]any { return map[string]any{"pattern": pattern} }
	if f.longest > 0 {
		s["maxLength"] = f.longest
	}
	switch f.kind {
	case anyText:
	case someText:
		s["minLength"] = 1
	case wordText:
		s["not"] = not(`\x00`)
	case pathText:
		s["minLength"], s["not"] = 1, not(controls)
	case globText:
		s["minLength"], s["not"] = 1, not(controls+"|"+climbs)
	case shellText:
		s["pattern"], s["not"] = notBlank, not(shellControls)
	case choice:
		s["enum"] = f.words
	case number:
		s["type"], s["minimum"], s["maximum"] = "integer", f.low, f.high
	case boolean:
		s["type"] = "boolean"
	}
	return s
}

// read takes the value. The error is a sentence part that quotes nothing of it.
func (f field) read(v jsontext.Value) error {
	switch f.kind {
	case number:
		n, ok := whole(v)
		if v.Kind() != '0' || !ok || n < f.low || n > f.high {
			return fmt.Errorf("must be a whole number from %d to %d", f.low, f.high)
		}
		*f.num = &n
		return nil
	case boolean:
		if v.Kind() != 't' && v.Kind() != 'f' {
			return fmt.Errorf("must be true or false")
		}
		b := v.Kind() == 't'
		if f.may != nil {
			*f.may = &b
		} else {
			*f.flag = b
		}
		return nil
	default:
	}
	if v.Kind() != '"' {
		return fmt.Errorf("must be a string")
	}
	raw, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return fmt.Errorf("is no valid string")
	}
	text := string(raw)
	if why := f.fault(text); why != "" {
		return fmt.Errorf("%s", why)
	}
	*f.text = text
	return nil
}

// fault says what is wrong with a text; empty when nothing is.
func (f field) fault(text string) string {
	if f.longest > 0 && len([]rune(text)) > f.longest {
		return fmt.Sprintf("must have at most %d characters", f.longest)
	}
	empty := text == ""
	switch f.kind {
	case someText:
	case wordText:
		empty = false
		if strings.ContainsRune(text, 0) {
			return "must not contain a NUL character"
		}
	case pathText, globText:
		if strings.ContainsFunc(text, unicode.IsControl) {
			return "must not contain control characters"
		}
		if f.kind == globText && climbing.MatchString(text) {
			return `must not contain "..": search from a folder further up with path`
		}
	case shellText:
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' }) {
			return "must not contain control characters but tab and newline"
		}
		empty = strings.Trim(text, " \t\n") == ""
	case choice:
		if !slices.Contains(f.words, text) {
			return `must be one of "` + strings.Join(f.words, `", "`) + `"`
		}
	case anyText, number, boolean:
		empty = false
	}
	if empty {
		return "must not be empty"
	}
	return ""
}

// whole reads a JSON number that is an integer however it is written (2, 2.0, 0.2e1),
// exactly. It fails past ten digits, more than any limit has.
func whole(v jsontext.Value) (int, bool) {
	text := strings.ToLower(string(v))
	text, negative := strings.CutPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(text, "e")
	e := 0
	if exponent != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
		if err != nil || n > 1<<20 || n < -1<<20 {
			return 0, strings.Trim(mantissa, "0.") == ""
		}
		e = n
	}
	before, after, _ := strings.Cut(mantissa, ".")
	after = strings.TrimRight(after, "0")
	digits := before + after
	e -= len(after)
	for e < 0 && strings.HasSuffix(digits, "0") {
		digits, e = digits[:len(digits)-1], e+1
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return 0, true
	}
	if e < 0 || len(digits)+e > 10 {
		return 0, false
	}
	n, err := strconv.ParseInt(digits+strings.Repeat("0", e), 10, 64)
	if negative {
		n = -n
	}
	return int(n), err == nil && int64(int(n)) == n
}

// compact writes JSON in the order given by the keys' own sorting, without escaping
// what need not be.
func compact(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // strings, numbers and maps of them always marshal
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
