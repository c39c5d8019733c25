package dispatch

import (
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
)

var direct = Face{Direct: true}

// house is a catalogue of two servers, one tool name on both, and one tool of each
// state on the first.
func house() *Catalogue {
	pending := approvedTool("files", "pending")
	pending.Status, pending.Approved = approval.Pending, contract.Contract{}
	prompt := approvedTool("files", "read")
	prompt.Key.Kind = approval.Prompt
	return NewCatalogue(approval.Settings{}, []approval.Server{running("web"), running("files")}, []approval.Record{
		approvedTool("web", "read"),
		approvedTool("files", "write.file"),
		pending,
		approvedTool("files", "read"),
		prompt,
		approvedTool("gone", "read"),
	})
}

func names(entries []Entry) string {
	var list []string
	for _, e := range entries {
		list = append(list, e.Record.Key.Server+"/"+e.Record.Key.Name)
	}
	return strings.Join(list, " ")
}

func TestCatalogueListsInServedOrder(t *testing.T) {
	c := house()
	if got := names(c.Ready(direct, approval.Tool, Local())); got != "files/write.file files/read web/read" {
		t.Errorf("direct face: %s", got)
	}
	if got := names(c.Ready(Face{Server: "files"}, approval.Tool, Local())); got != "files/write.file files/read" {
		t.Errorf("server face: %s", got)
	}
	if got := names(c.Ready(direct, approval.Prompt, Local())); got != "files/read" {
		t.Errorf("prompts: %s", got)
	}
	if got := names(c.Entries("files")); got != "files/write.file files/pending files/read files/read" {
		t.Errorf("entries: %s", got)
	}
	if c.Entries("gone") != nil {
		t.Error("records without their server are there")
	}
	for _, f := range []Face{{}, {Server: "gone"}} {
		if got := c.Ready(f, approval.Tool, Local()); got != nil {
			t.Errorf("face %+v lists %s", f, names(got))
		}
	}
	if got := c.Ready(direct, approval.Tool, Caller{}); got != nil {
		t.Errorf("nobody sees %s", names(got))
	}
	some := Caller{Name: "t", Scope: Scope{Servers: []string{"files", "web"}, Tools: []string{"web__*", "write.file"}}}
	if got := names(c.Ready(direct, approval.Tool, some)); got != "files/write.file web/read" {
		t.Errorf("a scope sees %s", got)
	}
	if got := c.Servers(); len(got) != 2 || got[0].Name != "files" || got[1].Name != "web" {
		t.Errorf("servers: %+v", got)
	}
}

func TestCatalogueResolves(t *testing.T) {
	c := house()
	for _, k := range []struct {
		face Face
		name string
		want string // server/name, empty for none
	}{
		{direct, "files__read", "files/read"},
		{direct, "web__read", "web/read"},
		{direct, "read", ""},
		{direct, "files__pending", "files/pending"},
		{direct, "files__write.file", ""},
		{direct, directName("files", "write.file"), "files/write.file"},
		{direct, "gone__read", ""},
		{direct, "", ""},
		{Face{Server: "files"}, "read", "files/read"},
		{Face{Server: "files"}, "files__read", ""},
		{Face{Server: "files"}, "write.file", ""},
		{Face{Server: "files"}, ownName("files", "write.file"), "files/write.file"},
		{Face{Server: "files", Direct: true}, "read", "files/read"},
		{Face{Server: "gone"}, "read", ""},
		{Face{}, "read", ""},
		{Face{}, "files__read", ""},
	} {
		e, found := c.Resolve(k.face, k.name)
		got := ""
		if found {
			got = names([]Entry{e})
		}
		if got != k.want {
			t.Errorf("face %+v name %q: %q, want %q", k.face, k.name, got, k.want)
		}
		if found && e.Record.Key.Kind != approval.Tool {
			t.Errorf("%q is a %s", k.name, e.Record.Key.Kind)
		}
	}
	if e, ok := c.ResolveKind(direct, approval.Prompt, "files__read"); !ok || e.Record.Key.Kind != approval.Prompt || e.Class != contract.Read {
		t.Errorf("the prompt: %v %+v", ok, e.Record.Key)
	}
	if e, ok := c.Find(approval.Key{Server: "files", Kind: approval.Tool, Name: "pending"}); !ok || e.Reason != ToolPending {
		t.Errorf("find: %v %s", ok, e.Reason)
	}
	if _, ok := c.Find(approval.Key{Server: "gone", Kind: approval.Tool, Name: "read"}); ok {
		t.Error("found in a server that is not there")
	}
	if s, ok := c.Server("web"); !ok || s.Name != "web" {
		t.Errorf("server: %v %+v", ok, s)
	}
	if _, ok := c.Server("gone"); ok {
		t.Error("a server that is not there")
	}
}

func TestNilAndZeroCatalogueAreEmpty(t *testing.T) {
	var none *Catalogue
	for _, c := range []*Catalogue{none, {}} {
		if _, ok := c.Resolve(direct, "a__b"); ok || c.Ready(direct, approval.Tool, Local()) != nil || len(c.Servers()) != 0 {
			t.Error("something is in an empty catalogue")
		}
		if !reflect.DeepEqual(c.Settings(), approval.Settings{}) {
			t.Error("settings of nothing")
		}
		if got := c.With("s", running("s"), []approval.Record{approvedTool("s", "t")}); names(got.Ready(direct, approval.Tool, Local())) != "s/t" {
			t.Error("nothing can be added")
		}
	}
}

func TestWithReplacesOneServer(t *testing.T) {
	c := house()
	d := c.With("files", running("files"), []approval.Record{approvedTool("files", "new"), approvedTool("web", "stray")})
	if got := names(d.Ready(direct, approval.Tool, Local())); got != "files/new web/read" {
		t.Errorf("replaced: %s", got)
	}
	if got := names(c.Ready(direct, approval.Tool, Local())); got != "files/write.file files/read web/read" {
		t.Errorf("the old snapshot changed: %s", got)
	}
	d = d.With("aaa", running("aaa"), []approval.Record{approvedTool("aaa", "x"), approvedTool("aaa", "x")})
	d = d.With("zzz", running("zzz"), nil)
	if got := names(d.Ready(direct, approval.Tool, Local())); got != "aaa/x files/new web/read" {
		t.Errorf("added: %s", got)
	}
	d = d.With("files", approval.Server{}, nil).With("never", approval.Server{}, nil)
	if got := names(d.Ready(direct, approval.Tool, Local())); got != "aaa/x web/read" || len(d.Servers()) != 3 {
		t.Errorf("removed: %s", got)
	}
}

func TestWithSettings(t *testing.T) {
	bare := approvedTool("files", "bare")
	bare.Approved = define("bare", "")
	bare.Live = bare.Approved
	held := bare
	held.Key.Name, held.Status, held.Approved = "held", approval.Pending, contract.Contract{}
	c := NewCatalogue(approval.Settings{ID: "1"}, []approval.Server{running("files")}, []approval.Record{bare, held})
	class := func(c *Catalogue, name string) contract.Class {
		e, _ := c.Find(approval.Key{Server: "files", Kind: approval.Tool, Name: name})
		return e.Class
	}
	if class(c, "bare") != contract.Destructive || class(c, "held") != contract.Destructive {
		t.Errorf("unannotated: %s", class(c, "bare"))
	}
	same := c.WithSettings(approval.Settings{ID: "2", GateOff: true})
	if same.Settings().ID != "2" || c.Settings().ID != "1" || class(same, "bare") != contract.Destructive {
		t.Errorf("settings: %+v", same.Settings())
	}
	lower := c.WithSettings(approval.Settings{ID: "3", Unannotated: contract.Read})
	if class(lower, "bare") != contract.Read || class(lower, "held") != contract.Read || class(c, "bare") != contract.Destructive {
		t.Errorf("unannotated read: %s", class(lower, "bare"))
	}
	if e, ok := lower.Resolve(direct, "files__bare"); !ok || string(e.Serve(direct)) != strings.Replace(string(bare.Approved.Raw()), `"bare"`, `"files__bare"`, 1) {
		t.Error("what is served was lost")
	}
}

// TestCatalogueKeepsNothingOfItsCaller changes everything that was given to it.
func TestCatalogueKeepsNothingOfItsCaller(t *testing.T) {
	srv := running("s")
	srv.Program.Headers = map[string]string{"A": "b"}
	srv.Options.EnabledTools, srv.Options.DisabledTools = []string{"t"}, []string{"u"}
	key := approval.Key{Server: "s", Kind: approval.Tool, Name: "t"}
	lock := &approval.Lock{Source: "f", Pins: map[approval.Key]contract.Digest{key: "d"}}
	c := NewCatalogue(approval.Settings{Lock: lock}, []approval.Server{srv}, nil)
	srv.Program.Env["K"], srv.Program.Headers["A"], srv.Program.Args[0] = "x", "x", "x"
	srv.Options.EnabledTools[0], srv.Options.DisabledTools[0] = "x", "x"
	lock.Pins[key], lock.Source = "x", "x"
	got, _ := c.Server("s")
	if got.Program.Env["K"] != "v" || got.Program.Headers["A"] != "b" || got.Program.Args[0] != "a" ||
		got.Options.EnabledTools[0] != "t" || got.Options.DisabledTools[0] != "u" ||
		c.Settings().Lock.Pins[key] != "d" || c.Settings().Lock.Source != "f" {
		t.Errorf("%+v %+v", got, c.Settings().Lock)
	}
}

// TestTwoThingsUnderOneNameAreNeither: a collision takes two aliases of one digest,
// which nobody makes in a test, so the shelf is told of one.
func TestTwoThingsUnderOneNameAreNeither(t *testing.T) {
	taken := map[named]int{}
	claim(taken, named{approval.Tool, "x"}, 4)
	claim(taken, named{approval.Prompt, "x"}, 5)
	s := &shelf{entries: make([]Entry, 6)}
	if _, ok := s.at(taken, named{approval.Tool, "x"}); !ok {
		t.Error("one name of one thing is not found")
	}
	claim(taken, named{approval.Tool, "x"}, 3)
	claim(taken, named{approval.Tool, "x"}, 2)
	if _, ok := s.at(taken, named{approval.Tool, "x"}); ok {
		t.Error("a name of three things means one of them")
	}
	old := &shelf{entries: []Entry{{Direct: "one", Own: "one"}}, byKey: map[named]int{{approval.Tool, "a"}: 0, {approval.Tool, "b"}: 0}, recall: new(atomic.Bool)}
	next := (&Catalogue{}).stock(running("s"), []approval.Record{approvedTool("s", "a"), approvedTool("s", "b")}, old)
	for _, e := range next.entries {
		if e.Reason != ToolUnknown || len(next.ready) != 0 {
			t.Errorf("%s is %s", e.Record.Key.Name, e.Reason)
		}
	}
}

func TestServeReplacesTheNameAlone(t *testing.T) {
	for name, c := range map[string]struct{ raw, direct, own string }{
		"plain":           {`{"name":"t","x":1}`, `{"name":"s__t","x":1}`, `{"name":"t","x":1}`},
		"spaces and last": {"{ \"a\" : [ {\"name\":\"t\"} ] ,\n\t\"name\" :  \"t\" }", "{ \"a\" : [ {\"name\":\"t\"} ] ,\n\t\"name\" :  \"s__t\" }", "{ \"a\" : [ {\"name\":\"t\"} ] ,\n\t\"name\" :  \"t\" }"},
		"escaped key":     {`{"n\u0061me":"\u0074"}`, `{"n\u0061me":"s__t"}`, `{"n\u0061me":"\u0074"}`},
		"inner names":     {`{"inputSchema":{"properties":{"name":{"name":"t"}}},"name":"t"}`, `{"inputSchema":{"properties":{"name":{"name":"t"}}},"name":"s__t"}`, `{"inputSchema":{"properties":{"name":{"name":"t"}}},"name":"t"}`},
		"no name":         {`{"x":1}`, `{"x":1}`, `{"x":1}`},
		"name no string":  {`{"name":1}`, `{"name":1}`, `{"name":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := approvedTool("s", "t")
			r.Approved = contract.Parse([]byte(c.raw))
			e, _ := NewCatalogue(approval.Settings{}, []approval.Server{running("s")}, []approval.Record{r}).Find(r.Key)
			if got := string(e.Serve(direct)); got != c.direct {
				t.Errorf("direct: %s", got)
			}
			if got := string(e.Serve(Face{Server: "s"})); got != c.own {
				t.Errorf("own: %s", got)
			}
			if got := string(r.Approved.Raw()); got != c.raw {
				t.Errorf("the approved bytes became %s", got)
			}
		})
	}
	pending := approvedTool("s", "t")
	pending.Approved = contract.Contract{}
	if got := (Entry{Record: pending}).Serve(direct); got != nil {
		t.Errorf("nothing is approved, and served is %s", got)
	}
	for _, raw := range []string{``, `[`, `[1]`, `{`, `{"a":`, `{"name":`} {
		if got := findName([]byte(raw)); got != (span{}) {
			t.Errorf("%q: %v", raw, got)
		}
	}
}

// TestServeTakesOverWhatWasFound replaces a server by records of equal meaning and
// other bytes: what is served is what is approved now.
func TestServeTakesOverWhatWasFound(t *testing.T) {
	r := approvedTool("s", "t")
	c := NewCatalogue(approval.Settings{}, []approval.Server{running("s")}, []approval.Record{r})
	again := c.With("s", running("s"), []approval.Record{r})
	other := r
	other.Approved = contract.Parse([]byte(`{ "inputSchema" : {"type":"object"}, "annotations":{"readOnlyHint":true}, "title":"T", "name" : "t"}`))
	if other.Approved.Digest() != r.Approved.Digest() {
		t.Fatal("the two are not equal")
	}
	spelled := c.With("s", running("s"), []approval.Record{other})
	for _, k := range []struct {
		c    *Catalogue
		want string
	}{
		{again, strings.Replace(string(r.Approved.Raw()), `"t"`, `"s__t"`, 1)},
		{spelled, strings.Replace(string(other.Approved.Raw()), `"t"`, `"s__t"`, 1)},
	} {
		e, _ := k.c.Resolve(direct, "s__t")
		if got := string(e.Serve(direct)); got != k.want {
			t.Errorf("served %s, want %s", got, k.want)
		}
	}
}

// TestServeProperty: whatever the definition is, exactly its name changes.
func TestServeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z.]{1,80}`).Draw(t, "name")
		space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
		before := rapid.SampledFrom([]string{``, `"a":{"name":"x"},`, `"b":[{"name":1},"name"],`}).Draw(t, "before")
		raw := fmt.Sprintf(`{%s%s"name"%s:%s%q%s,"z":"name"}`, space, before, space, space, name, space)
		r := approvedTool("s", name)
		r.Approved = contract.Parse([]byte(raw))
		e, _ := NewCatalogue(approval.Settings{}, []approval.Server{running("s")}, []approval.Record{r}).Find(r.Key)
		want := fmt.Sprintf(`{%s%s"name"%s:%s%q%s,"z":"name"}`, space, before, space, space, directName("s", name), space)
		if got := string(e.Serve(direct)); got != want {
			t.Fatalf("served %s\nwant %s", got, want)
		}
	})
}

func manyTools(n int) []approval.Record {
	records := make([]approval.Record, n)
	for i := range records {
		records[i] = approvedTool("big", fmt.Sprintf("tool_%d", i))
	}
	return records
}

func BenchmarkWith10000(b *testing.B) {
	records := manyTools(10_000)
	c := NewCatalogue(approval.Settings{}, []approval.Server{running("big"), running("small")}, records)
	b.Run("the big server", func(b *testing.B) {
		for b.Loop() {
			c.With("big", running("big"), records)
		}
	})
	b.Run("the small server", func(b *testing.B) {
		for b.Loop() {
			c.With("small", running("small"), nil)
		}
	})
	b.Run("settings", func(b *testing.B) {
		for b.Loop() {
			c.WithSettings(approval.Settings{ID: "2"})
		}
	})
	b.Run("resolve", func(b *testing.B) {
		for b.Loop() {
			c.Resolve(direct, "big__tool_9999")
		}
	})
	b.Run("ready", func(b *testing.B) {
		for b.Loop() {
			c.Ready(direct, approval.Tool, Local())
		}
	})
}
