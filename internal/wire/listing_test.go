package wire

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// looseEntries are definitions that can't be read, and whose end can be seen.
var looseEntries = map[string]string{
	"name twice":         `{"name":"b","x":{"k":1,"\u006b":2}}`,
	"invalid UTF-8":      "{\"name\":\"b\",\"description\":\"\xff\xfe\"}",
	"lone surrogate":     `{"name":"b","description":"\ud800"}`,
	"a name no text":     `{"name":"b","\udc00":1}`,
	"deep":               `{"name":"b","x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`,
	"deeper than decode": `{"name":"b","x":` + strings.Repeat(`[{"":`, 20_000) + "0" + strings.Repeat("}]", 20_000) + `}`,
	"not a number":       `{"name":"b","default":NaN}`,
	"comma at the end":   `{"name":"b","enum":[1,2,],}`,
	"a word":             `nil`,
	"control character":  "{\"name\":\"b\",\"description\":\"a\tb\"}",
}

func TestLooseListing(t *testing.T) {
	for name, entry := range looseEntries {
		t.Run(name, func(t *testing.T) {
			raw := []byte(` {"result": {"nextCursor":"c","tools" : [{"name":"a"} , ` + entry + `,{"name":"c","n":1.0}]}, "id":7,"jsonrpc":"2.0"} `)
			if _, err := Parse(raw); err == nil {
				t.Fatal("it is strict already")
			}
			m, ok := parseListing(raw)
			if !ok || !m.Loose || m.Kind != Response || string(m.ID) != "7" {
				t.Fatalf("%v %+v", ok, m.Kind)
			}
			span, _ := Find(m.Result, "tools")
			var got []string
			Elements(span.of(m.Result), func(e Span) bool {
				got = append(got, string(e.of(span.of(m.Result))))
				return true
			})
			if strings.Join(got, "|") != `{"name":"a"}|`+entry+`|{"name":"c","n":1.0}` {
				t.Errorf("%d entries", len(got))
			}
			if c, _ := Find(m.Result, "nextCursor"); string(c.of(m.Result)) != `"c"` {
				t.Error("another cursor")
			}
		})
	}
}

// All but the entries is as strict as ever.
func TestLooseListingRefuses(t *testing.T) {
	const bad = `{"name":"b","x":1,"x":2}`
	for name, raw := range map[string]string{
		"envelope twice":            `{"jsonrpc":"2.0","id":1,"id":2,"result":{"tools":[` + bad + `]}}`,
		"envelope twice by escape":  `{"jsonrpc":"2.0","id":1,"i\u0064":2,"result":{"tools":[` + bad + `]}}`,
		"result twice":              `{"jsonrpc":"2.0","id":1,"result":{"tools":[]},"result":{"tools":[` + bad + `]}}`,
		"list twice":                `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"tools":[` + bad + `]}}`,
		"cursor twice":              `{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"a","tools":[` + bad + `],"next\u0043ursor":"b"}}`,
		"cursor no text":            `{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"\ud800","tools":[` + bad + `]}}`,
		"_meta":                     `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1,"a":2},"tools":[` + bad + `]}}`,
		"another list":              `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"Tools":[` + bad + `]}}`,
		"an unknown member":         `{"jsonrpc":"2.0","id":1,"x":` + bad + `,"result":{"tools":[]}}`,
		"a name of no text":         "{\"jsonrpc\":\"2.0\",\"id\":1,\"\xff\":0,\"result\":{\"tools\":[]}}",
		"request":                   `{"jsonrpc":"2.0","id":1,"method":"m","result":{"tools":[` + bad + `]}}`,
		"error beside":              `{"jsonrpc":"2.0","id":1,"error":{},"result":{"tools":[` + bad + `]}}`,
		"no list":                   `{"jsonrpc":"2.0","id":1,"result":{"content":[` + bad + `]}}`,
		"list an object":            `{"jsonrpc":"2.0","id":1,"result":{"tools":{"a":` + bad + `}}}`,
		"result a list":             `{"jsonrpc":"2.0","id":1,"result":[` + bad + `]}`,
		"result deeper":             `{"jsonrpc":"2.0","id":1,"result":{"x":{"tools":[` + bad + `]}}}`,
		"more follows":              `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + bad + `]}}{}`,
		"cut":                       `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + bad + `]}`,
		"brackets that don't match": `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"b","x":[}]}]}}`,
		"a text without end":        `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"b]}}`,
		"nothing between commas":    `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + bad + `,,1]}}`,
		"two words":                 `{"jsonrpc":"2.0","id":1,"result":{"tools":[a b]}}`,
		"other version":             `{"jsonrpc":"1.0","id":1,"result":{"tools":[` + bad + `]}}`,
		"no id":                     `{"jsonrpc":"2.0","result":{"tools":[` + bad + `]}}`,
		"batch":                     `[{"jsonrpc":"2.0","id":1,"result":{"tools":[` + bad + `]}}]`,
		"nothing":                   ``,
	} {
		if m, ok := parseListing([]byte(raw)); ok {
			t.Errorf("%s was read: %s", name, m.Result)
		}
	}
}

// What is read loosely is what Parse reads, where Parse reads it.
func FuzzLooseListing(f *testing.F) {
	for _, e := range looseEntries {
		f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + e + `],"nextCursor":"c"}}`))
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		loose, ok := parseListing(raw)
		strict, err := Parse(raw)
		if err != nil {
			return
		}
		if ok != (strict.Kind == Response && strict.Result != nil && strict.Result[0] == '{' && isList(strict.Result)) {
			t.Fatalf("read loosely: %v", ok)
		}
		if ok && (string(loose.Result) != string(strict.Result) || string(loose.ID) != string(strict.ID)) {
			t.Fatalf("%s and %s", loose.Result, strict.Result)
		}
	})
}

func isList(result []byte) bool {
	s, ok := Find(result, "tools")
	return ok && result[s.Start] == '['
}

const badAnswer = `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a"},{"name":"b","x":1,"x":2}]}}`

func TestLinesReadListingsAgain(t *testing.T) {
	s, p := playedServer(t, Handlers{Report: func(err error) { t.Errorf("reported %v", err) }})
	list := goCall(t.Context(), s, "tools/list", "{}", nil)
	call := goCall(t.Context(), s, "tools/call", "{}", nil)
	ids := map[string]string{}
	for range 2 {
		m := p.read()
		ids[m.Method] = string(m.ID)
	}
	// A call is answered strictly, also while a listing waits, and also by a list.
	p.write(badAnswer, ids["tools/call"])
	if r := <-call; r.err == nil || r.m.Loose {
		t.Errorf("a call was answered with %s", r.m.Raw)
	} else if _, ok := errors.AsType[*SyntaxError](r.err); !ok {
		t.Errorf("%v", r.err)
	}
	p.write(badAnswer, "77") // nobody's
	p.write(badAnswer, ids["tools/list"])
	if r := <-list; r.err != nil || !r.m.Loose || !strings.Contains(string(r.m.Result), `"x":2`) {
		t.Errorf("%+v %v", r.m, r.err)
	}
	// A listing that is read strictly is not loose, and other methods never are.
	for method, loose := range map[string]bool{"tools/list": false, "prompts/list": true} {
		c := goCall(t.Context(), s, method, "{}", nil)
		id := string(p.read().ID)
		if answer := strings.Replace(badAnswer, `"x":1,`, "", 1); loose {
			p.write(badAnswer, id)
		} else {
			p.write(answer, id)
		}
		if r := <-c; (r.err != nil) != loose || r.m.Loose {
			t.Errorf("%s: %s %v", method, r.m.Raw, r.err)
		}
	}
}

func TestHTTPReadsListingsAgain(t *testing.T) {
	for _, kind := range []string{"json", "events"} {
		s := newScript(t)
		s.post = func(w http.ResponseWriter, _ *http.Request, m Message) {
			answer := strings.Replace(badAnswer, "%s", string(m.ID), 1)
			if kind == "json" {
				answerJSON(w, answer)
			} else {
				stream(w)("data: %s\n\n", answer)
			}
		}
		session := s.connect(Handlers{}, 0)
		if m, err := session.Call(t.Context(), "tools/list", []byte("{}"), nil); err != nil || !m.Loose {
			t.Errorf("%s: %v", kind, err)
		}
		if m, err := session.Call(t.Context(), "tools/call", []byte("{}"), nil); err == nil {
			t.Errorf("%s: a call was answered with %s", kind, m.Raw)
		}
	}
}

// Without a Session, which asks for lists, nothing is read again.
func TestConnAloneIsStrict(t *testing.T) {
	conn, p := playedConn(t)
	defer conn.Close()
	go p.write(badAnswer+"\n"+`{"jsonrpc":"2.0","method":"next"}`, "1")
	if m, err := conn.Receive(t.Context()); err != nil || m.Method != "next" {
		t.Errorf("got %s %v", m.Raw, err)
	}
	p.close()
}

// A peer that does nothing but wrong costs a line a minute for each kind of fault.
func TestReportsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		s, p := playedServer(t, Handlers{Report: func(err error) { got = append(got, err.Error()) }})
		flood := func() {
			for range 1000 {
				p.write(`{"jsonrpc":"2.0","id":99,"result":{}}`)
				p.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x"}}`)
			}
			synctest.Wait()
		}
		flood()
		if len(got) != 2 {
			t.Fatalf("%d reports: %q", len(got), got)
		}
		time.Sleep(2 * time.Minute)
		flood()
		if len(got) != 4 || !strings.Contains(got[2], "not open") || !strings.Contains(got[2], "(999 more like this") {
			t.Fatalf("%d reports: %q", len(got), got)
		}
		s.Close()
		if len(got) != 6 || !strings.Contains(got[5], "(999 more like this") {
			t.Errorf("%d reports: %q", len(got), got)
		}
		p.close()
	})
}
