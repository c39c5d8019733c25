package offline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

const (
	aTool = `{"name":"a","inputSchema":{"type":"object"}}`
	bTool = `{"name":"b","description":"tools","inputSchema":{"type":"object"}}`
)

func read(t testing.TB, raw string) *Listing {
	t.Helper()
	l, err := Read("in.json", []byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return l
}

// told gives a listing in words: server/name, and ! for what can't be read.
func told(t testing.TB, l *Listing) string {
	t.Helper()
	var all []string
	for i := range l.Len() {
		e, err := l.Entry(i)
		if err != nil {
			t.Fatal(err)
		}
		s := e.Server + "/" + e.Name
		if !e.Contract.Parsable() {
			s += "!"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

func TestForms(t *testing.T) {
	for name, c := range map[string]struct{ raw, want string }{
		"one tool":                    {aTool, "/a"},
		"with white space":            {" \n\t" + aTool + "\r\n ", "/a"},
		"a list":                      {"[" + aTool + ",\n " + bTool + "]", "/a /b"},
		"an empty list":               {"[]", ""},
		"tools":                       {`{"tools":[` + aTool + "," + bTool + `],"_meta":{"tools":1}}`, "/a /b"},
		"no tools":                    {`{"tools":[]}`, ""},
		"a page of several":           {`{"nextCursor":"x","tools":[` + aTool + `]}`, "/a"},
		"an answer":                   {`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + aTool + `]}}`, "/a"},
		"an answer without an error":  {`{"jsonrpc":"2.0","id":1,"error":null,"result":{"tools":[` + aTool + `]}}`, "/a"},
		"an answer without jsonrpc":   {`{"result":{"tools":[` + aTool + `]}}`, "/a"},
		"an answer of no tools":       {`{"result":{"tools":[]},"jsonrpc":"2.0"}`, ""},
		"servers":                     {`{"servers":{"x":{"tools":[` + aTool + `]},"y":{"tools":[` + aTool + "," + bTool + `]}}}`, "x/a y/a y/b"},
		"servers of other forms":      {`{"servers":{"x":[` + aTool + `],"y":{"jsonrpc":"2.0","result":{"tools":[` + bTool + `]}}}}`, "x/a y/b"},
		"no servers":                  {`{"servers":{}}`, ""},
		"a server without tools":      {`{"servers":{"x":{"tools":[]}}}`, ""},
		"a tool with a field tools":   {`{"tools":[{"name":"b"}],"name":"a","inputSchema":{}}`, "/a"},
		"a tool with a field servers": {`{"servers":{"x":{"command":"y"}},"name":"a","inputSchema":{}}`, "/a"},
		"a tool with a field result":  {`{"name":"a","inputSchema":{},"result":{}}`, "/a"},
		"an escaped name of a field":  {`{"t\u006fols":[` + aTool + `]}`, "/a"},
		"a tool that is not whole":    {`{"name":"a"}`, "/a"},
		"a tool of texts alone":       {`{"description":"a","_meta":{}}`, "/"},
		"a tool with a field of ours": {`{"name":"a","inputSchema":{},"x":1,"mcpServers":{}}`, "/a"},
		"no JSON":                     {`{"tools":[` + aTool + `]`, "/!"},
		"nothing":                     {"", "/!"},
		"text":                        {"hello", "/!"},
		"two values":                  {aTool + bTool, "/!"},
		"a listing and more":          {`{"tools":[` + aTool + `]} {}`, "/!"},
		"a number":                    {"1", "/!"},
		"null":                        {"null", "/!"},
		"a byte order mark":           {"\ufeff" + aTool, "/!"},
		"UTF-16":                      {"\xff\xfe{\x00}\x00", "/!"},
		"tools twice":                 {`{"tools":[],"tools":[` + aTool + `]}`, "/!"},
		"a server twice":              {`{"servers":{"x":{"tools":[]},"x":{"tools":[` + aTool + `]}}}`, "/!"},
		"a server's tools twice":      {`{"servers":{"x":{"tools":[],"tools":[` + aTool + `]}}}`, "/!"},
		"one bad tool":                {`{"tools":[{"name":"x","name":"y"},{"name":"z","a":1,"a":2},` + aTool + `]}`, "/! /z! /a"},
		"a lone surrogate":            {`[{"name":"x","description":"\ud800"},` + aTool + `]`, "/x! /a"},
		"bad UTF-8":                   {"[{\"name\":\"x\",\"description\":\"\xff\"}," + aTool + "]", "/x! /a"},
		"a name of bad UTF-8":         {"[{\"name\":\"x\xff\"}," + aTool + "]", "/x\uFFFD! /a"},
		"what is no tool":             {`[1,"x",null,[],` + aTool + `]`, "/! /! /! /! /a"},
		"a tool without a name":       {`[{"inputSchema":{}},{"name":7}]`, "/ /"},
		"nested too deep":             {`[{"name":"x","y":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}," + aTool + "]", "/x! /a"},
		"nested far too deep":         {strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "/!"},
		"too large":                   {`[{"name":"x","description":"` + strings.Repeat("x", contract.MaxBytes) + `"},` + aTool + `]`, "/x! /a"},
		"too large, and no JSON":      {`{"name":"x` + strings.Repeat("x", contract.MaxBytes), "/!"},
	} {
		if got := told(t, read(t, c.raw)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRefusedForms(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		kind fault.Kind
		says string
	}{
		"a client's configuration":  {`{"mcpServers":{"x":{"command":"y"}}}`, fault.BadInput, "configures servers"},
		"another one":               {`{"servers":{"x":{"command":"y"}}}`, fault.BadInput, "configures servers"},
		"remote servers":            {`{"servers":{"x":{"url":"https://y"}}}`, fault.BadInput, "configures servers"},
		"a server without a list":   {`{"servers":{"x":{}}}`, fault.Protocol, `"x" that lists no tools`},
		"a server that is a number": {`{"servers":{"x":1}}`, fault.Protocol, `"x" that lists no tools`},
		"an error":                  {`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, fault.Protocol, "the error of a server"},
		"another answer":            {`{"jsonrpc":"2.0","id":1,"result":{"prompts":[]}}`, fault.Protocol, "lists no tools"},
		"a request":                 {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, fault.Protocol, "lists no tools"},
		"a tool or a listing":       {`{"tools":[` + aTool + `],"name":"x"}`, fault.Protocol, "as a tool and as a listing"},
		"an object that is no tool": {`{"hello":1}`, fault.Protocol, `"hello" that no tool has`},
		"a package":                 {`{"name":"a","version":"1.0.0","description":"b"}`, fault.Protocol, `"version" that no tool has`},
		"a named configuration":     {`{"name":"a","mcpServers":{"x":{"command":"y"}}}`, fault.BadInput, "configures servers"},
		"an empty object":           {`{}`, fault.Protocol, "an empty object"},
		"tools that are no list":    {`{"tools":{"a":1}}`, fault.Protocol, "tools that are no list"},
		"a result without tools":    {`{"result":{"tools":"a"}}`, fault.Protocol, `"result" that no tool has`},
		"a long name that is odd":   {`{"` + strings.Repeat("\u202e", 50) + `":1}`, fault.Protocol, `\u202e..." that no tool has`},
		"two listings":              {`{"tools":[],"servers":{}}`, fault.Protocol, "tools and servers"},
	} {
		_, err := Read("in.json", []byte(c.raw))
		if err == nil || fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPages(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"tools":[],"nextCursor":"x"}`:                            true,
		`{"tools":[],"nextCursor":""}`:                             false,
		`{"tools":[],"nextCursor":null}`:                           false,
		`{"jsonrpc":"2.0","result":{"tools":[],"nextCursor":"x"}}`: true,
		`{"servers":{"x":{"nextCursor":"x","tools":[]}}}`:          true,
	} {
		if got := read(t, raw).More(); got != want {
			t.Errorf("%s: %t", raw, got)
		}
	}
}

// TestPlaces: an entry is exactly its bytes, and its line is where they begin.
func TestPlaces(t *testing.T) {
	raw := "{\n \"tools\" : [\n\n  " + aTool + " ,\n" + bTool + "]}"
	l := read(t, raw)
	for i, want := range []struct {
		line int
		raw  string
	}{{4, aTool}, {5, bTool}} {
		e, err := l.Entry(i)
		if err != nil || raw[e.Start:e.End] != want.raw || string(e.Contract.Raw()) != want.raw {
			t.Errorf("entry %d is %q: %v", i, raw[e.Start:e.End], err)
		}
		if got := l.Line(e.Start); got != want.line {
			t.Errorf("entry %d stands in line %d", i, got)
		}
	}
	if e, _ := l.Entry(0); l.Line(e.Start) != 4 {
		t.Error("a line above is not found again")
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.json")
	if err := os.WriteFile(file, []byte(aTool), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]fault.Kind{dir: fault.BadInput, filepath.Join(dir, "none"): fault.NotFound, "-": fault.BadInput} {
		if _, err := Open(path, nil); err == nil || fault.KindOf(err) != kind {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Open("-", failing{}); err == nil {
		t.Error("a broken pipe is read")
	}
	l, err := Open(file, nil)
	if err != nil || told(t, l) != "/a" || l.Name() != file {
		t.Error(err)
	}
	l.Close()
	if l, err = Open("-", strings.NewReader("["+aTool+"]")); err != nil || told(t, l) != "/a" {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken") }

// TestLongPipe: what does not fit into memory goes through a file that is gone afterwards.
func TestLongPipe(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	many := "[" + strings.Repeat(bTool+",", 50_000) + aTool + "]"
	l, err := Open("-", strings.NewReader(many))
	if err != nil {
		t.Fatal(err)
	}
	if e, err := l.Entry(50_000); l.Len() != 50_001 || err != nil || e.Name != "a" {
		t.Errorf("%d entries, the last %+v: %v", l.Len(), e, err)
	}
	l.Close()
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

func TestTruncatedMeanwhile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(file, []byte("["+aTool+","+bTool+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Truncate(file, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Entry(1); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Error(err)
	}
}

// FuzzAnyBytes: any input gives verdicts or a fault that explains itself, and what is
// a good tool is never taken for anything else.
func FuzzAnyBytes(f *testing.F) {
	for _, raw := range []string{
		aTool, "[" + aTool + "]", `{"tools":[` + aTool + `]}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + bTool + `]}}`,
		`{"servers":{"x":{"tools":[` + aTool + `]},"y":{"tools":[` + aTool + `]}}}`, `{"servers":{"x":{"command":"y"}}}`, "", "null", "[1,{]", "\xff",
	} {
		f.Add([]byte(raw), []byte(bTool))
	}
	bundle := scan.Embedded()
	f.Fuzz(func(t *testing.T, a, b []byte) {
		old, err := Read("a", a)
		if err != nil {
			if x, ok := errors.AsType[*fault.Error](err); !ok || x.What == "" || x.Hint == "" {
				t.Fatalf("%v does not explain itself", err)
			}
			return
		}
		c := contract.Parse(a)
		if _, schema := c.InputSchema(); schema {
			if e, err := old.Entry(0); old.Len() != 1 || err != nil || !e.Contract.Equal(c) {
				t.Fatalf("a tool was read as %d: %v", old.Len(), err)
			}
		}
		now, err := Read("b", b)
		if err != nil {
			return
		}
		for _, pair := range [][2]*Listing{{old, now}, {now, old}, {old, old}} {
			compareAny(t, pair[0], pair[1])
		}
		scanAny(t, bundle, old)
	})
}

func compareAny(t *testing.T, a, l *Listing) {
	var j, s bytes.Buffer
	doc, log := NewDiffJSON(&j), NewSARIF(&s)
	n := 0
	err := Diff(delta.Gate{}, a, l, func(c Compared) error {
		n++
		if c.Held != (len(c.Signals) > 0) || c.Held && len(c.Lines) == 0 {
			t.Fatalf("%+v", c)
		}
		return errors.Join(doc.Add(c), log.Compared(c))
	})
	if err != nil {
		if fault.KindOf(err) != fault.Protocol {
			t.Fatal(err)
		}
		return
	}
	if err := errors.Join(doc.End(), log.End("1")); err != nil {
		t.Fatal(err)
	}
	mustBeDiff(t, j.Bytes(), n)
	mustBeSARIF(t, s.Bytes())
}

func scanAny(t *testing.T, bundle *scan.Bundle, l *Listing) {
	var j, s bytes.Buffer
	doc, log := NewScanJSON(&j), NewSARIF(&s)
	n := 0
	err := Scan(bundle, l, func(v Scanned) error {
		n++
		if v.Clean() != (len(v.Verdict.Findings) == 0 && v.Verdict.Complete) {
			t.Fatalf("%+v", v.Verdict)
		}
		return errors.Join(doc.Add(v), log.Scanned(v))
	})
	if err := errors.Join(err, doc.End(), log.End("1")); err != nil {
		t.Fatal(err)
	}
	if n != l.Len() {
		t.Fatalf("%d verdicts on %d tools", n, l.Len())
	}
	mustBeScan(t, j.Bytes(), n)
	mustBeSARIF(t, s.Bytes())
}

// endless is a listing of tools that is made while it is read.
type endless struct {
	left int
	edit string
	rest []byte
}

func listingOf(tools int, edit string) io.Reader {
	return io.MultiReader(strings.NewReader(`{"tools":[`), &endless{left: tools, edit: edit}, strings.NewReader(`]}`))
}

func (e *endless) Read(b []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.left == 0 {
			return 0, io.EOF
		}
		e.left--
		e.rest = fmt.Appendf(nil, `{"name":"tool%d","description":"%s","inputSchema":{"type":"object","properties":{"x":{"type":"string","description":"%s"}}}}`,
			e.left, e.edit, strings.Repeat("what it is for ", 520))
		if e.left > 0 {
			e.rest = append(e.rest, ',')
		}
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestServersNamed(t *testing.T) {
	if got := read(t, `{"servers":{"x":{"tools":[]},"y":{"tools":[]}}}`).Servers(); !slices.Equal(got, []string{"x", "y"}) {
		t.Error(got)
	}
	if got := read(t, `[]`).Servers(); got != nil {
		t.Error(got)
	}
}
