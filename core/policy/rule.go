package policy

import (
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/shell"
)

// Rule is one permission rule. The zero Rule matches nothing.
type Rule struct {
	text   string
	effect Effect
	at     Place
	tool   Tool    // empty for a rule on another server's tools
	bare   bool    // all that the tool does
	path   pattern // of Read and Edit
	cmd    shell.Pattern
}

// tools are those that rules speak of.
var tools = [...]Tool{Read, Write, Edit, Bash, Grep, Glob}

// ParseRule reads a rule. folder is the project's real path where the rule stands in a
// project's settings, and empty elsewhere: "/p" is then an error. home is what "~/"
// means. The error says what is wrong and names the right rule where there is one.
func ParseRule(text string, effect Effect, at Place, folder, home string) (Rule, error) {
	fail := func(format string, args ...any) (Rule, error) {
		return Rule{}, fmt.Errorf("rule %s "+format, append([]any{quoted(text)}, args...)...)
	}
	if effect != Deny && effect != Ask && effect != Allow {
		return fail("stands in no list: it must be one of allow, ask and deny")
	}
	if text == "" {
		return fail(`is empty: a rule is a tool, "Read", or a tool and a pattern, "Read(src/**)"`)
	}
	r := Rule{text: text, effect: effect, at: at}
	if strings.HasPrefix(text, "mcp__") {
		if why := foreign(text, effect); why != "" {
			return fail("%s", why)
		}
		return r, nil
	}
	name, pattern, open := strings.Cut(text, "(")
	if why := toolOf(name); why != "" {
		return fail("%s", why)
	}
	r.tool = Tool(name)
	if !open {
		r.bare = true
		return r, nil
	}
	pattern, ended := strings.CutSuffix(pattern, ")")
	switch {
	case !ended && strings.Contains(pattern, ")"):
		return fail(`has text after its last ")": take it away`)
	case !ended:
		return fail(`has no end: close it with ")"`)
	case pattern == "":
		return fail(`has nothing between its parentheses: write %q for all that it does`, name)
	case pattern == "*":
		r.bare = true
		return r, nil
	}
	if right := spokenFor(r.tool); right != "" {
		return fail(`can't have a pattern, as %s speaks for %s: write "%s(%s)"`, right, name, right, pattern)
	}
	var err error
	if r.tool == Bash {
		if r.cmd, err = shell.ParsePattern(pattern); err != nil {
			return Rule{}, fmt.Errorf("the pattern of rule %s can't be read: %w", quoted(text), err)
		}
		return r, nil
	}
	if r.path, err = parsePattern(pattern, folder, home); err != nil {
		return Rule{}, fmt.Errorf("the pattern of rule %s %w", quoted(text), err)
	}
	return r, nil
}

// spokenFor gives the tool whose rules have the patterns for another.
func spokenFor(t Tool) Tool {
	switch t {
	case Write:
		return Edit
	case Grep, Glob:
		return Read
	case Read, Edit, Bash:
	}
	return ""
}

// toolOf says what is wrong with a tool's name; empty when nothing is.
func toolOf(name string) string {
	for _, t := range tools {
		if name == string(t) {
			return ""
		}
	}
	if name == "" || name == "*" {
		return `names no tool: begin with one of Read, Write, Edit, Bash, Grep, Glob`
	}
	if near := nearest(name, tools[:]); near != "" {
		return fmt.Sprintf("names no tool: did you mean %q?", near)
	}
	return "names no tool: it must be one of Read, Write, Edit, Bash, Grep, Glob"
}

// foreign says what is wrong with a rule on another server's tools.
func foreign(text string, effect Effect) string {
	if strings.ContainsAny(text, "()") {
		return "has parentheses: tools of other servers have no patterns"
	}
	for _, r := range text {
		if r <= ' ' || r == 0x7f {
			return "has a blank or a control character"
		}
	}
	server, tool, ok := strings.Cut(strings.TrimPrefix(text, "mcp__"), "__")
	switch {
	case server == "":
		return `names no server: write "mcp__server__tool"`
	case !ok || tool == "":
		return fmt.Sprintf(`names no tool: write "mcp__%s__*" for all tools of the server`, server)
	case effect == Allow && strings.Contains(server, "*"):
		return `allows tools of servers that it does not name: "*" may stand only after the second "__"`
	}
	return ""
}

// Text is the rule as written.
func (r Rule) Text() string { return r.text }

// Place is where the rule stands.
func (r Rule) Place() Place { return r.at }

// AnyProgram says how an allow rule lets any program be run; empty when it does not.
func (r Rule) AnyProgram() string {
	if r.effect != Allow || r.tool != Bash {
		return ""
	}
	if r.bare {
		return "it allows every command"
	}
	return r.cmd.AnyProgram()
}
