package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/shell"
)

// families are programs whose second word says what they do, so that a rule on both is
// neither too wide nor of use once only. The value says whether the third counts too.
var families = map[string][]string{
	"git": nil, "go": nil, "cargo": nil, "npm": {"run"}, "pnpm": {"run"}, "yarn": {"run"}, "bun": {"run"},
	"docker": {"compose"}, "kubectl": nil, "pip": nil, "poetry": nil, "uv": nil, "dotnet": nil, "mvn": nil,
	"gradle": nil, "terraform": nil, "gh": {"pr", "issue"}, "brew": nil, "apt": nil, "helm": nil,
}

// suggest gives an allow rule, in quotes, that covers a part: for a known family of
// commands with any arguments, otherwise for this very command.
func suggest(part *shell.Part) string {
	words := plainWords(part.Text)
	var patterns []string
	if n := family(words); n > 0 {
		patterns = append(patterns, strings.Join(words[:n], " ")+" *")
	}
	if len(part.Text) <= longest {
		patterns = append(patterns, exactly(part.Text))
	}
	if variable, _, sets := strings.Cut(part.Text, "="); sets && strings.Trim(variable, letters) == "" {
		patterns = append(patterns, variable+"=*")
	}
	if len(words) > 0 {
		patterns = append(patterns, words[0]+" *") // some word is not literal, or there are too many
	}
	for _, text := range patterns {
		if p, err := shell.ParsePattern(text); err == nil && p.AnyProgram() == "" && p.Covers(part) {
			return quoted("Bash(" + text + ")")
		}
	}
	return `"Bash"`
}

// exactly gives the pattern of a part's text: its words, quoted as a pattern needs it,
// so that nothing in them is a star or an operator.
func exactly(text string) string {
	words := unquote(text)
	for i, word := range words {
		name := ""
		if n := strings.IndexByte(word, '='); n > 0 && strings.Trim(strings.TrimSuffix(word[:n], "+"), letters) == "" {
			name, word = word[:n+1], word[n+1:]
		}
		if strings.Trim(word, letters+"=") != "" || name+word == "" {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words[i] = name + word
	}
	return strings.Join(words, " ")
}

// unquote splits a part's text at its blanks, and takes the single quotes off.
func unquote(text string) []string {
	var words []string
	var word strings.Builder
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'':
			inside = !inside
		case inside:
			word.WriteByte(c)
		case c == ' ':
			words = append(words, word.String())
			word.Reset()
		case strings.HasPrefix(text[i:], `\''`): // between two quoted runs
			i++
			word.WriteByte('\'')
		default:
			word.WriteByte(c)
		}
	}
	return append(words, word.String())
}

// family gives how many words name what a command does; 0 when that is not known.
func family(words []string) int {
	if len(words) < 2 {
		return 0
	}
	third, known := families[words[0]]
	switch {
	case !known:
		return 0
	case !slices.Contains(third, words[1]):
		return 2
	case len(words) < 3:
		return 0
	}
	return 3
}

// plainWords gives the first words of a command up to one that is no plain word.
func plainWords(text string) []string {
	words := strings.Split(text, " ")
	for i, w := range words {
		if w == "" || w[0] == '-' && i > 0 || strings.Trim(w, letters) != "" || i == 3 {
			return words[:i]
		}
	}
	return words
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/+@"

// brief names a command by what it does, without its arguments.
func brief(text string) string {
	words := plainWords(text)
	n := family(words)
	if n == 0 {
		n = min(1, len(words))
	}
	if n == 0 {
		if variable, _, sets := strings.Cut(text, "="); sets && variable != "" && strings.Trim(variable, letters) == "" {
			return "a command that sets " + variable
		}
		return "a command"
	}
	s := strings.Join(words[:n], " ")
	if s != text {
		s += " ..."
	}
	return shown(s)
}

// editRules gives the allow rules, in quotes, that cover a target to be written: one for
// each spelling that it has.
func (p *Policy) editRules(t *target) []string {
	var rules []string
	for _, abs := range []string{t.given, t.real, t.walked} {
		if abs == "" {
			continue
		}
		if rule := quoted("Edit(" + p.patternOf(abs) + ")"); !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// patternOf gives the pattern of one path, anchored at its root.
func (p *Policy) patternOf(abs string) string {
	for _, r := range p.roots {
		for _, folder := range []string{r.path, r.as} {
			if rel, ok := strings.CutPrefix(abs, folder+"/"); ok && folder != "" {
				if path.Dir(rel) == "." {
					rel = "./" + rel
				}
				return escape(rel)
			}
		}
	}
	return "/" + escape(abs)
}

// escape makes a pattern of a path's letters.
func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`\*?[{`, text[i]) >= 0 || text[i] == '!' && i == 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
