package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// projectRunners are programs that run what the files of a project say: whoever may
// write those files has a hook of such a program run what they like.
var projectRunners = []string{
	"make", "gmake", "just", "task", "npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "eslint", "prettier", "jest", "vitest", "cargo", "go",
	"rake", "bundle", "gradle", "gradlew", "mvn", "mvnw", "uv", "uvx", "poetry", "tox", "nox", "pytest", "pre-commit", "composer", "dotnet",
}

// wrappers are programs that run another one, which they are told.
var wrappers = []string{"env", "exec", "command", "timeout", "nice", "ionice", "nohup", "setsid", "time", "xargs", "sudo", "stdbuf", "chronic"}

// pythonModule is Python with the name of a module, which it may find in the project.
var pythonModule = regexp.MustCompile(`\bpython[0-9.]*(?:\s+-[A-Za-z]+)*\s+-[A-Za-z]*m\b`)

// hooked are the files that hooks' commands name, and the folders of scripts: a script
// may load what lies beside it.
func (s *Settings) hooked() []string {
	var all []string
	for _, h := range s.Hooks {
		for _, f := range h.Files {
			all = append(all, f.Path)
			if folder, within := s.scriptFolder(f); within && !s.holdsRoot(folder) {
				all = append(all, folder)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// scriptFolder is the folder of a script that is there, and whether it lies in a root;
// empty for other files.
func (s *Settings) scriptFolder(f HookFile) (folder string, within bool) {
	if !f.Script || f.Missing {
		return "", false
	}
	folder = filepath.Dir(f.Path)
	return folder, slices.ContainsFunc(s.Roots, func(root string) bool { return folder == root || strings.HasPrefix(folder, root+separator) })
}

// holdsRoot reports whether a folder is a root or holds one: then it can't be protected
// as a whole, for there would be nothing left to work on.
func (s *Settings) holdsRoot(folder string) bool {
	return slices.ContainsFunc(s.Roots, func(root string) bool { return folder == root || strings.HasPrefix(root, folder+separator) })
}

// modules are the folders from which a hook's Python scripts may load modules: their
// own, unless the agent writes there.
func (s *Settings) modules(h Hook) []string {
	var all []string
	for _, f := range h.Files {
		folder, within := s.scriptFolder(f)
		if folder != "" && strings.EqualFold(filepath.Ext(f.Path), ".py") && (!within || !s.holdsRoot(folder)) && !slices.Contains(all, folder) {
			all = append(all, folder)
		}
	}
	return all
}

// HookCautions tells of hooks that can't run, or run what the agent may be able to write,
// a sentence each. What it does not tell of is not thereby safe: commands are read by their words.
func (s *Settings) HookCautions() []string {
	var all []string
	for _, h := range s.Hooks {
		at := fmt.Sprintf("%s:%d: the hook ", h.At.File, h.At.Line)
		if trouble := s.unready(h.Command); trouble != "" {
			all = append(all, at+trouble+": every call that it is for is refused")
		}
		if names := runners(h.Command, s.Dir, s.Home); len(names) > 0 {
			all = append(all, at+"runs "+strings.Join(names, ", ")+", which does what the project's files say, with all that this user may do: the agent must not be able to write those files")
		}
		for _, f := range h.Files {
			if folder, within := s.scriptFolder(f); within && s.holdsRoot(folder) {
				all = append(all, at+"runs "+f.Path+", which lies in the workspace's own folder: it is protected, but what it loads from there is not. Move it to a folder of its own.")
			}
		}
	}
	return all
}

// unready says why a command can't run, where its first word is the path of a program;
// empty when nothing is known against it.
func (s *Settings) unready(command string) string {
	words := splitWords(command, s.Dir, s.Home, maxNesting)
	if len(words) == 0 || !words[0].program || !strings.Contains(words[0].text, "/") || strings.ContainsAny(words[0].text, "$*?`=") {
		return ""
	}
	path := words[0].text
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "runs " + path + ", which is not there"
	case err == nil && runtime.GOOS != "windows" && (info.IsDir() || info.Mode()&0o111 == 0):
		return "runs " + path + ", which can't be executed (chmod +x)"
	}
	return ""
}

// runners are the programs in a command that do what a project says.
func runners(command, dir, home string) []string {
	var all []string
	add := func(name string) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	wrapped := false
	for _, w := range splitWords(command, dir, home, 0) {
		name := strings.TrimSuffix(strings.ToLower(filepath.Base(w.text)), ".exe")
		if w.program {
			wrapped = slices.Contains(wrappers, name)
		}
		if (w.program || wrapped) && slices.Contains(projectRunners, name) {
			add(name)
			wrapped = false
		}
	}
	if pythonModule.MatchString(command) {
		add("python -m")
	}
	return all
}
