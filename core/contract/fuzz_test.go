package contract

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{}`, ``, `{"a":1e99999999999}`, `{"a":"\ud83d\ude00"}`, `{"a":1,"\u0061":2}`, `{"annotations":{"readOnlyHint":true}}`, `{"a":[[],{},-0.0,10]}`, "{\"a\":\"\xff\"}", `{"a":0.1e-999999999999999999999}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := Parse(raw)
		if !c.Digest().valid() || c.Parsable() == (c.Problem() != "") {
			t.Fatalf("%q: digest %q, problem %q", raw, c.Digest(), c.Problem())
		}
		back, err := Restore(c.Raw(), c.Digest(), c.Problem())
		if err != nil || !back.Equal(c) {
			t.Fatalf("%q does not come back: %v", raw, err)
		}
		c.Class(Read)
		if c.Parsable() && !json.Valid(raw) {
			t.Fatalf("%q is no JSON", raw)
		}
		checkAgainstOracle(t, c, c)
	})
}

func FuzzTwoTextsOneMeaning(f *testing.F) {
	f.Add([]byte(`{"a":1}`), []byte(`{"a":1.0}`))
	f.Add([]byte(`{"a":10,"b":"é"}`), []byte(`{"b":"\u00e9","a":1e1}`))
	f.Add([]byte(`{"a":9007199254740993}`), []byte(`{"a":9007199254740992}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, y := Parse(a), Parse(b)
		checkAgainstOracle(t, x, y)
		if x.Parsable() != y.Parsable() && x.Equal(y) || !x.Parsable() && !y.Parsable() && x.Equal(y) != bytes.Equal(a, b) {
			t.Fatalf("%q and %q: %s %s", a, b, x.Digest(), y.Digest())
		}
	})
}
