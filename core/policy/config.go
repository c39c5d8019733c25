package policy

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/holdfast-mcp/holdfast/core/shell"
)

// Config is all that a policy is made of. All fields are required but those that may be
// empty by their nature. Paths are absolute and clean, with slashes on every system.
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
	Uncounted int        // allow rules that do not count, for the project is not trusted: only told of
}

// Policy decides. Immutable, safe for concurrent use. The nil Policy refuses everything.
type Policy struct {
	mode      Mode
	roots     []root
	home      string
	fold      bool
	confined  bool
	uncounted int
	contracts []Contract // strongest layer first
	rules     []Rule     // strongest layer first
	paths     [Allow + 1]pathLaw
	bash      [Allow + 1]bashLaw
	own       [][]string
	hooked    [][]string
}

// root is a folder that the policy is about. The names in lists are folded.
type root struct {
	path  string   // real
	as    string   // as it was given; empty where it is the same
	real  []string // of path
	given []string // of as; nil where it is the same
}

// pathLaw is the rules on paths of one effect.
type pathLaw struct {
	reading, editing table
	bare             map[Tool]int // of Write, Grep and Glob: the first rule
}

// bashLaw is the rules on commands of one effect, in order.
type bashLaw struct {
	bare     int // the first rule on all commands; none where there is none
	patterns shell.Table
	rules    []int // by pattern
}

// New makes a policy; it fails when something required is missing.
func New(c Config) (*Policy, error) {
	if _, err := ParseMode(string(c.Mode)); err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	p := &Policy{mode: c.Mode, home: c.Home, fold: c.FoldCase, confined: c.Confined, uncounted: c.Uncounted}
	if err := p.setRoots(c); err != nil {
		return nil, err
	}
	for _, own := range c.Own {
		p.own = append(p.own, p.names(own))
	}
	for _, hooked := range c.Hooked {
		p.hooked = append(p.hooked, p.names(hooked))
	}
	p.contracts = slices.Clone(c.Contracts)
	slices.SortStableFunc(p.contracts, func(a, b Contract) int { return cmp.Compare(a.at.Layer, b.at.Layer) })
	p.rules = slices.DeleteFunc(slices.Clone(c.Rules), func(r Rule) bool { return r.tool == "" })
	slices.SortStableFunc(p.rules, func(a, b Rule) int { return cmp.Compare(a.at.Layer, b.at.Layer) })
	if err := p.foldAll(); err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	p.setRules()
	return p, nil
}

// foldAll compiles the patterns anew where the file system folds names.
func (p *Policy) foldAll() error {
	if !p.fold {
		return nil
	}
	for i := range p.contracts {
		folded, err := p.contracts[i].folded()
		if err != nil {
			return err
		}
		p.contracts[i] = folded
	}
	for i := range p.rules {
		r := &p.rules[i]
		if r.bare || r.tool == Bash {
			continue
		}
		folded, err := r.path.folded()
		if err != nil {
			return fmt.Errorf("the pattern of rule %s (%s), as this file system folds names, %w", quoted(r.text), r.at, err)
		}
		r.path = folded
	}
	return nil
}

func (p *Policy) setRoots(c Config) error {
	if len(c.Roots) == 0 {
		return errors.New("policy: no workspace is given")
	}
	if len(c.Given) > len(c.Roots) {
		return errors.New("policy: more roots are given than there are real paths")
	}
	for _, list := range [][]string{c.Roots, c.Given, c.Own, c.Hooked, {c.Home}} {
		for _, abs := range list {
			if abs != path.Clean(abs) || !path.IsAbs(abs) || abs == "/" {
				return fmt.Errorf("policy: %s is not an absolute clean path below /", quoted(abs))
			}
		}
	}
	for i, real := range c.Roots {
		r := root{path: real, real: p.names(real)}
		if i < len(c.Given) && c.Given[i] != real {
			r.as, r.given = c.Given[i], p.names(c.Given[i])
		}
		p.roots = append(p.roots, r)
	}
	return nil
}

// names splits an absolute path as views have it.
func (p *Policy) names(abs string) []string {
	if p.fold {
		abs = foldName(abs)
	}
	return split(abs)
}

func (p *Policy) setRules() {
	for e := range p.paths {
		p.paths[e] = pathLaw{reading: newTable(), editing: newTable(), bare: map[Tool]int{}}
		p.bash[e].bare = none
	}
	var commands [Allow + 1][]shell.Pattern
	for i := range p.rules {
		r := &p.rules[i]
		paths, bash := &p.paths[r.effect], &p.bash[r.effect]
		switch r.tool {
		case Read:
			paths.reading.add(r, i)
		case Edit:
			paths.editing.add(r, i)
		case Write, Grep, Glob:
			if _, ok := paths.bare[r.tool]; !ok {
				paths.bare[r.tool] = i
			}
		case Bash:
			if !r.bare {
				commands[r.effect] = append(commands[r.effect], r.cmd)
				bash.rules = append(bash.rules, i)
			} else if bash.bare == none {
				bash.bare = i
			}
		}
	}
	for e := range commands {
		p.bash[e].patterns = shell.NewTable(commands[e])
	}
}

// first gives the first rule of an effect that speaks for what a tool does with a path.
// Of allow rules the path must be covered in every spelling, of the others in one.
func (p *Policy) first(e Effect, tool Tool, t *target) int {
	law := &p.paths[e]
	rule := none
	if bare, ok := law.bare[tool]; ok {
		rule = bare
	}
	every := e == Allow
	writes := tool == Write || tool == Edit
	if writes {
		rule = min(rule, law.editing.first(t, every))
	}
	if !writes || !every {
		rule = min(rule, law.reading.first(t, every))
	}
	return rule
}
