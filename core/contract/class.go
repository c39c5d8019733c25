package contract

import "fmt"

// Class is the dispatch class of a tool: what a caller must be permitted to do
// to call it. The zero Class is no class: nothing is permitted for it.
type Class byte

const (
	NoClass Class = iota
	Read
	Write
	Destructive
)

// String is the word used in configuration, tokens and the API: "read", "write"
// or "destructive"; "none" for the zero Class.
func (c Class) String() string {
	switch c {
	case Read:
		return "read"
	case Write:
		return "write"
	case Destructive:
		return "destructive"
	default:
		return "none"
	}
}

// ParseClass reads the word that String prints; case-sensitive. "none" is not accepted.
func ParseClass(s string) (Class, bool) {
	for _, c := range [...]Class{Read, Write, Destructive} {
		if s == c.String() {
			return c, true
		}
	}
	return NoClass, false
}

// Hints are the effective values of a tool's annotations, MCP's defaults filled in.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// hint is an annotation as it was written. Absent and null are the zero hint.
type hint byte

const (
	unsaid hint = iota
	no
	yes
)

// or gives the effective value.
func (h hint) or(otherwise bool) bool {
	if h == unsaid {
		return otherwise
	}
	return h == yes
}

// annotations are the hints as written.
type annotations struct{ readOnly, destructive, idempotent, openWorld hint }

// readAnnotations reads the hints of a tool (MCP 2025-11-25, ToolAnnotations).
// A hint that is neither boolean nor null could be read in two ways, so it is a
// problem.
func readAnnotations(root Value) (a annotations, problem string) {
	v, ok := root.Get("annotations")
	if !ok || v.kind == Null {
		return a, ""
	}
	if v.kind != Object {
		return a, "its annotations are no object: " + v.kind.String()
	}
	for _, known := range [...]struct {
		name string
		into *hint
	}{
		{"readOnlyHint", &a.readOnly},
		{"destructiveHint", &a.destructive},
		{"idempotentHint", &a.idempotent},
		{"openWorldHint", &a.openWorld},
	} {
		switch h, _ := v.Get(known.name); {
		case h.kind == Bool && h.boolean:
			*known.into = yes
		case h.kind == Bool:
			*known.into = no
		case h.kind != Null:
			return annotations{}, fmt.Sprintf("its annotation %s is neither true nor false: %s", known.name, h.kind)
		}
	}
	return a, ""
}

// Hints gives the effective hints (defaults: readOnly false, destructive true,
// idempotent false, openWorld true). An unparsable contract has the defaults,
// which claim nothing.
func (c Contract) Hints() Hints {
	return Hints{
		ReadOnly:    c.annot.readOnly.or(false),
		Destructive: c.annot.destructive.or(true),
		Idempotent:  c.annot.idempotent.or(false),
		OpenWorld:   c.annot.openWorld.or(true),
	}
}

// Class is the dispatch class of the tool. unannotated is the operator's class
// for a tool with neither readOnlyHint nor destructiveHint; NoClass counts as
// Destructive, and so does everything unparsable.
func (c Contract) Class(unannotated Class) Class {
	a := c.annot
	switch {
	case !c.Parsable():
		return Destructive
	case a.readOnly == unsaid && a.destructive == unsaid:
		if unannotated == Read || unannotated == Write {
			return unannotated
		}
		return Destructive
	case a.destructive == yes:
		return Destructive
	case a.readOnly == yes:
		return Read
	case a.destructive == unsaid:
		return Destructive // MCP's default
	}
	return Write
}

var classTerms = []Term{
	{Name: Read.String(), Label: "reads", Sentence: "A call changes nothing."},
	{Name: Write.String(), Label: "writes", Sentence: "A call changes something, and destroys nothing."},
	{Name: Destructive.String(), Label: "may destroy", Sentence: "A call may change or destroy something, or nobody said that it does not."},
}

// ClassTerms are the words for the dispatch classes.
func ClassTerms() []Term { return append([]Term(nil), classTerms...) }
