package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

// BenchmarkTrue runs /bin/true by itself and confined, in turns, in a workspace of 1,000
// files with so many of them hidden. "ratio" is how many times longer a confined one
// takes, "added-ms" the difference of the medians, "least-added-ms" that of the fastest runs
// (which other work on the machine raises less), "µs/mask" what each mask adds.
func BenchmarkTrue(b *testing.B) {
	needBubblewrap(b)
	var bare float64
	for _, hidden := range []int{0, 10, 100, 140, 200, 1000, 4000, 8000} {
		b.Run(fmt.Sprintf("hidden=%d", hidden), func(b *testing.B) {
			p := policy(b, hidden)
			for i := hidden; i < 1000; i++ {
				if err := os.WriteFile(fmt.Sprintf("%s/plain%d", p.Roots[0], i), nil, 0o600); err != nil {
					b.Fatal(err)
				}
			}
			s := sandbox.Bubblewrap()
			var plain, confined []time.Duration
			for b.Loop() {
				start := time.Now()
				if err := exec.Command("/bin/true").Run(); err != nil {
					b.Fatal(err)
				}
				plain = append(plain, time.Since(start))
				start = time.Now()
				proc, err := s.Start(b.Context(), p, sandbox.Command{Args: []string{"/bin/true"}, Dir: p.Roots[0]})
				if err != nil {
					b.Fatal(err)
				}
				if exit, err := proc.Wait(); err != nil || exit.Code != 0 {
					b.Fatal(exit, err)
				}
				confined = append(confined, time.Since(start))
			}
			t, c := median(plain), median(confined)
			added := float64(c-t) / float64(time.Millisecond)
			b.ReportMetric(float64(c)/float64(t), "ratio")
			b.ReportMetric(added, "added-ms")
			b.ReportMetric(float64(slices.Min(confined)-slices.Min(plain))/float64(time.Millisecond), "least-added-ms")
			if hidden == 0 {
				bare = added
			} else {
				b.ReportMetric((added-bare)*1000/float64(hidden), "µs/mask")
			}
		})
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
