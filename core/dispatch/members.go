package dispatch

import "strings"

// callMembers are the members of the params of a call that mean something (MCP
// 2025-11-25, tools/call and tasks).
var callMembers = [...]string{"name", "arguments", "_meta", "task"}

// Mistakable reports whether a member of the params of a call is none of those that
// mean something, but would be taken for one by a reader that ignores case or stops at
// a NUL. What was admitted must be what runs, whoever reads it, so such a call is
// refused (docs/design/journeys.md section 4).
func Mistakable(member string) bool {
	bare, _, _ := strings.Cut(member, "\x00")
	for _, known := range callMembers {
		if member != known && strings.EqualFold(bare, known) {
			return true
		}
	}
	return false
}
