package hooks

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const usualPath = "/usr/local/bin:/usr/bin:/bin" // where nothing is left of PATH

// environment is that of hooks: this process's, but for what would have a program or a
// module looked for in the folder that hooks run in, where the agent writes. Who set
// PYTHONSAFEPATH keeps it.
func environment(own []string, dir string) []string {
	env := []string{"PYTHONSAFEPATH=1", "PATH=" + usualPath}
	for _, e := range own {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case name == "PATH" || name == "PYTHONPATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH"):
			// An empty list would mean that very folder.
			if value = absolute(value); value != "" {
				env = append(env, name+"="+value)
			}
		case name == "PYTHONSAFEPATH":
			env[0] = e
		default:
			env = append(env, e)
		}
	}
	return append(env, "CLAUDE_PROJECT_DIR="+dir)
}

// environment adds the folders that the hook's own modules come from.
func (h hook) environment(env []string) []string {
	if len(h.Modules) == 0 {
		return env
	}
	before := ""
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PYTHONPATH="); ok {
			before = string(filepath.ListSeparator) + value
		}
	}
	return append(slices.Clone(env), "PYTHONPATH="+strings.Join(h.Modules, string(filepath.ListSeparator))+before)
}

// absolute drops the entries of a list of folders that depend on where a program runs.
func absolute(list string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !filepath.IsAbs(dir) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}
