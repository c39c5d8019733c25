package workspace_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// unprivileged are the tests that say nothing when root runs them, who may list and
// write every folder.
var unprivileged = []string{"TestShutFolders", "TestOpenedAndShut", "TestPlantedAndShut", "TestBlindBefore", "TestPlantedInTheDark"}

// TestUnprivileged runs them as the account nobody, when this is root.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is no root: they run themselves")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("/var/tmp", "holdfast-unprivileged-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	program := filepath.Join(dir, "workspace.test")
	to, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, work} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(work, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-test.run", "^("+strings.Join(unprivileged, "|")+")$", "-test.v")
	c.Dir = work
	c.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + work, "TMPDIR=" + work, "HOLDFAST_REQUIRE_SANDBOX=" + os.Getenv("HOLDFAST_REQUIRE_SANDBOX")}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := c.CombinedOutput()
	if strings.Contains(string(out), "--- SKIP") {
		lacks(t, string(out))
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range unprivileged {
		if !strings.Contains(string(out), "--- PASS: "+name) {
			t.Errorf("%s did not pass:\n%s", name, out)
		}
	}
}
