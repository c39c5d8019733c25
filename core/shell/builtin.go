package shell

import (
	"path"
	"regexp"
	"strings"
)

// hidden is the reason of builtins whose operands name what is run or evaluated.
const hidden = "it names a variable that is not plain, and bash evaluates what is in its subscript"

// builtin says why a builtin may run any command; empty when it does not. Of variables
// that it sets seen keeps those with upper-case names.
func (r *reader) builtin(program string, run *command, seen *findings) string {
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
		return r.mapped(args, seen)
	case "printf":
		return r.formatted(args, seen)
	case "read":
		return r.named(args, "ersE", "adinNptu", "a", seen)
	case "getopts":
		return r.gets(args, seen)
	case "wait":
		return r.waited(args, seen)
	case "unset":
		return r.unsets(args, seen)
	case "declare", "typeset", "local", "export", "readonly":
		return r.declared(program, args)
	case "test":
		return r.tested(args)
	case "[":
		if len(args) > 0 && args[len(args)-1].is("]") {
			args = args[:len(args)-1]
		}
		return r.tested(args)
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

// streamed reports whether a path may be a descriptor rather than a file, wherever it
// begins.
func streamed(name string) bool {
	clean := strings.ToLower(path.Clean(name)) // some file systems fold
	switch base := path.Base(clean); {
	case base == "stdin" || base == "stdout" || base == "stderr" || base == "-" || strings.Trim(base, "0123456789") == "":
		return true
	}
	return strings.HasPrefix(clean, "/dev/") || strings.HasPrefix(clean, "/proc/") || strings.Contains(clean, "/fd/")
}

// plainNames says why operands are not names of variables alone, and records that they
// are set; seen is nil where they are only looked at.
func (r *reader) plainNames(args []word, seen *findings) string {
	for _, w := range args {
		variable, rest, ok := splitName(w)
		switch {
		case !ok || rest != "" || !w.exact:
			return hidden
		case evaluated(variable):
			return special
		case seen != nil:
			r.sets(variable, seen)
		}
	}
	return ""
}

// named looks at a builtin whose operands, and the values of some options, are names.
func (r *reader) named(args []word, flags, valued, naming string, seen *findings) string {
	rest, why := r.options(args, flags, valued, naming, seen)
	if why != "" {
		return why
	}
	return r.plainNames(rest, seen)
}

// options looks at a builtin's options, of which the values of some are names, and gives
// the operands.
func (r *reader) options(args []word, flags, valued, naming string, seen *findings) (rest []word, why string) {
	for i := 0; i < len(args); i++ {
		text, ok := args[i].literal()
		switch {
		case !ok:
			return nil, hidden
		case text == "--":
			return args[i+1:], ""
		case len(text) < 2 || text[0] != '-':
			return args[i:], ""
		}
		for k := 1; k < len(text); k++ {
			o := text[k]
			if strings.IndexByte(flags, o) >= 0 {
				continue
			}
			if strings.IndexByte(valued, o) < 0 {
				return nil, "it has an option that rules do not know"
			}
			value := plainWord(text[k+1:])
			if k+1 == len(text) {
				if i++; i == len(args) {
					return nil, ""
				}
				value = args[i]
			}
			if value.many {
				return nil, hidden
			}
			if strings.IndexByte(naming, o) >= 0 {
				if why := r.plainNames([]word{value}, seen); why != "" {
					return nil, why
				}
				r.names.array(value.form)
			}
			break
		}
	}
	return nil, ""
}

// gets looks at getopts, whose second operand is a name.
func (r *reader) gets(args []word, seen *findings) string {
	if len(args) == 0 {
		return ""
	}
	if options := args[0]; !options.exact && len(args) > 2 && (options.many || strings.HasPrefix("--", options.prefix())) {
		return hidden
	}
	if args[0].is("--") {
		args = args[1:]
	}
	return r.plainNames(args[min(1, len(args)):min(2, len(args))], seen)
}

// waited looks at wait: -p sets a variable, and what follows the options are processes.
func (r *reader) waited(args []word, seen *findings) string {
	var known []word
	for _, w := range args {
		if w.text != "$!" && w.text != `"$!"` { // a number, or nothing
			known = append(known, w)
		}
	}
	_, why := r.options(known, "nf", "p", "p", seen)
	return why
}

// unsets looks at unset. Without a PATH bash looks for programs where it is.
func (r *reader) unsets(args []word, seen *findings) string {
	why := r.named(args, "fvn", "", "", nil)
	for _, w := range args {
		switch {
		case w.is("IFS"): // blanks part words then
		case w.is("PATH"):
			r.sets("PATH", seen)
		default:
			r.names.add(w.form)
		}
	}
	return why
}

// mapped looks at mapfile, which may call a command for each line.
func (r *reader) mapped(args []word, seen *findings) string {
	for _, w := range args {
		if !w.exact || strings.HasPrefix(w.form, "-") && strings.Contains(w.form, "C") {
			return "mapfile -C runs a command"
		}
		r.names.array(w.form)
	}
	return r.named(args, "t", "dnOscu", "", seen)
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
func (r *reader) formatted(args []word, seen *findings) string {
	for len(args) > 0 {
		w := args[0]
		p := w.prefix()
		switch {
		case w.is("-v"):
			if len(args) < 2 {
				return ""
			}
			if why := r.plainNames(args[1:2], seen); why != "" {
				return why
			}
			args = args[2:]
		case strings.HasPrefix(p, "-v"):
			if !w.exact {
				return hidden
			}
			if why := r.plainNames([]word{plainWord(p[2:])}, seen); why != "" {
				return why
			}
			args = args[1:]
		case !w.exact && strings.HasPrefix("-v", p):
			return "its format is not literal and may be -v: write printf -- or a literal format"
		default:
			return when(counts(args), "its format may set a variable, by %n: write a literal format without it")
		}
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
			case strings.ContainsAny(p, "in") && program != "export":
				return evaluates
			}
			compound = compound || strings.ContainsAny(p, "aA")
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
	if compound {
		r.names.array(variable)
	}
	if rest == "" {
		if variable != "IFS" {
			r.names.add(variable) // local takes its value away
		}
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
	return !lowerCase(variable) || r.names.may(variable+"[")
}
