package contract

import (
	"fmt"
	"testing"
)

// Every combination of the two hints that decide, for every class that an
// operator may set for tools without them.
func TestClass(t *testing.T) {
	want := map[string]map[string]string{ // readOnly, destructive
		"absent": {"absent": "unannotated", "null": "unannotated", "false": "write", "true": "destructive"},
		"null":   {"absent": "unannotated", "null": "unannotated", "false": "write", "true": "destructive"},
		"false":  {"absent": "destructive", "null": "destructive", "false": "write", "true": "destructive"},
		"true":   {"absent": "read", "null": "read", "false": "read", "true": "destructive"},
	}
	n := 0
	for readOnly, row := range want {
		for destructive, class := range row {
			for _, unannotated := range []Class{NoClass, Read, Write, Destructive, 77} {
				expect := class
				if class == "unannotated" {
					if expect = unannotated.String(); expect == "none" {
						expect = "destructive"
					}
				}
				c := Parse(annotated(readOnly, destructive))
				if got := c.Class(unannotated); got.String() != expect {
					t.Errorf("%s with %s unannotated is %s, not %s", c.Raw(), unannotated, got, expect)
				}
				n++
			}
		}
	}
	if n != 80 {
		t.Errorf("%d cells", n)
	}
	for _, raw := range []string{`{}`, `{"annotations":null}`, `{"annotations":{}}`, `{"annotations":{"title":"x","openWorldHint":false}}`} {
		if c := Parse([]byte(raw)); c.Class(Write) != Write || c.Class(NoClass) != Destructive {
			t.Errorf("%s is %s", raw, c.Class(Write))
		}
	}
	if c := Parse([]byte(`{"annotations":{"readOnlyHint":"yes"}}`)); c.Class(Read) != Destructive {
		t.Errorf("unparsable is %s", c.Class(Read))
	}
}

func annotated(readOnly, destructive string) []byte {
	s := `"x":1`
	if readOnly != "absent" {
		s += `,"readOnlyHint":` + readOnly
	}
	if destructive != "absent" {
		s += `,"destructiveHint":` + destructive
	}
	return fmt.Appendf(nil, `{"annotations":{%s}}`, s)
}

func TestEffectiveHints(t *testing.T) {
	defaults := Hints{ReadOnly: false, Destructive: true, Idempotent: false, OpenWorld: true}
	for raw, want := range map[string]Hints{
		`{}`:                   defaults,
		`{"annotations":null}`: defaults,
		`{"annotations":[]}`:   defaults, // unparsable
		`{"annotations":{"readOnlyHint":null,"destructiveHint":null,"idempotentHint":null,"openWorldHint":null}}`:   defaults,
		`{"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`: {true, false, true, false},
		`{"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}}`: defaults,
		`{"annotations":{"readOnlyHint":true}}`:                     {true, true, false, true},
		`{"annotations":{"readOnlyHint":true,"openWorldHint":7}}`:   defaults, // unparsable
		`{"annotations":{"readonlyHint":true,"ReadOnlyHint":true}}`: defaults,
	} {
		if got := Parse([]byte(raw)).Hints(); got != want {
			t.Errorf("%s has %+v", raw, got)
		}
	}
}

func TestClassWords(t *testing.T) {
	for _, c := range []Class{Read, Write, Destructive} {
		if back, ok := ParseClass(c.String()); !ok || back != c {
			t.Errorf("%s comes back as %s", c, back)
		}
	}
	for _, s := range []string{"", "none", "Read", "destructive ", "5"} {
		if c, ok := ParseClass(s); ok || c != NoClass {
			t.Errorf("%q is %s", s, c)
		}
	}
}
