package sandbox_test

import (
	"os"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

// roles are what this test program does instead of testing, told by the environment:
// tests that need a program to kill, or one to run somewhere else.
var roles = map[string]func() int{}

const roleVar = "HOLDFAST_SANDBOX_ROLE"

func TestMain(m *testing.M) {
	sandbox.Main()
	if play, ok := roles[os.Getenv(roleVar)]; ok {
		os.Exit(play())
	}
	code := m.Run()
	sandbox.Quit()
	os.Exit(code)
}
