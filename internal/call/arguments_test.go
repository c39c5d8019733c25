package call

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReadArguments(t *testing.T) {
	for _, c := range []struct{ params, raw, problem string }{
		{``, `{}`, ``},
		{`{}`, `{}`, ``},
		{`{"name":"x"}`, `{}`, ``},
		{`{"name":"x","arguments":{}}`, `{}`, ``},
		{" {\n\"arguments\" :\t{\"a\": [1, {\"arguments\":2}] } , \"_meta\":{}} ", `{"a": [1, {"arguments":2}] }`, ``},
		{`{"argu\u006dents":{"a":1}}`, `{"a":1}`, ``}, // other parsers read it as arguments too
		{`{"Arguments":{"a":1}}`, ``, `differs from a known one only in how it is written`},
		{`{"arguments":{"a":1},"Name":"x"}`, ``, `differs from a known one`},
		{`{"name":"a","name\u0000":"x"}`, ``, `differs from a known one`},
		{`{"tas\u212a":{}}`, ``, `differs from a known one`},
		{`{"name ":"x","arguments":{"Name":1}}`, `{"Name":1}`, ``},
		{`{"_meta":{"arguments":{"b":1}},"arguments":{"a":1}}`, `{"a":1}`, ``},
		{`{"arguments":null}`, `null`, `not an object`},
		{`{"arguments":[]}`, `[]`, `not an object`},
		{`{"arguments":"{}"}`, `"{}"`, `not an object`},
		{`{"arguments":-1}`, `-1`, `not an object`},
		{`{"arguments":{"a":1},"arguments":{"a":2}}`, `{"a":1}`, `arguments twice`},
		{`{"arguments":{"a":1},"argu\u006dents":{"a":2}}`, `{"a":1}`, `arguments twice`},
		{`[]`, ``, `params of the call are not an object`},
		{`{"arguments":{"a":1}`, `{"a":1}`, `not well-formed`},
		{`{"arguments":{"a":`, ``, `not well-formed`},
		{`{"arguments":}`, ``, `not well-formed`},
	} {
		a, problem := readArguments([]byte(c.params))
		if string(a.raw) != c.raw || (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) {
			t.Errorf("%s: %q, %q; want %q, %q", c.params, a.raw, problem, c.raw, c.problem)
		}
	}
}

// What is found is what encoding/json finds, wherever it stands.
func TestReadArgumentsAgrees(t *testing.T) {
	value := rapid.MapOf(rapid.String(), rapid.OneOf(rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(), rapid.SliceOf(rapid.String()).AsAny()))
	rapid.Check(t, func(t *rapid.T) {
		arguments := value.Draw(t, "arguments")
		params := map[string]any{"arguments": arguments, "name": rapid.String().Draw(t, "name"), "_meta": value.Draw(t, "meta")}
		text, err := json.MarshalIndent(params, rapid.StringMatching(`[ \t]{0,3}`).Draw(t, "prefix"), " ")
		if err != nil {
			t.Skip(err)
		}
		a, problem := readArguments(text)
		var want struct{ Arguments json.RawMessage }
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if problem != "" || string(a.raw) != string(want.Arguments) {
			t.Fatalf("%q, %q; want %q", a.raw, problem, want.Arguments)
		}
		got, err := decode(a.raw)
		if err != nil {
			t.Fatal(err)
		}
		back, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var x, y any
		if json.Unmarshal(back, &x) != nil || json.Unmarshal(want.Arguments, &y) != nil || !reflect.DeepEqual(x, y) {
			t.Fatalf("decoded %s from %s", back, a.raw)
		}
	})
}

func TestDecodeLimits(t *testing.T) {
	for text, want := range map[string]error{
		`{"a":1e1000,"b":-1.5E-1000,"c":9007199254740993}`: nil,
		`{"a":1e1001}`:                                      errNumber,
		`{"a":1E-99999999999999999999}`:                     errNumber,
		`[` + strings.Repeat("1", 1001) + `]`:               errNumber,
		strings.Repeat("[", 257) + strings.Repeat("]", 257): nil,
		strings.Repeat("[", 258) + strings.Repeat("]", 258): errDeep,
		`{"a":1,"a":2}`:                                     errMalformed,
		`{"a":1} `:                                          nil,
		`{"a":1}{}`:                                         errMalformed,
		`{"a":"\ud800"}`:                                    errMalformed,
		"{\"a\":\"\xff\"}":                                  errMalformed,
	} {
		if _, err := decode([]byte(text)); err != want {
			t.Errorf("%.40s: %v; want %v", text, err, want)
		}
	}
}

func FuzzReadArguments(f *testing.F) {
	f.Add([]byte(`{"name":"x","arguments":{"a":1}}`))
	f.Add([]byte(`{"argu\u006dents":{"a":[{}]}}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		a, problem := readArguments(params)
		if problem == "" && (len(a.raw) < 2 || a.raw[0] != '{' || a.raw[len(a.raw)-1] != '}') {
			t.Fatalf("%q", a.raw)
		}
	})
}
