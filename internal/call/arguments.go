package call

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// Limits of what is held against a schema. What is over one is refused: the
// validator works on exact fractions, for which 1e999999 alone is a megabyte.
const (
	maxDepth    = 256  // nested arrays and objects, as on the wire
	maxDigits   = 1000 // bytes of one number
	maxExponent = 400  // of a number, in either direction; float64 ends at 308 and -324
)

// arguments are the arguments of one call as they came.
type arguments struct {
	raw []byte // the object; `{}` when the call has none
	end int    // of the object in the params; 0 when the call has none
}

var noArguments = []byte("{}")

// digest is the SHA-256 of the bytes of the arguments; empty before they were read.
func (a arguments) digest() string {
	if a.raw == nil {
		return ""
	}
	sum := sha256.Sum256(a.raw)
	return hex.EncodeToString(sum[:])
}

// readArguments finds params.arguments without decoding it. The problem is a
// sentence part; it quotes nothing.
func readArguments(params []byte) (a arguments, problem string) {
	if len(params) == 0 {
		return arguments{raw: noArguments}, ""
	}
	r := borrowReader(params, jsontext.AllowDuplicateNames(true))
	defer r.giveBack()
	if t, err := r.ReadToken(); err != nil || t.Kind() != '{' {
		return arguments{}, "the params of the call are not an object"
	}
	for r.PeekKind() == '"' {
		name, err := r.ReadToken()
		if err != nil {
			break
		}
		mine := name.String() == "arguments"
		if dispatch.Mistakable(name.String()) {
			return arguments{}, "the params of the call have a member that differs from a known one only in how it is written, so that servers may read it differently"
		}
		r.PeekKind()
		start := r.InputOffset()
		if r.SkipValue() != nil {
			break
		}
		if !mine {
			continue
		}
		if a.raw != nil {
			return a, "the call has arguments twice"
		}
		value := params[start:r.InputOffset()]
		if i := bytes.IndexAny(value, "{[\"0123456789-tfn"); i >= 0 {
			value = value[i:] // after the colon and blanks
		}
		a.raw, a.end = value, int(r.InputOffset())
	}
	if t, err := r.ReadToken(); err != nil || t.Kind() != '}' {
		return a, "the params of the call are not well-formed JSON"
	}
	switch {
	case a.raw == nil:
		a.raw = noArguments
	case a.raw[0] != '{':
		return a, "the arguments are not an object"
	}
	return a, ""
}

// with gives the params with other arguments.
func (a arguments) with(params, other []byte) []byte {
	if a.end > 0 {
		return slices.Concat(params[:a.end-len(a.raw)], other, params[a.end:])
	}
	open := bytes.IndexByte(params, '{')
	if open < 0 {
		return slices.Concat([]byte(`{"arguments":`), other, []byte(`}`))
	}
	rest := bytes.TrimLeft(params[open+1:], " \t\r\n")
	comma := []byte(",")
	if len(rest) == 0 || rest[0] == '}' {
		comma = nil
	}
	return slices.Concat([]byte(`{"arguments":`), other, comma, rest)
}

// tooLarge is the sentence part for what is over a limit.
func tooLarge(size, limit int) string {
	return fmt.Sprintf("the arguments have %d bytes, more than the %d that are passed on", size, limit)
}

// reader is a borrowed strict JSON reader over bytes that stay as they are.
type reader struct {
	jsontext.Decoder
	buf bytes.Buffer
}

var readers = sync.Pool{New: func() any { return new(reader) }}

func borrowReader(b []byte, opts ...jsontext.Options) *reader {
	r := readers.Get().(*reader)
	r.buf = *bytes.NewBuffer(b)
	r.Reset(&r.buf, opts...)
	return r
}

func (r *reader) giveBack() {
	r.buf = bytes.Buffer{}
	r.Reset(&r.buf) // drops the bytes
	readers.Put(r)
}

// Problems of a value that can't be held against a schema.
var (
	errMalformed = errors.New("the arguments are not well-formed JSON, or name something twice")
	errDeep      = fmt.Errorf("the arguments are nested over %d levels", maxDepth)
	errNumber    = fmt.Errorf("the arguments have a number with over %d digits or an exponent over %d", maxDigits, maxExponent)
)

// decode reads one JSON value as the validator wants it: maps, slices, strings,
// booleans, nil, and json.Number for numbers, which keeps every digit.
func decode(raw []byte) (any, error) {
	r := borrowReader(raw)
	defer r.giveBack()
	v, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if r.PeekKind() != 0 {
		return nil, errMalformed
	}
	return v, nil
}

func (r *reader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	t, err := r.ReadToken()
	if err != nil {
		return nil, errMalformed
	}
	switch t.Kind() {
	case '{':
		return r.object(depth)
	case '[':
		return r.array(depth)
	case '"':
		return t.String(), nil
	case '0':
		return number(t.String())
	case 't', 'f':
		return t.Bool(), nil
	default:
		return nil, nil
	}
}

func (r *reader) object(depth int) (any, error) {
	m := make(map[string]any)
	for r.PeekKind() != '}' {
		name, err := r.ReadToken()
		if err != nil {
			return nil, errMalformed
		}
		key := name.String()
		if m[key], err = r.value(depth + 1); err != nil {
			return nil, err
		}
	}
	if _, err := r.ReadToken(); err != nil {
		return nil, errMalformed
	}
	return m, nil
}

func (r *reader) array(depth int) (any, error) {
	list := []any{}
	for r.PeekKind() != ']' {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	if _, err := r.ReadToken(); err != nil {
		return nil, errMalformed
	}
	return list, nil
}

// number refuses what would be too much work as an exact fraction.
func number(text string) (any, error) {
	if len(text) > maxDigits {
		return nil, errNumber
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(text[i+1:])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return nil, errNumber
		}
	}
	return json.Number(text), nil
}
