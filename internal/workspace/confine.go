package workspace

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/sandbox"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// Confinement is what commands may reach by these settings, apart from what depends on
// the files that are there. environ is this process's environment.
func Confinement(s *settings.Settings, environ []string) sandbox.Policy {
	mode := sandbox.ModeWorkspaceWrite
	if s.Sandbox.Mode == string(sandbox.ModeReadOnly) {
		mode = sandbox.ModeReadOnly
	}
	return sandbox.Policy{
		Mode: mode, Roots: s.Roots, Home: s.Home, Readable: s.Sandbox.Readable, Writable: s.Sandbox.Writable,
		State: s.Own, Network: s.Sandbox.Network == "host", Unix: s.Sandbox.UnixSockets,
		Env: append(environment(environ, s.Sandbox.Env), "HOME="+s.Home),
	}
}

// passed are the variables that commands get without being named in sandbox.env.
var passed = []string{"USER", "LANG", "TZ", "TERM"}

// environment is the part of an environment that commands get: nothing that could hold
// a secret, unless the owner names it.
func environment(environ, named []string) []string {
	var env []string
	for _, e := range environ {
		name, value, ok := strings.Cut(e, "=")
		switch {
		case !ok || name == "":
		case name == "HOME": // it is the one that the settings are of
		case name == "PATH":
			env = append(env, "PATH="+absolute(value))
		case slices.Contains(passed, name), strings.HasPrefix(name, "LC_"), slices.Contains(named, name):
			env = append(env, e)
		}
	}
	return env
}

// absolute drops the entries of a PATH that depend on where a command runs.
func absolute(path string) string {
	var dirs []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}
