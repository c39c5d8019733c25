package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// GitRuns reports whether a path below a .git folder, relative to it and with slashes,
// is one that git takes programs from, or that leads git to another place to take them
// from: config*, hooks, info, commondir and gitdir, of the repository itself, of its
// modules and of its worktrees. It says the same of paths that are not there: those a
// mount can't hold, so a caller compares the tree before and after a command with it.
func GitRuns(rel string) bool {
	parts := strings.Split(strings.ToLower(rel), "/")
	switch parts[0] {
	case "modules", "worktrees":
		// A name may hold slashes and be that of anything, of data too, so the parts of
		// what has it are found at any depth, but for what is a branch, or beside objects.
		for i, name := range parts[1:] {
			switch before := parts[i]; {
			case before == "refs" && (name == "heads" || name == "remotes" || name == "tags"):
				return false
			case before == "objects" && name == "info":
				continue
			}
			if gitRunsName(name) || name == "config" || name == "config.worktree" || name == "config.lock" {
				return true
			}
		}
		return false
	}
	return gitRunsName(parts[0]) || strings.HasPrefix(parts[0], "config")
}

func gitRunsName(name string) bool {
	switch name {
	case "hooks", "info", "commondir", "gitdir":
		return true
	}
	return false
}

// GitDescends reports whether a folder below a .git folder, relative to it and with
// slashes, may hold what GitRuns: those of modules and worktrees do, but for where objects
// lie, which are many.
func GitDescends(rel string) bool {
	parts := strings.Split(strings.ToLower(rel), "/")
	if parts[0] != "modules" && parts[0] != "worktrees" {
		return false
	}
	n := len(parts)
	return n < 3 || parts[n-2] != "objects" || parts[n-1] != "pack" && !isHex(parts[n-1])
}

// isHex reports whether a name is that of a folder of loose objects.
func isHex(name string) bool { return len(name) == 2 && strings.Trim(name, "0123456789abcdef") == "" }

// isGit reports whether a path is named as git names its folder or pointer file.
func isGit(path string) bool { return strings.EqualFold(filepath.Base(path), ".git") }

// gitGuarded gives what is held of a .git: the file itself when it is a pointer or can't
// be looked at, and of a folder what runs programs.
func gitGuarded(dir string) []string {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || !info.IsDir():
		return []string{dir}
	}
	return gitWalk(nil, dir, "")
}

// gitWalk adds what is held below one folder of a repository. A folder that can't be
// listed is held as a whole.
func gitWalk(held []string, dir, rel string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(rel)))
	if err != nil {
		return append(held, filepath.Join(dir, filepath.FromSlash(rel)))
	}
	for _, e := range entries {
		below := e.Name()
		if rel != "" {
			below = rel + "/" + e.Name()
		}
		switch {
		case GitRuns(below):
			held = append(held, filepath.Join(dir, filepath.FromSlash(below)))
		case e.IsDir() && GitDescends(below):
			held = gitWalk(held, dir, below)
		}
	}
	return held
}
