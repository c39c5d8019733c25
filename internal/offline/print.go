package offline

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/holdfast-mcp/holdfast/core/delta"
)

// tool is a tool of `holdfast diff --json`. The shape is stable.
type tool struct {
	Server      string   `json:"server,omitempty"` // where the input names servers
	Name        string   `json:"name"`
	Change      Change   `json:"change"`
	Held        bool     `json:"held"`
	TextChanged bool     `json:"text_changed"`
	Signals     []string `json:"signals"`
	Review      []line   `json:"review"`
}

// line is a line of a review, its signals printed.
type line struct {
	Path     string      `json:"path"`
	Sentence string      `json:"sentence"`
	Was      string      `json:"was,omitempty"`
	Is       string      `json:"is,omitempty"`
	Signals  []string    `json:"signals,omitempty"`
	Runs     []delta.Run `json:"runs,omitempty"`
}

// DiffJSON prints comparisons as one JSON document, each as it comes:
// {"tools": [...], "held": n}.
type DiffJSON struct {
	out  *document
	held int
}

// NewDiffJSON begins the document.
func NewDiffJSON(w io.Writer) *DiffJSON { return &DiffJSON{out: begin(w, "{\n  \"tools\": [")} }

// Add prints one comparison. It fails when it can't be written.
func (d *DiffJSON) Add(c Compared) error {
	if c.Held {
		d.held++
	}
	t := tool{c.Server, c.Name, c.Change, c.Held, c.TextChanged, printed(c.Signals), []line{}}
	for _, l := range c.Lines {
		t.Review = append(t.Review, line{l.Path, l.Sentence, l.Was, l.Is, printed(l.Signals), l.Runs})
	}
	return d.out.item(t)
}

// End ends the document.
func (d *DiffJSON) End() error {
	return d.out.end("],\n  \"held\": ", d.held)
}

// finding is one of `holdfast scan --json`. The shape is stable.
type finding struct {
	Check    string `json:"check"`
	Tier     string `json:"tier"`
	Path     string `json:"path"`
	Evidence string `json:"evidence"`
}

// scanned is a tool of `holdfast scan --json`. The shape is stable.
type scanned struct {
	Server   string    `json:"server"`
	Name     string    `json:"name"`
	Verdict  string    `json:"verdict"`
	Coverage string    `json:"coverage"`
	Findings []finding `json:"findings"`
}

// ScanJSON prints verdicts as one JSON document, each as it comes: {"tools": [...]}.
type ScanJSON struct{ out *document }

// NewScanJSON begins the document.
func NewScanJSON(w io.Writer) *ScanJSON { return &ScanJSON{out: begin(w, "{\n  \"tools\": [")} }

// Add prints one verdict. It fails when it can't be written.
func (d *ScanJSON) Add(s Scanned) error {
	t := scanned{s.Server, s.Name, VerdictWord(s.Verdict.Outcome), CoverageWord(s.Verdict.Complete), []finding{}}
	for _, f := range s.Verdict.Findings {
		t.Findings = append(t.Findings, finding{f.Check, TierWord(f.Tier), f.Path, f.Evidence})
	}
	return d.out.item(t)
}

// End ends the document.
func (d *ScanJSON) End() error { return d.out.end("]", nil) }

func printed(signals []delta.Signal) []string {
	all := make([]string, 0, len(signals))
	for _, s := range signals {
		all = append(all, s.String())
	}
	return all
}

// document is a JSON document that is mostly one long list, and is written item by
// item, so that a long input does not have to fit into memory. Two blanks a level.
type document struct {
	w     io.Writer
	items int
	err   error
}

func begin(w io.Writer, head string) *document {
	d := &document{w: w}
	d.text(head)
	return d
}

func (d *document) text(s string) {
	if d.err == nil {
		_, d.err = io.WriteString(d.w, s)
	}
}

// value writes v, whose first line follows on what is written.
func (d *document) value(v any, prefix string) {
	if d.err != nil {
		return
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, "  ")
	if d.err = e.Encode(v); d.err == nil {
		_, d.err = d.w.Write(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
	}
}

// item writes one item of the list, which stands one level deep.
func (d *document) item(v any) error {
	if d.items++; d.items > 1 {
		d.text(",")
	}
	d.text("\n    ")
	d.value(v, "    ")
	return d.err
}

// end closes the list and the object around it, with one more member.
func (d *document) end(tail string, last any) error {
	if d.items > 0 {
		d.text("\n  ")
	}
	d.text(tail)
	if last != nil {
		d.value(last, "  ")
	}
	d.text("\n}\n")
	return d.err
}
