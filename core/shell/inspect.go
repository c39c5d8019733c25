package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// findings is what reading some words does besides giving their text.
type findings struct {
	opaque string           // why it may run anything
	sets   []string         // variables with upper-case names that it sets
	lists  [][]*syntax.Stmt // substitutions
}

// Reasons why something is opaque, more than once used.
const (
	evaluates = "bash evaluates names in arithmetic and subscripts, and what they hold may run anything"
	indirect  = "${!...} and ${...@P} evaluate what a variable holds"
	special   = "it sets a variable whose value bash evaluates"
)

// mark keeps the first reason.
func (f *findings) mark(why string) {
	if f.opaque == "" {
		f.opaque = why
	}
}

// sets records that a variable is set to what is not known.
func (r *reader) sets(variable string, seen *findings) {
	r.names.add(variable)
	if evaluated(variable) {
		seen.mark(special)
	}
	if !lowerCase(variable) {
		seen.sets = append(seen.sets, variable)
	}
}

// evaluated reports whether bash evaluates what a variable is set to.
func evaluated(variable string) bool {
	switch variable {
	case "RANDOM", "SRANDOM", "HISTCMD", "OPTIND", "PS0", "PS1", "PS2", "PS4", "ENV", "PROMPT_COMMAND":
		return true
	}
	return strings.HasPrefix(variable, "BASH_")
}

// harmless reports whether a value may be given to a variable that bash evaluates.
func harmless(variable, value string) bool {
	return variable != "PROMPT_COMMAND" && !strings.HasPrefix(variable, "BASH_") && !strings.ContainsAny(value, "$`[")
}

// inspect looks through a node for what it runs, sets and evaluates.
func (r *reader) inspect(n syntax.Node, seen *findings) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			seen.lists = append(seen.lists, n.Stmts)
			return false
		case *syntax.ProcSubst:
			seen.lists = append(seen.lists, n.Stmts)
			return false
		case *syntax.ParamExp:
			r.parameter(n, seen)
		case *syntax.ArithmExp:
			if !numeric(n.X) {
				seen.mark(evaluates)
			}
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				seen.mark(evaluates)
			}
		case *syntax.BinaryTest:
			if arithmeticTest(n.Op) && !(numericTest(n.X) && numericTest(n.Y)) {
				seen.mark(evaluates)
			}
		}
		return true
	})
}

// arithmetic inspects an expression of (( )), let or a subscript; nil is none.
func (r *reader) arithmetic(x syntax.ArithmExpr, seen *findings) {
	if x == nil {
		return
	}
	if !numeric(x) {
		seen.mark(evaluates)
	}
	r.inspect(x, seen)
}

// parameter looks at one ${...}.
func (r *reader) parameter(n *syntax.ParamExp, seen *findings) {
	if n.Param == nil || n.NestedParam != nil || n.Flags != nil {
		seen.mark("it has an expansion that rules can't read")
		return
	}
	all := wholeArray(n.Index)
	// ${!x[@]} and ${!x*} are names; with anything behind they are what x names.
	if n.Excl && (n.Names == 0 && !all || n.Exp != nil || n.Slice != nil || n.Repl != nil) {
		seen.mark(indirect)
	}
	if n.Index != nil && !all && !numeric(n.Index) {
		seen.mark(evaluates)
	}
	if s := n.Slice; s != nil && (s.Offset != nil && !numeric(s.Offset) || s.Length != nil && !numeric(s.Length)) {
		seen.mark(evaluates)
	}
	if n.Exp == nil {
		return
	}
	switch n.Exp.Op {
	case syntax.OtherParamOps:
		if op := n.Exp.Word.Lit(); len(op) != 1 || !strings.Contains("QEAaUuLKk", op) {
			seen.mark(indirect)
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		r.names.any = r.names.any || n.Excl
		if n.Index != nil {
			r.names.array(n.Param.Value)
		}
		r.sets(n.Param.Value, seen)
	default:
	}
}

// wholeArray reports whether a subscript is @ or *.
func wholeArray(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// numeric reports whether an expression is made of numbers alone, so that bash has
// nothing to evaluate in it.
func numeric(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		return numericWord(x)
	case *syntax.ParenArithm:
		return numeric(x.X)
	case *syntax.UnaryArithm:
		return x.Op != syntax.Inc && x.Op != syntax.Dec && numeric(x.X)
	case *syntax.BinaryArithm:
		for {
			if !numeric(x.Y) {
				return false
			}
			next, ok := x.X.(*syntax.BinaryArithm)
			if !ok {
				return numeric(x.X)
			}
			x = next
		}
	}
	return false
}

// numericWord reports whether a word is a number: digits, $#, $?, ${#x}.
func numericWord(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if part.Value == "" || strings.Trim(part.Value, "0123456789") != "" {
				return false
			}
		case *syntax.ParamExp:
			if !numericParameter(part) {
				return false
			}
		case *syntax.ArithmExp:
			if !numeric(part.X) {
				return false
			}
		default:
			return false
		}
	}
	return len(w.Parts) > 0
}

// numericParameter reports whether an expansion gives digits.
func numericParameter(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Excl || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Names != 0 {
		return false
	}
	if p.Length {
		return true
	}
	switch p.Param.Value {
	case "#", "?", "$", "!":
		return true
	}
	return false
}

// arithmeticTest reports whether [[ ]] evaluates both sides of an operator.
func arithmeticTest(op syntax.BinTestOperator) bool {
	switch op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		return true
	default:
		return false
	}
}

// numericTest reports whether a side of a test is a number, in double quotes or not.
func numericTest(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	if !ok {
		return false
	}
	if len(w.Parts) == 1 {
		if q, quoted := w.Parts[0].(*syntax.DblQuoted); quoted {
			return numericWord(&syntax.Word{Parts: q.Parts})
		}
	}
	if lit := w.Lit(); strings.HasPrefix(lit, "-") {
		return strings.Trim(lit[1:], "0123456789") == "" && lit != "-"
	}
	return numericWord(w)
}

// report adds what findings hold: a part that is opaque, variables that are set, and
// what substitutions run.
func (r *reader) report(text string, seen *findings, p place, c situation) {
	if seen.opaque != "" {
		r.emit(Part{Text: text, Opaque: seen.opaque}, c)
	}
	for _, variable := range seen.sets {
		w := word{form: variable + "=" + string(rune(anyText)), text: variable + "=..."}
		r.emit(Part{Text: w.text, shape: &shape{form: join([]word{w}, always), vague: true}}, c)
	}
	c.aside = true
	for _, list := range seen.lists {
		r.statements(list, p, c)
	}
}

func always(int) bool { return true }
func nobody(int) bool { return false }

// trimmed is a piece of a script on one line.
func trimmed(text string) string { return strings.Join(strings.Fields(text), " ") }
