package shell

import "strings"

// wrapper is a command that runs another, with the options that are known.
type wrapper struct {
	flags    string // letters without a value
	valued   string // letters with a value
	long     string // long options without a value, each between blanks
	longWith string // long options with a value
	operands int    // words before the command
	number   bool   // -N is an option (nice -10)
	assigns  bool   // assignments stand before the command
	inShell  bool   // it runs a builtin in the same shell
	added    bool   // it adds words that can't be told
}

// wrappers that are looked through.
var wrappers = map[string]wrapper{
	"timeout": {flags: "v", valued: "ks", long: " --foreground --preserve-status --verbose ", longWith: " --kill-after --signal ", operands: 1},
	"nice":    {valued: "n", longWith: " --adjustment ", number: true},
	"ionice":  {flags: "t", valued: "cn", long: " --ignore ", longWith: " --class --classdata "},
	"nohup":   {},
	"setsid":  {flags: "cfw", long: " --ctty --fork --wait "},
	"stdbuf":  {valued: "ioe", longWith: " --input --output --error "},
	"time":    {flags: "pvV", long: " --portability --verbose "},
	"command": {flags: "p", inShell: true},
	"builtin": {inShell: true},
	"exec":    {flags: "cl", valued: "a"},
	"env":     {flags: "iv0", valued: "u", long: " --ignore-environment --null --debug ", longWith: " --unset ", assigns: true},
	"xargs": {
		flags: "0rtx", valued: "nPLIds", long: " --null --no-run-if-empty --verbose --exit ",
		longWith: " --max-args --max-procs --delimiter --max-chars --replace ", added: true,
	},
}

// unwrapped is what a wrapper does.
type unwrapped struct {
	inside  []word // the command that it runs
	assigns []word
	inShell bool
	sealed  bool // it can't be told which of its words is the command
	opaque  string

	runs   scriptOf
	text   string // of the script
	file   word   // of the script
	shell  string // that reads it
	always bool   // of a handler: it runs at the end alone
}

// scriptOf is where a wrapper takes a script from.
type scriptOf uint8

const (
	noScript   scriptOf = iota
	textScript          // a word of its own
	fileScript
	inputScript
	handlerScript // a word, and it runs at another time
	evalScript    // a word, and it runs in the same shell
)

// unwrap looks through a wrapper; ok is false where a command is none or runs nothing. In
// a pattern a star may stand for a value.
func unwrap(words []word, base string, pattern bool) (unwrapped, bool) {
	program := words[0].form
	switch base {
	case "sudo", "doas", "busybox":
		if len(words) < 2 {
			return unwrapped{}, false
		}
		return unwrapped{sealed: true, opaque: when(startsShell(words), "it may start a shell, which takes its script from its standard input")}, true
	case "sh", "bash", "dash", "zsh", "ksh":
		u := shellCall(words, base)
		return u, u.runs != noScript
	}
	switch program { // these are no programs
	case "eval":
		return evalCall(words)
	case "trap":
		return trapCall(words)
	}
	w, known := wrappers[base]
	if !known {
		return unwrapped{}, false
	}
	if program == "command" && described(words) {
		return unwrapped{}, false
	}
	u := unwrapped{inShell: w.inShell}
	rest, more, ok := w.options(words, pattern)
	if !ok {
		u.sealed = true
		switch {
		case w.assigns && some(words[1:], splits):
			u.opaque = "env -S makes words of a text"
		case w.added:
			u.opaque = "rules can't tell which words it adds or replaces"
		}
		return u, len(words) > 1
	}
	for n := 0; n < w.operands; n++ {
		if len(rest) == 0 {
			return u, false
		}
		if !value(rest[0], pattern) {
			u.sealed = true
			return u, true
		}
		rest = rest[1:]
	}
	if w.assigns {
		var surely bool
		if u.assigns, rest, surely = assigned(rest); !surely {
			u.opaque = "a variable in it may be split into a command: quote it"
		} else if some(u.assigns, evaluatedBy) {
			u.opaque = special
		}
	}
	if w.added {
		rest = added(rest, more)
	}
	u.inside = rest
	return u, len(rest) > 0
}

// described reports whether command only describes: -v, -V.
func described(words []word) bool {
	for _, w := range words[1:] {
		if !w.exact || !strings.HasPrefix(w.form, "-") || w.is("--") {
			return false
		}
		if strings.ContainsAny(w.form, "vV") {
			return true
		}
	}
	return false
}

// value reports whether a word is one value, and no option.
func value(w word, pattern bool) bool {
	return w.exact && !strings.HasPrefix(w.form, "-") || pattern && w.form == string(rune(star))
}

// addition is what xargs does to the words of its command.
type addition struct {
	replaced string // the text that it replaces
	counted  bool   // it adds words, for how many is told; with replaced the last option counts
}

// options reads a wrapper's options; rest begins with what follows them.
func (w *wrapper) options(words []word, pattern bool) (rest []word, more addition, ok bool) {
	i := 1
	for ; i < len(words); i++ {
		text, exact := words[i].literal()
		if !exact {
			if p := words[i].prefix(); p != "" && p[0] != '-' || pattern || words[i].many || w.operands == 0 {
				break
			}
			return nil, more, false
		}
		if text == "--" {
			i++
			break
		}
		if len(text) < 2 || text[0] != '-' {
			break
		}
		used, known := w.option(text, words[i+1:], &more)
		if !known {
			return nil, more, false
		}
		i += used
	}
	if w.assigns && i < len(words) && words[i].is("-") { // -i to some, after -- too
		if i++; i < len(words) && strings.HasPrefix(words[i].prefix(), "-") {
			return nil, more, false
		}
	}
	return words[min(i, len(words)):], more, true
}

// option reads one option, and says how many of the next words it takes.
func (w *wrapper) option(text string, next []word, more *addition) (used int, known bool) {
	if strings.HasPrefix(text, "--") {
		long, val, given := strings.Cut(text, "=")
		if strings.Contains(w.long, " "+long+" ") {
			return 0, !given
		}
		if !strings.Contains(w.longWith, " "+long+" ") {
			return 0, false
		}
		if long == "--replace" {
			more.replaced = val
			return 0, given && val != ""
		}
		more.counted = more.counted || long == "--max-args"
		return taken(given, next)
	}
	if w.number && strings.Trim(text[1:], "0123456789") == "" {
		return 0, true
	}
	for k := 1; k < len(text); k++ {
		if strings.IndexByte(w.flags, text[k]) >= 0 {
			continue
		}
		if strings.IndexByte(w.valued, text[k]) < 0 {
			return 0, false
		}
		switch text[k] {
		case 'I':
			more.replaced = text[k+1:]
			if more.replaced == "" && len(next) > 0 && !next[0].tilde {
				more.replaced, _ = next[0].literal()
			}
			if more.replaced == "" {
				return 0, false
			}
		case 'n', 'L':
			more.counted = true
		}
		return taken(k+1 < len(text), next)
	}
	return 0, true
}

// taken is how many words an option's value takes.
func taken(given bool, next []word) (int, bool) {
	if given {
		return 0, true
	}
	return 1, len(next) > 0 && !next[0].many
}

// splits reports whether a word is env's option -S.
func splits(w word) bool {
	p := w.prefix()
	return len(p) > 1 && p[0] == '-' && (p[1] != '-' && strings.Contains(p, "S") || strings.HasPrefix(p, "--s"))
}

// evaluatedBy reports whether a shell that env starts would evaluate what it assigns.
func evaluatedBy(w word) bool {
	variable, value, _ := strings.Cut(w.form, "=")
	return evaluated(variable) && !(w.exact && harmless(variable, value))
}

// assigned takes env's assignments from what follows its options; surely is false when
// one may be split into several words.
func assigned(words []word) (before, rest []word, surely bool) {
	for i, w := range words {
		if !strings.Contains(w.prefix(), "=") {
			return words[:i], words[i:], true
		}
		if w.many {
			return words[:i], words[i:], false
		}
	}
	return words, nil, true
}

// added gives the command of xargs with the words that it adds.
func added(words []word, more addition) []word {
	if len(words) == 0 {
		words = []word{plainWord("echo")}
	}
	if more.replaced != "" {
		words = replace(words, more.replaced, anyText)
		if !more.counted {
			return words
		}
	}
	return append(words[:len(words):len(words)], unknownWords())
}

// replace puts a mark in the place of a text in words. What is not literal may hold the
// text, or a piece of it.
func replace(words []word, text string, m byte) []word {
	out := make([]word, len(words))
	for i, w := range words {
		switch {
		case w.gone:
		case w.many:
			w.form = string(rune(anyWord))
		case !w.exact || w.tilde:
			w.form, w.exact, w.tilde = string(rune(anyText)), false, false
		case strings.Contains(w.form, text):
			w.form = strings.ReplaceAll(w.form, text, string(rune(m)))
			w.exact, w.many = false, m == anyWord
		}
		out[i] = w
	}
	return out
}

// startsShell reports whether sudo, doas or busybox may start a shell without a script:
// by -s or -i, or by its name.
func startsShell(words []word) bool {
	if words[1].is("ash") || words[1].is("hush") {
		return true
	}
	valued := false // the last option may have a value
	for _, w := range words[1:] {
		p := w.prefix()
		if !strings.HasPrefix(p, "-") {
			if !valued && !strings.Contains(p, "=") {
				return false
			}
			valued = false
			continue
		}
		letters := strings.TrimPrefix(p, "-")
		if strings.HasPrefix(letters, "-s") || strings.HasPrefix(letters, "-l") || letters != "" && letters[0] != '-' && strings.ContainsAny(letters, "si") {
			return true
		}
		valued = strings.Trim(letters, "ABEHKPSbkn") != ""
	}
	return false
}
