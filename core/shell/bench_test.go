package shell

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// thousand are rules as people write them.
func thousand(t testing.TB) []Pattern {
	t.Helper()
	programs := []string{"git status *", "git commit *", "npm run %d *", "go test ./p%d/...", "make target%d", "rm -rf *", "timeout 60 pytest %d *", "FOO=%d make *", "* --version%d", "find * -name %d"}
	list := make([]Pattern, 0, 1000)
	for i := range 1000 {
		text := programs[i%len(programs)]
		if strings.Contains(text, "%d") {
			text = fmt.Sprintf(text, i)
		}
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// decide holds half of the rules against a command as denies and half as allows, without
// an early end.
func decide(t testing.TB, rules []Pattern, command string) {
	s, err := Read(command)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Parts {
		for k, p := range rules {
			if k%2 == 0 {
				p.May(&s.Parts[i])
			} else {
				p.Covers(&s.Parts[i])
			}
		}
	}
}

const daily = `cd src && timeout 60 npm test -- --run "$X" 2>&1 | tail -n 100`

// BenchmarkDecision is to take at most a tenth of BenchmarkTrue.
func BenchmarkDecision(b *testing.B) {
	rules := thousand(b)
	for b.Loop() {
		decide(b, rules, daily)
	}
}

// BenchmarkRead is what of that is reading.
func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		if _, err := Read(daily); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTrue starts /bin/true.
func BenchmarkTrue(b *testing.B) {
	path, err := exec.LookPath("true")
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		if err := exec.Command(path).Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// hard are commands as long as they may be that could take long to read.
var hard = map[string]string{
	"substitutions": "$(", "groups": "{ ", "subshells": "(", "backquotes": "`", "parameters": "${x:-", "arithmetic": "$((", "sums": "$((1+",
	"arrays": "x=(", "braces": "{a,", "globs": "[*", "pipes": "a|", "chains": "a&&", "lists": "a;", "documents": "cat <<E\nE\n", "negations": "! ",
	"sudo": "sudo ", "busybox": "busybox timeout ", "timeout": "timeout 5 ", "env": "env A=1 ", "eval": "eval ", "shells": "sh -c ", "find": "find -exec ",
	"xargs": "xargs ", "quotes": `"a"'b'`, "escapes": `\a`, "functions": "f(){ ", "cases": "case x in a) ", "tests": "[[ a && ", "loops": "while a;do ",
	"assignments": "a=b ", "words": "a ", "unknown": "$x ", "cds": "cd a;", "or": "cd a||", "tildes": "~/", "dollar quotes": "$'a'", "in quotes": `"$(`,
	"declare": "declare a=b;", "test": "[ a = b -a ", "comment": "#", "redirections": "> a ", "descriptors": "{a}>b ",
}

// closing ends what hard opens, where it can.
var closing = map[string]string{
	"substitutions": ")", "groups": "a;}", "subshells": ")", "backquotes": "`", "parameters": "}", "arithmetic": "))", "sums": "1))", "arrays": ")",
	"braces": "}", "globs": "]", "in quotes": ")\"", "functions": "a;}", "cases": ";;esac", "loops": "done",
}

// TestHardCommands reads and judges long commands: the time is bounded, whatever they are.
func TestHardCommands(t *testing.T) {
	rules := thousand(t)[:20]
	for kind, open := range hard {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			n := MaxCommand / (len(open) + len(closing[kind]))
			for _, text := range []string{
				strings.Repeat(open, n) + strings.Repeat(closing[kind], n),
				strings.Repeat(open, n-2) + "a",
				strings.Repeat(open, 90) + "a " + strings.Repeat("b ", 1000) + strings.Repeat(closing[kind], 90),
			} {
				s, err := Read(text)
				if err != nil {
					continue
				}
				size := 0
				for i := range s.Parts {
					size += len(s.Parts[i].Text) + len(s.Parts[i].form)
					for _, p := range rules {
						p.Covers(&s.Parts[i])
						p.May(&s.Parts[i])
					}
				}
				if size > 300*MaxCommand {
					t.Errorf("%d bytes of parts for a command of %d", size, len(text))
				}
			}
		})
	}
}
