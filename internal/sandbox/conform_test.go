package sandbox_test

import (
	"os"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
	"github.com/holdfast-mcp/holdfast/internal/sandbox/sandboxtest"
)

// helpers are what this test program does instead of testing, told by the environment:
// tests that need a program to kill, or one to run somewhere else.
var helpers = map[string]func() int{}

const helperVar = "HOLDFAST_SANDBOX_HELPER"

func TestMain(m *testing.M) {
	sandbox.Main()
	if h, ok := helpers[os.Getenv(helperVar)]; ok {
		os.Exit(h())
	}
	os.Exit(m.Run())
}

func TestUnconfined(t *testing.T) { sandboxtest.Run(t, sandbox.Unconfined()) }
