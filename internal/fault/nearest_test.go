package fault

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	tools := []string{"Read", "Write", "Edit", "Bash", "BashOutput", "KillShell", "Grep", "Glob"}
	for name, want := range map[string]string{
		"bash": "Bash", "Bsh": "Bash", "READ": "Read", "ReadFile": "Read", "read_file": "Read", "MultiEdit": "Edit",
		"bash_output": "BashOutput", "kill-shell": "KillShell", "grep_search": "Grep", "Gerp": "Grep", "Wrtie": "Write",
		"": "", "x": "", "Shell": "", "send_mail": "", "Readable things": "Read", strings.Repeat("read", 100): "",
	} {
		if got := Nearest(name, tools); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := Nearest("rea", []string{"ra", "re"}); got != "ra" {
		t.Errorf("of two that are as near: %q", got)
	}
	if got := Nearest("Read", nil); got != "" {
		t.Errorf("%q", got)
	}
}
