// Package delta compares a changed contract with the approved one, structurally:
// no signal means that the model is told to send nothing more, and the tool
// accepts nothing more, than was approved. Specification: docs/design/structural-gate.md.
package delta

// Rule is the first part of a printed signal. Append-only.
type Rule string

const (
	HintChange    Rule = "GATE-HINT-CHANGE"
	HintSaferFlip Rule = "GATE-HINT-SAFER-FLIP"
	SchemaShape   Rule = "GATE-SCHEMA-SHAPE"
	OutputSchema  Rule = "GATE-OUTPUT-SCHEMA"
	Field         Rule = "GATE-FIELD"
	Unavailable   Rule = "GATE-UNAVAILABLE" // the comparison could not be made: it holds
)

// Reasons of SchemaShape (docs/design/structural-gate.md section 4). Append-only.
const (
	ApprovedUnknown      = "approved-unknown"
	Unparsable           = "unparsable"
	NewRequired          = "new-required"
	RequiredDropped      = "required-dropped"
	Type                 = "type"
	Ref                  = "ref"
	EnumAdded            = "enum-added"
	EnumDropped          = "enum-dropped"
	EnumIntroduced       = "enum-introduced"
	Const                = "const"
	Default              = "default"
	Pattern              = "pattern"
	Format               = "format"
	Bound                = "bound"
	AdditionalProperties = "additional-properties"
	NewProperty          = "new-property"
	AnyOfGrew            = "anyOf-grew"
	OneOfGrew            = "oneOf-grew"
	OneOfChanged         = "oneOf-changed"
	AllOfShrank          = "allOf-shrank"
	ItemsForm            = "items-form"
	Not                  = "not"
	Conditional          = "conditional"
	Dependent            = "dependent"
	Keyword              = "keyword"
)

// Reasons of OutputSchema.
const (
	OutputAdded   = "added"
	OutputRemoved = "removed"
	OutputChanged = "changed"
)

// Signal is one reason to hold a change. Reason is the hint, the schema reason,
// the output verb or the field; Path is the place in the input schema, for
// SchemaShape alone; Old and New are set for hints. Names of the definition
// stand in Reason and Path with what can't be seen escaped, so that no name can
// forge a line.
type Signal struct {
	Rule   Rule   `json:"rule"`
	Reason string `json:"reason,omitempty"`
	Path   string `json:"path,omitempty"`
	Old    string `json:"old,omitempty"`
	New    string `json:"new,omitempty"`
}

// String prints the signal as people and records see it.
func (s Signal) String() string {
	switch {
	case s.Old != "" || s.New != "":
		return string(s.Rule) + ":" + s.Reason + ":" + s.Old + ">:" + s.New
	case s.Path != "":
		return string(s.Rule) + ":" + s.Reason + ":" + s.Path
	case s.Reason != "":
		return string(s.Rule) + ":" + s.Reason
	}
	return string(s.Rule)
}

// signalsOf gives the signals of facts in order, each once; nil when there are none.
func signalsOf(facts []fact) []Signal {
	var signals []Signal
	for _, f := range facts {
		signals = append(signals, f.signal)
	}
	return Merge(signals)
}
