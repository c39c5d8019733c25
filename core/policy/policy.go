// Package policy is the law of the local workspace: permission rules, modes, the file
// contract, protected paths and containment. It decides, explains, and does nothing:
// links are resolved by what it is given. Specification: docs/design/workspace.md.
package policy

import "fmt"

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
func (l Layer) String() string {
	switch l {
	case Managed:
		return "managed"
	case CommandLine:
		return "command line"
	case User:
		return "user"
	case ProjectLocal:
		return "project-local"
	case Project:
		return "project"
	case NoLayer:
	}
	return "unknown layer"
}

// Place is where something is written down.
type Place struct {
	Layer Layer
	File  string // path; empty for the command line
	Line  int    // from 1; 0 when unknown
}

// String says where, as reasons do: "user, /owner/.config/holdfast/settings.json line 3".
func (p Place) String() string {
	s := p.Layer.String()
	if p.File != "" {
		s += ", " + shown(p.File)
		if p.Line > 0 {
			s += fmt.Sprintf(" line %d", p.Line)
		}
	}
	return s
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

// String gives "deny", "ask", "allow".
func (e Effect) String() string {
	switch e {
	case Deny:
		return "deny"
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	case NoEffect:
	}
	return "none"
}
