package sandbox

import (
	"path/filepath"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// bad is the fault of a policy or command that no sandbox runs. Paths and values stay
// out of it: the caller knows them, and they may be secret.
func bad(what string) error {
	return fault.New(fault.BadInput, "the command can't be confined: "+what, "this is a mistake of the caller, nothing was run")
}

// check refuses what does not say clearly what may be reached.
func check(p Policy, c Command) error {
	switch {
	case p.Mode != ModeReadOnly && p.Mode != ModeWorkspaceWrite:
		return bad("the policy has no mode")
	case len(p.Roots) == 0:
		return bad("the policy has no root")
	case p.Home == "":
		return bad("the policy names no home directory")
	case p.Limits.Processes < 0 || p.Limits.Memory < 0 || p.Limits.FileSize < 0 || p.Limits.Files < 0:
		return bad("a limit is negative")
	}
	for _, list := range [][]string{p.Roots, p.Hidden, p.ReadOnly, {p.Home}, p.Readable, p.Writable, p.State} {
		for _, path := range list {
			if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
				return bad("a path of the policy is not absolute and clean")
			}
		}
	}
	for _, root := range append([]string{p.Home}, p.Roots...) {
		if root == filepath.Dir(root) {
			return bad("a root or the home directory is the whole file system")
		}
		for _, state := range p.State {
			if within(root, state) {
				return bad("a root or the home directory lies in this program's own state")
			}
		}
	}
	return checkCommand(p, c)
}

func checkCommand(p Policy, c Command) error {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return bad("there is no program")
	}
	for _, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			return bad("an argument holds a NUL")
		}
	}
	for _, e := range p.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" || strings.ContainsRune(e, 0) {
			return bad("the environment has an entry that is not NAME=value")
		}
	}
	if !filepath.IsAbs(c.Dir) || filepath.Clean(c.Dir) != c.Dir {
		return bad("the folder to run in is not absolute and clean")
	}
	for _, root := range p.Roots {
		if within(c.Dir, root) {
			return nil
		}
	}
	return bad("the folder to run in lies outside of the roots")
}

// within reports whether path is dir or lies below it. Both are clean.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || strings.HasSuffix(dir, string(filepath.Separator)) || rest[0] == filepath.Separator)
}
