package sandbox_test

import (
	"os"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}
