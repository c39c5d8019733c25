package policy

import (
	"fmt"
)

// Contract is one file contract, parsed. The zero Contract has no opinion.
type Contract struct {
	at       Place
	defaults Axes
	rules    []clause
}

// clause is one rule of a contract, compiled.
type clause struct {
	ContractRule
	path pattern
}

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

// axis is a way of using a file.
type axis string

const (
	reading   axis = "read"
	writing   axis = "write"
	executing axis = "execute"
)

func (a Axes) of(x axis) Effect {
	switch x {
	case reading:
		return a.Read
	case writing:
		return a.Write
	case executing:
		return a.Execute
	}
	return Deny
}

func (a Axes) known() bool { return a.Read <= Allow && a.Write <= Allow && a.Execute <= Allow }

// NewContract checks and compiles a contract. folder and home are as for ParseRule.
func NewContract(s ContractSpec, folder, home string) (Contract, error) {
	c := Contract{at: s.At, defaults: s.Defaults}
	if !s.Defaults.known() {
		return Contract{}, fmt.Errorf("the defaults have an effect that does not exist: it must be one of allow, ask and deny")
	}
	for _, r := range s.Rules {
		where := fmt.Sprintf("the rule on %s", quoted(r.Glob))
		if r.Line > 0 {
			where += fmt.Sprintf(" (line %d)", r.Line)
		}
		if r.Axes == (Axes{}) {
			return Contract{}, fmt.Errorf("%s says nothing: give it at least one of read, write and execute", where)
		}
		if !r.Axes.known() {
			return Contract{}, fmt.Errorf("%s has an effect that does not exist: it must be one of allow, ask and deny", where)
		}
		p, err := parsePattern(r.Glob, folder, home)
		if err != nil {
			return Contract{}, fmt.Errorf("the glob of %s %w", where, err)
		}
		c.rules = append(c.rules, clause{r, p})
	}
	return c, nil
}

// folded is the contract for a file system that folds names.
func (c Contract) folded() (Contract, error) {
	rules := make([]clause, len(c.rules))
	for i, r := range c.rules {
		p, err := r.path.folded()
		if err != nil {
			return Contract{}, fmt.Errorf("the glob %s of the contract (%s), as this file system folds names, %w", quoted(r.Glob), c.at, err)
		}
		rules[i] = clause{r.ContractRule, p}
	}
	c.rules = rules
	return c, nil
}

// opinion is what a contract makes of a path.
type opinion struct {
	effect Effect
	rule   int // of the contract; -1 for the defaults
	axis   axis
}

// restricts reports whether o is a stronger opinion than other: deny before ask before
// the rest.
func (o opinion) restricts(other opinion) bool {
	return o.effect != NoEffect && o.effect != Allow && (other.effect == NoEffect || other.effect == Allow || o.effect < other.effect)
}

// or gives the opinion that decides of two: the stronger, or the first in the file.
func (o opinion) or(other opinion) opinion {
	first := other.effect == o.effect && other.rule >= 0 && (o.rule < 0 || other.rule < o.rule)
	if other.restricts(o) || first {
		return other
	}
	return o
}

// on gives the most restrictive opinion on one spelling of a path, over the axes; of
// equal ones the first. The defaults speak for each axis that no rule names, unless
// silent.
func (c *Contract) on(v *view, folder, silent bool, axes []axis) opinion {
	var most opinion
	named := make([]bool, len(axes))
	for i := range c.rules {
		r := &c.rules[i]
		if !v.matches(&r.path, folder) {
			continue
		}
		for n, x := range axes {
			effect := r.Axes.of(x)
			named[n] = named[n] || effect != NoEffect
			if o := (opinion{effect, i, x}); o.restricts(most) {
				most = o
			}
		}
	}
	for n, x := range axes {
		if o := (opinion{c.defaults.of(x), -1, x}); !silent && !named[n] && o.restricts(most) {
			most = o
		}
	}
	return most
}

// anywhere gives the most restrictive opinion on a path that can't be told: whatever
// it could meet.
func (c *Contract) anywhere(axes []axis) opinion {
	var most opinion
	for i := range c.rules {
		for _, x := range axes {
			if o := (opinion{c.rules[i].Axes.of(x), i, x}); o.restricts(most) {
				most = o
			}
		}
	}
	for _, x := range axes {
		if o := (opinion{c.defaults.of(x), -1, x}); o.restricts(most) {
			most = o
		}
	}
	return most
}

// name is how decisions name what decided.
func (c *Contract) name(o opinion) string {
	if o.rule < 0 {
		return "defaults." + string(o.axis)
	}
	return c.rules[o.rule].Glob
}

// place is where it stands.
func (c *Contract) place(o opinion) Place {
	at := c.at
	if o.rule >= 0 {
		at.Line = c.rules[o.rule].Line
	}
	return at
}

// words are the owner's, for the end of a sentence.
func (c *Contract) words(o opinion) string {
	if o.rule < 0 {
		return ""
	}
	words := ""
	if s := c.rules[o.rule].Reason; s != "" {
		words = "; its reason: " + shown(s)
	}
	if s := c.rules[o.rule].Owner; s != "" {
		words += "; its owner: " + shown(s)
	}
	return words
}
