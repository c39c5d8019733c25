package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a program left that was killed is removed, and nothing that one uses.
func TestSweep(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	old := time.Now().Add(-2 * veilAge)
	make1 := func(killed bool, age time.Time) string {
		v, err := newVeil()
		if err != nil {
			t.Fatal(err)
		}
		if killed {
			v.lock.Close()
		} else {
			t.Cleanup(v.remove)
		}
		if err := os.Chtimes(v.dir, age, age); err != nil {
			t.Fatal(err)
		}
		return v.dir
	}
	left, used, young := make1(true, old), make1(false, old), make1(true, time.Now())
	other, link := filepath.Join(base, "other"), filepath.Join(base, veilPrefix+"link")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := make1(true, old) // what has more in it is not removed
	if err := os.WriteFile(filepath.Join(foreign, "more"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(foreign, old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	sweep(base, time.Now().Add(-veilAge))
	for path, want := range map[string]bool{left: false, used: true, young: true, other: true, link: true, foreign: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	if _, err := os.Lstat(filepath.Join(used, "file")); err != nil {
		t.Error(err)
	}
}
