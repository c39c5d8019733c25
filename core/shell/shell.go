// Package shell reads a bash command as the parts that permission rules are held
// against, and rules' patterns as what they cover. Pure: nothing is run, and no disk
// is looked at. Specification: docs/design/workspace.md section 4.
package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// MaxCommand is the most bytes that a command may have.
const MaxCommand = 64 << 10

// maxParts is the most parts that a command may have: more than anybody writes, and few
// enough that a thousand rules are held against them in bounded time.
const maxParts = 4096

// Script is a command as rules see it: every simple command in it, in the order in
// which they are written, wherever it stands (operators, groups, loops, functions,
// substitutions, here-documents, wrappers). What a part holds (a substitution) follows
// it; a wrapper follows what it wraps.
type Script struct{ Parts []Part }

// Read parses a command as bash would. It fails for what does not parse, for more
// than MaxCommand bytes, and for what bash and the parser may read differently; the
// error says where and why in one sentence, and a command that fails is refused.
func Read(command string) (Script, error) {
	if len(command) > MaxCommand {
		return Script{}, fmt.Errorf("the command has %d bytes, and %d is the most: put it into a script", len(command), MaxCommand)
	}
	file, err := parse(command, syntax.LangBash)
	if err != nil {
		return Script{}, err
	}
	for known := new(names); ; {
		r := &reader{source: newSource(command, file), names: known}
		r.lines(file.Stmts, start(), situation{})
		switch {
		case r.err != nil:
			return Script{}, r.err
		case !known.again():
			return Script{Parts: r.parts}, nil
		}
	}
}

// Part is one simple command of a script, or a redirection or assignment that stands
// alone.
type Part struct {
	Text     string   // its words, unquoted and joined, as people and rules see it
	Opaque   string   // why it may be any command; empty when it is what it says
	Neutral  bool     // needs no rule, while every path of Inside lies inside the roots
	Inside   []Path   // folders that a neutral part goes to
	Accesses []Access // its redirections
	Shadow   bool     // for deny and ask alone, and so are its redirections: what it stands in needs the rule
	Runs     []Path   // files that it executes: a program's path, a script given to a shell or source

	*shape // what patterns are held against
}

// shape is a part as patterns see it. Immutable once read.
type shape struct {
	form   string    // its words as patterns see them, see form.go
	starts []int     // where else a deny or ask pattern may begin: after assignments, at a base name
	free   bool      // any word may start it (sudo)
	vague  bool      // something in the form is not literal
	sealed bool      // it runs what its later words say: only an exact or telling pattern covers it
	inner  string    // the program that runs in the end; empty when that is not known
	outers []outside // the wrappers that it stands in
}

// outside is a wrapper that a part stands in.
type outside struct {
	form   string
	script bool // the part is read from a script: only an exact pattern reaches it
}

// Access is a file that a redirection opens.
type Access struct {
	Path  Path
	Write bool
}

// Path is a path in a script. Text is joined to where literal cds led, relative to
// where the script starts, or absolute; "." and ".." and links in it are not resolved.
// Where several places are possible there is a Path for each.
type Path struct {
	Text    string
	Literal bool // false: Text is only for people, it may be any path
	Home    bool // Text is "~" or begins with "~/" and means the home directory; never Literal
}

// place is where a command may run: the folders that literal cds led to, the likeliest
// first, "" for where the script starts. With none and not lost, nothing runs there.
type place struct {
	dirs []string
	lost bool // it may be any folder
}

// Limits of what is followed before the place is lost: no path is longer.
const (
	maxDirs = 8
	maxDir  = 4096 // bytes of one
	maxUps  = 32   // ".." in one: each has to be looked up
)

func start() place   { return place{dirs: []string{""}} }
func nowhere() place { return place{} }
func lost() place    { return place{lost: true} }

// or is the place after either.
func (p place) or(q place) place {
	if p.lost || q.lost {
		return lost()
	}
	dirs := p.dirs
	for _, d := range q.dirs {
		if !has(dirs, d) {
			dirs = append(dirs[:len(dirs):len(dirs)], d)
		}
	}
	if len(dirs) > maxDirs {
		return lost()
	}
	return place{dirs: dirs}
}

func has(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// paths gives what a word means as a path, from here.
func (p place) paths(w word, home bool) []Path {
	text, ok := w.literal()
	switch {
	case ok && w.tilde && home && strings.HasPrefix(text+"/", "~/"):
		return []Path{{Text: text, Home: true}}
	case !ok || w.tilde:
		return []Path{{Text: w.text}}
	case strings.HasPrefix(text, "/"):
		return []Path{{Text: text, Literal: true}}
	case p.lost || len(p.dirs) == 0:
		return []Path{{Text: text}}
	}
	if strings.HasPrefix(text, "~") {
		text = "./" + text // a ~ that means itself
	}
	out := make([]Path, 0, len(p.dirs))
	for _, d := range p.dirs {
		out = append(out, joined(d, text))
	}
	return out
}

// joined is a path from a folder that a cd led to.
func joined(dir, text string) Path {
	switch {
	case dir == "":
		return Path{Text: text, Literal: true}
	case dir == "~" || strings.HasPrefix(dir, "~/"):
		return Path{Text: dir + "/" + text, Home: true}
	}
	return Path{Text: dir + "/" + text, Literal: true}
}
