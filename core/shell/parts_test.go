package shell

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/parts.txt anew, to be read before it is committed")

// describe gives a command's parts, a line each.
func describe(command string) []string {
	s, err := Read(command)
	if err != nil {
		return []string{"refused: " + err.Error()}
	}
	var out []string
	for i := range s.Parts {
		p := &s.Parts[i]
		line := "needs a rule: "
		switch {
		case p.Opaque != "":
			line = "opaque: "
		case p.Neutral:
			line = "neutral: "
		}
		line += strings.ReplaceAll(p.Text, "\n", "⏎")
		for _, a := range p.Accesses {
			op := "  reads "
			if a.Write {
				op = "  writes "
			}
			line += op + describePath(a.Path)
		}
		for _, in := range p.Inside {
			line += "  goes to " + describePath(in)
		}
		for _, run := range p.Runs {
			line += "  runs " + describePath(run)
		}
		if p.Opaque != "" {
			line += "  (" + p.Opaque + ")"
		}
		out = append(out, line)
	}
	return out
}

func describePath(p Path) string {
	switch {
	case p.Literal:
		return fmt.Sprintf("%q", p.Text)
	case p.Home:
		return fmt.Sprintf("home %q", p.Text)
	}
	return fmt.Sprintf("anything %q", p.Text)
}

// TestParts holds what is read of commands against testdata/parts.txt: a command at the
// left, its parts below it; ⏎ is a newline.
func TestParts(t *testing.T) {
	file := filepath.Join("testdata", "parts.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var fresh strings.Builder
	var command string
	var want []string
	check := func() {
		if command == "" {
			return
		}
		got := describe(strings.ReplaceAll(command, "⏎", "\n"))
		fmt.Fprintf(&fresh, "%s\n", command)
		for _, line := range got {
			fmt.Fprintf(&fresh, "  %s\n", line)
		}
		if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w && !*update {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", command, g, w)
		}
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		if part, ok := strings.CutPrefix(line, "  "); ok {
			want = append(want, part)
			continue
		}
		check()
		command, want = line, nil
	}
	check()
	if *update {
		if err := os.WriteFile(file, []byte(fresh.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
