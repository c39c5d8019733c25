package sandbox

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// kind is how one path looks inside. Of two kinds for one path the later one counts.
type kind int

const (
	pinned   kind = iota // as it is, but a mount of its own: such a folder can't be renamed
	fresh                // an empty folder in memory
	readable             // as it is, read-only
	writable             // as it is
	locked               // as it is, read-only, within what is writable
	veiled               // empty, and not to be opened
)

// place is one mount. The device and inode are those of the path when the plan was
// made, so that it can be seen whether the mount took hold of that very thing.
type place struct {
	path     string
	kind     kind
	dir      bool
	shown    bool // readable or writable by itself, whatever is stronger
	dev, ino uint64
}

// plan is every mount over the read-only file system of the machine, parents first.
// What is veiled or locked in a writable place has its parents pinned: a mount can't be
// renamed, but the folder that it lies in could be, and the way to it with it.
func plan(p Policy) ([]place, error) {
	all := draft{}
	home, err := homes(p)
	if err != nil {
		return nil, err
	}
	for _, dir := range home {
		all.add(dir, fresh)
		for _, tool := range toolsOf(dir) {
			all.add(tool, readable)
		}
	}
	for _, dir := range freshFolders {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			all.add(real, fresh)
		}
	}
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && p.Network {
		all.add(real, readable) // often in /run
	}
	for _, path := range p.Readable {
		all.add(path, readable)
	}
	// What is written ends under ModeReadOnly; what is read stays the same.
	open := writable
	if p.Mode == ModeReadOnly {
		open = readable
	}
	for _, path := range p.Writable {
		all.add(path, open)
	}
	for _, root := range p.Roots {
		if !all.add(root, open) {
			return nil, fault.New(fault.Unavailable, "the command can't be confined: a folder of the workspace is not there, or is a link", "start again with the real path of the folder")
		}
	}
	for k, paths := range map[kind][]string{locked: guarded(p), veiled: p.Hidden} {
		for _, path := range paths {
			if err := all.hold(p, path, k); err != nil {
				return nil, err
			}
		}
	}
	for _, path := range p.State {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all.add(real, veiled)
		}
	}
	for _, path := range secretsOfRoot() {
		all.add(path, veiled)
	}
	return all.settle(), nil
}

// hold adds what is hidden or read-only. A link itself can't be held; what it leads to
// is, when it lies in the roots and does not hold one. What can't be looked at now may be
// opened to the child by another one meanwhile, and then nothing would hold it.
func (d draft) hold(p Policy, path string, k kind) error {
	info, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return fault.Wrap(err, fault.Unavailable, "the command can't be confined: what it may not reach can't be looked at now", "try again")
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || !inAny(real, p.Roots) || slices.ContainsFunc(p.Roots, func(root string) bool { return within(root, real) }) {
			return nil
		}
		path = real
	}
	d.add(path, k)
	return nil
}

// freshFolders are private to every child and empty. What they hold is gone with it.
var freshFolders = []string{"/tmp", "/run", "/var/tmp", "/dev/shm"}

// homes are the home directory of the policy and that of the account: HOME may lead
// elsewhere, and the account's keys lie where they lie.
func homes(p Policy) ([]string, error) {
	if real, err := filepath.EvalSymlinks(p.Home); err == nil && real != p.Home {
		return nil, bad("the path of the home directory is not real")
	}
	all := []string{p.Home}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		if real, err := filepath.EvalSymlinks(u.HomeDir); err == nil && real != "/" && real != p.Home {
			all = append(all, real)
		}
	}
	for _, home := range all {
		if slices.ContainsFunc(p.Roots, func(root string) bool { return root == home }) {
			return nil, bad("a root is the home directory")
		}
	}
	return all, nil
}

// toolsOf are the tool folders that may be in a home directory: those whose first folder
// is there.
func toolsOf(home string) []string {
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil // then the child can't list it either
	}
	there := make(map[string]bool, len(entries))
	for _, e := range entries {
		there[e.Name()] = true
	}
	var all []string
	for _, tool := range toolFolders {
		if first, _, _ := strings.Cut(tool, "/"); there[first] {
			all = append(all, filepath.Join(home, tool))
		}
	}
	return all
}

// secretsOfRoot are the machine's secrets that hold something, when this is root.
func secretsOfRoot() []string {
	if os.Geteuid() != 0 {
		return nil
	}
	var all []string
	for _, path := range machineSecrets {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().IsRegular() && info.Size() == 0 {
			continue
		}
		if entries, err := os.ReadDir(path); info.IsDir() && err == nil && len(entries) == 0 {
			continue
		}
		all = append(all, path)
	}
	return all
}

// guarded is what can't be written within the roots.
func guarded(p Policy) []string {
	if p.Mode == ModeReadOnly {
		return nil
	}
	var all []string
	for _, root := range p.Roots {
		all = append(all, gitGuarded(filepath.Join(root, ".git"))...)
	}
	for _, path := range p.ReadOnly {
		if isGit(path) {
			all = append(all, gitGuarded(path)...)
		} else {
			all = append(all, path)
		}
	}
	return all
}

// draft is the plan while it grows.
type draft map[string]place

// add puts a path into the draft, and reports whether there is something that can be
// mounted. What can't be looked at is passed over as if it were not there: the child
// has no more rights than this process.
func (d draft) add(path string, k kind) bool {
	if old, ok := d[path]; ok {
		old.kind, old.shown = max(old.kind, k), old.shown || k == readable || k == writable
		d[path] = old
		return true
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || k == fresh && !info.IsDir() {
		return false
	}
	d[path] = place{path: path, kind: k, dir: info.IsDir(), shown: k == readable || k == writable, dev: uint64(stat.Dev), ino: stat.Ino}
	return true
}

// settle leaves out what changes nothing, adds the pins, and sorts.
func (d draft) settle() []place {
	paths := make([]string, 0, len(d))
	for path := range d {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, byDepth)
	kept := draft{}
	for _, path := range paths {
		p := d[path]
		outer, inside := kept.around(path)
		switch {
		case d.under(path, veiled):
			continue // whether its veil was needed or not
		case inside && outer.kind == fresh && (p.kind == veiled || p.kind == locked && !p.shown):
			continue // it is not there
		case p.kind == readable && (!inside || outer.kind != fresh):
			continue // it can be read as it is
		case p.kind == locked && (!inside || outer.kind == readable || outer.kind == locked):
			continue // it can't be written as it is
		case p.kind == writable && d.under(path, locked):
			continue // though it was said to be
		}
		kept[path] = p
	}
	for _, path := range paths {
		if p, ok := kept[path]; ok && (p.kind == veiled || p.kind == locked || p.kind == fresh) {
			kept.pin(path)
		}
	}
	all := make([]place, 0, len(kept))
	for _, p := range kept {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b place) int { return byDepth(a.path, b.path) })
	return all
}

// around is the innermost place that a path lies in.
func (d draft) around(path string) (place, bool) {
	for path != "/" {
		path = filepath.Dir(path)
		if p, ok := d[path]; ok {
			return p, true
		}
	}
	return place{}, false
}

// under reports whether a path lies somewhere in a place of a kind.
func (d draft) under(path string, k kind) bool {
	for p, ok := d.around(path); ok; p, ok = d.around(p.path) {
		if p.kind == k {
			return true
		}
	}
	return false
}

// pin adds the folders between a path and the writable place that it lies in.
func (d draft) pin(path string) {
	if outer, ok := d.around(path); !ok || outer.kind != writable && outer.kind != pinned {
		return
	}
	for path = filepath.Dir(path); ; path = filepath.Dir(path) {
		if _, ok := d[path]; ok {
			return // and from there on it is pinned already
		}
		d.add(path, pinned)
	}
}

// byDepth sorts parents before what lies in them, and siblings by name.
func byDepth(a, b string) int {
	return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
}

// errMoved says that what was mounted is not what was planned.
var errMoved = errors.New("a path was replaced while it was being mounted")
