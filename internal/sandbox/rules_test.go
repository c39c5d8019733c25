package sandbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func TestGitRuns(t *testing.T) {
	for rel, want := range map[string]bool{
		"config": true, "config.worktree": true, "config.lock": true, "CONFIG": true, "hooks": true, "hooks/pre-commit": true, "Hooks/x": true,
		"info": true, "info/attributes": true, "commondir": true, "gitdir": true,
		"modules/lib/config": true, "modules/a/b/config": true, "modules/a/modules/b/hooks/x": true, "modules/a/info/attributes": true, "modules/a/gitdir": true,
		"worktrees/w/gitdir": true, "worktrees/w/commondir": true, "worktrees/w/config.worktree": true,
		"HEAD": false, "index": false, "index.lock": false, "COMMIT_EDITMSG": false, "objects/info/packs": false, "objects/ab/cd": false,
		"refs/heads/config": false, "refs/heads/hooks": false, "logs/HEAD": false, "packed-refs": false, "": false, "description": false,
		"modules": false, "modules/a/HEAD": false, "modules/a/refs/heads/config": false, "modules/a/objects/info/packs": false, "modules/config-lib/HEAD": false, "modules/lib/objects/config": true, "modules/refs/hooks/post-commit": true, "modules/logs/config": true,
		"worktrees/refs/commondir": true, "worktrees/objects/config.worktree": true, "modules/a/logs/refs/heads/config": false, "worktrees/w/HEAD": false,
	} {
		if got := GitRuns(rel); got != want {
			t.Errorf("%q: %t", rel, got)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	good := func() (Policy, Command) {
		return Policy{Mode: ModeWorkspaceWrite, Roots: []string{"/w"}, Home: "/h", State: []string{"/s"}, Env: []string{"A=b", "E="}}, Command{Args: []string{"true"}, Dir: "/w/d"}
	}
	if p, c := good(); check(p, c) != nil {
		t.Fatal(check(p, c))
	}
	for name, spoil := range map[string]func(*Policy, *Command){
		"the zero policy":          func(p *Policy, _ *Command) { *p = Policy{} },
		"no mode":                  func(p *Policy, _ *Command) { p.Mode = "" },
		"a mode that is none":      func(p *Policy, _ *Command) { p.Mode = "off" },
		"no root":                  func(p *Policy, _ *Command) { p.Roots = nil },
		"no home":                  func(p *Policy, _ *Command) { p.Home = "" },
		"a relative root":          func(p *Policy, _ *Command) { p.Roots = []string{"/w", "w"} },
		"an empty path":            func(p *Policy, _ *Command) { p.State = []string{""} },
		"a path that is not clean": func(p *Policy, _ *Command) { p.Hidden = []string{"/w/../x"} },
		"a last slash":             func(p *Policy, _ *Command) { p.ReadOnly = []string{"/w/x/"} },
		"a NUL in a path":          func(p *Policy, _ *Command) { p.Readable = []string{"/w/\x00"} },
		"a relative writable":      func(p *Policy, _ *Command) { p.Writable = []string{"x"} },
		"the whole machine":        func(p *Policy, _ *Command) { p.Roots = []string{"/"} },
		"home is everything":       func(p *Policy, _ *Command) { p.Home = "/" },
		"a root in the state":      func(p *Policy, _ *Command) { p.Roots = []string{"/w", "/s/w"} },
		"home in the state":        func(p *Policy, _ *Command) { p.Home = "/s" },
		"a negative limit":         func(p *Policy, _ *Command) { p.Limits.Memory = -1 },
		"no program":               func(_ *Policy, c *Command) { c.Args = nil },
		"an empty program":         func(_ *Policy, c *Command) { c.Args = []string{""} },
		"a NUL in an argument":     func(_ *Policy, c *Command) { c.Args = []string{"a", "\x00"} },
		"no name in the env":       func(p *Policy, _ *Command) { p.Env = []string{"=x"} },
		"no value in the env":      func(p *Policy, _ *Command) { p.Env = []string{"X"} },
		"a NUL in the env":         func(p *Policy, _ *Command) { p.Env = []string{"X=\x00"} },
		"no folder":                func(_ *Policy, c *Command) { c.Dir = "" },
		"a folder outside":         func(_ *Policy, c *Command) { c.Dir = "/" },
		"a folder beside a root":   func(_ *Policy, c *Command) { c.Dir = "/ww" },
		"a folder that is unclean": func(_ *Policy, c *Command) { c.Dir = "/w/../etc" },
	} {
		p, c := good()
		spoil(&p, &c)
		err := check(p, c)
		if fault.KindOf(err) != fault.BadInput || err == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Error(), "/w") {
			t.Errorf("%s: the error tells a path: %v", name, err)
		}
	}
}

func TestToolFoldersHoldNoSecrets(t *testing.T) {
	for _, secret := range []string{
		".ssh", ".aws", ".gnupg", ".npmrc", ".netrc", ".config", ".docker", ".kube", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties",
		".git-credentials", ".pypirc", ".local/share/keyrings", ".local/state", ".mozilla", ".bash_history", ".npm/_cacache", ".yarnrc.yml", ".cache", ".terraform.d", ".vault-token",
	} {
		if slices.ContainsFunc(toolFolders, func(tool string) bool { return within("/"+secret, "/"+tool) }) {
			t.Errorf("%s is shown", secret)
		}
	}
	for _, tool := range toolFolders {
		if strings.HasPrefix(tool, "/") || strings.Contains(tool, "..") || tool == "" || tool == "." {
			t.Errorf("%q is no folder below a home directory", tool)
		}
	}
}
