// Package shell reads a bash command as the parts that permission rules are held
// against, and rules' patterns as what they cover. Pure: nothing is run, and no disk
// is looked at. Specification: docs/design/workspace.md section 4.
package shell

import _ "mvdan.cc/sh/v3/syntax" // placeholder

// MaxCommand is the most bytes that a command may have.
const MaxCommand = 64 << 10

// Script is a command as rules see it: every simple command in it, in the order in
// which they are written, wherever it stands (operators, groups, loops, functions,
// substitutions, here-documents, wrappers).
type Script struct{ Parts []Part }

// Read parses a command as bash would. It fails for what does not parse, for more
// than MaxCommand bytes, and for what bash and the parser may read differently; the
// error says where and why in one sentence, and a command that fails is refused.
func Read(command string) (Script, error) { panic("unwritten") }

// Part is one simple command of a script, or a redirection or assignment that stands
// alone.
type Part struct {
	Text     string   // its words, unquoted and joined, as people and rules see it
	Opaque   string   // why it may be any command; empty when it is what it says
	Neutral  bool     // needs no rule, while every path of Inside lies inside the roots
	Inside   []Path   // folders that a neutral part goes to
	Accesses []Access // its redirections
	Runs     []Path   // files that it executes: a program's path, a script given to a shell or source

	// The rest is the package's own: words, assignments, wrappers.
}

// Access is a file that a redirection opens.
type Access struct {
	Path  Path
	Write bool
}

// Path is a path in a script. Text is joined to where literal cds led, relative to
// where the script starts, or absolute; "." and ".." and links in it are not resolved.
type Path struct {
	Text    string
	Literal bool // false: Text is only for people, it may be any path
}

// Pattern is what stands between the parentheses of a Bash rule.
type Pattern struct{}

// ParsePattern reads a pattern. The error says what is wrong in one sentence.
func ParsePattern(text string) (Pattern, error) { panic("unwritten") }

// Covers reports whether the part is certainly one that the pattern means: for allow
// rules. It is false for every opaque part.
func (p Pattern) Covers(part Part) bool { panic("unwritten") }

// May reports whether the part could be one that the pattern means: for deny and ask
// rules. It is true for every opaque part.
func (p Pattern) May(part Part) bool { panic("unwritten") }

// AnyProgram says how the pattern lets any program be run (an interpreter with free
// arguments, say: "python *"); empty when it does not. For the banner only.
func (p Pattern) AnyProgram() string { panic("unwritten") }
