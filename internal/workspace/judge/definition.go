package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// MaxArguments is the most bytes that the arguments of a call may have.
const MaxArguments = 12 << 20

// Definition is a tool as it is listed: the raw tool object of MCP.
type Definition struct {
	Name string
	Raw  []byte
}

var climbing = regexp.MustCompile(climbs)

// Definitions of all tools, in listed order: Read, Write, Edit, Bash, BashOutput,
// KillShell, Grep, Glob. Which of them are offered is the server's to say.
func Definitions() []Definition {
	var all []Definition
	for _, t := range tools {
		_, fields := t.input()
		all = append(all, Definition{Name: t.name, Raw: t.definition(fields)})
	}
	return all
}

// Decode reads the arguments of a tool by its schema, strictly: an unknown tool, a key
// that is unknown, missing or there twice, a value of another type (null too), bytes
// that are no UTF-8, anything behind the object, and control characters in paths and
// commands are errors. The error is one sentence and quotes no value.
func Decode(tool string, arguments []byte) (Input, error) {
	n := slices.IndexFunc(tools, func(t listed) bool { return t.name == tool })
	if n < 0 {
		return nil, noTool{fault.Nearest(tool, toolNames())}
	}
	if len(arguments) > MaxArguments {
		return nil, fmt.Errorf("the arguments of %s have %d bytes, at most %d are taken", tool, len(arguments), MaxArguments)
	}
	in, fields := tools[n].input()
	if err := decode(fields, arguments); err != nil {
		return nil, fmt.Errorf("the arguments of %s: %w", tool, err)
	}
	if g, ok := in.(*GrepInput); ok && g.Context == nil {
		g.Context = g.around
	}
	return in, nil
}

// noTool says that a tool does not exist; near is the one that was probably meant.
type noTool struct{ near string }

func (n noTool) Error() string {
	if n.near != "" {
		return "there is no such tool; did you mean " + n.near + "?"
	}
	return "there is no such tool"
}

// decode reads one object into the fields.
func decode(fields []field, arguments []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(arguments)) // strict: no key twice, valid UTF-8
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return errors.New("they must be one JSON object")
	}
	seen := map[string]bool{}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return unreadable(err)
		}
		key := t.String()
		n := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		if n < 0 {
			return unknownKey(key, fields)
		}
		v, err := d.ReadValue()
		if err != nil {
			return unreadable(err)
		}
		if err := fields[n].read(v); err != nil {
			return fmt.Errorf("%s %w", key, err)
		}
		seen[key] = true
	}
	if _, err := d.ReadToken(); err != nil {
		return unreadable(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("something follows behind the object")
	}
	for _, f := range fields {
		if f.required && !seen[f.key] {
			return fmt.Errorf("%s is missing", f.key)
		}
	}
	return nil
}

// unreadable says why the bytes are no strict JSON, without quoting them.
func unreadable(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return errors.New("a key stands there twice")
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("they are no valid JSON from byte %d on", s.ByteOffset)
	}
	return errors.New("they are no valid JSON")
}

// unknownKey names the nearest key that there is. A key is shown only in part: it is
// the caller's text.
func unknownKey(key string, fields []field) error {
	var known []string
	for _, f := range fields {
		known = append(known, f.key)
	}
	shown := strconv.QuoteToASCII(string([]rune(key)[:min(40, len([]rune(key)))]))
	if best := fault.Nearest(key, known); best != "" {
		return fmt.Errorf("%s is no key of it; did you mean %s?", shown, best)
	}
	return fmt.Errorf("%s is no key of it; its keys are %s", shown, strings.Join(known, ", "))
}

func toolNames() []string {
	var all []string
	for _, t := range tools {
		all = append(all, t.name)
	}
	return all
}

// definition is the raw tool object.
func (t listed) definition(fields []field) []byte {
	var properties bytes.Buffer // in the order of the fields, which is how people read them
	required := []string{}
	for n, f := range fields {
		if n > 0 {
			properties.WriteByte(',')
		}
		properties.Write(compact(f.key))
		properties.WriteByte(':')
		properties.Write(compact(f.schema()))
		if f.required {
			required = append(required, f.key)
		}
	}
	input := fmt.Sprintf(`{"type":"object","properties":{%s},"required":%s,"additionalProperties":false}`, properties.Bytes(), compact(required))
	return compact(struct {
		Name         string          `json:"name"`
		Title        string          `json:"title"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Annotations  hints           `json:"annotations"`
	}{t.name, t.title, t.about, json.RawMessage(input), json.RawMessage(t.output), t.hints})
}
