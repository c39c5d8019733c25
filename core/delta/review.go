package delta

import (
	"fmt"
	"slices"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Line explains one fact of a change to a person. Every text of the definition in
// it is shown with invisible characters escaped.
type Line struct {
	Path     string   `json:"path"`              // where in the definition, as a JSON Pointer without the first slash; "" is the whole
	Sentence string   `json:"sentence"`          // what it means, in plain words
	Was      string   `json:"was,omitempty"`     // JSON or a text of ours; long ones are cut
	Is       string   `json:"is,omitempty"`      // likewise
	Signals  []Signal `json:"signals,omitempty"` // what the fact is held for; none for one that passes
	Runs     []Run    `json:"runs,omitempty"`    // of a text that changed, word by word
}

// Run is a piece of a changed text.
type Run struct {
	Kind RunKind `json:"kind"`
	Text string  `json:"text"`
}

// RunKind says what became of a piece of text. Append-only.
type RunKind string

const (
	Kept    RunKind = "kept"
	Removed RunKind = "removed"
	Added   RunKind = "added"
)

// maxQuiet is how many lines a review has at most for what is not held.
const maxQuiet = 1000

// Review explains the change from the approved contract to the live one, line by
// line: first what it is held for, in the order of Compare, then everything else.
// Every signal of Compare stands on at least one line, and equal contracts give none.
func Review(approved, live contract.Contract) []Line { return Gate{}.Review(approved, live) }

// Review is the package's Review under the operator's class.
func (g Gate) Review(approved, live contract.Contract) []Line {
	facts := g.facts(&memory{}, approved, live)
	slices.SortStableFunc(facts, func(a, b fact) int { return compareSignals(a.signal, b.signal) })
	c := changes{told: map[string]bool{}}
	for _, f := range facts {
		c.held(f)
	}
	if approved.Parsable() && live.Parsable() {
		c.definition(approved.Root(), live.Root())
	}
	if len(c.lines) == 0 && !approved.Equal(live) {
		c.lines = append(c.lines, Line{Sentence: "Nothing changed but the order or the spelling of what is declared."})
	}
	if c.left > 0 {
		c.lines = append(c.lines, Line{Sentence: fmt.Sprintf("More changes that are not held: %d.", c.left)})
	}
	return c.lines
}

// changes collects the lines of a review.
type changes struct {
	lines []Line
	quiet int             // lines for what is not held
	left  int             // those that were too many
	paths int             // bytes of paths that were written
	told  map[string]bool // by path and keyword: it stands on a line already
}

// held adds the line of a fact that is held.
func (c *changes) held(f fact) {
	line := Line{Path: f.path(), Sentence: f.sentence(), Was: f.was.String(), Is: f.is.String(), Signals: []Signal{f.signal}}
	if f.signal.Reason == Unparsable {
		line.Is = "" // the sentence says it
	}
	if n := len(c.lines); n > 0 && sameLine(c.lines[n-1], line) {
		return
	}
	c.told[line.Path+"\x00"+f.keyword] = true
	c.lines = append(c.lines, line)
}

func sameLine(a, b Line) bool {
	return a.Path == b.Path && a.Sentence == b.Sentence && a.Was == b.Was && a.Is == b.Is && slices.Equal(a.Signals, b.Signals)
}

// add adds a line for what is not held, unless a held fact tells the same.
func (c *changes) add(path, keyword string, line Line) {
	switch {
	case c.told[path+"\x00"+keyword]:
		return
	case c.quiet >= maxQuiet:
		c.left++
		return
	}
	c.quiet++
	line.Path = path
	c.lines = append(c.lines, line)
}

// path is where a fact stands in the whole definition.
func (f fact) path() string {
	switch s := f.signal; s.Rule {
	case HintChange, HintSaferFlip:
		if s.Reason == "dispatch" {
			return "annotations"
		}
		return "annotations/" + s.Reason
	case SchemaShape:
		switch {
		case f.keyword == "" && s.Path == "#":
			return ""
		case s.Path == "#":
			return "inputSchema"
		}
		return "inputSchema/" + s.Path
	case OutputSchema:
		return "outputSchema"
	default: // Field
		return fieldPath(s.Reason)
	}
}
