package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// maxReason is the most characters of a hook's words that are passed on.
const maxReason = 4000

// result is what a hook did: how it ended, and what it printed.
type result struct {
	err    error // it could not be run, or was killed
	code   int
	out    []byte
	errOut []byte
}

// spoken is what an answer says, in either shape.
type spoken struct {
	outcome policy.Outcome
	reason  string
	updated []byte
	adds    []string // of PostToolUse
}

// before reads the answer of a PreToolUse hook. Whatever is not understood refuses.
func (r result) before(h hook, input []byte) Answer {
	refuse := func(format string, args ...any) Answer {
		return Answer{Outcome: policy.Refused, At: h.At, Reason: "the hook in " + where(h.At) + " " + fmt.Sprintf(format, args...)}
	}
	switch {
	case r.err != nil:
		return refuse("failed, which refuses: %s", r.err)
	case r.code == 2:
		return refuse("refuses: %s", orNone(readable(r.errOut)))
	case r.code != 0:
		return refuse("failed, which refuses: %s", r.failure())
	}
	s, err := read(r.out)
	if err != nil {
		return refuse("failed, which refuses: its output %s", err)
	}
	a := Answer{Outcome: s.outcome, At: h.At}
	switch s.outcome {
	case policy.Refused:
		return refuse("refuses: %s", orNone(s.reason))
	case policy.Asked:
		a.Reason = "the hook in " + where(h.At) + " wants somebody to be asked: " + orNone(s.reason)
	case policy.Allowed:
	}
	if s.updated != nil && !same(s.updated, input) {
		a.Updated = s.updated
	}
	return a
}

// failure says how a hook ended that did not end well.
func (r result) failure() string {
	why := fmt.Sprintf("it ended with status %d", r.code)
	switch r.code {
	case 126:
		why += " (a program that can't be run)"
	case 127:
		why += " (no such program)"
	}
	if text := readable(r.errOut); text != "" {
		why += ": " + text
	}
	return why
}

// after reads the answer of a PostToolUse hook: what it adds to the result.
func (r result) after(h hook) string {
	by := "The hook in " + where(h.At)
	switch {
	case r.err != nil:
		return fmt.Sprintf("%s failed: %s", by, r.err)
	case r.code == 2:
		return by + " says: " + orNone(readable(r.errOut))
	case r.code != 0:
		return by + " failed: " + r.failure()
	}
	s, err := read(r.out)
	if err != nil {
		return fmt.Sprintf("%s failed: its output %s", by, err)
	}
	adds := s.adds
	if s.outcome != policy.Allowed {
		adds = append([]string{orNone(s.reason)}, adds...)
	}
	if len(adds) == 0 {
		return ""
	}
	return by + " says: " + strings.Join(adds, "\n")
}

// words of the answers' shapes.
var decisions = map[string]policy.Outcome{
	"allow": policy.Allowed, "approve": policy.Allowed,
	"ask":  policy.Asked,
	"deny": policy.Refused, "block": policy.Refused,
}

// read reads an output: nothing, or one JSON object. Of all that it says in one shape
// and the other the most restrictive counts. The error is a sentence part.
func read(out []byte) (spoken, error) {
	s := spoken{outcome: policy.Allowed}
	if len(bytes.TrimSpace(out)) == 0 {
		return s, nil
	}
	top, err := object(out)
	if err != nil {
		return s, err
	}
	nested := map[string]jsontext.Value{}
	if v, ok := top["hookSpecificOutput"]; ok && v.Kind() != 'n' {
		if nested, err = object(v); err != nil {
			return s, fmt.Errorf("has a hookSpecificOutput that %w", err)
		}
	}
	reasons := map[policy.Outcome]string{}
	for _, part := range []struct {
		in            map[string]jsontext.Value
		key, reasonIn string
	}{
		{nested, "permissionDecision", "permissionDecisionReason"},
		{nested, "decision", "reason"},
		{top, "permissionDecision", "permissionDecisionReason"},
		{top, "decision", "reason"},
	} {
		v, ok := part.in[part.key]
		if !ok || v.Kind() == 'n' {
			continue
		}
		outcome, ok := decisions[plainText(v)]
		if !ok {
			return s, fmt.Errorf("has a %s that is none of allow, ask, deny, approve, block", part.key)
		}
		if reasons[outcome] == "" {
			reasons[outcome] = plainText(part.in[part.reasonIn])
		}
		s.outcome = min(s.outcome, outcome)
	}
	if v, ok := top["continue"]; ok && v.Kind() != 't' && v.Kind() != 'n' {
		if v.Kind() != 'f' {
			return s, errors.New("has a continue that is neither true nor false")
		}
		s.outcome, reasons[policy.Refused] = policy.Refused, plainText(top["stopReason"])
	}
	s.reason = readable([]byte(reasons[s.outcome]))
	for _, text := range []string{plainText(nested["additionalContext"]), plainText(top["systemMessage"])} {
		if text = readable([]byte(text)); text != "" {
			s.adds = append(s.adds, text)
		}
	}
	s.updated, err = updated(nested["updatedInput"], top["updatedInput"])
	return s, err
}

// updated is the changed input, which may stand in either shape, but not differently.
func updated(nested, top jsontext.Value) ([]byte, error) {
	var found []byte
	for _, v := range []jsontext.Value{nested, top} {
		if v == nil || v.Kind() == 'n' {
			continue
		}
		if v.Kind() != '{' {
			return nil, errors.New("has an updatedInput that is no object")
		}
		if found != nil && !same(found, v) {
			return nil, errors.New("has two that differ of updatedInput")
		}
		found = v
	}
	return found, nil
}

// object reads one strict JSON object. The error is a sentence part.
func object(data []byte) (map[string]jsontext.Value, error) {
	errNone := errors.New("is no JSON object, and not empty")
	d := jsontext.NewDecoder(bytes.NewReader(data))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, errNone
	}
	all := map[string]jsontext.Value{}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, errNone
		}
		key := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return nil, errNone
		}
		all[key] = v.Clone()
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, errNone
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has something behind its JSON object")
	}
	return all, nil
}

// plainText is the value of a string; empty for anything else.
func plainText(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(text)
}

// readable is a text of a hook as it is passed on: valid, without control characters,
// cut.
func readable(text []byte) string {
	s := strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD"))
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	if c := []rune(s); len(c) > maxReason {
		s = string(c[:maxReason]) + "..."
	}
	return s
}

func orNone(reason string) string {
	if reason == "" {
		return "it gives no reason"
	}
	return reason
}
