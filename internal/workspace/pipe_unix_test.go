//go:build !windows

package workspace_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// What is no regular file is not opened, and nothing waits for it.
func TestReadOpensOnlyFiles(t *testing.T) {
	r := newRig(t, setup{files: map[string]string{"real": "x"}, mode: acceptEdits})
	r.must(syscall.Mkfifo(r.path("pipe"), 0o600))
	r.call("Read", "file_path", "pipe").fails("a named pipe")
	r.call("Write", "file_path", "pipe", "content", "x").fails("a named pipe")
	r.must(os.Symlink("/dev/zero", r.path("zero")))
	r.call("Read", "file_path", "zero").refused(dispatch.BySandbox)
	r.must(os.Symlink("real", r.path("link")))
	r.call("Read", "file_path", "link").ok("     1→x")
}
