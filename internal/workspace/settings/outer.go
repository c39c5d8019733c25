package settings

import (
	"fmt"
	"os"
	"path/filepath"
)

// OuterNote tells, in a sentence, of rules that stand in a folder above the workspace and
// do not count in it: settings, contract and trust are of one folder. Empty when there are
// none.
func OuterNote(dir, home string) string {
	_, dir, err := realFolder(dir)
	if err != nil {
		return ""
	}
	if home, err = realPath(home); err != nil {
		return ""
	}
	top := outer(dir, home)
	if top == "" {
		return ""
	}
	return fmt.Sprintf("%s does not count here: rules and contract are those of the workspace's own folder, which is %s. To work under them, start with -C %s.",
		filepath.Join(top, projectFolder), dir, top)
}

// OuterNote is the note on this workspace.
func (s *Settings) OuterNote() string { return OuterNote(s.Dir, s.Home) }

// outer finds the nearest folder above a workspace that has rules of its own. The last one
// that is looked at is the top of the git work tree that holds the workspace; without one,
// the last below the home directory, or below the root of the file system: what stands
// further up belongs to other projects.
func outer(dir, home string) string {
	for at := dir; ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return ""
		}
		up := filepath.Dir(at)
		if up == at || filepath.Dir(up) == up || holds(up, home) {
			return ""
		}
		at = up
		for _, name := range []string{settingsName, localName, contractName} {
			if _, err := os.Lstat(filepath.Join(at, projectFolder, name)); err == nil {
				return at
			}
		}
	}
}
