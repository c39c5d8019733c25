package shell

import "strings"

// dressed is the reason of a test that could be made to evaluate a subscript by -v.
const dressed = "a variable in it may be -v, which evaluates what it names: quote the variable, or write [[ ... ]]"

// tested says why test or [ may run anything. It reads operands as bash does, by their
// number.
func (r *reader) tested(args []word) string {
	for i, w := range args {
		switch {
		case w.many:
			return dressed
		case (w.is("-v") || w.is("-R")) && i+1 < len(args):
			if why := r.plainNames(args[i+1:i+2], nil); why != "" {
				return why
			}
		}
	}
	for len(args) > 1 && args[0].is("!") {
		args = args[1:]
	}
	switch {
	case len(args) < 2:
		return ""
	case len(args) == 2:
		return when(!operator(args[0]) && !subscriptless(args[1]), dressed)
	case len(args) == 3 && binary(args[1]):
		return ""
	}
	return when(!chained(args), dressed)
}

// operator reports whether a word is surely no -v.
func operator(w word) bool {
	p := w.prefix()
	return w.exact || p != "" && p != "-" && p != "-v" && p != "-R"
}

// subscriptless reports whether a word surely has no subscript.
func subscriptless(w word) bool { return w.exact && !strings.Contains(w.form, "[") }

// binary reports whether a word is an operator between two.
func binary(w word) bool {
	if !w.exact {
		return false
	}
	switch w.form {
	case "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef":
		return true
	}
	return false
}

// chained reports whether operands are tests joined by -a and -o, each of which is told
// by literal operators.
func chained(args []word) bool {
	for len(args) > 0 {
		for len(args) > 1 && args[0].is("!") {
			args = args[1:]
		}
		n := 0
		switch {
		case len(args) >= 3 && binary(args[1]):
			n = 3
		case len(args) >= 2 && args[0].exact && len(args[0].form) == 2 && args[0].form[0] == '-' && !args[0].is("-v") && !args[0].is("-R"):
			n = 2
		case args[0].exact && !strings.HasPrefix(args[0].form, "-"):
			n = 1
		default:
			return false
		}
		args = args[n:]
		if len(args) == 0 {
			return true
		}
		if !args[0].is("-a") && !args[0].is("-o") {
			return literalAll(args)
		}
		args = args[1:]
	}
	return true
}

// literalAll reports whether all words are literal.
func literalAll(args []word) bool {
	return !some(args, func(w word) bool { return !w.exact })
}
