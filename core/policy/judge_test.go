package policy

import (
	"strings"
	"testing"
)

func TestContainment(t *testing.T) {
	w := newWorld(Bypass).user("allow Read", "allow Edit").
		link("lout", "/out/secret").link("dout", "/out").link("loop", "loop").link("proc", "/proc/self").link("d", "src").
		link("top", "/")
	w.files["/out/back"] = "/ws/README.md"
	w.files["/proc/self/root"] = "/"
	for call, want := range map[string]string{
		"Read ../out/secret":                "refused sandbox",
		"Read src/../../out/x":              "refused sandbox",
		"Read /wsx/secret":                  "refused sandbox",
		"Read /proc/self/root/ws/README.md": "refused sandbox",
		"Write /people/owner/.bashrc":       "refused sandbox",
		"Grep ..":                           "refused sandbox",
		"Read lout":                         "refused sandbox",
		"Read dout/x":                       "refused sandbox",
		"Write dout/new":                    "refused sandbox",
		"Read loop":                         "refused sandbox",
		"Read loop/x":                       "refused sandbox",
		"Read proc/root/ws/README.md":       "allowed rules Read",
		"Read /out/back":                    "refused sandbox",
		"Read a\x00b":                       "refused sandbox",
		"Read top/etc/passwd":               "refused sandbox",
		"Read README.md":                    "allowed rules Read",
		"Read /ws/README.md":                "allowed rules Read",
		"Read /extra/a":                     "allowed rules Read",
		"Read ..foo":                        "allowed rules Read",
		"Grep":                              "allowed rules Read",
		"Write d/x":                         "allowed rules Edit",
		"Read ./src/./a":                    "allowed rules Read",
		"Read " + strings.Repeat("../", 40) + "ws": "allowed rules Read",
	} {
		w.expect(t, strings.TrimSuffix(call, " "), want)
	}
	d := w.judge("Read dout/x")
	if !strings.Contains(d.Reason, "--add-dir") || !strings.Contains(d.Remedy, "--add-dir /out") {
		t.Errorf("the way out is not named: %s %s", d.Reason, d.Remedy)
	}
	for _, wide := range []string{"Read ../x", "Read /people/owner/.ssh/id", "Read /etc", "Read /etc/x/y", "Read /people/x", "Read /"} {
		if d := w.judge(wide); !strings.Contains(d.Remedy, "--add-dir and a folder that holds it.") {
			t.Errorf("too wide a folder is proposed: %s", d.Remedy)
		}
	}
}

func TestResolved(t *testing.T) {
	w := newWorld(Default).link("d", "/extra/sub")
	w.config.Roots = append(w.config.Roots, "/ws/packages/a")
	for call, want := range map[string]Resolved{
		"Read d/x":            {"/ws/d/x", "/extra/sub/x", 1},
		"Read a/../b":         {"/ws/b", "/ws/b", 0},
		"Grep":                {"/ws", "/ws", 0},
		"Read packages/a/b/c": {"/ws/packages/a/b/c", "/ws/packages/a/b/c", 2},
	} {
		if d := w.judge(call); len(d.Paths) != 1 || d.Paths[0] != want {
			t.Errorf("%s: %v", call, d.Paths)
		}
	}
}

// TestGivenRoots: a root that was given by another name than its real one.
func TestGivenRoots(t *testing.T) {
	w := newWorld(Default)
	w.config.Roots, w.config.Given = []string{"/private/tmp/ws"}, []string{"/tmp/ws"}
	w.files["/tmp"] = "/private/tmp"
	w.user("deny Read(//private/tmp/ws/a)", "deny Read(//tmp/ws/b)", "allow Edit(//tmp/ws/c)", "deny Read(d)")
	for call, want := range map[string]string{
		"Read /tmp/ws/x":          "allowed mode",
		"Read /private/tmp/ws/x":  "allowed mode",
		"Read x":                  "allowed mode",
		"Read /tmp/x":             "refused sandbox",
		"Read a":                  "refused rules Read(//private/tmp/ws/a)",
		"Read /tmp/ws/a":          "refused rules Read(//private/tmp/ws/a)",
		"Read b":                  "refused rules Read(//tmp/ws/b)",
		"Read /private/tmp/ws/b":  "refused rules Read(//tmp/ws/b)",
		"Write /tmp/ws/c":         "allowed rules Edit(//tmp/ws/c)",
		"Write c":                 "allowed rules Edit(//tmp/ws/c)",
		"Read /tmp/ws/d/e":        "refused rules Read(d)",
		"Write /tmp/ws/n/x":       "asked ask",
		"Write /tmp/ws/.git/info": "refused rules protected:.git",
	} {
		w.expect(t, call, want)
	}
	if d := w.judge("Write /tmp/ws/n/x"); !strings.Contains(d.Remedy, `"Edit(n/x)"`) {
		t.Error(d.Remedy)
	}
}

func TestProtected(t *testing.T) {
	w := newWorld(Bypass).user("allow Edit", "allow Edit(**)").link("g", ".git")
	w.config.Own, w.config.Hooked = []string{"/ws/bin/holdfast", "/extra/state"}, []string{"/ws/hooks/check.sh"}
	for call, want := range map[string]string{
		"Write .git":                      "refused rules protected:.git",
		"Write .git/hooks/pre-commit":     "refused rules protected:.git",
		"Write .GIT/config":               "refused rules protected:.git",
		"Write sub/.git/config":           "refused rules protected:.git",
		"Write .Holdfast/settings.json":   "refused rules protected:.holdfast",
		"Edit packages/a/.npmrc":          "refused rules protected:.npmrc",
		"Edit .yarnrc.yml":                "refused rules protected:.yarnrc.yml",
		"Edit g/config":                   "refused rules protected:.git",
		"Edit /extra/.envrc":              "refused rules protected:.envrc",
		"Edit .hu\u017fky/x":              "refused rules protected:.husky", // a long s is an s to a folding file system
		"Edit bin/holdfast":               "refused rules protected:holdfast",
		"Edit /extra/state/trust.json":    "refused rules protected:state",
		"Edit hooks/check.sh":             "refused rules protected:check.sh",
		"Edit .gitignore":                 "allowed rules Edit",
		"Edit doc/npmrc.md":               "allowed rules Edit",
		"Edit .git~":                      "allowed rules Edit",
		"Edit hooks/other.sh":             "allowed rules Edit",
		"Read .git/config":                "allowed mode",
		"Read .holdfast/settings.json":    "allowed mode",
		"Grep .vscode":                    "allowed mode",
		"Edit .vscode/.npmrc":             "refused rules protected:.vscode",
		"Edit .claude/settings.json":      "refused rules protected:.claude",
		"Write .BASH_PROFILE/../.profile": "refused rules protected:.profile",
	} {
		w.expect(t, call, want)
	}
}

func TestLifting(t *testing.T) {
	w := newWorld(Default).user(
		"allow Edit(.vscode/**)", "allow Edit(.holdfast/x)", "allow Edit(./.npmrc)", "allow Edit(hooks/check.sh)",
		"allow Edit(bin/holdfast)", "allow Edit(.[i]dea/**)", "allow Edit(**/.envrc)", "allow Read(.husky/**)",
	).link("v", ".vscode")
	w.config.Own, w.config.Hooked = []string{"/ws/bin/holdfast"}, []string{"/ws/hooks/check.sh"}
	for call, want := range map[string]string{
		"Write .vscode/settings.json": "allowed rules Edit(.vscode/**)",
		"Write .vscode/.npmrc":        "refused rules protected:.npmrc",
		"Write .npmrc":                "allowed rules Edit(./.npmrc)",
		"Write a/.npmrc":              "refused rules protected:.npmrc",
		"Write .holdfast/x":           "refused rules protected:.holdfast",
		"Write hooks/check.sh":        "allowed rules Edit(hooks/check.sh)",
		"Write bin/holdfast":          "refused rules protected:holdfast",
		"Write .idea/x":               "refused rules protected:.idea", // the rule does not hold the name itself
		"Write v/x":                   "refused rules protected:.vscode",
		"Write a/.envrc":              "allowed rules Edit(**/.envrc)",
		"Write .husky/x":              "refused rules protected:.husky",
	} {
		w.expect(t, call, want)
	}
	if d := w.judge("Write a/.npmrc"); !strings.Contains(d.Remedy, `"Edit(a/.npmrc)"`) {
		t.Error(d.Remedy)
	}
	if d := w.judge("Write .holdfast/x"); strings.Contains(d.Remedy, "allow") {
		t.Error(d.Remedy)
	}
	w.config.Mode = AcceptEdits
	w.user("ask Edit(.vscode/a)", "deny Edit(.vscode/b)")
	for call, want := range map[string]string{
		"Write .vscode/a": "asked ask Edit(.vscode/a)",
		"Write .vscode/b": "refused rules Edit(.vscode/b)",
	} {
		w.expect(t, call, want)
	}
}

func TestModes(t *testing.T) {
	rules := map[string][]string{
		"none":  nil,
		"allow": {"allow Edit(src/**)", "allow Read(README.md)"},
		"ask":   {"ask Edit(src/**)", "ask Read(README.md)"},
		"deny":  {"deny Edit(src/**)", "deny Read(README.md)"},
	}
	for _, c := range []struct {
		mode            Mode
		list, edit, see string
	}{
		{Default, "none", "asked ask", "allowed mode"},
		{Default, "allow", "allowed rules Edit(src/**)", "allowed rules Read(README.md)"},
		{Default, "ask", "asked ask Edit(src/**)", "asked ask Read(README.md)"},
		{Default, "deny", "refused rules Edit(src/**)", "refused rules Read(README.md)"},
		{AcceptEdits, "none", "allowed mode", "allowed mode"},
		{AcceptEdits, "allow", "allowed rules Edit(src/**)", "allowed rules Read(README.md)"},
		{AcceptEdits, "ask", "asked ask Edit(src/**)", "asked ask Read(README.md)"},
		{AcceptEdits, "deny", "refused rules Edit(src/**)", "refused rules Read(README.md)"},
		{Plan, "none", "refused mode", "allowed mode"},
		{Plan, "allow", "refused mode", "allowed rules Read(README.md)"},
		{Plan, "ask", "asked ask Edit(src/**)", "asked ask Read(README.md)"},
		{Plan, "deny", "refused rules Edit(src/**)", "refused rules Read(README.md)"},
		{DontAsk, "none", "refused mode", "allowed mode"},
		{DontAsk, "allow", "allowed rules Edit(src/**)", "allowed rules Read(README.md)"},
		{DontAsk, "ask", "refused mode Edit(src/**)", "refused mode Read(README.md)"},
		{DontAsk, "deny", "refused rules Edit(src/**)", "refused rules Read(README.md)"},
		{Bypass, "none", "allowed mode", "allowed mode"},
		{Bypass, "allow", "allowed rules Edit(src/**)", "allowed rules Read(README.md)"},
		{Bypass, "ask", "asked ask Edit(src/**)", "asked ask Read(README.md)"},
		{Bypass, "deny", "refused rules Edit(src/**)", "refused rules Read(README.md)"},
	} {
		w := newWorld(c.mode).user(rules[c.list]...)
		w.expect(t, "Write src/n.ts", c.edit)
		w.expect(t, "Read README.md", c.see)
		w.expect(t, "Glob", "allowed mode")
	}
}

func TestWhoSpeaksForWhom(t *testing.T) {
	for _, c := range []struct{ rule, call, want string }{
		{"allow Write", "Write a", "allowed rules Write"},
		{"allow Write", "Edit a", "asked ask"},
		{"allow Edit", "Write a", "allowed rules Edit"},
		{"allow Read", "Edit a", "asked ask"},
		{"deny Read", "Grep", "refused rules Read"},
		{"deny Read", "Edit a", "refused rules Read"},
		{"deny Grep", "Grep", "refused rules Grep"},
		{"deny Grep", "Read a", "allowed mode"},
		{"deny Grep", "Edit a", "asked ask"},
		{"allow Glob", "Glob", "allowed rules Glob"},
		{"deny Write", "Write a", "refused rules Write"},
		{"deny Write", "Edit a", "asked ask"},
		{"deny Edit", "Read a", "allowed mode"},
		{"ask Read(a)", "Edit a", "asked ask Read(a)"},
		{"deny Read(secrets/**)", "Grep secrets", "refused rules Read(secrets/**)"},
		{"deny Read(secrets/)", "Glob secrets", "refused rules Read(secrets/)"},
		{"deny Read(**)", "Grep", "refused rules Read(**)"},
		{"allow mcp__a__b", "Write a", "asked ask"},
	} {
		newWorld(Default).user(c.rule).expect(t, c.call, c.want)
	}
	// A read deny after an edit allow still decides, and the first deny is named.
	w := newWorld(Default).user("allow Edit", "deny Edit(a)", "deny Read(a)")
	w.expect(t, "Edit a", "refused rules Edit(a)")
}

// TestFirstIsNamed: of several the first, by layer, then place.
func TestFirstIsNamed(t *testing.T) {
	w := newWorld(Default).inProject("deny Read(a)").user("deny Read(*)").layer(Managed, "", []string{"deny Read(a*)", "deny Read(a)"})
	w.expect(t, "Read a", "refused rules Read(a*)")
	if d := w.judge("Read a"); d.At.Layer != Managed || !strings.Contains(d.Reason, "managed, /settings/managed.json line 3") {
		t.Error(d.At, d.Reason)
	}
	w = newWorld(Default).user("allow Edit(src/**)", "allow Edit(src/a)")
	w.expect(t, "Edit src/a", "allowed rules Edit(src/**)")
	w = newWorld(Default).user("allow Edit(src/a)", "allow Edit(src/**)")
	w.expect(t, "Edit src/a", "allowed rules Edit(src/a)")
	w = newWorld(Default).user("allow Edit(b/*)", "allow Edit(a/b)", "allow Edit(*/b)", "allow Edit(a/**)", "allow Edit(b)")
	w.expect(t, "Edit a/b", "allowed rules Edit(a/b)")
}

// TestLinks: allow needs the path as given and the real one, deny and ask either.
func TestLinks(t *testing.T) {
	w := newWorld(Default).user("allow Edit(src/**)", "deny Read(.env)", "deny Read(pub2)").
		link("d", "src").link("pub", ".env").link("chain", "pub").link("pub2", "README.md")
	for call, want := range map[string]string{
		"Write d/new":   "asked ask",
		"Write src/new": "allowed rules Edit(src/**)",
		"Read pub":      "refused rules Read(.env)",
		"Read chain":    "refused rules Read(.env)",
		"Read pub2":     "refused rules Read(pub2)",
	} {
		w.expect(t, call, want)
	}
	if d := w.judge("Read pub"); !strings.Contains(d.Reason, "pub (which is /ws/.env)") {
		t.Error(d.Reason)
	}
	d := w.judge("Write d/new")
	if !strings.Contains(d.Remedy, `"Edit(d/new)" and "Edit(src/new)"`) {
		t.Error(d.Remedy)
	}
	w.user("allow Edit(d/new)")
	w.expect(t, "Write d/new", "allowed rules Edit(src/**)")
}

func TestWritingTheRootItself(t *testing.T) {
	if d := newWorld(Default).judge("Write ."); !strings.Contains(d.Remedy, `"Edit(//ws)"`) {
		t.Error(d.Remedy)
	}
}

func TestProjectRules(t *testing.T) {
	w := newWorld(Default).inProject("allow Edit(/src/**)", "deny Read(/etc/**)")
	for call, want := range map[string]string{
		"Write src/a":        "allowed rules Edit(/src/**)",
		"Write /extra/src/a": "asked ask",
		"Read etc/x":         "refused rules Read(/etc/**)",
	} {
		w.expect(t, call, want)
	}
}

func TestFoldingFileSystem(t *testing.T) {
	w := newWorld(Default).user("deny Read(.env)", "allow Edit(Src/**)", "allow Edit(~/x)", "allow Glob", "allow Bash(x)").contract(Project, "deny read Caf\u00e9/")
	w.config.FoldCase = true
	for call, want := range map[string]string{
		"Read .ENV":                "refused rules Read(.env)",
		"Write SRC/a":              "allowed rules Edit(Src/**)",
		"Read cafe\u0301/x":        "refused contract Caf\u00e9/",
		"Read /WS/a":               "allowed mode",
		"Write .git. /config":      "refused rules protected:.git",
		"Write .git::$DATA":        "refused rules protected:.git",
		"Write .g\u200cit/config":  "refused rules protected:.git",
		"Write other/.GitModules":  "refused rules protected:.gitmodules",
		"Write .\uff47it/fullwide": "asked ask",
	} {
		w.expect(t, call, want)
	}
	w = newWorld(Default).user("deny Read(.env)")
	w.expect(t, "Read .ENV", "allowed mode")
	w.expect(t, "Write .git. /x", "asked ask")
}

func TestNothingIsLeftOfAName(t *testing.T) {
	w := newWorld(Default).user("deny Read(a/\u200c/b)")
	w.config.FoldCase = true
	if _, err := New(w.config); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Error(err)
	}
	w = newWorld(Default).contract(User, "deny read a/\u200c/b")
	w.config.FoldCase = true
	if _, err := New(w.config); err == nil || !strings.Contains(err.Error(), "/user/contract.yaml") {
		t.Error(err)
	}
}

func TestNothingIsAllowedWithoutAPolicy(t *testing.T) {
	var p *Policy
	if d := p.Judge(call("Read a"), links{}); d.Outcome != Refused || d.Stage != StageRules {
		t.Error(d)
	}
	if p.Readable("a", "/ws/a") {
		t.Error("readable")
	}
	if r, whole := p.Reach("/ws", true); r != Hidden || !whole {
		t.Error(r, whole)
	}
	p = newWorld(Bypass).policy()
	if d := p.Judge(call("Read a"), nil); d.Outcome != Refused {
		t.Error(d)
	}
	for _, tool := range []string{"", "Fetch", "read"} {
		if d := p.Judge(call(tool+" a"), links{}); d.Outcome != Refused || d.Stage != StageRules {
			t.Error(d)
		}
	}
	if (Decision{}).Outcome != Refused {
		t.Error("the zero decision allows")
	}
	if o, s := p.outcome(finding{rank: granted + 1}); o != Refused || s != StageRules {
		t.Error(o, s)
	}
}

func TestNewRefuses(t *testing.T) {
	good := newWorld(Default).config
	for name, spoil := range map[string]func(*Config){
		"mode":     func(c *Config) { c.Mode = "" },
		"no root":  func(c *Config) { c.Roots = nil },
		"relative": func(c *Config) { c.Roots = []string{"ws"} },
		"unclean":  func(c *Config) { c.Own = []string{"/a/../b"} },
		"top":      func(c *Config) { c.Roots = []string{"/"} },
		"home":     func(c *Config) { c.Home = "" },
		"given":    func(c *Config) { c.Given = []string{"/a", "/b", "/c"} },
	} {
		c := good
		spoil(&c)
		if p, err := New(c); err == nil || p != nil {
			t.Errorf("%s: a policy is made", name)
		}
	}
}
