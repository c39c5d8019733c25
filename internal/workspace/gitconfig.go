package workspace

import (
	"path/filepath"
	"strings"
)

const maxGitConfig = 256 << 10 // bytes of a file that is looked at

// configured finds what a repository's configuration has git run or read from elsewhere in
// the roots: other configuration, hooks, attributes and a file-system monitor.
func (t *tracer) configured(real string) {
	at, name, ok := strings.Cut(real, string(filepath.Separator)+".git"+string(filepath.Separator))
	p, inside := t.s.tree.resolved(real)
	if !ok || !inside || name != "config" && name != "config.worktree" {
		return
	}
	spot, err := t.s.tree.find(p, false)
	if err != nil {
		return
	}
	defer spot.Close()
	f, info, err := spot.openRegular()
	if err != nil {
		return
	}
	defer f.Close()
	if info.Size() > maxGitConfig {
		return
	}
	text, err := readAll(f, info.Size(), maxGitConfig)
	if err != nil {
		return
	}
	for _, to := range gitLeads(string(text)) {
		from := filepath.Join(at, ".git") // as if a link stood there: paths are from the work tree
		if to.include {
			from = real // or from the file itself
		}
		t.follow(from, to.path, real, false)
	}
}

// gitLead is a path in a git configuration.
type gitLead struct {
	path    string
	include bool
}

// gitLeads gives the paths in a git configuration that lead git to programs, but for those
// in the home directory. See git-config(1).
func gitLeads(text string) (all []gitLead) {
	section := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", ""), "\n") {
		line = strings.TrimSpace(line)
		if head, rest, ok := strings.Cut(line, "]"); ok && strings.HasPrefix(line, "[") {
			section, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(head[1:])), " ")
			line = strings.TrimSpace(rest)
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		value = strings.TrimSpace(value)
		if quoted, ok := strings.CutPrefix(value, `"`); ok {
			value, _, _ = strings.Cut(quoted, `"`)
		} else {
			value = strings.TrimSpace(value[:indexAny(value, "#;")])
		}
		key = strings.ToLower(strings.TrimSpace(key))
		if value == "" || strings.HasPrefix(value, "~") {
			continue
		}
		switch {
		case (section == "include" || section == "includeif") && key == "path":
			all = append(all, gitLead{value, true})
		case section == "core" && (key == "hookspath" || key == "attributesfile"), section == "core" && key == "fsmonitor" && strings.Contains(value, "/"):
			all = append(all, gitLead{value, false})
		}
	}
	return all
}

// indexAny is where one of some bytes comes first, or the end.
func indexAny(s, set string) int {
	if i := strings.IndexAny(s, set); i >= 0 {
		return i
	}
	return len(s)
}
