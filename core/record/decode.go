package record

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Decode reads exactly what Encode gives: whatever else means the same is
// refused, so that an entry has one text. Contracts come back as their Ref.
func Decode(encoded []byte) (Entry, error) {
	r := newReader(encoded)
	var e Entry
	r.object(func(name string) bool { return r.entry(&e, name) })
	if r.err != nil {
		return Entry{}, r.err
	}
	again, err := Encode(e)
	if err != nil {
		return Entry{}, err
	}
	if !bytes.Equal(again, encoded) {
		return Entry{}, errors.New("the text of the entry is not in the form in which entries are written")
	}
	return e, nil
}

// reader reads tokens; after its first error it gives zero values.
type reader struct {
	d   *jsontext.Decoder
	err error
}

func newReader(b []byte) *reader { return &reader{d: jsontext.NewDecoder(bytes.NewReader(b))} }

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// next reads a token and wants one of the kinds; the zero kind after an error.
func (r *reader) next(kinds ...jsontext.Kind) (jsontext.Token, jsontext.Kind) {
	if r.err != nil {
		return jsontext.Token{}, 0
	}
	t, err := r.d.ReadToken()
	if err != nil {
		r.fail("the entry can't be read: %w", err)
		return jsontext.Token{}, 0
	}
	if !slices.Contains(kinds, t.Kind()) {
		r.fail("the entry has %s at byte %d, where something else belongs", t.Kind(), r.d.InputOffset())
		return jsontext.Token{}, 0
	}
	return t, t.Kind()
}

// object reads an object; member reads the value of each name, or does not know it.
func (r *reader) object(member func(name string) bool) {
	r.next('{')
	for {
		t, k := r.next('"', '}')
		if k != '"' {
			return
		}
		if name := t.String(); !member(name) {
			r.fail("the entry has a member %q, which is not known here", name)
		}
	}
}

func (r *reader) list(item func()) {
	r.next('[')
	for r.err == nil && r.d.PeekKind() != ']' {
		item()
	}
	r.next(']')
}

// text reads a string, or the base64 of one that is not UTF-8.
func (r *reader) text() string {
	if r.err != nil || r.d.PeekKind() != '{' {
		t, k := r.next('"')
		if k == 0 {
			return ""
		}
		return t.String()
	}
	var s string
	r.object(func(name string) bool {
		s = r.base64()
		return name == "base64"
	})
	return s
}

func (r *reader) base64() string {
	b, err := base64.StdEncoding.DecodeString(r.text())
	if err != nil {
		r.fail("the entry has bad base64: %w", err)
	}
	return string(b)
}

func (r *reader) number() int64 {
	t, k := r.next('0')
	if k == 0 {
		return 0
	}
	n, err := strconv.ParseInt(t.String(), 10, 64)
	if err != nil {
		r.fail("the entry has a number that is no whole one: %w", err)
	}
	return n
}

func (r *reader) flag() bool {
	_, k := r.next('t', 'f')
	return k == 't'
}

func (r *reader) hash() (h [32]byte) {
	b, err := hex.DecodeString(r.text())
	if err != nil || r.err == nil && len(b) != len(h) {
		r.fail("the entry has a hash that is not 64 hexadecimal digits")
		return h
	}
	copy(h[:], b)
	return h
}

func (r *reader) texts() (list []string) {
	r.list(func() { list = append(list, r.text()) })
	return list
}

func (r *reader) detail() map[string]string {
	m := map[string]string{}
	r.object(func(name string) bool { m[name] = r.text(); return true })
	return m
}

func (r *reader) time() time.Time {
	t, err := time.Parse(timeLayout, r.text())
	if err != nil {
		r.fail("the entry has a time that can't be read: %w", err)
	}
	return t
}

func (r *reader) entry(e *Entry, name string) bool {
	switch name {
	case "time":
		e.Time = r.time()
	case "type":
		e.Type = Type(r.text())
	case "actor":
		r.object(func(name string) bool { return r.actor(&e.Actor, name) })
	case "server":
		e.Server = r.text()
	case "incarnation":
		e.Incarnation = r.text()
	case "kind":
		e.Kind = r.text()
	case "name":
		e.Name = r.text()
	case "request_id":
		e.RequestID = r.text()
	case "settings_id":
		e.SettingsID = r.text()
	case "transition":
		e.Transition = &Transition{}
		r.object(func(name string) bool { return r.transition(e.Transition, name) })
	case "act":
		e.Act = &Act{}
		r.object(func(name string) bool { return r.act(e.Act, name) })
	case "call":
		e.Call = &Call{}
		r.object(func(name string) bool { return r.call(e.Call, name) })
	default:
		return false
	}
	return true
}

func (r *reader) actor(a *Actor, name string) bool {
	switch name {
	case "kind":
		a.Kind = ActorKind(r.text())
	case "name":
		a.Name = r.text()
	default:
		return false
	}
	return true
}

func (r *reader) act(a *Act, name string) bool {
	switch name {
	case "what":
		a.What = r.text()
	case "detail":
		a.Detail = r.detail()
	default:
		return false
	}
	return true
}

func (r *reader) transition(t *Transition, name string) bool {
	switch name {
	case "from":
		t.From = r.text()
	case "to":
		t.To = r.text()
	case "reason":
		t.Reason = r.text()
	case "old":
		t.Old.Ref = r.ref()
	case "new":
		t.New.Ref = r.ref()
	case "signals":
		t.Signals = r.texts()
	case "verdict":
		t.Verdict = r.text()
	case "complete":
		t.Complete = r.flag()
	case "findings":
		t.Findings = r.findings()
	case "bundle":
		t.Bundle = r.text()
	case "accepted":
		t.Accepted = r.findings()
	case "detail":
		t.Detail = r.detail()
	case "state":
		t.State = r.hash()
	default:
		return false
	}
	return true
}

func (r *reader) ref() (f Ref) {
	r.object(func(name string) bool {
		switch name {
		case "digest":
			f.Digest = contract.Digest(r.text())
		case "problem":
			f.Problem = r.text()
		case "raw":
			f.Raw = r.hash()
		case "bytes":
			f.Bytes = int(r.number())
		default:
			return false
		}
		return true
	})
	return f
}

func (r *reader) findings() (list []Finding) {
	r.list(func() {
		var f Finding
		r.object(func(name string) bool { return r.finding(&f, name) })
		list = append(list, f)
	})
	return list
}

func (r *reader) finding(f *Finding, name string) bool {
	switch name {
	case "check":
		f.Check = r.text()
	case "tier":
		f.Tier = r.text()
	case "path":
		f.Path = r.text()
	case "evidence":
		f.Evidence = r.text()
	case "start":
		f.Start = int(r.number())
	case "end":
		f.End = int(r.number())
	default:
		return false
	}
	return true
}

func (r *reader) call(c *Call, name string) bool {
	switch name {
	case "id":
		c.ID = r.text()
	case "caller":
		c.Caller = r.text()
	case "face":
		c.Face = r.text()
	case "class":
		c.Class = r.text()
	case "approved":
		c.Approved = contract.Digest(r.text())
	case "live":
		c.Live = contract.Digest(r.text())
	case "args_sha256":
		c.ArgsSHA256 = r.text()
	case "args_bytes":
		c.ArgsBytes = int(r.number())
	case "outcome":
		c.Outcome = r.text()
	case "result_bytes":
		c.ResultBytes = int(r.number())
	case "duration_ns":
		c.Duration = time.Duration(r.number())
	case "refused":
		c.Refused = r.text()
	case "reasons":
		c.Reasons = r.texts()
	case "rule":
		c.Rule = r.text()
	case "rule_at":
		c.RuleAt = r.text()
	default:
		return false
	}
	return true
}
