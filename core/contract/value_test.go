package contract

import (
	"strings"
	"testing"
)

func parseValue(t testing.TB, s string) Value {
	t.Helper()
	c := Parse([]byte(`{"v":` + s + `}`))
	v, ok := c.Root().Get("v")
	if !ok {
		t.Fatalf("%s: %s", s, c.Problem())
	}
	return v
}

func TestNumbersMeanTheirValue(t *testing.T) {
	nines := strings.Repeat("9", 30)
	tests := []struct{ spelled, canonical string }{
		{"0", "0"},
		{"-0", "0"},
		{"0.0", "0"},
		{"-0.000e7", "0"},
		{"0e99999999999999999999999", "0"},
		{"1", "1"},
		{"1.0", "1"},
		{"1e0", "1"},
		{"1e-0", "1"},
		{"1E+00", "1"},
		{"10e-1", "1"},
		{"0.1e1", "1"},
		{"-1.00", "-1"},
		{"10", "1e1"},
		{"1e1", "1e1"},
		{"100.0e-1", "1e1"},
		{"-1200", "-12e2"},
		{"0.05", "5e-2"},
		{"12.50", "125e-1"},
		{"9007199254740993", "9007199254740993"},
		{"9007199254740992.0", "9007199254740992"},
		{"1e99999999999", "1e99999999999"},
		{"10e99999999998", "1e99999999999"},
		{"0.1e100000000000", "1e99999999999"},
		{"1e000000000000000000000000000000007", "1e7"},
		{"1e-000000000000000000000000000000007", "1e-7"},
		{"1e" + nines, "1e" + nines},
		{"10e" + nines, "1e1" + strings.Repeat("0", 30)},
		{"0.1e1" + strings.Repeat("0", 30), "1e" + nines},
		{"1e-" + nines, "1e-" + nines},
		{"0.1e-" + nines, "1e-1" + strings.Repeat("0", 30)},
		{"10e-1" + strings.Repeat("0", 30), "1e-" + nines},
		{"0.001e1" + strings.Repeat("0", 29) + "2", "1e" + nines[:29] + "9"},
		{"1234567.000e-1000000000000000000000", "1234567e-1000000000000000000000"},
	}
	for _, test := range tests {
		v := parseValue(t, test.spelled)
		if v.Kind() != Number || v.Text() != test.canonical {
			t.Errorf("%s is %s, not %s", test.spelled, v.Text(), test.canonical)
		}
		if again := parseValue(t, v.Text()); again.Text() != v.Text() {
			t.Errorf("%s is %s when read again", v.Text(), again.Text())
		}
	}
}

// Values of different kinds never meet, at any depth.
func TestDifferentValuesDiffer(t *testing.T) {
	values := []string{
		`null`, `true`, `false`, `0`, `1`, `"0"`, `"1"`, `""`, `"null"`, `"true"`, `[]`, `{}`, `[[]]`, `[{}]`, `[null]`, `{"":null}`,
		`["1"]`, `[1]`, `[1,2]`, `[2,1]`, `["1,2"]`, `{"a":1}`, `{"a":"1"}`, `{"A":1}`, `{"a":1,"b":1}`, `{"a":{"b":1}}`, `"{\"a\":1}"`,
		`"é"`, `"e\u0301"`, `"\u0000"`, `"\ufeff"`, `9007199254740992`, `9007199254740993`, `1e400`, `1e401`, `-1`, `0.1`, `0.10000000000000000001`,
	}
	for i, a := range values {
		for j, b := range values {
			for _, frame := range []string{`%`, `[%]`, `{"x":[{"y":%}]}`} {
				x, y := parseValue(t, strings.ReplaceAll(frame, "%", a)), parseValue(t, strings.ReplaceAll(frame, "%", b))
				if x.Equal(y) != (i == j) || (string(x.AppendCanonical(nil)) == string(y.AppendCanonical(nil))) != (i == j) {
					t.Errorf("%s and %s", x.AppendCanonical(nil), y.AppendCanonical(nil))
				}
			}
		}
	}
}

func TestGetFindsEveryMember(t *testing.T) {
	for _, n := range []int{0, 1, few, few + 1, 500} {
		v := Parse([]byte(manyNames(n))).Root()
		if len(v.Members()) != n {
			t.Fatalf("%d members of %d", len(v.Members()), n)
		}
		last := ""
		for i, m := range v.Members() {
			if got, ok := v.Get(m.Name); !ok || !got.Equal(m.Value) || m.Value.Text() != canonicalNumber(itoa(i)) {
				t.Errorf("%d: %q is %v %v", n, m.Name, got, ok)
			}
			if _, ok := v.Get(m.Name + "!"); ok {
				t.Errorf("%d: %q! is there", n, m.Name)
			}
			if name := v.Sorted(i).Name; i > 0 && name <= last {
				t.Errorf("%d: %q comes after %q", n, name, last)
			} else {
				last = name
			}
		}
		for _, none := range []string{"", "\uffff"} {
			if _, ok := v.Get(none); ok {
				t.Errorf("%d: %q is there", n, none)
			}
		}
	}
	if _, ok := parseValue(t, `[1]`).Get("x"); ok {
		t.Error("a list has members")
	}
}

func TestMembersStandAsSentAndSortByCodePoint(t *testing.T) {
	// By UTF-16, as RFC 8785 sorts, the last two would change places.
	v := parseValue(t, `{"b":1,"a":2,"\ud83d\ude00":3,"\uff61":4}`)
	if got := string(v.AppendCanonical(nil)); got != `{"a":2,"b":1,"｡":4,"😀":3}` {
		t.Errorf("sorted as %s", got)
	}
	if v.Members()[0].Name != "b" || v.Members()[2].Name != "😀" {
		t.Errorf("members are %v", v.Members())
	}
	if items := parseValue(t, `[3,1,2]`).Items(); len(items) != 3 || items[0].Text() != "3" {
		t.Errorf("items are %v", items)
	}
}

func TestKindsHaveNames(t *testing.T) {
	for kind, name := range map[Kind]string{Null: "null", Bool: "boolean", Number: "number", String: "string", Array: "array", Object: "object", 9: "unknown"} {
		if kind.String() != name {
			t.Errorf("%d is %q", kind, kind.String())
		}
	}
}

func TestNumbersAreOrderedExactly(t *testing.T) {
	nines := strings.Repeat("9", 30)
	ascending := []string{
		"-1e1" + nines, "-1e" + nines, "-9.9e30", "-12", "-1.5", "-1", "-0.5", "-1e-" + nines, "-1e-1" + nines,
		"0", "1e-1" + nines, "1e-" + nines, "1e-400", "0.05", "0.5", "0.51", "1", "1.5", "9.99", "10", "11", "100", "9007199254740992", "9007199254740993",
		"1e400", "1.5e400", "1e" + nines, "12e" + nines, "1e1" + strings.Repeat("0", 29) + "2", "1e1" + nines,
	}
	for i, a := range ascending {
		for j, b := range ascending {
			x, y := parseValue(t, a), parseValue(t, b)
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := CompareNumbers(x, y); got != want {
				t.Errorf("%s and %s: %d", a, b, got)
			}
		}
	}
	if CompareNumbers(parseValue(t, "10.0"), parseValue(t, "1e1")) != 0 {
		t.Error("10 is not 10")
	}
}
