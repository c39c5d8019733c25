package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// ownTools are the tools of a workspace; a test of the judge's holds this list to it.
var ownTools = []string{"Read", "Write", "Edit", "Bash", "BashOutput", "KillShell", "Grep", "Glob"}

// otherTools are what a hook may be for that serves Claude Code too: tools that a
// workspace does not have. It need not be complete, for a caution is no error.
var otherTools = []string{
	"Agent", "Artifact", "AskUserQuestion", "CronCreate", "CronDelete", "CronList", "EnterPlanMode", "EnterWorktree",
	"ExitPlanMode", "ExitWorktree", "KillBash", "ListMcpResources", "ListMcpResourcesTool", "LS", "LSP", "Monitor", "MultiEdit",
	"NotebookEdit", "NotebookRead", "PowerShell", "ReadMcpResource", "ReadMcpResourceTool", "Skill", "SlashCommand", "Task",
	"TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TodoRead", "TodoWrite", "ToolSearch",
	"WebFetch", "WebSearch",
}

// plainMatcher is a matcher of names alone.
var plainMatcher = regexp.MustCompile(`^[A-Za-z0-9_-]+(\|[A-Za-z0-9_-]+)*$`)

// MatcherCautions tells of hooks that are for a tool that nobody has, a sentence each:
// they would never run, and nobody would know.
func (s *Settings) MatcherCautions() []string {
	var all []string
	for _, h := range s.Hooks {
		for _, word := range strangers(h.Matcher) {
			near := "the tools are " + strings.Join(ownTools, ", ")
			if tool := meant(word); tool != "" {
				near = "did you mean " + tool + "?"
			}
			caution := fmt.Sprintf("%s:%d: the hook is for %q, which is the name of no tool, so that it never runs: %s", h.At.File, h.At.Line, word, near)
			if !slices.Contains(all, caution) {
				all = append(all, caution)
			}
		}
	}
	return all
}

// strangers are the names in a matcher that no tool has, or the whole of one that is more
// than names and matches none. Tools of other servers may have any name behind mcp__.
func strangers(matcher string) []string {
	m, err := ParseMatcher(matcher)
	if err != nil || matcher == "" || matcher == "*" {
		return nil
	}
	known := append(slices.Clone(ownTools), otherTools...)
	if !plainMatcher.MatchString(matcher) {
		if strings.Contains(matcher, "mcp__") || slices.ContainsFunc(known, m.Match) {
			return nil
		}
		return []string{matcher}
	}
	return slices.DeleteFunc(strings.Split(matcher, "|"), func(name string) bool {
		return strings.HasPrefix(name, "mcp__") || slices.Contains(known, name)
	})
}

// meant is the tool of a workspace that a name probably means.
func meant(name string) string {
	if strings.EqualFold(name, "shell") {
		return "Bash"
	}
	return fault.Nearest(name, ownTools)
}
