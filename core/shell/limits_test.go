package shell

import (
	"strings"
	"testing"
)

// TestNesting: what stands in each other is read once for each way that it may be meant,
// so how much that comes to has a limit.
func TestNesting(t *testing.T) {
	body := strings.Repeat("ls a\n", 12000)
	for _, end := range []string{"A", "B", "C", "D"} {
		body = "sh <<'" + end + "'\n" + body + "\n" + end + "\n"
	}
	for name, c := range map[string]struct{ command, problem string }{
		"scripts":       {body, "scripts nested in scripts that are too long together"},
		"-exec":         {"find . " + strings.Repeat("-exec ", 9000), "too many -exec in each other"},
		"wrapped finds": {strings.Repeat("nice find . -exec ", 20) + "ls", "wrappers in wrappers too deeply"},
		"paths":         {strings.Repeat("/usr/bin/nice ", 20) + "ls", "wrappers in wrappers too deeply"},
		"one script":    {"sh -c '" + strings.Repeat("ls", 30000) + "'", ""},
		"sealed":        {strings.Repeat("sudo ", 12000) + "ls", ""},
		"unknown":       {strings.Repeat("env -C . ", 7000) + "ls", ""},
	} {
		s, err := Read(c.command)
		switch {
		case c.problem == "":
			if err != nil || len(s.Parts) > 2*maxLooks {
				t.Errorf("%s: %d parts, %v", name, len(s.Parts), err)
			}
		case err == nil || !strings.Contains(err.Error(), c.problem):
			t.Errorf("%s: %v, want %s", name, err, c.problem)
		}
	}
}
