package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
		// A module's name may hold slashes, so its own parts are found at any depth, but
		// not among its data, where a branch may have any name.
		for _, name := range parts[1:] {
			if slices.Contains(gitData, name) {
				return false
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

// gitData are the folders of a repository that hold nothing but data. They are the
// large ones, and have folders named info among them.
var gitData = []string{"objects", "refs", "logs"}

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
		name := strings.ToLower(e.Name())
		switch {
		case GitRuns(below):
			held = append(held, filepath.Join(dir, filepath.FromSlash(below)))
		case !e.IsDir() || slices.Contains(gitData, name):
		case rel != "" || name == "modules" || name == "worktrees":
			held = gitWalk(held, dir, below)
		}
	}
	return held
}
