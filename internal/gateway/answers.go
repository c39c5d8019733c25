package gateway

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// What is not the answer of a server is a result with isError, which agents show
// to their model: a refusal must never look like success, and a model that reads
// why does not try the same again.

// denial is the structured part of such a result (docs/design/dispatch.md).
type denial struct {
	Refused bool     `json:"refused"` // false: it was tried, and may have happened
	Class   string   `json:"class"`
	Reasons []string `json:"reasons"`
	Remedy  string   `json:"remedy"`
}

// refused renders the gate's refusal of a call.
func (g *Gateway) refused(r call.Request, refusal *dispatch.Refusal) []byte {
	d := denial{Refused: true, Class: string(refusal.Class), Remedy: refusal.Remedy}
	for _, reason := range refusal.Reasons {
		d.Reasons = append(d.Reasons, string(reason))
	}
	// Only of a tool that the agent may know of may the answer depend on the tool.
	return denied(sentences(refusal.Text, refusal.Remedy), d, refusal.Server != "" && g.typed(r))
}

// failed renders a fault of a call that was admitted.
func (g *Gateway) failed(r call.Request, err error) []byte {
	kind := fault.KindOf(err)
	what := "Holdfast failed, and the call may have happened"
	if kind != fault.Internal {
		what = bounded(err.Error(), maxReason)
	} else {
		g.o.Log.Error("a call failed", "name", bounded(r.Name, maxKept), "err", bounded(err.Error(), maxReason))
	}
	hint := fault.HintOf(err)
	d := denial{Class: string(kind), Reasons: []string{string(kind)}, Remedy: hint}
	return denied(sentences("Failed: "+what, hint), d, g.typed(r))
}

// typed reports whether the tool declares an output schema. The official clients
// hold the structured content even of an error against it, and would show a model
// their own complaint in place of the refusal.
func (g *Gateway) typed(r call.Request) bool {
	if r.Variant != 0 {
		return false // the agent called one of ours, which declares none
	}
	e, ok := g.o.Tools.Catalogue().Resolve(r.Face, r.Name)
	if !ok {
		return false
	}
	_, approved := e.Record.Approved.Root().Get("outputSchema")
	_, live := e.Record.Live.Root().Get("outputSchema")
	return approved || live
}

// denied builds the result. What can't be structured content goes into _meta.
func denied(text string, d denial, typed bool) []byte {
	b := append([]byte(nil), `{"content":[{"type":"text","text":`...)
	b = append(append(b, wire.Quote(text)...), `}],`...)
	if typed {
		b = append(append(append(b, `"_meta":{"holdfast/refusal":`...), marshal(d)...), `},"isError":true}`...)
		return b
	}
	return append(append(append(b, `"structuredContent":`...), marshal(d)...), `,"isError":true}`...)
}

// answered builds the result of one of our own tools.
func answered(text string, structured []byte) []byte {
	b := append([]byte(nil), `{"content":[{"type":"text","text":`...)
	b = append(append(b, wire.Quote(text)...), `}],"structuredContent":`...)
	return append(append(b, structured...), '}')
}

// badArguments refuses a call of one of our own tools.
func (g *Gateway) badArguments(s *session, x wire.Exchange, problem string) []byte {
	return g.ownRefusal(s, x, "", dispatch.InvalidArguments, problem, "Correct the arguments and call again.")
}

// ownRefusal refuses a call of one of our own tools, and writes it down.
func (g *Gateway) ownRefusal(s *session, x wire.Exchange, server string, class dispatch.Reason, why, remedy string) []byte {
	name := ""
	if span, ok := wire.Find(x.Message.Params, "name"); ok {
		name, _ = wire.Text(x.Message.Params[span.Start:span.End])
	}
	g.journalRefusal(s.visitor, s.agent.now().Name, server, name, string(class))
	d := denial{Refused: true, Class: string(class), Reasons: []string{string(class)}, Remedy: remedy}
	return denied(sentences("Refused: "+why, remedy), d, false)
}

// sentences joins sentence parts with their full stops. What ends in a command gets
// none, so that nobody types it with one.
func sentences(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p == "" || strings.HasSuffix(b.String(), p) { // a reason may end with what to do
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p)
		if last, _ := utf8.DecodeLastRuneInString(p); last != '.' && last != '?' && !strings.Contains(p, ": holdfast ") {
			b.WriteByte('.')
		}
	}
	return b.String()
}

// marshal writes a value of our own as JSON, without escapes that only HTML needs.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("{}") // values here are strings, numbers and lists of them
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
