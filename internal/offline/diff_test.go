package offline

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// diffed gives a comparison in words: name change, ! for held, ~ for other texts.
func diffed(t testing.TB, a, l string) string {
	t.Helper()
	var all []string
	err := Diff(delta.Gate{}, read(t, a), read(t, l), func(c Compared) error {
		s := string(c.Change)
		if c.Name != "" || c.Server != "" {
			s = strings.TrimPrefix(c.Server+"/"+c.Name, "/") + " " + s
		}
		if c.Held {
			s += "!"
		}
		if c.TextChanged {
			s += "~"
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.Join(all, ", ")
}

func TestDiff(t *testing.T) {
	const (
		wide  = `{"name":"a","inputSchema":{"type":"object","required":["bcc"]}}`
		other = `{"name":"c","inputSchema":{"type":"object"}}`
		said  = `{"name":"a","description":"new","inputSchema":{"type":"object"}}`
		twice = `{"name":"a","title":"x","title":"y"}`
		both  = `{"name":"a","description":"new","inputSchema":{"type":"object","required":["bcc"]}}`
		plain = `{"name":"a","inputSchema":{"type":"object","additionalProperties":false}}`
	)
	list := func(tools ...string) string { return "[" + strings.Join(tools, ",") + "]" }
	servers := func(pairs ...string) string {
		var all []string
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, fmt.Sprintf("%q:{\"tools\":%s}", pairs[i], pairs[i+1]))
		}
		return `{"servers":{` + strings.Join(all, ",") + "}}"
	}
	for name, c := range map[string]struct{ approved, live, want string }{
		"the same":                     {aTool, aTool, "a unchanged"},
		"in another order":             {list(aTool, bTool), list(bTool, aTool), "b unchanged, a unchanged"},
		"one is held":                  {list(aTool, bTool), list(wide, bTool), "a changed!, b unchanged"},
		"a text":                       {list(aTool, bTool), list(said, bTool), "a changed~, b unchanged"},
		"both":                         {aTool, both, "a changed!~"},
		"narrower":                     {aTool, plain, "a changed"},
		"added and removed":            {list(aTool, bTool), list(other, bTool), "c added, b unchanged, a removed"},
		"one tool each, other names":   {aTool, other, "c changed"},
		"one tool each, other forms":   {list(aTool), `{"tools":[` + wide + `]}`, "a changed!"},
		"one tool each, no name":       {aTool, `{"inputSchema":{"type":"object"}}`, "a changed"},
		"one tool each, other servers": {servers("x", list(aTool)), servers("y", list(wide)), "y/a changed!"},
		"from nothing":                 {"[]", aTool, "a added"},
		"to nothing":                   {aTool, "[]", "a removed"},
		"nothing":                      {"[]", `{"tools":[]}`, ""},
		"an unreadable addition":       {aTool, list(aTool, twice[:len(twice)-1]+`,"name":"a"}`), "a unchanged, added!"},
		"a tool that becomes so":       {list(aTool, bTool), list(twice, bTool), "a changed!, b unchanged"},
		"a tool that was so":           {list(twice, bTool), list(aTool, bTool), "a changed!, b unchanged"},
		"a tool that stays so":         {list(twice, bTool), list(twice, bTool), "a unchanged!, b unchanged"},
		"an unreadable tool that goes": {list(twice, bTool, other), list(bTool, other), "b unchanged, c unchanged, a removed"},
		"no JSON now":                  {list(aTool, bTool), "[", "added!, a removed, b removed"},
		"no JSON before":               {"[", list(aTool, bTool), "a added, b added, removed!"},
		"a bad tool before":            {twice, list(aTool, bTool), "a changed!, b added"},
		"another bad tool before":      {twice, list(other, bTool), "c added, b added, a removed!"},
		"no JSON at all":               {"[", "{", "changed!"},
		"the same no JSON":             {"[", "[", "unchanged!"},
		"nothing recorded":             {"null", aTool, "a changed!"},
		"nothing recorded of several":  {"null", list(aTool, bTool), "a changed!, b changed!"},
		"null now":                     {aTool, "null", "a changed!"},
		"without names, by order":      {list(`{"inputSchema":{}}`, `{"x":1}`, aTool), list(`{"inputSchema":{},"_meta":1}`, aTool), "changed!, a unchanged, removed"},
		"servers":                      {servers("x", list(aTool), "y", list(aTool)), servers("y", list(wide), "x", list(aTool)), "y/a changed!, x/a unchanged"},
		"a server goes":                {servers("x", list(aTool), "y", list(bTool)), servers("y", list(bTool)), "y/b unchanged, x/a removed"},
		"one server each":              {servers("x", list(aTool, bTool)), list(wide, bTool), "a changed!, b unchanged"},
		"servers and none":             {servers("x", list(aTool), "y", list(bTool)), list(aTool, bTool), "error: \"in.json\" and \"in.json\" can't be matched: one names several servers and the other none"},
		"servers and no JSON":          {servers("x", list(aTool), "y", list(bTool)), "{", "added!, x/a removed, y/b removed"},
		"twice":                        {list(aTool), list(aTool, aTool), "error: \"in.json\" lists the tool \"a\" twice, and it can't be known which of the two would be called"},
	} {
		if got := diffed(t, c.approved, c.live); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestTheProblemIsOfItsSide: what can't be read is said of the listing in which it stands.
func TestTheProblemIsOfItsSide(t *testing.T) {
	for _, c := range []struct{ approved, live, says string }{
		{"[", "[" + aTool + "," + bTool + "]", "the approved definition can't be read"},
		{"[" + aTool + "," + bTool + "]", "[", "the new definition can't be read"},
	} {
		found := false
		err := Diff(delta.Gate{}, read(t, c.approved), read(t, c.live), func(k Compared) error {
			for _, l := range k.Lines {
				found = found || strings.Contains(l.Sentence, c.says)
			}
			return nil
		})
		if err != nil || !found {
			t.Errorf("%s: not said (%v)", c.says, err)
		}
	}
}

// TestGateCases: the command sees what the gate sees, in files as in memory.
func TestGateCases(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "gate_cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name        string
		Approved    json.RawMessage
		Live        json.RawMessage
		LiveB64     *string `json:"live_b64"`
		Unannotated string
		Signals     []string
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		live := []byte(c.Live)
		if c.LiveB64 != nil {
			if live, err = base64.StdEncoding.DecodeString(*c.LiveB64); err != nil {
				t.Fatal(err)
			}
		}
		class, _ := contract.ParseClass(c.Unannotated)
		a, err := Read("approved", c.Approved)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		l, err := Read("live", live)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		var got []string
		if err := Diff(delta.Gate{Unannotated: class}, a, l, func(k Compared) error { got = append(got, printed(k.Signals)...); return nil }); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		if x, y := contract.Parse(c.Approved), contract.Parse(live); x.Equal(y) && y.Parsable() {
			c.Signals = nil // no change, so that nothing is held, whatever the schema is worth
		}
		if !slices.Equal(got, c.Signals) && len(got)+len(c.Signals) > 0 {
			t.Errorf("%s: %q, want %q", c.Name, got, c.Signals)
		}
	}
	if len(cases) < 300 {
		t.Errorf("only %d cases", len(cases))
	}
}

func TestErrorsOfTheReader(t *testing.T) {
	stop := errors.New("stop")
	for _, pair := range [][2]string{{aTool, aTool}, {"[" + aTool + "," + bTool + "]", aTool}, {"[]", aTool}, {aTool, "[]"}, {"null", aTool}} {
		if err := Diff(delta.Gate{}, read(t, pair[0]), read(t, pair[1]), func(Compared) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("%s: %v", pair, err)
		}
	}
	if err := Scan(nil, read(t, aTool), func(Scanned) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// TestMemory: of long listings one definition at a time is in memory, beside the names.
func TestMemory(t *testing.T) {
	tools := 6000 // of nearly 8 KB: 47 MB a listing
	if underRace {
		tools = 600 // there it is only looked for races
	}
	dir := t.TempDir()
	write := func(name, edit string) *Listing {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		n, err := f.ReadFrom(listingOf(tools, edit))
		if err := errors.Join(err, f.Close()); err != nil || n < int64(tools)*7000 {
			t.Fatal(n, err)
		}
		l, err := Open(f.Name(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		return l
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	a, l := write("old.json", "one"), write("new.json", "two")
	n, most := 0, heap()
	err := Diff(delta.Gate{}, a, l, func(c Compared) error {
		if n++; n%(tools/4) == 1 {
			most = max(most, heap())
		}
		if c.Change != Changed || c.Held || !c.TextChanged {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	if err != nil || n != tools {
		t.Fatal(n, err)
	}
	if more := int64(most) - int64(before); more > 16<<20 && !underRace {
		t.Errorf("%d bytes are held for two listings of 47 MB", more)
	}
}

func TestDiffJSON(t *testing.T) {
	var b bytes.Buffer
	doc := NewDiffJSON(&b)
	old := read(t, "["+aTool+","+bTool+"]")
	now := read(t, `[{"name":"a","description":"<b>","inputSchema":{"type":"object","required":["bcc"]}},`+bTool+`]`)
	if err := errors.Join(Diff(delta.Gate{}, old, now, doc.Add), doc.End()); err != nil {
		t.Fatal(err)
	}
	const want = `{
  "tools": [
    {
      "name": "a",
      "change": "changed",
      "held": true,
      "text_changed": true,
      "signals": [
        "GATE-SCHEMA-SHAPE:new-required:bcc"
      ],
      "review": [
        {
          "path": "inputSchema/bcc",
          "sentence": "\"bcc\" has to be sent now.",
          "is": "bcc",
          "signals": [
            "GATE-SCHEMA-SHAPE:new-required:bcc"
          ]
        },
        {
          "path": "description",
          "sentence": "The text description is new.",
          "is": "\"<b>\"",
          "runs": [
            {
              "kind": "added",
              "text": "<b>"
            }
          ]
        }
      ]
    },
    {
      "name": "b",
      "change": "unchanged",
      "held": false,
      "text_changed": false,
      "signals": [],
      "review": []
    }
  ],
  "held": 1
}
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	doc = NewDiffJSON(&b)
	if err := doc.End(); err != nil || b.String() != "{\n  \"tools\": [],\n  \"held\": 0\n}\n" {
		t.Errorf("%s %v", b.String(), err)
	}
}

// mustBeDiff checks what every answer of diff has.
func mustBeDiff(t testing.TB, raw []byte, tools int) {
	t.Helper()
	var doc struct {
		Tools []struct {
			Name, Change *string
			Held         *bool
			TextChanged  *bool `json:"text_changed"`
			Signals      []string
			Review       []json.RawMessage
		}
		Held *int
	}
	if err := json.Unmarshal(raw, &doc); err != nil || doc.Tools == nil || doc.Held == nil || len(doc.Tools) != tools {
		t.Fatalf("%v: %s", err, raw)
	}
	for _, x := range doc.Tools {
		if x.Name == nil || x.Change == nil || x.Held == nil || x.TextChanged == nil || x.Signals == nil || x.Review == nil {
			t.Fatalf("%s", raw)
		}
		if *x.Held {
			*doc.Held--
		}
	}
	if *doc.Held != 0 {
		t.Fatalf("held is miscounted: %s", raw)
	}
}

func TestUnwritable(t *testing.T) {
	for name, f := range map[string]func(*full) error{
		"diff":  func(w *full) error { d := NewDiffJSON(w); return errors.Join(d.Add(Compared{}), d.End()) },
		"scan":  func(w *full) error { d := NewScanJSON(w); return errors.Join(d.Add(Scanned{}), d.End()) },
		"sarif": func(w *full) error { return NewSARIF(w).End("1") },
	} {
		if err := f(&full{}); err == nil {
			t.Errorf("%s: a full disk is not noticed", name)
		}
	}
}

// full is a disk without room.
type full struct{}

func (*full) Write([]byte) (int, error) { return 0, fault.New(fault.Storage, "full", "") }
