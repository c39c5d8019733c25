package shell

import "strings"

// neutral reports whether a command needs no rule. The list is exact: there is no other
// set of commands that only read.
func neutral(program string, run *command, fed bool) bool {
	args := run.words[1:]
	switch program {
	case "pwd", "true", "false", ":", "exit", "echo":
		return true
	case "printf":
		return len(args) > 0 && !strings.HasPrefix(args[0].prefix(), "-v") && args[0].form != "" && !counts(args)
	case "test":
		return testable(args)
	case "[":
		return testable(args)
	case "set":
		return setting(args)
	case "cat", "head", "tail", "wc":
		return (fed || run.input.here) && filter(program, args)
	}
	return false
}

// testable reports whether a test looks at no variable by name. What might is opaque.
func testable(args []word) bool {
	for _, a := range args {
		if a.is("-v") || a.is("-R") {
			return false
		}
	}
	return true
}

// setting reports whether options of set are -e, -u, -x and -o pipefail alone.
func setting(args []word) bool {
	for i := 0; i < len(args); i++ {
		text, ok := args[i].literal()
		if !ok || len(text) < 2 || text[0] != '-' || strings.Trim(text[1:], "euxo") != "" {
			return false
		}
		if strings.Contains(text, "o") {
			if i++; strings.Count(text, "o") > 1 || i == len(args) || !args[i].is("pipefail") {
				return false
			}
		}
	}
	return len(args) > 0
}

// filters has the options of the filters: letters alone, letters with a value, and long
// ones without.
var filters = map[string]struct{ flags, valued, long string }{
	"cat":  {"AbeEnstTuv", "", " --number --number-nonblank --squeeze-blank --show-all --show-ends --show-tabs --show-nonprinting "},
	"head": {"qvz", "nc", " --quiet --silent --verbose --zero-terminated --lines --bytes "},
	"tail": {"qvzfF", "ncs", " --quiet --silent --verbose --zero-terminated --lines --bytes --follow "},
	"wc":   {"clmLw", "", " --bytes --chars --lines --max-line-length --words "},
}

// filter reports whether a filter has options alone, none of which names a file.
func filter(program string, args []word) bool {
	f := filters[program]
	for i := 0; i < len(args); i++ {
		text, ok := args[i].literal()
		switch {
		case !ok || len(text) < 2 || text[0] != '-':
			return false
		case strings.HasPrefix(text, "--"):
			long, _, _ := strings.Cut(text, "=")
			if !strings.Contains(f.long, " "+long+" ") {
				return false
			}
			if long == text && (long == "--lines" && f.valued != "" || long == "--bytes" && f.valued != "") {
				i++
			}
		case f.valued != "" && strings.Trim(text[1:], "0123456789") == "":
		case f.valued != "" && strings.IndexByte(f.valued, text[1]) >= 0:
			if len(text) == 2 {
				i++
			}
			if i == len(args) || !args[i].exact {
				return false
			}
		case strings.Trim(text[1:], f.flags) != "":
			return false
		}
	}
	return true
}
