package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// tree makes three levels of folders with three names each, and a file in each folder.
func tree(t *testing.T) (root string, paths []string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var grow func(dir string, depth int)
	grow = func(dir string, depth int) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, dir, dir+"/file")
		for i := range 3 {
			if depth > 0 {
				grow(fmt.Sprintf("%s/d%d", dir, i), depth-1)
			}
		}
	}
	grow(base+"/ws", 3)
	grow(base+"/home", 1)
	return base, paths
}

// TestPlans holds every plan to what keeps it tight, for random policies over a tree.
func TestPlans(t *testing.T) {
	base, paths := tree(t)
	rapid.Check(t, func(t *rapid.T) {
		some := func(label string, most int) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(paths), 0, most, rapid.ID[string]).Draw(t, label)
		}
		p := Policy{
			Mode: rapid.SampledFrom([]Mode{ModeReadOnly, ModeWorkspaceWrite}).Draw(t, "mode"), Roots: []string{base + "/ws"}, Home: base + "/home",
			Hidden: some("hidden", 4), ReadOnly: some("read-only", 4), Readable: some("readable", 3), Writable: some("writable", 3), State: some("state", 2),
		}
		places, err := plan(p)
		if err != nil {
			t.Fatal(err)
		}
		all := draft{}
		for _, pl := range places {
			if outer, ok := all.around(pl.path); ok && outer.kind == veiled {
				t.Errorf("%s is mounted in what is veiled", pl.path)
			}
			for p := filepath.Dir(pl.path); p != "/"; p = filepath.Dir(p) {
				if later := slices.IndexFunc(places, func(o place) bool { return o.path == p }); later >= 0 {
					if _, ok := all[p]; !ok {
						t.Errorf("%s is mounted before its parent", pl.path)
					}
				}
			}
			all[pl.path] = pl
		}
		for _, path := range paths {
			checkReach(t, p, all, path)
		}
	})
}

// checkReach compares how a path is reached by the mounts with how it may be by the
// policy, read again in the simplest way.
func checkReach(t *rapid.T, p Policy, all draft, path string) {
	got, ok := all[path]
	if !ok {
		got, ok = all.around(path)
	}
	if !ok {
		return // the machine's, read-only
	}
	hidden := inAny(path, p.Hidden) || inAny(path, p.State)
	if hidden && got.kind != veiled && got.kind != fresh {
		t.Errorf("%s is hidden, and reached by %v", path, got)
	}
	open := got.kind == writable || got.kind == pinned
	if open && (p.Mode == ModeReadOnly || inAny(path, p.ReadOnly) || !inAny(path, p.Roots) && !inAny(path, p.Writable)) {
		t.Errorf("%s can be written by %v", path, got)
	}
	if mount, ok := all[path]; ok && (mount.kind == locked || mount.kind == veiled) {
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			outer, ok := all[dir]
			if !ok {
				if around, ok := all.around(dir); ok && (around.kind == writable || around.kind == pinned) {
					t.Errorf("%s can be moved with %s", path, dir)
				}
				break
			}
			if outer.kind != pinned {
				break
			}
		}
	}
}
