package contract

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
func (c Class) String() string { panic("unwritten") }

// ParseClass reads the word that String prints; case-sensitive. "none" is not accepted.
func ParseClass(s string) (Class, bool) { panic("unwritten") }

// Hints are the effective values of a tool's annotations, MCP's defaults filled in.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// Hints gives the effective hints (defaults: readOnly false, destructive true,
// idempotent false, openWorld true).
func (c Contract) Hints() Hints { panic("unwritten") }

// Class is the dispatch class of the tool. unannotated is the operator's class
// for a tool with neither readOnlyHint nor destructiveHint; NoClass counts as
// Destructive, and so does everything unparsable.
func (c Contract) Class(unannotated Class) Class { panic("unwritten") }
