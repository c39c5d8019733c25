package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
	"github.com/holdfast-mcp/holdfast/internal/sandbox/sandboxtest"
)

// needBubblewrap skips a test where it is not installed, and fails where
// HOLDFAST_REQUIRE_SANDBOX says that it has to be.
func needBubblewrap(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_SANDBOX") != "" {
			t.Fatal("bubblewrap is not installed; run: make prepare")
		}
		t.Skip("SKIPPED: bubblewrap is not installed; run: make prepare")
	}
}

func TestBubblewrap(t *testing.T) {
	needBubblewrap(t)
	sandboxtest.Run(t, sandbox.Bubblewrap())
}

func TestUnconfined(t *testing.T) { sandboxtest.Run(t, sandbox.Unconfined()) }

func TestLandlock(t *testing.T) { sandboxtest.Run(t, sandbox.Landlock()) }

// TestUnprivileged runs a part of the suite as the account nobody, when this is root: for
// an account with no rights bubblewrap takes other ways, and the kernel counts otherwise.
func TestUnprivileged(t *testing.T) {
	needBubblewrap(t)
	if os.Geteuid() != 0 {
		t.Skip("this is no root: the whole suite runs without rights")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("/var/tmp", "holdfast-unprivileged-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := copyOfThis(t, dir)
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(work, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", "TestBubblewrap/promises/^(in_the_temporary_directory|processes|a_fork_bomb|all_ends.*|no_cap.*|namespaces|the_kernel.*|no_service.*)$")
	cmd.Dir = work
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + work, "TMPDIR=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// copyOfThis copies the test program to a folder, which everyone can reach then.
func copyOfThis(t *testing.T, dir string) string {
	t.Helper()
	from, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// By a program: what this one writes can't be run as long as a child that is just
	// being started has it open.
	to := filepath.Join(dir, "sandbox.test")
	if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, path := range []string{dir, to} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return to
}
