//go:build linux

package sandboxtest

import (
	"sync/atomic"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

// test is one promise, and the attempt to break it.
type test struct {
	promise string
	try     func(*scene)
}

// Run is the suite. It needs bash, and for some cases python3, git, node and go. What is
// no sandbox at all is held to the end of its commands, and to what it gives them.
func Run(t *testing.T, s sandbox.Sandbox) {
	var refused atomic.Int32
	if s.Name() == "none" {
		for _, c := range append(givenTests, endTests...) {
			t.Run(c.promise, func(t *testing.T) {
				t.Parallel()
				c.try(newScene(t, s, layouts[0], &refused))
			})
		}
		return
	}
	t.Run("promises", func(t *testing.T) {
		for _, l := range layouts {
			for _, group := range [][]test{fileTests, maskTests, gitTests} {
				for _, c := range group {
					t.Run(l.name+"/"+c.promise, func(t *testing.T) {
						t.Parallel()
						c.try(newScene(t, s, l, &refused))
					})
				}
			}
		}
		for _, group := range [][]test{onceTests, givenTests, processTests, endTests, limitTests, kernelTests, networkTests} {
			for _, c := range group {
				t.Run(c.promise, func(t *testing.T) {
					t.Parallel()
					c.try(newScene(t, s, layouts[0], &refused))
				})
			}
		}
	})
	t.Run("honest work", func(t *testing.T) {
		for _, l := range layouts {
			for _, c := range honestTests {
				t.Run(l.name+"/"+c.promise, func(t *testing.T) {
					t.Parallel()
					c.try(newScene(t, s, l, &refused))
				})
			}
		}
	})
	if s.Name() == "bubblewrap" && refused.Load() > 0 {
		t.Errorf("%d cases were refused", refused.Load())
	}
}
