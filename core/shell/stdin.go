package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// hunger is what a command of a script may do to the standard input, where that is what
// the shell reads the script from.
type hunger uint8

const (
	none     hunger = iota
	lines           // whole lines of the script, or all that is left of it
	reads           // a part of the script, so that the shell goes on anywhere in it
	replaces        // it by another
)

// wholesome are programs that take all of their standard input, whole lines of it, or
// nothing, and write to no file that an argument names but by the text of that argument.
// Of every other it is taken that it reads a part of a line.
var wholesome = map[string]bool{
	"git": true, "npm": true, "npx": true, "yarn": true, "pnpm": true, "bun": true, "make": true, "go": true, "cargo": true, "pytest": true,
	"pip": true, "pip3": true, "uv": true, "tsc": true, "eslint": true, "prettier": true, "jest": true, "vitest": true, "mvn": true,
	"gradle": true, "dotnet": true, "rm": true, "chmod": true, "cat": true, "grep": true, "rg": true, "wc": true, "diff": true, "date": true,
}

// leads reports whether a word of a command may name the standard input: it is not
// literal, or it is a path to streams.
func leads(w *syntax.Word, lax bool) bool {
	var text strings.Builder
	for _, part := range w.Parts {
		if !constant(part) {
			if lax {
				continue
			}
			return true
		}
		switch part := part.(type) {
		case *syntax.Lit:
			text.WriteString(strings.ReplaceAll(part.Value, `\`, ""))
		case *syntax.SglQuoted:
			if part.Dollar {
				return true
			}
			text.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, p := range part.Parts {
				if lit, ok := p.(*syntax.Lit); ok {
					text.WriteString(lit.Value)
				}
			}
		}
	}
	t := text.String()
	return strings.Contains(t, "/dev") || strings.Contains(t, "/proc") || streamed(t)
}

// oneRead is the most bytes of a script of which a program that reads at all surely takes
// all or whole lines: fewer than it reads at once.
const oneRead = 1000

// quiet are commands that leave the standard input alone.
var quiet = map[string]bool{
	":": true, "[": true, "break": true, "cd": true, "continue": true, "echo": true, "exit": true, "false": true, "kill": true, "ls": true,
	"mkdir": true, "printf": true, "pwd": true, "return": true, "set": true, "shift": true, "sleep": true, "test": true, "touch": true,
	"true": true, "type": true, "umask": true, "unset": true, "wait": true,
}

// eats reports whether a script on a shell's standard input may be read otherwise than
// from its begin to its end. A shell reads no further than the line that it runs: what
// comes after may begin anywhere, once a command has read a part of it.
func eats(file *syntax.File, text string, funcs map[string]bool) bool {
	for _, s := range file.Stmts {
		switch appetite(s, funcs) {
		case replaces:
			return true
		case lines, reads:
			_, after, _ := strings.Cut(text[s.End().Offset():], "\n")
			if strings.TrimSpace(after) != "" && (appetite(s, funcs) == reads || len(after) > oneRead || !separate(file)) {
				return true
			}
		case none:
		}
	}
	return false
}

// separate reports whether each line of a script means the same whether those before it
// are run or not.
func separate(file *syntax.File) bool {
	apart := !slices.ContainsFunc(file.Stmts, func(s *syntax.Stmt) bool { return s.Pos().Line() != s.End().Line() })
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl, *syntax.DeclClause:
			apart = false
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				program := n.Args[0].Lit()
				apart = apart && program != "" && (!movers[program] || program == "set")
			}
		case *syntax.Redirect:
			apart = apart && n.Hdoc == nil
		}
		return apart
	})
	return apart
}

// appetite gives the most that anything in a node may do to the standard input.
func appetite(n syntax.Node, funcs map[string]bool) hunger {
	most := none
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			most = max(most, statementAppetite(n, funcs))
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				most = max(most, appetite(n.X, funcs))
				if appetite(n.Y, funcs) == replaces { // otherwise it reads the pipe
					most = replaces
				}
				return false
			}
		case *syntax.ForClause:
			if n.Select {
				most = max(most, reads)
			}
		}
		return true
	})
	return most
}

// statementAppetite gives what a statement may do to the standard input by its
// redirections, or as a simple command.
func statementAppetite(s *syntax.Stmt, funcs map[string]bool) hunger {
	inputs, apart := 0, false
	for _, rd := range s.Redirs {
		switch {
		case output(rd):
			continue
		case rd.N != nil && rd.N.Value != "0" || rd.Op != syntax.RdrIn && rd.Op != syntax.DplIn && rd.Hdoc == nil && rd.Op != syntax.WordHdoc:
			return replaces // another descriptor may be the standard input, or the script be written to
		}
		inputs++
		apart = rd.Op != syntax.DplIn && (rd.Op != syntax.RdrIn || rd.Word.Lit() == "/dev/null")
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return none
	}
	own := called(call, funcs)
	switch {
	case call.Args[0].Lit() == "exec" && inputs > 0:
		return replaces
	case (own == reads || own == lines) && apart && inputs == 1:
		return none
	}
	return own
}

// output reports whether a redirection surely has nothing to do with the standard input.
func output(rd *syntax.Redirect) bool {
	if rd.N != nil && rd.N.Value == "0" {
		return false
	}
	to := rd.Word.Lit()
	switch rd.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		return to != "" && !streamed(to)
	case syntax.DplOut:
		return to == "1" || to == "2" || to == "-"
	default:
		return false
	}
}

// called gives what a simple command may do to the standard input.
func called(call *syntax.CallExpr, funcs map[string]bool) hunger {
	switch program := call.Args[0].Lit(); program {
	case "", "eval", "builtin", "trap":
		return replaces
	case "command":
		if len(call.Args) > 1 && (call.Args[1].Lit() == "-v" || call.Args[1].Lit() == "-V") {
			return none
		}
		return replaces
	case "exec":
		if len(call.Args) == 1 {
			return none
		}
		return reads
	default:
		known := (quiet[program] || wholesome[program]) && !funcs[program]
		for _, w := range call.Args[1:] {
			if !quiet[program] && leads(w, known) || program == "cd" && leads(w, false) {
				return replaces
			}
		}
		switch {
		case !known:
			return reads
		case quiet[program]:
			return none
		}
		return lines
	}
}
