//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// Each benchmark here gives one ratio of two things that are done in turns in one run,
// so that a slow spell of the machine falls on both.

// turns does two things in turns and gives the ratio of their medians.
func turns(b *testing.B, this, that func(), unit string) {
	b.Helper()
	var a, c []time.Duration
	for b.Loop() {
		begun := time.Now()
		this()
		middle := time.Now()
		that()
		a, c = append(a, middle.Sub(begun)), append(c, time.Since(middle))
	}
	slices.Sort(a)
	slices.Sort(c)
	x, y := a[len(a)/2], c[len(c)/2]
	b.ReportMetric(float64(x)/float64(y), unit)
	b.ReportMetric(float64(x.Microseconds()), "µs/this")
	b.ReportMetric(float64(y.Microseconds()), "µs/that")
	b.ReportMetric(0, "ns/op")
}

func runTrue(b *testing.B) func() {
	return func() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

type noLinks struct{}

func (noLinks) Real(path string) (string, error) { return filepath.Clean(path), nil }

// BenchmarkDecision is a decision under 1,000 rules, to starting /bin/true. At most 0.1
// is promised.
func BenchmarkDecision(b *testing.B) {
	var rules []policy.Rule
	for i := range 1000 {
		texts := []string{
			fmt.Sprintf("Bash(tool%d run *)", i), fmt.Sprintf("Edit(src/part%d/**)", i), fmt.Sprintf("Read(**/secret%d.*)", i),
			fmt.Sprintf("Bash(FOO%d=* make target%d)", i, i),
		}
		effect := []policy.Effect{policy.Allow, policy.Deny, policy.Ask}[i%3]
		rule, err := policy.ParseRule(texts[i%len(texts)], effect, policy.Place{Layer: policy.User, Line: i}, "", "/home/user")
		if err != nil {
			b.Fatal(err)
		}
		rules = append(rules, rule)
	}
	p, err := policy.New(policy.Config{Mode: policy.Default, Rules: rules, Roots: []string{"/ws"}, Given: []string{"/ws"}, Home: "/home/user", Confined: true})
	if err != nil {
		b.Fatal(err)
	}
	for name, c := range map[string]policy.Call{
		"Write": {Tool: policy.Write, Path: "src/part999/deep/file.go"},
		"Read":  {Tool: policy.Read, Path: "src/part3/read.md"},
		"Bash":  {Tool: policy.Bash, Command: "cd src && go test ./... 2>&1 | tail -20"},
	} {
		b.Run(name, func(b *testing.B) {
			turns(b, func() { p.Judge(c, noLinks{}) }, runTrue(b), "of_true")
		})
	}
}

// bench is a workspace of many files with a server.
func benchServer(b *testing.B, files int) *attempt {
	b.Helper()
	base, err := os.MkdirTemp("/var/tmp", "holdfast-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(base) })
	a := &attempt{ws: filepath.Join(base, "ws"), home: filepath.Join(base, "home")}
	settings := filepath.Join(a.home, ".config/holdfast/settings.json")
	for i := range files {
		name := filepath.Join(a.ws, fmt.Sprintf("d%d/f%d.txt", i/50, i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("text\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(settings), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(`{"permissions":{"allow":["Bash"],"deny":["Read(.env)"]}}`), 0o644); err != nil {
		b.Fatal(err)
	}
	if a.bin, err = builtHoldfast(); err != nil {
		b.Fatal(err)
	}
	return a
}

func (a *attempt) peer() *peerOf {
	p, err := newPeer(a.bin, []string{"workspace", "-C", a.ws}, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.home})
	if err != nil {
		panic(err)
	}
	p.initialize()
	return p
}

// BenchmarkStart is from the start of a server to its first answer, to starting
// /bin/true. At most 20 is promised.
func BenchmarkStart(b *testing.B) {
	a := benchServer(b, 1000)
	turns(b, func() { a.peer().abandon() }, runTrue(b), "of_true")
}
