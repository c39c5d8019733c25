package contract

import (
	"bytes"
	"strings"
	"testing"
)

func TestRestoreGivesBackWhatWasStored(t *testing.T) {
	for _, raw := range []string{
		`{"name":"t"}`, ``, `{"a":1,"a":2}`, `{`, "\xff", `{"annotations":1}`,
		`{"a":"` + strings.Repeat("x", MaxBytes) + `"}`,
	} {
		c := Parse([]byte(raw))
		back, err := Restore(c.Raw(), c.Digest(), c.Problem())
		if err != nil {
			t.Errorf("%.20q: %v", raw, err)
			continue
		}
		if !back.Equal(c) || back.Parsable() != c.Parsable() || back.Problem() != c.Problem() || !bytes.Equal(back.Raw(), c.Raw()) {
			t.Errorf("%.20q comes back as %+v", raw, back)
		}
	}
	if back, err := Restore(nil, "", ""); err != nil || !back.IsZero() {
		t.Errorf("no contract comes back as %+v, %v", back, err)
	}
}

// What was held as unparsable must not become readable because the reader
// learned something since.
func TestRestoreKeepsUnparsable(t *testing.T) {
	raw := []byte(`{"name":"t"}`)
	c, err := Restore(raw, digestUnparsable(raw), "an older reader could not read it")
	if err != nil || c.Parsable() || c.Problem() != "an older reader could not read it" || c.Name() != "" {
		t.Errorf("restored as %+v, %v", c, err)
	}
	if c.Equal(Parse(raw)) {
		t.Error("it equals the readable one")
	}
	raw[2] = 'X'
	if string(c.Raw()) != `{"name":"t"}` {
		t.Error("the caller's buffer is the contract")
	}
}

func TestRestoreRefusesOtherBytes(t *testing.T) {
	good, bad := Parse([]byte(`{"name":"t"}`)), Parse([]byte(`{`))
	for name, test := range map[string]struct {
		raw     string
		digest  Digest
		problem string
		says    string
	}{
		"other value":                {`{"name":"u"}`, good.Digest(), "", "its bytes were changed"},
		"other unparsable bytes":     {`[`, bad.Digest(), bad.Problem(), "its bytes were changed"},
		"readable kept as not":       {`{"name":"t"}`, good.Digest(), "p", "its bytes were changed"},
		"unparsable kept as good":    {`{`, bad.Digest(), "", "can't be read: it ends too early"},
		"no digest":                  {`{"name":"t"}`, "", "", "is none"},
		"digest cut":                 {`{"name":"t"}`, good.Digest()[:70], "", "is none"},
		"digest in capitals":         {`{"name":"t"}`, Digest(strings.ToUpper(string(good.Digest()))), "", "is none"},
		"digest with capital digits": {`{"name":"t"}`, "sha256:" + Digest(strings.Repeat("A", 64)), "", "is none"},
		"too large without a digest": {``, "", tooLarge, "is none"},
		"too large with some bytes":  {`{`, good.Digest(), tooLarge, "its bytes were changed"},
	} {
		c, err := Restore([]byte(test.raw), test.digest, test.problem)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
