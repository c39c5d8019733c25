package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

const (
	usualHits = 8
	mostHits  = 50
	mostNames = 20 // of describe_tool
)

// found is one tool in the answer of retrieve_tools.
type found struct {
	Name        string  `json:"name"`
	Server      string  `json:"server"`
	Title       string  `json:"title,omitempty"`
	Signature   string  `json:"signature"`
	Description string  `json:"description,omitempty"`
	Score       float64 `json:"score"`
	CallWith    string  `json:"call_with"`
	Permitted   bool    `json:"permitted"` // the token may call tools of this class
}

// withheld counts the matches that are not in the answer, by why.
type withheld struct {
	ReadOnly int `json:"read_only"` // change something, and read_only was asked for
	Server   int `json:"server"`    // of other servers than the one asked for
	Limit    int `json:"limit"`
}

type findings struct {
	Tools    []found  `json:"tools"`
	Matches  int      `json:"matches"`
	Withheld withheld `json:"withheld"`
}

// retrieve answers retrieve_tools. It knows only what is ready and in the scope of
// the caller; what is outside is not even counted.
func (g *Gateway) retrieve(ctx context.Context, s *session, x wire.Exchange) ([]byte, *wire.RPCError) {
	a := readArguments(x.Message.Params)
	query := a.text("query", required)
	limit := a.number("limit", 1, mostHits, usualHits)
	readOnly, _ := a.flag("read_only")
	server := a.text("server")
	if problem := a.problem(); problem != "" {
		return g.badArguments(s, x, problem), nil
	}
	caller := s.agent.now()
	direct := place{kind: faceDirect}
	tools := g.o.Tools.Catalogue().Ready(direct.names(), approval.Tool, caller)
	hits, err := g.indexes.find(ctx, view{tools: tools}.mark(direct), tools, query)
	if err != nil {
		g.o.Log.Error("the search failed", "err", bounded(err.Error(), maxReason))
		return nil, &wire.RPCError{Code: wire.CodeInternal, Message: "the search failed; the log says why"}
	}
	f := findings{Tools: []found{}, Matches: len(hits)}
	for _, h := range hits {
		e := &tools[h.place]
		switch {
		case server != "" && e.Server.Name != server:
			f.Withheld.Server++
		case readOnly && e.Class != contract.Read:
			f.Withheld.ReadOnly++
		case len(f.Tools) == limit:
			f.Withheld.Limit++
		default:
			f.Tools = append(f.Tools, summary(e, h.score, caller))
		}
	}
	return answered(f.text(), marshal(f)), nil
}

func summary(e *dispatch.Entry, score float64, caller dispatch.Caller) found {
	root := e.Record.Approved.Root()
	d := describe(root)
	return found{
		Name: e.Direct, Server: e.Server.Name, Title: oneLine(d.title, 80),
		Signature: signature(e.Direct, root), Description: oneLine(d.description, 200),
		Score: score, CallWith: callWith(e.Class), Permitted: caller.Permissions.Has(e.Class),
	}
}

// text is the answer for a model: a line for each tool.
func (f findings) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Matching tools: %d, of which here: %d.", f.Matches, len(f.Tools))
	for _, t := range f.Tools {
		fmt.Fprintf(&b, "\n- %s", t.Signature)
		if t.Description != "" {
			b.WriteString(" — " + t.Description)
		}
		fmt.Fprintf(&b, " [%s", t.CallWith)
		if !t.Permitted {
			b.WriteString(", which this token may not call")
		}
		b.WriteByte(']')
	}
	for _, w := range []struct {
		n   int
		why string
	}{
		{f.Withheld.ReadOnly, "left out, because they are not read-only"},
		{f.Withheld.Server, "left out, because they are of other servers"},
		{f.Withheld.Limit, "more over the limit"},
	} {
		if w.n > 0 {
			fmt.Fprintf(&b, "\n(%d %s)", w.n, w.why)
		}
	}
	if f.Matches == 0 {
		b.WriteString(" Try other words, or an empty query to list tools by name.")
	}
	return b.String()
}

// absent is a name that describe_tool has no contract for.
type absent struct {
	Name  string `json:"name"`
	Class string `json:"class"`
	Text  string `json:"text"`
}

// describe answers describe_tool with the approved contracts as they were approved.
// For what is not ready the gate says why, as for a call.
func (g *Gateway) describe(_ context.Context, s *session, x wire.Exchange) ([]byte, *wire.RPCError) {
	a := readArguments(x.Message.Params)
	names := a.texts("names", mostNames, required)
	if problem := a.problem(); problem != "" {
		return g.badArguments(s, x, problem), nil
	}
	c, caller := g.o.Tools.Catalogue(), s.agent.now()
	direct := dispatch.Face{Direct: true}
	caller.Permissions = dispatch.Permissions{Read: true, Write: true, Destructive: true} // to read is not to call
	list, missing := []byte("["), []absent{}
	for _, name := range names {
		_, refusal := dispatch.Admit(c, dispatch.Request{Caller: caller, Face: direct, Name: name})
		if refusal != nil {
			missing = append(missing, absent{cut(name, 128), string(refusal.Class), sentences(refusal.Text, refusal.Remedy)})
			continue
		}
		if e, ok := c.Resolve(direct, name); ok {
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, e.Serve(direct)...)
		}
	}
	list = append(list, ']')
	text := string(list)
	for _, m := range missing {
		text += "\n" + m.Text
	}
	structured := append(append([]byte(`{"tools":`), list...), `,"unavailable":`...)
	return answered(text, append(append(structured, marshal(missing)...), '}')), nil
}
