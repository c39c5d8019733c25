package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Message
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, Message{Kind: Request, ID: []byte("1"), Method: "ping"}},
		{"id over 2^53", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, Message{Kind: Request, ID: []byte("9007199254740993"), Method: "ping"}},
		{"id with a fraction", `{"jsonrpc":"2.0","id":1.50,"method":"ping"}`, Message{Kind: Request, ID: []byte("1.50"), Method: "ping"}},
		{"id in e-notation", `{"jsonrpc":"2.0","id":-1E2,"method":"ping"}`, Message{Kind: Request, ID: []byte("-1E2"), Method: "ping"}},
		{"escaped id", `{"jsonrpc":"2.0","id":"\u0041","method":"ping"}`, Message{Kind: Request, ID: []byte(`"\u0041"`), Method: "ping"}},
		{"spaces", " { \"jsonrpc\" : \"2.0\" ,\t\"id\" : 1 , \"params\" : { \"a\" : 1.0 } , \"method\" : \"x\" }\r\n ", Message{Kind: Request, ID: []byte("1"), Method: "x", Params: []byte(`{ "a" : 1.0 }`)}},
		{"escaped names", `{"\u006asonrpc":"2.\u0030","\u0069d":1,"met\u0068od":"p\u0069ng"}`, Message{Kind: Request, ID: []byte("1"), Method: "ping"}},
		{"other case is another member", `{"jsonrpc":"2.0","Method":"evil","id":1,"method":"ping","ID":2}`, Message{Kind: Request, ID: []byte("1"), Method: "ping"}},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/x","params":{}}`, Message{Kind: Notification, Method: "notifications/x", Params: []byte("{}")}},
		{"null params", `{"jsonrpc":"2.0","method":"n","params":null}`, Message{Kind: Notification, Method: "n"}},
		{"result", `{"jsonrpc":"2.0","id":"a","result":{"x":1e400}}`, Message{Kind: Response, ID: []byte(`"a"`), Result: []byte(`{"x":1e400}`)}},
		{"result of any kind", `{"jsonrpc":"2.0","id":2,"result":null}`, Message{Kind: Response, ID: []byte("2"), Result: []byte("null")}},
		{"error", `{"jsonrpc":"2.0","id":2,"error":{"code":1}}`, Message{Kind: Response, ID: []byte("2"), Error: []byte(`{"code":1}`)}},
		{"error with null id", `{"jsonrpc":"2.0","id":null,"error":{}}`, Message{Kind: Response, ID: []byte("null"), Error: []byte("{}")}},
		{"error without id", `{"jsonrpc":"2.0","error":{}}`, Message{Kind: Response, Error: []byte("{}")}},
		{"null error beside a result", `{"jsonrpc":"2.0","id":2,"result":{},"error":null}`, Message{Kind: Response, ID: []byte("2"), Result: []byte("{}")}},
		{"null result beside an error", `{"jsonrpc":"2.0","id":2,"result":null,"error":{}}`, Message{Kind: Response, ID: []byte("2"), Error: []byte("{}")}},
		{"depth at the limit", nested(MaxDepth), Message{Kind: Notification, Method: "n", Params: []byte(params(MaxDepth))}},
		{"brackets in text", `{"jsonrpc":"2.0","method":"n","params":{"a":"` + strings.Repeat("[{", 300) + `"}}`, Message{Kind: Notification, Method: "n", Params: []byte(`{"a":"` + strings.Repeat("[{", 300) + `"}`)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if m.Kind != c.want.Kind || m.Method != c.want.Method || !same(m.ID, c.want.ID) || !same(m.Params, c.want.Params) ||
				!same(m.Result, c.want.Result) || !same(m.Error, c.want.Error) || string(m.Raw) != c.in {
				t.Errorf("got %q %q %q %q %q", m.ID, m.Method, m.Params, m.Result, m.Error)
			}
		})
	}
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// nested is a notification whose deepest value stands depth levels deep.
func nested(depth int) string { return `{"jsonrpc":"2.0","method":"n","params":` + params(depth) + `}` }

func params(depth int) string {
	return `{"a":` + strings.Repeat("[", depth-2) + strings.Repeat("]", depth-2) + `}`
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		name, in, what string
		code, offset   int
		id             string
	}{
		{"nothing", ``, "ends before", CodeParse, 0, ""},
		{"cut", `{"jsonrpc":"2.0","id":1,"meth`, "ends before", CodeParse, -1, ""},
		{"batch", ` [{"jsonrpc":"2.0","method":"a"}]`, "batch", CodeInvalidRequest, -1, ""},
		{"not an object", `"x"`, "not a JSON object", CodeInvalidRequest, 0, ""},
		{"no JSON", `hello`, "not valid JSON", CodeParse, 0, ""},
		{"two messages", `{"jsonrpc":"2.0","method":"a"}{}`, "more data", CodeParse, 30, ""},
		{"duplicate member", `{"jsonrpc":"2.0","method":"a","method":"b"}`, "same name", CodeParse, 30, ""},
		{"duplicate by escape", `{"jsonrpc":"2.0","method":"a","metho\u0064":"b"}`, "same name", CodeParse, 30, ""},
		{"duplicate deep", `{"jsonrpc":"2.0","method":"a","params":{"x":[{"k":1,"\u006b":2}]}}`, "same name", CodeParse, -1, ""},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"a\xff\"}", "UTF-8", CodeParse, -1, ""},
		{"lone high surrogate", `{"jsonrpc":"2.0","method":"\ud800"}`, "surrogate", CodeParse, -1, ""},
		{"lone low surrogate", `{"jsonrpc":"2.0","method":"\udc00x"}`, "surrogate", CodeParse, -1, ""},
		{"too deep", nested(MaxDepth + 1), "nested deeper", CodeParse, -1, ""},
		{"much too deep", strings.Repeat("[", 1<<20), "nested deeper", CodeParse, MaxDepth, ""},
		{"no version", `{"method":"a"}`, `no "jsonrpc"`, CodeInvalidRequest, 0, ""},
		{"other version", `{"jsonrpc":"1.0","id":7,"method":"a"}`, `not "2.0"`, CodeInvalidRequest, -1, "7"},
		{"version a number", `{"jsonrpc":2.0,"method":"a"}`, `not "2.0"`, CodeInvalidRequest, -1, ""},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"a"}`, "neither a string nor", CodeInvalidRequest, -1, ""},
		{"id an object", `{"jsonrpc":"2.0","id":{},"method":"a"}`, "neither a string nor", CodeInvalidRequest, -1, ""},
		{"method a number", `{"jsonrpc":"2.0","id":1,"method":1}`, "not a name", CodeInvalidRequest, -1, "1"},
		{"method empty", `{"jsonrpc":"2.0","id":1,"method":""}`, "not a name", CodeInvalidRequest, -1, "1"},
		{"params by position", `{"jsonrpc":"2.0","id":"q","method":"a","params":[1]}`, "not an object", CodeInvalidRequest, -1, `"q"`},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"a","result":1}`, "and a result", CodeInvalidRequest, -1, "1"},
		{"result and error", `{"jsonrpc":"2.0","id":1,"error":{},"result":1}`, "both", CodeInvalidRequest, -1, "1"},
		{"result without id", `{"jsonrpc":"2.0","result":1}`, `"id" of a response`, CodeInvalidRequest, 0, ""},
		{"result with null id", `{"jsonrpc":"2.0","id":null,"result":1}`, `"id" of a response`, CodeInvalidRequest, -1, ""},
		{"error a string", `{"jsonrpc":"2.0","id":1,"error":"no"}`, `"error" is not`, CodeInvalidRequest, -1, "1"},
		{"neither", `{"jsonrpc":"2.0","id":1}`, "neither", CodeInvalidRequest, -1, "1"},
		{"BOM", "\ufeff{}", "not valid JSON", CodeParse, 0, ""},
		{"raw control character", "{\"jsonrpc\":\"2.0\",\"method\":\"a\nb\"}", "not valid JSON", CodeParse, -1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.in))
			e, ok := errors.AsType[*SyntaxError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(e.What, c.what) || e.Code != c.code || string(e.ID) != c.id || c.offset >= 0 && e.Offset != c.offset {
				t.Errorf("got %+v", e)
			}
			if e.Offset < 0 || e.Offset > len(c.in) {
				t.Errorf("offset %d outside the message", e.Offset)
			}
		})
	}
}

func TestParseErrorRepeatsNothing(t *testing.T) {
	for _, in := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"hunter2":1,"hunter2":2}}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"hunter2":"\ud800hunter2"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"hunter2":hunter2}}`,
	} {
		if _, err := Parse([]byte(in)); err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("error tells what the message holds: %v", err)
		}
	}
}

// TestParseCorpus reads real listings: strictness costs no real server, and
// slices are exact.
func TestParseCorpus(t *testing.T) {
	dir := os.Getenv("HOLDFAST_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*.json"))
	more, _ := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	n := 0
	for _, f := range append(files, more...) {
		raw, err := os.ReadFile(f)
		if err != nil || !json.Valid(raw) {
			continue
		}
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || raw[0] != '{' {
			continue
		}
		m, err := Parse(NewResult([]byte("1"), raw))
		if err != nil || !bytes.Equal(m.Result, raw) {
			t.Errorf("%s: %v", f, err)
		}
		n++
	}
	if n == 0 {
		t.Skip("SKIPPED: no corpus: set HOLDFAST_CORPUS")
	}
	t.Logf("%d listings", n)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[1,2,{"y":"\u00e9"}]}}`, `{"jsonrpc":"2.0","id":"\"","result":{}}`,
		`{"jsonrpc":"2.0","error":{"code":-1}}`, ` [ ] `, `{"a":1,"a":2}`, `{"jsonrpc":"2.0","method":"\ud83d\ude00"}`, "\xff", `{"jsonrpc":"2.0","method":"n"} x`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		m, err := Parse(in)
		if !bytes.Equal(before, in) {
			t.Fatal("Parse wrote into the message")
		}
		if err != nil {
			if e, ok := errors.AsType[*SyntaxError](err); !ok || e.Offset < 0 || e.Offset > len(in) {
				t.Fatalf("bad error %#v", err)
			}
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(in, &want); err != nil {
			t.Fatalf("accepted what is not valid: %v", err)
		}
		for name, got := range map[string][]byte{"id": m.ID, "params": m.Params, "result": m.Result, "error": m.Error} {
			if got == nil {
				continue
			}
			if !bytes.Equal(want[name], got) {
				t.Fatalf("%s: got %q, want %q", name, got, want[name])
			}
			if s, ok := Find(in, name); !ok || !bytes.Equal(s.of(in), got) {
				t.Fatalf("Find(%q) differs", name)
			}
		}
		var method string
		if m.Method != "" && (json.Unmarshal(want["method"], &method) != nil || method != m.Method) {
			t.Fatalf("method %q, want %q", m.Method, method)
		}
		if m.ID != nil {
			again, err := Parse(m.WithID([]byte(`"x"`)))
			if err != nil || string(again.ID) != `"x"` || !bytes.Equal(again.Params, m.Params) || !bytes.Equal(again.Result, m.Result) {
				t.Fatalf("WithID: %v", err)
			}
			if back := again.WithID(m.ID); !bytes.Equal(back, in) {
				t.Fatalf("id there and back gives %q", back)
			}
		}
	})
}

// FuzzFind holds Find, Members and Elements against encoding/json, and lets them
// see anything at all: they must not leave their input.
func FuzzFind(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,"]",{"c":"\\\""}]}, "b" : -1e5 }`), "a", "b")
	f.Add([]byte(`{"a`), "a", "")
	f.Add([]byte(`[1,{"a":2}]`), "a", "")
	f.Fuzz(func(t *testing.T, in []byte, a, b string) {
		s, ok := Find(in, a, b)
		if ok && (s.Start < 0 || s.End > len(in) || s.Start >= s.End) {
			t.Fatalf("span %v outside", s)
		}
		Members(in, func(_ string, s Span) bool { _ = in[s.Start:s.End]; return true })
		Elements(in, func(s Span) bool { _ = in[s.Start:s.End]; return true })
		if _, err := Parse(NewNotification("n", in)); err != nil {
			return
		}
		var top map[string]json.RawMessage
		if json.Unmarshal(in, &top) != nil {
			return
		}
		n := 0
		Members(in, func(name string, s Span) bool {
			n++
			if !bytes.Equal(top[name], in[s.Start:s.End]) {
				t.Fatalf("member %q is %q, want %q", name, in[s.Start:s.End], top[name])
			}
			return true
		})
		if n != len(top) {
			t.Fatalf("%d members, want %d", n, len(top))
		}
		var want json.RawMessage
		var inner map[string]json.RawMessage
		if json.Unmarshal(top[a], &inner) == nil {
			want = inner[b]
		}
		if ok != (want != nil) || ok && !bytes.Equal(want, s.of(in)) {
			t.Fatalf("Find gives %q, want %q", s.of(in), want)
		}
	})
}

func TestElements(t *testing.T) {
	in := []byte(` [ 1 , "a,]" , {"x":[2,3]} ,[], null ] `)
	var got []string
	Elements(in, func(s Span) bool { got = append(got, string(s.of(in))); return true })
	if strings.Join(got, "|") != `1|"a,]"|{"x":[2,3]}|[]|null` {
		t.Errorf("got %q", got)
	}
	got = nil
	Elements(in, func(s Span) bool { got = append(got, string(s.of(in))); return len(got) < 2 })
	if len(got) != 2 {
		t.Errorf("went on: %q", got)
	}
	Elements([]byte("[]"), func(Span) bool { t.Error("element of an empty array"); return true })
}

// TestSplice: cutting a text into pieces, replacing some in any order, is the same
// as joining the pieces with the replacements.
func TestSplice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 8), 0, 12).Draw(t, "pieces")
		var raw, want []byte
		var edits []Edit
		for _, p := range pieces {
			s := Span{len(raw), len(raw) + len(p)}
			raw = append(raw, p...)
			if len(p) > 0 && rapid.Bool().Draw(t, "edit") {
				with := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "with")
				edits, p = append(edits, Edit{s, with}), with
			}
			want = append(want, p...)
		}
		before := bytes.Clone(raw)
		if got := Splice(raw, rapid.Permutation(edits).Draw(t, "order")...); !bytes.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		if !bytes.Equal(before, raw) {
			t.Fatal("wrote into its input")
		}
	})
}

func TestSpliceInsertsInOrder(t *testing.T) {
	got := Splice([]byte("ad"), Edit{Span{1, 1}, []byte("b")}, Edit{Span{1, 1}, []byte("c")}, Edit{Span{0, 0}, []byte(">")})
	if string(got) != ">abcd" {
		t.Errorf("got %q", got)
	}
}

func TestSpliceRefusesMistakes(t *testing.T) {
	for name, edits := range map[string][]Edit{
		"overlap": {{Span: Span{0, 2}}, {Span: Span{1, 3}}}, "outside": {{Span: Span{2, 9}}}, "backwards": {{Span: Span{2, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("went through")
				}
			}()
			Splice([]byte("abcd"), edits...)
		})
	}
}

func TestBuilders(t *testing.T) {
	for want, got := range map[string][]byte{
		`{"jsonrpc":"2.0","id":9,"method":"a\"b","params":{"x":1}}`:                     NewRequest([]byte("9"), `a"b`, []byte(`{"x":1}`)),
		`{"jsonrpc":"2.0","id":9,"method":"a"}`:                                         NewRequest([]byte("9"), "a", nil),
		`{"jsonrpc":"2.0","method":"a","params":{}}`:                                    NewNotification("a", []byte("{}")),
		`{"jsonrpc":"2.0","id":"x","result":{}}`:                                        NewResult([]byte(`"x"`), nil),
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no\n","data":1}}`: NewError(nil, CodeParse, "no\n", []byte("1")),
	} {
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if _, err := Parse(got); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	tool := `{"name":"read_file","description":"` + strings.Repeat("Reads a file from the disk, [with] {care}. ", 12) + `","inputSchema":{"type":"object","properties":{"path":{"type":"string","minLength":1},"lines":{"type":"array","items":{"type":"integer"}}},"required":["path"]}}`
	list := NewResult([]byte("7"), []byte(`{"tools":[`+strings.Repeat(tool+",", 80)+tool+`]}`))
	for name, raw := range map[string][]byte{"60KB": list, "200B": NewResult([]byte("7"), []byte(`{"content":[{"type":"text","text":"`+strings.Repeat("x", 120)+`"}]}`))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
