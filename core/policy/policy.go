// Package policy is the law of the local workspace: permission rules, modes, the file
// contract, protected paths and containment. It decides, explains, and does nothing:
// links are resolved by what it is given. Specification: docs/design/workspace.md.
package policy

// Tool is a tool of the workspace.
type Tool string

// The tools that rules speak of.
const (
	Read  Tool = "Read"
	Write Tool = "Write"
	Edit  Tool = "Edit"
	Bash  Tool = "Bash"
	Grep  Tool = "Grep"
	Glob  Tool = "Glob"
)

// Layer is where a setting stands, the strongest first. The zero Layer is none.
type Layer uint8

// The layers.
const (
	NoLayer Layer = iota
	Managed
	CommandLine
	User
	ProjectLocal
	Project
)

// String gives "managed", "command line", "user", "project-local", "project".
func (l Layer) String() string { panic("unwritten") }

// Place is where something is written down.
type Place struct {
	Layer Layer
	File  string // path; empty for the command line
	Line  int    // from 1; 0 when unknown
}

// Effect is what a rule does. The zero Effect is none and no rule has it.
type Effect uint8

// The effects.
const (
	NoEffect Effect = iota
	Deny
	Ask
	Allow
)

// Rule is one permission rule. The zero Rule matches nothing.
type Rule struct{}

// ParseRule reads a rule. folder is the project's real path where the rule stands in a
// project's settings, and empty elsewhere: "/p" is then an error. home is what "~/"
// means. The error says what is wrong and names the right rule where there is one.
func ParseRule(text string, effect Effect, at Place, folder, home string) (Rule, error) {
	panic("unwritten")
}

// Text is the rule as written.
func (r Rule) Text() string { panic("unwritten") }

// Place is where the rule stands.
func (r Rule) Place() Place { panic("unwritten") }

// AnyProgram says how an allow rule lets any program be run; empty when it does not.
func (r Rule) AnyProgram() string { panic("unwritten") }

// Mode says what happens to what no rule decides. The zero Mode is none.
type Mode string

// The modes.
const (
	Default     Mode = "default"
	AcceptEdits Mode = "acceptEdits"
	Plan        Mode = "plan"
	DontAsk     Mode = "dontAsk"
	Bypass      Mode = "bypassPermissions"
)

// ParseMode reads a mode's name; the error names the nearest.
func ParseMode(name string) (Mode, error) { panic("unwritten") }

// Choice is what an unattended entry knows when the mode is settled.
type Choice struct {
	Flag       Mode   // of --mode; empty when not given
	Configured Mode   // of the strongest layer that has defaultMode and counts; empty when none has
	At         Place  // of Configured
	Trusted    bool   // the project is trusted
	Root       bool   // root outside a container
	Forbidden  *Place // where a layer sets disableBypassPermissionsMode
}

// Clamp says that a configured mode was not taken. The zero Clamp says nothing.
type Clamp struct {
	From, To Mode
	At       Place
}

// Unattended settles the mode of an entry with nobody attached. It is the one clamp:
// every unattended entry uses it. It fails where --mode asks for what it may not.
func Unattended(c Choice) (Mode, Clamp, error) { panic("unwritten") }

// Contract is one file contract, parsed. The zero Contract has no opinion.
type Contract struct{}

// ContractSpec is a contract as its file says it.
type ContractSpec struct {
	At       Place
	Defaults Axes
	Rules    []ContractRule
}

// Axes has an opinion for each way of using a file; NoEffect is none.
type Axes struct{ Read, Write, Execute Effect }

// ContractRule is one rule of a contract.
type ContractRule struct {
	Glob          string
	Axes          Axes
	Owner, Reason string
	Line          int
}

// NewContract checks and compiles a contract. folder and home are as for ParseRule.
func NewContract(s ContractSpec, folder, home string) (Contract, error) { panic("unwritten") }

// Config is all that a policy is made of. All fields are required but those that may be
// empty by their nature.
type Config struct {
	Mode      Mode
	Rules     []Rule     // strongest layer first, then by place
	Contracts []Contract // of the project and the user
	Roots     []string   // real paths; the workspace first, then additional directories
	Given     []string   // the roots as they were given, where that differs (/tmp of a mac)
	Home      string     // real path
	Own       []string   // real paths of this program's own files: never written
	Hooked    []string   // real paths that hooks' commands name: protected
	Confined  bool       // Bash runs in a sandbox with a /tmp of its own
	FoldCase  bool       // the file system takes names that differ in case or Unicode form for one
}

// Policy decides. Immutable, safe for concurrent use. The nil Policy refuses everything.
type Policy struct{}

// New makes a policy; it fails when something required is missing.
func New(c Config) (*Policy, error) { panic("unwritten") }

// Files resolves paths.
type Files interface {
	// Real gives a path with every link resolved, as far as it exists, and the rest as
	// written. It fails for a loop, or when it can't tell.
	Real(path string) (string, error)
}

// Call is what is asked for, its arguments checked already.
type Call struct {
	Tool    Tool
	Path    string // as given; of Grep and Glob empty for the workspace
	Command string // of Bash
}

// Outcome of a judgement. The zero Outcome refuses.
type Outcome uint8

// The outcomes.
const (
	Refused Outcome = iota
	Asked           // somebody would be asked
	Allowed
)

// Stage is the step of the dispatcher that decided.
type Stage string

// The stages.
const (
	StageStart     Stage = "start"
	StageArguments Stage = "arguments"
	StageSandbox   Stage = "sandbox"
	StageContract  Stage = "contract"
	StageRules     Stage = "rules"
	StageMode      Stage = "mode"
	StageHooks     Stage = "hooks"
	StageAsk       Stage = "ask"
)

// Decision is what was decided, by what, and what to do about it.
type Decision struct {
	Outcome Outcome
	Stage   Stage
	Rule    string // the rule as written, a contract's glob, "defaults.AXIS", "protected:NAME"; empty when none decided
	At      Place  // of the rule
	Reason  string // one sentence
	Remedy  string // what the owner can do; empty when nothing
	Parts   []PartDecision
	Paths   []Resolved // what was judged, in the order of the call: what is opened must be these
}

// PartDecision is the decision on one part of a command.
type PartDecision struct {
	Text    string
	Outcome Outcome
	Rule    string
}

// Resolved is a path as it was judged.
type Resolved struct {
	Given string
	Real  string // below one of the roots
	Root  int    // which
}

// Judge decides a call: containment, contract, protected paths, rules, mode; not the
// arguments and not the hooks. An Asked decision has the stage StageAsk and its reason
// names the fix.
func (p *Policy) Judge(c Call, files Files) Decision { panic("unwritten") }

// Readable reports whether search results may show a path: real is its real path, given
// the path under the search root that led there.
func (p *Policy) Readable(given, real string) bool { panic("unwritten") }

// Reach is what a confined command may do with a path.
type Reach uint8

// The reaches.
const (
	Hidden Reach = iota
	ReadOnly
	Writable
)

// Reach gives the reach of a real path inside the roots, for the sandbox. Whole says
// that everything below has the same or less, so that a walk may stop there.
func (p *Policy) Reach(real string, folder bool) (r Reach, whole bool) { panic("unwritten") }

// Ignore is the patterns of one .gitignore file, for search results. Its patterns are
// those of rules, and "!" takes back.
type Ignore struct{}

// ParseIgnore reads a .gitignore file; as git does, it passes over what it can't read.
func ParseIgnore(text []byte) Ignore { panic("unwritten") }

// Match reports whether a path relative to the file's folder is ignored, and whether
// any pattern spoke.
func (i Ignore) Match(path string, folder bool) (ignored, spoke bool) { panic("unwritten") }
