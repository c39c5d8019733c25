package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// Rules above the workspace do not count in it, and that is said: up to the top of its git
// work tree, and never from the home directory on.
func TestOuterNote(t *testing.T) {
	for name, c := range map[string]struct {
		files     []string
		dir, want string // below the home directory
	}{
		"settings above":         {[]string{"p/.holdfast/settings.json"}, "p/a", "p"},
		"local settings, higher": {[]string{"p/.holdfast/settings.local.json"}, "p/a/b", "p"},
		"the nearest":            {[]string{"p/.holdfast/settings.json", "p/a/.holdfast/contract.yaml"}, "p/a/b", "p/a"},
		"own rules too":          {[]string{"p/.holdfast/settings.json", "p/a/.holdfast/contract.yaml"}, "p/a", "p"},
		"at the top of git":      {[]string{"p/.holdfast/contract.yaml", "p/.git/HEAD"}, "p/a", "p"},
		"beyond the top of git":  {[]string{"p/.holdfast/contract.yaml", "p/a/.git/HEAD"}, "p/a/b", ""},
		"the top of git itself":  {[]string{"p/.holdfast/contract.yaml", "p/a/.git"}, "p/a", ""},
		"own rules alone":        {[]string{"p/.holdfast/contract.yaml"}, "p", ""},
		"a folder of nothing":    {[]string{"p/.holdfast/notes"}, "p/a", ""},
		"of the home directory":  {[]string{".holdfast/settings.json"}, "p/a", ""},
	} {
		home, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(c.files, c.dir+"/x") {
			path := filepath.Join(home, f)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		note := settings.OuterNote(filepath.Join(home, c.dir), home)
		if c.want == "" && note != "" || c.want != "" && !strings.HasSuffix(note, "start with -C "+filepath.Join(home, c.want)+".") {
			t.Errorf("%s: %q", name, note)
		}
	}
	if note := settings.OuterNote("/not there", "/"); note != "" {
		t.Error(note)
	}
}
