package policy

import (
	"fmt"
	"testing"
)

// thousand is a policy of a thousand rules, none of which decides on src/a/b/c.ts.
func thousand() *Policy {
	w := newWorld(Default)
	for i := range 125 {
		w.user(
			fmt.Sprintf("deny Read(secret%d)", i), fmt.Sprintf("deny Read(src/x%d/**)", i), fmt.Sprintf("ask Edit(*.p%d)", i),
			fmt.Sprintf("allow Edit(lib%d/**/*.ts)", i), fmt.Sprintf("deny Edit(//ws/y%d)", i), fmt.Sprintf("allow Read(~/z%d)", i),
			fmt.Sprintf("deny Read(a%d*)", i), fmt.Sprintf("ask Read(**/q%d/*)", i),
		)
	}
	return w.policy()
}

// BenchmarkJudgeWrite: the budget is a tenth of starting /bin/true, about 100 us.
func BenchmarkJudgeWrite(b *testing.B) {
	p, c := thousand(), Call{Tool: Write, Path: "src/a/b/c.ts"}
	b.ReportAllocs()
	for b.Loop() {
		p.Judge(c, links{})
	}
}

func BenchmarkReadable(b *testing.B) {
	p := thousand()
	b.ReportAllocs()
	for b.Loop() {
		p.Readable("src/a/b/c.ts", "/ws/src/a/b/c.ts")
	}
}

func BenchmarkReach(b *testing.B) {
	p := thousand()
	b.ReportAllocs()
	for b.Loop() {
		p.Reach("/ws/src/a/b/c.ts", false)
	}
}

// BenchmarkJudgeCommand holds a usual command against a thousand rules on commands.
func BenchmarkJudgeCommand(b *testing.B) {
	w := newWorld(Default)
	for i := range 250 {
		w.user(
			fmt.Sprintf("deny Bash(danger%d *)", i), fmt.Sprintf("ask Bash(git push origin%d *)", i),
			fmt.Sprintf("allow Bash(tool%d run *)", i), fmt.Sprintf("deny Bash(* --force%d)", i),
		)
	}
	w.user("allow Bash(npm test *)", "allow Edit(logs/**)")
	p, c := w.policy(), Call{Tool: Bash, Command: "cd src && timeout 60 npm test -- --run 2>&1 > logs/x | tail -n 20"}
	b.ReportAllocs()
	for b.Loop() {
		p.Judge(c, links{})
	}
}
