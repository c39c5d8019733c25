package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/workspace"
)

// fill puts so many small files into a workspace, twenty to a folder.
func fill(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("src/d%d/f%d.go", i/20, i)] = strings.Repeat("x", 200)
	}
	return files
}

// settle waits until no file is so new that it is read at each look, and has all known.
func settle(r *rig) {
	time.Sleep(1100 * time.Millisecond)
	r.call("Bash", "command", "true").ok()
}

// BenchmarkBash compares `true` as a call with /bin/true alone, by how many files the
// workspace has. The difference is what the gate, the survey, the ledger and the
// sandbox cost together.
func BenchmarkBash(b *testing.B) {
	for _, n := range []int{0, 1000, 4000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			r := newRig(b, setup{bash: true, user: allowBash, files: fill(n)})
			settle(r)
			var plain time.Duration
			for b.Loop() {
				r.call("Bash", "command", "true").ok()
				b.StopTimer()
				begun := time.Now()
				_ = exec.Command("/bin/true").Run()
				plain += time.Since(begun)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed()-plain)/float64(b.N)/1e6, "ms-more/op")
		})
	}
}

// BenchmarkRead compares a Read of 1 MiB with plain reading.
func BenchmarkRead(b *testing.B) {
	line := strings.Repeat("0123456789", 8)[:79] + "\n"
	r := newRig(b, setup{files: map[string]string{"big": strings.Repeat(line, 1<<20/80)}})
	big := call.Request{Caller: dispatch.Local(), Face: dispatch.Face{Server: "workspace"}, Name: "Read", Params: []byte(`{"name":"Read","arguments":{"file_path":"big"}}`)}
	var called, plain time.Duration
	for b.Loop() {
		begun := time.Now()
		if reply, refusal, err := r.desk.Do(b.Context(), big); refusal != nil || err != nil || len(reply.Result) < 100_000 {
			b.Fatal(refusal, err)
		}
		between := time.Now()
		if _, err := os.ReadFile(r.path("big")); err != nil {
			b.Fatal(err)
		}
		called, plain = called+between.Sub(begun), plain+time.Since(between)
	}
	b.ReportMetric(float64(called)/float64(plain), "x-plain")
}

// BenchmarkGlob is a walk through a tree.
func BenchmarkGlob(b *testing.B) {
	r := newRig(b, setup{files: fill(1000)})
	for b.Loop() {
		r.call("Glob", "pattern", "**/nothing").ok()
	}
}

// BenchmarkLook is one look through the roots, of which a command takes two.
func BenchmarkLook(b *testing.B) {
	for name, ignore := range map[string]string{"plain": "", "ignore": strings.Repeat("*.log\nreport.[0-9]*.json\ndist\n/build/out\nnode_modules/\n", 8)} {
		b.Run(name, func(b *testing.B) {
			files := fill(1000)
			files[".gitignore"] = ignore
			r := newRig(b, setup{bash: true, user: allowBash, files: files})
			settle(r)
			b.ReportAllocs()
			for b.Loop() {
				workspace.Look(r.server)
			}
		})
	}
}
