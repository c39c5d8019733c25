package gateway

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// Limits of one page of tools/list. A page has one tool at least.
const (
	pageTools = 1000
	pageBytes = 4 << 20
)

// list answers tools/list: the approved definitions as the bytes that were
// approved, only the name changed where the face prefixes it.
func (g *Gateway) list(s *session, params []byte) ([]byte, *wire.RPCError) {
	from, rpcErr := readCursor(params)
	if rpcErr != nil {
		return nil, rpcErr
	}
	see := g.look(s)
	if see.search {
		return ownList, nil
	}
	first := 0
	if from != nil {
		first = from.place(see.tools)
	}
	names := s.at.names()
	out := append(make([]byte, 0, 16<<10), `{"tools":[`...)
	for i := first; i < len(see.tools); i++ {
		if i > first {
			if i-first == pageTools || len(out) > pageBytes {
				out = append(out, `],"nextCursor":`...)
				out = append(out, wire.Quote(cursorAfter(see.tools, i-1).String())...)
				return append(out, '}'), nil
			}
			out = append(out, ',')
		}
		out = append(out, see.tools[i].Serve(names)...)
	}
	return append(out, `]}`...), nil
}

// cursor is where a page ended: at a tool, not at a number, so that the next page
// goes on there although other servers' tools came or went meanwhile. To agents it
// is opaque; it holds nothing that the list did not.
type cursor struct {
	Server string `json:"s"`
	Tool   string `json:"t"`
	Index  int    `json:"i"` // of the tool among its server's
}

func cursorAfter(tools []dispatch.Entry, last int) cursor {
	key := tools[last].Record.Key
	i := last
	for i > 0 && tools[i-1].Record.Key.Server == key.Server {
		i--
	}
	return cursor{key.Server, key.Name, last - i}
}

func (c cursor) String() string {
	b, _ := json.Marshal(c) // strings and a number
	return base64.RawURLEncoding.EncodeToString(b)
}

func readCursor(params []byte) (*cursor, *wire.RPCError) {
	span, ok := wire.Find(params, "cursor")
	if !ok {
		return nil, nil
	}
	var c cursor
	text, ok := wire.Text(params[span.Start:span.End])
	b, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || json.Unmarshal(b, &c) != nil || c.Server == "" || c.Index < 0 {
		return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: "the cursor is none that was given here; list again without one"}
	}
	return &c, nil
}

// place is the index of the first tool after the cursor. Where its tool is gone,
// it is the one that stands in its place now.
func (c cursor) place(tools []dispatch.Entry) int {
	first, _ := slices.BinarySearchFunc(tools, c.Server, func(e dispatch.Entry, server string) int {
		switch {
		case e.Record.Key.Server < server:
			return -1
		case e.Record.Key.Server > server:
			return 1
		}
		return 0
	})
	end := first
	for end < len(tools) && tools[end].Record.Key.Server == c.Server {
		if tools[end].Record.Key == (approval.Key{Server: c.Server, Kind: approval.Tool, Name: c.Tool}) {
			return end + 1
		}
		end++
	}
	return min(first+c.Index, end)
}
