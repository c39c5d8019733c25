package sandbox_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
	"github.com/holdfast-mcp/holdfast/internal/sandbox/sandboxtest"
)

// needBubblewrap skips a test where it is not installed, and fails where
// HOLDFAST_REQUIRE_PROGRAMS says that it has to be.
func needBubblewrap(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_PROGRAMS") != "" {
			t.Fatal("bubblewrap is not installed; run: make prepare")
		}
		t.Skip("SKIPPED: bubblewrap is not installed; run: make prepare")
	}
}

func TestBubblewrap(t *testing.T) {
	needBubblewrap(t)
	sandboxtest.Run(t, sandbox.Bubblewrap())
}
