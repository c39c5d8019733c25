package shell

import (
	"regexp"
	"strings"
)

// hidden is the reason of builtins whose operands name what is run or evaluated.
const hidden = "it names a variable that is not plain, and bash evaluates what is in its subscript"

// builtin says why a builtin may run any command; empty when it does not.
func (r *reader) builtin(program string, run *command) string {
	args := run.words[1:]
	switch program {
	case "alias", "enable", "hash", "bind", "complete", "compgen", "compopt", "fc", "history":
		return "it changes what commands mean, or runs a command that it is given"
	case "let":
		return evaluates
	case "jobs":
		return when(some(args, func(w word) bool { return !w.exact || strings.HasPrefix(w.form, "-") && strings.Contains(w.form, "x") }),
			"jobs -x runs a command")
	case "mapfile", "readarray":
		return mapped(args)
	case "printf":
		return formatted(args)
	case "read":
		return named(args, "ersE", "adinNptu", "a")
	case "getopts":
		if len(args) < 2 {
			return ""
		}
		return plainNames(args[1:2])
	case "wait":
		return waited(args)
	case "unset":
		return named(args, "fvn", "", "")
	case "declare", "typeset", "local", "export", "readonly":
		return r.declared(program, args)
	case "test":
		return tested(args)
	case "[":
		if len(args) > 0 && args[len(args)-1].is("]") {
			args = args[:len(args)-1]
		}
		return tested(args)
	case "source", ".":
		return sourced(args)
	}
	return ""
}

func when(yes bool, why string) string {
	if yes {
		return why
	}
	return ""
}

func some(list []word, yes func(word) bool) bool {
	for _, w := range list {
		if yes(w) {
			return true
		}
	}
	return false
}

// sourced says why a source may run anything: its file is not a literal one.
func sourced(args []word) string {
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	return when(len(args) > 0 && (!args[0].exact || streamed(args[0].form)), "the script that it reads is not a file known by name")
}

// streamed reports whether a path is a descriptor rather than a file.
func streamed(path string) bool {
	return strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") || strings.Contains(path, "/fd/") || path == "-"
}

// plainNames says why operands are not names of variables alone.
func plainNames(args []word) string {
	for _, w := range args {
		variable, rest, ok := splitName(w)
		switch {
		case !ok || rest != "" || !w.exact:
			return hidden
		case evaluated(variable):
			return special
		}
	}
	return ""
}

// named looks at a builtin whose operands, and the values of some options, are names.
func named(args []word, flags, valued, naming string) string {
	for i := 0; i < len(args); i++ {
		text, ok := args[i].literal()
		switch {
		case !ok:
			return hidden
		case text == "--":
			return plainNames(args[i+1:])
		case len(text) < 2 || text[0] != '-':
			return plainNames(args[i:])
		}
		for k := 1; k < len(text); k++ {
			o := text[k]
			if strings.IndexByte(flags, o) >= 0 {
				continue
			}
			if strings.IndexByte(valued, o) < 0 {
				return "it has an option that rules do not know"
			}
			value := plainWord(text[k+1:])
			if k+1 == len(text) {
				if i++; i == len(args) {
					return ""
				}
				value = args[i]
			}
			if value.many {
				return hidden
			}
			if strings.IndexByte(naming, o) >= 0 {
				if why := plainNames([]word{value}); why != "" {
					return why
				}
			}
			break
		}
	}
	return ""
}

// waited looks at wait: -p sets a variable, and what follows the options are processes.
func waited(args []word) string {
	for i, w := range args {
		switch {
		case w.text == "$!" || w.text == `"$!"`:
		case !w.exact:
			return hidden
		case !strings.HasPrefix(w.form, "-"):
			return ""
		case strings.Contains(w.form, "p"):
			return named(args[i:min(i+2, len(args))], "nf", "p", "p")
		}
	}
	return ""
}

// mapped looks at mapfile, which may call a command for each line.
func mapped(args []word) string {
	for _, w := range args {
		if !w.exact || strings.HasPrefix(w.form, "-") && strings.Contains(w.form, "C") {
			return "mapfile -C runs a command"
		}
	}
	return named(args, "t", "dnOscu", "")
}

// counting is the directive of printf that sets a variable to a number of characters.
var counting = regexp.MustCompile(`%[-+ #0-9.*']*[hlLjzt]*n`)

// counts reports whether printf may set the variables that its later words name: by %n.
func counts(args []word) bool {
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if len(args) < 2 {
		return false
	}
	format, ok := args[0].literal()
	return !ok || counting.MatchString(strings.ReplaceAll(format, "%%", ""))
}

// formatted looks at printf: -v sets a variable, and so does %n.
func formatted(args []word) string {
	if len(args) == 0 {
		return ""
	}
	p := args[0].prefix()
	switch {
	case args[0].is("-v"):
		if len(args) < 2 {
			return ""
		}
		return plainNames(args[1:2])
	case strings.HasPrefix(p, "-v"):
		if !args[0].exact {
			return hidden
		}
		return plainNames([]word{plainWord(p[2:])})
	case !args[0].exact && strings.HasPrefix("-v", p):
		return "its format is not literal and may be -v: write printf -- or a literal format"
	case counts(args):
		return "its format may set a variable, by %n: write a literal format without it"
	}
	return ""
}

// declared looks at declare and its kin.
func (r *reader) declared(program string, args []word) string {
	options, compound := true, false
	for _, w := range args {
		p := w.prefix()
		if options && p != "" && (p[0] == '-' || p[0] == '+') {
			switch {
			case !w.exact:
				return hidden
			case p == "--":
				options = false
			case strings.ContainsAny(p, "in"):
				if program != "export" {
					return evaluates
				}
			case strings.ContainsAny(p, "aA"):
				compound = true
			}
			continue
		}
		options = false
		if why := r.declares(program, w, compound); why != "" {
			return why
		}
	}
	return ""
}

// declares looks at one operand of a declaration. A value that begins with "(" is
// evaluated once more where the variable is an array.
func (r *reader) declares(program string, w word, compound bool) string {
	variable, rest, ok := splitName(w)
	if !ok || strings.HasPrefix(rest, "[") || w.gone {
		return hidden
	}
	if rest == "" {
		return ""
	}
	value := strings.TrimPrefix(strings.TrimPrefix(rest, "+"), "=")
	if evaluated(variable) && !(w.exact && harmless(variable, value)) {
		return special
	}
	again := !w.array && value != "" && (value[0] == '(' || mark(value[0]))
	if again && (compound || program != "export" && program != "readonly" && r.arrays(variable)) {
		return "bash evaluates a value in parentheses for an array: give it without quotes"
	}
	return ""
}

// arrays reports whether a variable may be an array by the time that it is declared.
func (r *reader) arrays(variable string) bool {
	return !lowerCase(variable) || r.mentions(variable+"=(") || r.mentions(variable+"+=(") || r.mentions(variable+"[") ||
		r.mentions("read -") || r.mentions("readarray") || r.mentions("mapfile") || r.mentions("coproc") ||
		r.mentions("declare -") || r.mentions("typeset -") || r.mentions("local -") || r.mentions("readonly -")
}
