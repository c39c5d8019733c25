package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// page is what one tools/list gives.
type page struct {
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor"`
}

func (s *still) page(t *testing.T, x *session, cursor string) (names []string, next string) {
	t.Helper()
	var params []byte
	if cursor != "" {
		params = fmt.Appendf(nil, `{"cursor":%q}`, cursor)
	}
	raw, rpcErr := s.g.list(x, params)
	if rpcErr != nil {
		t.Fatal(rpcErr.Message)
	}
	var p page
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	for _, tool := range p.Tools {
		span, _ := wire.Find(tool, "name")
		name, _ := wire.Text(tool[span.Start:span.End])
		names = append(names, name)
	}
	return names, p.NextCursor
}

func numbered(server string, from, to int) []string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprintf("%s__t%04d", server, i))
	}
	return names
}

func TestPages(t *testing.T) {
	s := newStill(t)
	defer s.g.Close()
	s.set(set{server: "a", tools: 600}, set{server: "b", tools: 1900})
	_, x := s.open(t, place{kind: faceDirect}, dispatch.Local())
	first, cursor := s.page(t, x, "")
	if !slices.Equal(first, slices.Concat(numbered("a", 0, 600), numbered("b", 0, 400))) {
		t.Fatalf("the first page has %d tools", len(first))
	}
	second, last := s.page(t, x, cursor)
	if !slices.Equal(second, numbered("b", 400, 1400)) {
		t.Errorf("the second page has %d tools from %s", len(second), second[0])
	}
	third, end := s.page(t, x, last)
	if !slices.Equal(third, numbered("b", 1400, 1900)) || end != "" {
		t.Errorf("the third page has %d tools and a cursor %q", len(third), end)
	}

	// The catalogue changes between two pages: no tool comes twice, none that stayed is lost.
	for name, c := range map[string]struct {
		sets []set
		want []string
	}{
		"a server before is gone":   {[]set{{server: "b", tools: 1900}}, numbered("b", 400, 1400)},
		"a server before is new":    {[]set{{server: "a", tools: 600}, {server: "aa", tools: 50}, {server: "b", tools: 1900}}, numbered("b", 400, 1400)},
		"a server behind is new":    {[]set{{server: "a", tools: 600}, {server: "b", tools: 500}, {server: "c", tools: 3}}, slices.Concat(numbered("b", 400, 500), numbered("c", 0, 3))},
		"the server is gone":        {[]set{{server: "a", tools: 600}, {server: "c", tools: 3}}, numbered("c", 0, 3)},
		"the server has less":       {[]set{{server: "a", tools: 600}, {server: "b", tools: 300}, {server: "c", tools: 3}}, numbered("c", 0, 3)},
		"the server ends there":     {[]set{{server: "b", tools: 400}}, nil},
		"nothing is left":           {nil, nil},
		"everything came before":    {[]set{{server: "a", tools: 5}}, nil},
		"the server is quarantined": {[]set{{server: "b", tools: 1900, quarantined: true}, {server: "c", tools: 1}}, numbered("c", 0, 1)},
	} {
		s.set(c.sets...)
		if got, _ := s.page(t, x, cursor); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %d tools %.80q", name, len(got), got)
		}
	}
}

func TestPageOfLargeTools(t *testing.T) {
	s := newStill(t)
	defer s.g.Close()
	s.set(set{server: "a", tools: 20, text: strings.Repeat("x", 900<<10)})
	_, x := s.open(t, place{kind: faceDirect}, dispatch.Local())
	var all []string
	pages := 0
	for cursor := ""; pages == 0 || cursor != ""; pages++ {
		var names []string
		names, cursor = s.page(t, x, cursor)
		all = append(all, names...)
	}
	if !slices.Equal(all, numbered("a", 0, 20)) || pages < 4 || pages > 6 {
		t.Errorf("%d tools on %d pages", len(all), pages)
	}
}

func TestForgedCursors(t *testing.T) {
	s := newStill(t)
	defer s.g.Close()
	s.set(set{server: "a", tools: 5}, set{server: "b", tools: 5})
	_, x := s.open(t, place{kind: faceDirect}, scoped("b"))
	for _, c := range []cursor{{"a", "t0002", 2}, {"b", "t9999", 1 << 40}, {"zz", "", 0}, {"b", "", 0}} {
		names, _ := s.page(t, x, c.String())
		for _, name := range names {
			if !strings.HasPrefix(name, "b__") {
				t.Errorf("%+v shows %s", c, name)
			}
		}
	}
}

// TestServedBytesAreTheApprovedBytes: over real listings, every definition comes
// as it was approved, but for its name in the direct face.
func TestServedBytesAreTheApprovedBytes(t *testing.T) {
	corpus := os.Getenv("HOLDFAST_CORPUS")
	if corpus == "" {
		corpus = "../../../shared/corpus"
	}
	paths, _ := filepath.Glob(filepath.Join(corpus, "listings", "*", "*.json"))
	if more, _ := filepath.Glob(filepath.Join(corpus, "listings", "*.json")); len(paths) == 0 {
		paths = more
	}
	if len(paths) == 0 {
		t.Skip("NO CORPUS: set HOLDFAST_CORPUS to check real listings")
	}
	s := newStill(t)
	defer s.g.Close()
	served := 0
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tools := toolsOf(raw)
		var records []approval.Record
		for _, tool := range tools {
			c := contract.Parse(tool)
			records = append(records, approval.Record{Key: approval.Key{Server: "srv", Kind: approval.Tool, Name: textAt(c.Root(), "name")}, Version: 1, Status: approval.Approved, Approved: c, Anchor: c, Live: c})
		}
		servers := []approval.Server{{Name: "srv", Version: 1, Incarnation: "i", Named: true, Enabled: true}}
		s.catalogue.Store(dispatch.NewCatalogue(approval.Settings{}, servers, records))
		for _, at := range []place{{kind: faceServer, server: "srv"}, {kind: faceDirect}} {
			_, x := s.open(t, at, dispatch.Local())
			out, rpcErr := s.g.list(x, nil)
			if rpcErr != nil {
				t.Fatal(rpcErr.Message)
			}
			i := 0
			span, _ := wire.Find(out, "tools")
			wire.Elements(out[span.Start:span.End], func(e wire.Span) bool {
				got, want := out[span.Start+e.Start:span.Start+e.End], tools[i]
				if at.kind == faceDirect {
					name, _ := wire.Find(want, "name")
					shown, _ := wire.Find(got, "name")
					want = wire.Splice(want, wire.Edit{Span: name, With: got[shown.Start:shown.End]})
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s: tool %d differs", path, i)
				}
				i++
				return true
			})
			if i != len(tools) {
				t.Errorf("%s: %d of %d tools", path, i, len(tools))
			}
			served += i
		}
	}
	t.Logf("%d definitions of %d listings", served, len(paths))
}

// toolsOf finds the tools of a stored listing: a result, a response, or a bare list.
func toolsOf(raw []byte) (tools [][]byte) {
	list := raw
	for _, path := range [][]string{{"tools"}, {"result", "tools"}} {
		if span, ok := wire.Find(raw, path...); ok {
			list = raw[span.Start:span.End]
			break
		}
	}
	wire.Elements(list, func(e wire.Span) bool {
		tools = append(tools, list[e.Start:e.End])
		return true
	})
	return tools
}
