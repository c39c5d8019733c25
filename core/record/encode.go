package record

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// timeLayout has a fixed width: times sort as text, and one time has one spelling.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Encode gives the bytes of e that the chain covers: one JSON object on one line,
// members in a fixed order, empty ones left out. Equal entries have equal bytes;
// Seq, Prev and Hash are no part of them. It fails for an entry that must not be
// written: one of no known type, or with another part than its type names.
func Encode(e Entry) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	w := writer{b: make([]byte, 0, 512)}
	w.b = append(w.b, '{')
	w.entry(e)
	w.b = append(w.b, '}')
	return w.b, nil
}

// check says why e must not be written.
func (e Entry) check() error {
	parts := 0
	for _, set := range []bool{e.Transition != nil, e.Act != nil, e.Call != nil} {
		if set {
			parts++
		}
	}
	ok := false
	detail := map[string]string(nil)
	switch e.Type {
	case TypeTransition:
		if ok = e.Transition != nil; ok {
			detail = e.Transition.Detail
		}
	case TypeIntent, TypeOutcome, TypeRefusal:
		ok = e.Call != nil
	case TypeServer, TypeSettings, TypeToken, TypePass:
		if ok = e.Act != nil; ok {
			detail = e.Act.Detail
		}
	default:
		return fmt.Errorf("an audit entry of the type %q can't be written: there is no such type", e.Type)
	}
	if !ok || parts != 1 {
		return fmt.Errorf("an audit entry of the type %q needs the part of that type and no other", e.Type)
	}
	if y := e.Time.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("an audit entry can't have a time in the year %d", y)
	}
	for name := range detail {
		if !utf8.ValidString(name) {
			return errors.New("an audit entry can't have a detail whose name is not UTF-8")
		}
	}
	return nil
}

// Reference is what the chain holds of s.
func (s Snapshot) Reference() Ref {
	c := s.Contract
	if c.IsZero() {
		return s.Ref
	}
	return refOf(c)
}

// writer appends JSON. A name puts the comma before itself.
type writer struct{ b []byte }

func (w *writer) name(name string) {
	if last := w.b[len(w.b)-1]; last != '{' && last != '[' {
		w.b = append(w.b, ',')
	}
	if name != "" {
		w.quote(name)
		w.b = append(w.b, ':')
	}
}

// quote writes a string in the shortest spelling, which RFC 8785 fixes.
func (w *writer) quote(s string) { w.b, _ = jsontext.AppendQuote(w.b, s) }

// value writes a string. One that is not UTF-8 can't be a JSON string; it becomes
// {"base64": ...}, so that no byte of it is lost.
func (w *writer) value(s string) {
	if utf8.ValidString(s) {
		w.quote(s)
		return
	}
	w.b = append(w.b, '{')
	w.base64(s)
	w.b = append(w.b, '}')
}

func (w *writer) base64(s string) {
	w.name("base64")
	w.b = append(w.b, '"')
	w.b = base64.StdEncoding.AppendEncode(w.b, []byte(s))
	w.b = append(w.b, '"')
}

func (w *writer) text(name, s string) {
	if s != "" {
		w.name(name)
		w.value(s)
	}
}

func (w *writer) number(name string, n int64) {
	if n != 0 {
		w.name(name)
		w.b = strconv.AppendInt(w.b, n, 10)
	}
}

func (w *writer) hash(name string, h [32]byte) {
	if h != [32]byte{} {
		w.text(name, hex.EncodeToString(h[:]))
	}
}

func (w *writer) flag(name string, set bool) {
	if set {
		w.name(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *writer) object(name string, members func()) {
	w.name(name)
	w.b = append(w.b, '{')
	members()
	w.b = append(w.b, '}')
}

func (w *writer) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.name(name)
	w.b = append(w.b, '[')
	for _, s := range list {
		w.name("")
		w.value(s)
	}
	w.b = append(w.b, ']')
}

func (w *writer) detail(m map[string]string) {
	if len(m) == 0 {
		return
	}
	w.object("detail", func() {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			w.name("")
			w.quote(k)
			w.b = append(w.b, ':')
			w.value(m[k])
		}
	})
}

func (w *writer) entry(e Entry) {
	w.text("time", e.Time.UTC().Truncate(time.Microsecond).Format(timeLayout))
	w.text("type", string(e.Type))
	w.object("actor", func() {
		w.text("kind", string(e.Actor.Kind))
		w.text("name", e.Actor.Name)
	})
	w.text("server", e.Server)
	w.text("incarnation", e.Incarnation)
	w.text("kind", e.Kind)
	w.text("name", e.Name)
	w.text("request_id", e.RequestID)
	w.text("settings_id", e.SettingsID)
	switch {
	case e.Transition != nil:
		w.object("transition", func() { w.transition(*e.Transition) })
	case e.Act != nil:
		w.object("act", func() { w.text("what", e.Act.What); w.detail(e.Act.Detail) })
	case e.Call != nil:
		w.object("call", func() { w.call(*e.Call) })
	}
}

func (w *writer) transition(t Transition) {
	w.text("from", t.From)
	w.text("to", t.To)
	w.text("reason", t.Reason)
	w.ref("old", t.Old.Reference())
	w.ref("new", t.New.Reference())
	w.texts("signals", t.Signals)
	w.text("verdict", t.Verdict)
	w.flag("complete", t.Complete)
	w.findings("findings", t.Findings)
	w.text("bundle", t.Bundle)
	w.findings("accepted", t.Accepted)
	w.detail(t.Detail)
	w.hash("state", t.State)
}

func (w *writer) ref(name string, r Ref) {
	if r == (Ref{}) {
		return
	}
	w.object(name, func() {
		w.text("digest", string(r.Digest))
		w.text("problem", r.Problem)
		w.hash("raw", r.Raw)
		w.number("bytes", int64(r.Bytes))
	})
}

func (w *writer) findings(name string, list []Finding) {
	if len(list) == 0 {
		return
	}
	w.name(name)
	w.b = append(w.b, '[')
	for _, f := range list {
		w.object("", func() {
			w.text("check", f.Check)
			w.text("tier", f.Tier)
			w.text("path", f.Path)
			w.text("evidence", f.Evidence)
			w.number("start", int64(f.Start))
			w.number("end", int64(f.End))
		})
	}
	w.b = append(w.b, ']')
}

func (w *writer) call(c Call) {
	w.text("id", c.ID)
	w.text("caller", c.Caller)
	w.text("face", c.Face)
	w.text("class", c.Class)
	w.text("approved", string(c.Approved))
	w.text("live", string(c.Live))
	w.text("args_sha256", c.ArgsSHA256)
	w.number("args_bytes", int64(c.ArgsBytes))
	w.text("outcome", c.Outcome)
	w.number("result_bytes", int64(c.ResultBytes))
	w.number("duration_ns", int64(c.Duration))
	w.text("refused", c.Refused)
	w.texts("reasons", c.Reasons)
	w.text("rule", c.Rule)
	w.text("rule_at", c.RuleAt)
}
