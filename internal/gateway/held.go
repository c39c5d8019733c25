package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// mostHeld is how many held things one answer names.
const mostHeld = 200

// heldView is what an agent may know of a held thing: that it is held, and why, in
// our words. Nothing of the held contract is in it: what a server wrote there is
// what a person has yet to read.
type heldView struct {
	Name    string   `json:"name"` // as it would be served: letters, digits, '_' and '-'
	Kind    string   `json:"kind"`
	Server  string   `json:"server"`
	Status  string   `json:"status"` // pending or changed; approved while an update waits
	Waiting bool     `json:"update_waits"`
	Reason  string   `json:"held_reason"`
	Why     string   `json:"why"` // the same in a sentence
	Signals []string `json:"signals"`
	Means   []string `json:"signals_mean"` // a few words for each signal, in their order
	Scan    string   `json:"scan"`
}

type heldServer struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

type heldList struct {
	Servers []heldServer `json:"servers"` // quarantined
	Held    []heldView   `json:"held"`
	Total   int          `json:"total"` // held, also those over the limit of one answer
}

// quarantineSecurity answers quarantine_security.
func (g *Gateway) quarantineSecurity(ctx context.Context, s *session, x wire.Exchange) ([]byte, *wire.RPCError) {
	a := readArguments(x.Message.Params)
	operation, server, tool := a.text("operation", required), a.text("server"), a.text("tool")
	if problem := a.problem(); problem != "" {
		return g.badArguments(s, x, problem), nil
	}
	switch operation {
	case "list":
		return g.listHeld(s, "", ""), nil
	case "inspect", "quarantine":
		if server == "" {
			return g.badArguments(s, x, "the argument server is missing"), nil
		}
	default:
		return g.notForAgents(s, x, operation, server), nil
	}
	switch {
	case operation == "quarantine":
		return g.tighten(ctx, s, x, server, "quarantined", approval.Quarantine), nil
	case !g.mayKnow(s, server):
		return g.noServer(s, x, server), nil
	}
	return g.listHeld(s, server, tool), nil
}

// listHeld lists what is held, of one server and one of its tools if they are named.
func (g *Gateway) listHeld(s *session, server, tool string) []byte {
	c, caller := g.o.Tools.Catalogue(), s.agent.now()
	list := heldList{Servers: []heldServer{}, Held: []heldView{}}
	for _, srv := range c.Servers() {
		if server != "" && srv.Name != server || !scopeHas(caller, srv.Name) {
			continue
		}
		if srv.Quarantined {
			list.Servers = append(list.Servers, heldServer{srv.Name, "quarantined"})
		}
		for _, e := range c.Entries(srv.Name) {
			if !e.Record.InReview() || tool != "" && tool != e.Direct && tool != e.Own || !inScope(c, caller, e) {
				continue
			}
			if list.Total++; len(list.Held) < mostHeld {
				list.Held = append(list.Held, viewHeld(e))
			}
		}
	}
	return answered(list.text(), marshal(list))
}

func viewHeld(e dispatch.Entry) heldView {
	v := heldView{
		Name: e.Direct, Kind: string(e.Record.Key.Kind), Server: e.Server.Name, Status: e.Record.Status.String(),
		Waiting: e.Record.Waiting(), Reason: string(e.Record.Evidence.Reason), Why: e.Record.Evidence.Reason.Explain().Sentence,
		Signals: []string{}, Means: []string{},
		Scan: scanWord(e.Record.Evidence.Verdict),
	}
	for _, signal := range e.Record.Evidence.Signals {
		if word := ourPart(signal); !slices.Contains(v.Signals, word) {
			v.Signals = append(v.Signals, word)
			v.Means = append(v.Means, approval.ExplainSignal(word).Label)
		}
	}
	return v
}

func scanWord(v scan.Verdict) string {
	switch v.Outcome {
	case scan.Clean:
		return "clean"
	case scan.Review:
		return "review"
	case scan.Dangerous:
		return "dangerous"
	case scan.NotScanned:
	}
	return "not_scanned"
}

// fields are the members of a definition that a signal may name to an agent; any
// other is called "other", for its name is the server's own text.
var fields = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "execution", "_meta", "arguments", "mimeType", "uriTemplate", "size"}

// ourPart is a printed signal without what the server wrote: places in a schema
// and unknown field names are property names of the held contract.
func ourPart(signal string) string {
	parts := strings.SplitN(signal, ":", 3)
	if len(parts) == 1 {
		return signal
	}
	_, check := scan.Explain(parts[1])
	switch {
	case parts[0] == string(approval.ScanFinding) && check:
		return parts[0] + ":" + parts[1] // a check's name is ours, or the operator's
	case parts[0] == string(delta.Field) && !slices.Contains(fields, parts[1]):
		return parts[0] + ":other"
	case (parts[0] == string(delta.HintChange) || parts[0] == string(delta.HintSaferFlip)) && len(parts) == 3 && fixed(parts[2]):
		return signal
	case !plainWord(parts[1]):
		return parts[0]
	}
	return parts[0] + ":" + parts[1]
}

// fixed reports whether a hint's change is of hint values or classes alone: true>:false.
func fixed(change string) bool {
	from, to, ok := strings.Cut(change, ">:")
	words := []string{"true", "false", "read", "write", "destructive"}
	return ok && slices.Contains(words, from) && slices.Contains(words, to)
}

// plainWord reports whether a reason looks like one of ours.
func plainWord(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 32
}

func (l heldList) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Held for a person's review: %d.", l.Total)
	if len(l.Servers) > 0 {
		b.WriteString(" Quarantined servers:")
		for _, s := range l.Servers {
			b.WriteString(" " + s.Name)
		}
		b.WriteByte('.')
	}
	for _, h := range l.Held {
		fmt.Fprintf(&b, "\n- %s (%s): %s", h.Name, h.Kind, h.Status)
		if h.Waiting {
			b.WriteString(", an update waits")
		}
		fmt.Fprintf(&b, ", held as %s", h.Reason)
		for i, signal := range h.Signals {
			fmt.Fprintf(&b, "%s%s (%s)", map[bool]string{true: ": ", false: ", "}[i == 0], signal, h.Means[i])
		}
	}
	if more := l.Total - len(l.Held); more > 0 {
		fmt.Fprintf(&b, "\n(%d more are not shown)", more)
	}
	if l.Total > 0 || len(l.Servers) > 0 {
		b.WriteString("\nA person decides, with: holdfast tool list --status review")
	}
	return b.String()
}
