package scan

import (
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// checkCapability finds what a tool has no use for: capability.mismatch.
func checkCapability(r *reading) {
	pure := r.pure()
	if pure {
		r.applyRules("capability.mismatch")
	}
	schema, _ := r.contract.InputSchema()
	properties, _ := schema.Get("properties")
	for i := range properties.Members() {
		r.spend(1)
		p := properties.Sorted(i)
		if tier := sinkOf(p.Name); tier > 0 && r.sink(p.Name, p.Value, tier, pure) {
			return
		}
	}
}

// pure reports whether the name or the first sentence says that something is only
// computed.
func (r *reading) pure() bool {
	v := &r.scanner.words.named
	for i := range r.texts {
		t := &r.texts[i]
		if t.field == fieldName || t.field == fieldDescription && r.places[t.place].up < 0 {
			tokens := r.tokens[t.words.start:t.words.end]
			for k := range tokens[:min(len(tokens), 8)] {
				if tokens[k].index <= 16 && tokens[k].means.any(v.pure) {
					return true
				}
			}
		}
	}
	return false
}

// Names of parameters into which anything can be written: certain ones, and ones
// that are also used honestly.
var (
	certainSinks = []string{"sidenote", "sidenotes", "scratchpad", "scratch", "innermonologue", "monologue", "chainofthought", "thoughts", "agentnotes", "debuginfo", "sessionnotes", "sessioncontext", "conversationcontext", "conversation", "chathistory", "conversationhistory", "usercontext", "memo", "hiddenparam", "aux", "extracontext", "contextdump", "modelnotes", "llmcontext", "sessiondata", "sessioninfo", "environmentinfo", "systemcontext"}
	usualSinks   = []string{"context", "notes", "note", "additionalcontext", "background", "reasoning", "rationale", "feedback", "comments", "comment", "extra", "remarks", "misc", "reason", "justification", "info", "details", "additionalinfo", "metadata", "thought", "userprompt", "systemprompt"}
)

func sinkOf(name string) int {
	if len(name) > 40 {
		return 0
	}
	switch l := letters(name); {
	case slices.Contains(certainSinks, l):
		return 2
	case slices.Contains(usualSinks, l):
		return 1
	}
	return 0
}

// sink judges a parameter with such a name: what it is for has to be said, and may
// not be the conversation.
func (r *reading) sink(name string, schema contract.Value, tier int, pure bool) bool {
	kind, _ := schema.Get("type")
	if kind.Kind() == contract.String && kind.Text() != "string" {
		return false
	}
	description, _ := schema.Get("description")
	said := strings.TrimSpace(description.Text())
	wide := r.asksForAll(name, pure)
	if !wide && (tier == 1 && (!pure || said != "") || tier == 2 && said != "" && !pure) {
		return false
	}
	i := slices.IndexFunc(r.texts, func(t text) bool { return t.named && t.s == name })
	r.hit(Soft, i, 0, len(name))
	return true
}

// asksForAll reports whether the description of a parameter asks for the
// conversation or for thoughts.
func (r *reading) asksForAll(name string, pure bool) bool {
	v := &r.scanner.words.named
	for i := range r.texts {
		t := &r.texts[i]
		if t.field != fieldDescription || t.named || r.places[t.place].up < 0 || r.places[r.places[t.place].up].name != name {
			continue
		}
		for _, k := range r.tokens[t.words.start:t.words.end] {
			if k.means.any(v.convo) || pure && k.means.any(v.think) {
				return true
			}
		}
	}
	return false
}
