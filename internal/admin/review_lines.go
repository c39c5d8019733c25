package admin

import (
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// ReviewLine is one fact of a change. What comes from the definition is shown with
// invisible characters escaped; was and is are cut when they are long, and end in
// "…" then.
type ReviewLine struct {
	Path     string   `json:"path" doc:"Where in the definition: a JSON Pointer without the first slash; empty is the whole"`
	Sentence string   `json:"sentence"`
	Was      string   `json:"was,omitempty"`
	Is       string   `json:"is,omitempty"`
	Signals  []string `json:"signals,omitempty" doc:"What the fact is held for; none for one that passes"`
	Runs     []Run    `json:"runs,omitempty" doc:"Of a text that changed, word by word"`
}

// Run is a piece of a changed text.
type Run struct {
	Kind string `json:"kind" enum:"kept,removed,added"`
	Text string `json:"text"`
}

// linesOf explains the change between two contracts of a tool, under the operator's
// class for tools without hints. There is one differ, and this is all of it that is
// shown; nothing for what is no tool, and without an older contract.
func linesOf(c *dispatch.Catalogue, kind string, before, after contract.Contract) []ReviewLine {
	if kind != "tool" || before.IsZero() || before.Equal(after) {
		return nil
	}
	var out []ReviewLine
	for _, l := range (delta.Gate{Unannotated: c.Settings().Unannotated}).Review(before, after) {
		line := ReviewLine{Path: l.Path, Sentence: l.Sentence, Was: l.Was, Is: l.Is}
		for _, s := range l.Signals {
			line.Signals = append(line.Signals, s.String())
		}
		for _, r := range l.Runs {
			line.Runs = append(line.Runs, Run{Kind: string(r.Kind), Text: r.Text})
		}
		out = append(out, line)
	}
	return out
}
