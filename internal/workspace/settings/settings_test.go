package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// Files of a world.
const (
	userFile     = "home/.config/holdfast/settings.json"
	userContract = "home/.config/holdfast/contract.yaml"
	managedFile  = "managed/settings.json"
	projectFile  = "ws/.holdfast/settings.json"
	localFile    = "ws/.holdfast/settings.local.json"
	contractFile = "ws/.holdfast/contract.yaml"
)

// world lays files and gives the options of a start among them.
func world(t testing.TB, files map[string]string) (settings.Options, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"ws", "home", "managed", "out"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		lay(t, base, name, text)
	}
	home := filepath.Join(base, "home")
	return settings.Options{
		Dir: filepath.Join(base, "ws"), Home: home, Managed: filepath.Join(base, "managed"),
		Config: filepath.Join(home, ".config", "holdfast"), State: filepath.Join(home, ".local", "state", "holdfast"),
	}, base
}

func lay(t testing.TB, base, name, text string) {
	t.Helper()
	path := filepath.Join(base, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "{base}", filepath.ToSlash(base))), 0o644); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, o settings.Options) *settings.Settings {
	t.Helper()
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func trust(t testing.TB, o settings.Options) {
	t.Helper()
	r, err := settings.ReadReview(o)
	if err == nil {
		err = r.Trust(time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func rules(s *settings.Settings) string {
	var all []string
	for _, r := range s.Rules {
		all = append(all, r.Place().Layer.String()+" "+r.Text())
	}
	return strings.Join(all, ", ")
}

func TestNothingIsWritten(t *testing.T) {
	o, base := world(t, nil)
	s := load(t, o)
	if s.Mode != policy.Default || s.Trusted || len(s.Rules)+len(s.Contracts)+len(s.Hooks)+len(s.Ignored)+len(s.Layers) != 0 {
		t.Errorf("got %+v", s)
	}
	if want := (settings.Sandbox{Mode: "workspace-write", Network: "none"}); !reflect.DeepEqual(s.Sandbox, want) {
		t.Errorf("sandbox %+v", s.Sandbox)
	}
	if !slices.Equal(s.Roots, []string{filepath.Join(base, "ws")}) || len(s.Given) != 0 {
		t.Errorf("roots %v, given %v", s.Roots, s.Given)
	}
	for _, own := range []string{o.State, o.Config, o.Managed} {
		if !slices.Contains(s.Own, own) {
			t.Errorf("%s is not among %v", own, s.Own)
		}
	}
}

// everyLayer has something of everything in every file.
var everyLayer = map[string]string{
	managedFile: `{"permissions": {"deny": ["Read(m)"]}, "sandbox": {"env": ["M"]}}`,
	userFile: `{"permissions": {"allow": ["Bash(u)"], "deny": ["Read(u)"]}, "sandbox": {"network": "none", "env": ["U"], "readable": ["~/u"]},
		"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}}`,
	localFile: `{"permissions": {"allow": ["Bash(l)"], "ask": ["Read(l)"], "defaultMode": "acceptEdits"}, "sandbox": {"unixSockets": true, "mode": "read-only"}}`,
	projectFile: `{"permissions": {"allow": ["Bash(p)", "Edit(/p)"], "deny": ["Read(p)"], "additionalDirectories": ["../out"], "defaultMode": "plan"},
		"sandbox": {"network": "host", "env": ["P"], "writable": ["cache"]},
		"hooks": {"PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "true", "timeout": 5}]}]}}`,
	contractFile: "version: 1\nrules:\n  - glob: x\n    read: deny\n",
	userContract: "version: 1\n",
}

func TestTrustedProject(t *testing.T) {
	o, base := world(t, everyLayer)
	trust(t, o)
	s := load(t, o)
	if got, want := rules(s), "managed Read(m), user Bash(u), user Read(u), project-local Bash(l), project-local Read(l), project Bash(p), project Edit(/p), project Read(p)"; got != want {
		t.Errorf("rules\n%s, want\n%s", got, want)
	}
	want := settings.Sandbox{
		Mode: "read-only", Network: "none", UnixSockets: true, Env: []string{"M", "U", "P"},
		Readable: []string{filepath.Join(base, "home", "u")}, Writable: []string{filepath.Join(base, "ws", "cache")},
	}
	if !reflect.DeepEqual(s.Sandbox, want) {
		t.Errorf("sandbox %+v, want %+v", s.Sandbox, want)
	}
	if !s.Trusted || len(s.Ignored) != 0 || len(s.Hooks) != 2 || len(s.Contracts) != 2 || len(s.Layers) != 4 {
		t.Errorf("got %+v", s)
	}
	if h := s.Hooks[1]; h.Event != settings.PostToolUse || h.Matcher != "Edit|Write" || h.Timeout != 5*time.Second || h.At.Line != 3 {
		t.Errorf("hook %+v", h)
	}
	if s.Mode != policy.Default || s.Clamp.From != policy.AcceptEdits {
		t.Errorf("mode %s, clamp %+v", s.Mode, s.Clamp)
	}
	if !slices.Equal(s.Roots, []string{filepath.Join(base, "ws"), filepath.Join(base, "out")}) {
		t.Errorf("roots %v", s.Roots)
	}
}

func TestUntrustedProject(t *testing.T) {
	o, base := world(t, everyLayer)
	s := load(t, o)
	if got, want := rules(s), "managed Read(m), user Bash(u), user Read(u), project-local Read(l), project Read(p)"; got != want {
		t.Errorf("rules\n%s, want\n%s", got, want)
	}
	want := settings.Sandbox{Mode: "workspace-write", Network: "none", Env: []string{"M", "U"}, Readable: []string{filepath.Join(base, "home", "u")}}
	if !reflect.DeepEqual(s.Sandbox, want) {
		t.Errorf("sandbox %+v, want %+v", s.Sandbox, want)
	}
	if len(s.Hooks) != 1 || len(s.Roots) != 1 || len(s.Contracts) != 2 || s.Mode != policy.Plan {
		t.Errorf("got %+v", s)
	}
	told := strings.Join(s.Ignored, "\n")
	for _, part := range []string{
		"settings.local.json: 1 allow rule, defaultMode acceptEdits, sandbox:",
		"settings.json: 2 allow rules, additionalDirectories, hooks, sandbox:", "holdfast trust",
	} {
		if !strings.Contains(told, part) {
			t.Errorf("%q is not told in\n%s", part, told)
		}
	}
}

// TestTrustEnds: any change of what is the project's own takes the trust away, and
// nothing else does.
func TestTrustEnds(t *testing.T) {
	files := map[string]string{
		projectFile:         `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "python3 \"$CLAUDE_PROJECT_DIR\"/tools/check.py --strict"}]}]}}`,
		localFile:           `{}`,
		contractFile:        "version: 1\n",
		"ws/tools/check.py": "pass\n",
		"ws/src/a.ts":       "x",
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, base string)
		keeps  bool
	}{
		"nothing":             {func(*testing.T, string) {}, true},
		"another file":        {func(t *testing.T, b string) { lay(t, b, "ws/src/a.ts", "y") }, true},
		"the user's settings": {func(t *testing.T, b string) { lay(t, b, userFile, "{}") }, true},
		"settings":            {func(t *testing.T, b string) { lay(t, b, projectFile, files[projectFile]+"\n") }, false},
		"local settings":      {func(t *testing.T, b string) { lay(t, b, localFile, `{"permissions": {"allow": ["Bash"]}}`) }, false},
		"contract":            {func(t *testing.T, b string) { lay(t, b, contractFile, "version: 1\nrules: []\n") }, false},
		"contract gone":       {func(t *testing.T, b string) { os.Remove(filepath.Join(b, contractFile)) }, false},
		"hook script":         {func(t *testing.T, b string) { lay(t, b, "ws/tools/check.py", "import os\n") }, false},
		"hook script gone":    {func(t *testing.T, b string) { os.Remove(filepath.Join(b, "ws/tools/check.py")) }, false},
		"moved": {func(t *testing.T, b string) {
			if err := errors.Join(os.Rename(filepath.Join(b, "ws"), filepath.Join(b, "other")), os.Symlink("other", filepath.Join(b, "ws"))); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, base := world(t, files)
			trust(t, o)
			if !load(t, o).Trusted {
				t.Fatal("it is not trusted")
			}
			c.change(t, base)
			if got := load(t, o).Trusted; got != c.keeps {
				t.Errorf("trusted %v, want %v", got, c.keeps)
			}
		})
	}
}

func TestTrustIsOfOneDirectory(t *testing.T) {
	o, base := world(t, map[string]string{"ws/sub/x": ""})
	trust(t, o)
	for dir, want := range map[string]bool{"ws": true, "ws/sub": false, "out": false, "link": true} {
		if dir == "link" {
			if err := os.Symlink("ws", filepath.Join(base, "link")); err != nil {
				t.Skip(err)
			}
		}
		o.Dir = filepath.Join(base, dir)
		s := load(t, o)
		if s.Trusted != want {
			t.Errorf("%s: trusted %v", dir, s.Trusted)
		}
		if dir == "link" && !slices.Equal(s.Given, []string{filepath.Join(base, "link")}) {
			t.Errorf("given %v", s.Given)
		}
	}
}

func TestModes(t *testing.T) {
	mode := func(m string) string { return `{"permissions": {"defaultMode": "` + m + `"}}` }
	for _, c := range []struct {
		name    string
		files   map[string]string
		trusted bool
		flag    string
		want    policy.Mode
		clamped policy.Mode
		fails   bool
	}{
		{"flag", nil, false, "acceptEdits", policy.AcceptEdits, "", false},
		{"no such flag", nil, false, "yolo", "", "", true},
		{"bypass, untrusted", nil, false, "bypassPermissions", "", "", true},
		{"bypass, trusted", nil, true, "bypassPermissions", policy.Bypass, "", false},
		{"bypass, forbidden", map[string]string{projectFile: `{"permissions": {"disableBypassPermissionsMode": true}}`}, true, "bypassPermissions", "", "", true},
		{"not forbidden", map[string]string{projectFile: `{"permissions": {"disableBypassPermissionsMode": false}}`}, true, "bypassPermissions", policy.Bypass, "", false},
		{"user's is clamped", map[string]string{userFile: mode("acceptEdits")}, true, "", policy.Default, policy.AcceptEdits, false},
		{"flag over the user's", map[string]string{userFile: mode("plan")}, true, "acceptEdits", policy.AcceptEdits, "", false},
		{"managed over the flag", map[string]string{managedFile: mode("plan")}, true, "bypassPermissions", policy.Plan, "", false},
		{"managed permissive is the clamp's", map[string]string{managedFile: mode("bypassPermissions")}, true, "", policy.Default, policy.Bypass, false},
		{"and leaves the flag", map[string]string{managedFile: mode("bypassPermissions")}, true, "acceptEdits", policy.AcceptEdits, "", false},
		{"untrusted plan", map[string]string{projectFile: mode("plan")}, false, "", policy.Plan, "", false},
		{"untrusted default", map[string]string{localFile: mode("default"), projectFile: mode("dontAsk")}, false, "", policy.DontAsk, "", false},
		{"the user's before an untrusted one", map[string]string{userFile: mode("default"), projectFile: mode("dontAsk")}, false, "", policy.Default, "", false},
	} {
		o, _ := world(t, c.files)
		if c.trusted {
			trust(t, o)
		}
		o.Mode = c.flag
		s, err := settings.Load(o)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err == nil && (s.Mode != c.want || s.Clamp.From != c.clamped) {
			t.Errorf("%s: mode %s, clamped from %q", c.name, s.Mode, s.Clamp.From)
		}
	}
	o, _ := world(t, nil)
	trust(t, o)
	o.Mode, o.Root = "bypassPermissions", true
	if _, err := settings.Load(o); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("bypass as root: %v", err)
	}
}

func TestDisableAllHooks(t *testing.T) {
	hook := `"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}`
	off, on := `"disableAllHooks": true`, `"disableAllHooks": false`
	for name, c := range map[string]struct {
		managed, user string
		hooks         int
		off           bool
	}{
		"all run":                       {"{" + hook + "}", "{" + hook + "}", 3, false},
		"managed switches all off":      {"{" + hook + "," + off + "}", "{" + hook + "}", 0, true},
		"the user not the managed ones": {"{" + hook + "}", "{" + hook + "," + off + "}", 1, true},
		"the managed word goes first":   {"{" + hook + "," + on + "}", "{" + hook + "," + off + "}", 3, false},
	} {
		o, _ := world(t, map[string]string{managedFile: c.managed, userFile: c.user, projectFile: "{" + hook + "}"})
		trust(t, o)
		if s := load(t, o); len(s.Hooks) != c.hooks || s.HooksOff != c.off {
			t.Errorf("%s: %d hooks, off %v", name, len(s.Hooks), s.HooksOff)
		}
	}
}

func TestSandboxFlag(t *testing.T) {
	for _, c := range []struct{ managed, user, flag, want string }{
		{"", "", "off", "off"},
		{"", "read-only", "", "read-only"},
		{"", "read-only", "workspace-write", "workspace-write"},
		{"read-only", "", "off", "read-only"},
		{"read-only", "workspace-write", "", "read-only"},
	} {
		files := map[string]string{}
		for file, mode := range map[string]string{managedFile: c.managed, userFile: c.user} {
			if mode != "" {
				files[file] = `{"sandbox": {"mode": "` + mode + `"}}`
			}
		}
		o, _ := world(t, files)
		o.Sandbox = c.flag
		s := load(t, o)
		if s.Sandbox.Mode != c.want || (len(s.Ignored) > 0) != (c.flag != "" && c.flag != c.want) {
			t.Errorf("%+v: got %s, told %q", c, s.Sandbox.Mode, s.Ignored)
		}
	}
	o, _ := world(t, nil)
	o.Sandbox = "of"
	if _, err := settings.Load(o); err == nil || !strings.Contains(err.Error(), "did you mean off?") {
		t.Errorf("got %v", err)
	}
}

func TestRootsThatMayNotBe(t *testing.T) {
	o, base := world(t, map[string]string{"ws/file": "", "home/p/x": "", "home/.config/holdfast/x/y": ""})
	program := filepath.Join(base, "ws", "holdfast")
	lay(t, base, "ws/holdfast", "")
	for name, change := range map[string]func(*settings.Options){
		"everything":            func(o *settings.Options) { o.Dir = "/" },
		"the home directory":    func(o *settings.Options) { o.Dir = o.Home },
		"what holds it":         func(o *settings.Options) { o.Dir = base },
		"own files":             func(o *settings.Options) { o.Dir = o.Config },
		"among own files":       func(o *settings.Options) { o.Dir = filepath.Join(o.Config, "x") },
		"own program":           func(o *settings.Options) { o.Executables = []string{program} },
		"a file":                func(o *settings.Options) { o.Dir = program },
		"nothing there":         func(o *settings.Options) { o.Dir = filepath.Join(base, "none") },
		"additional everything": func(o *settings.Options) { o.AddDirs = []string{"/"} },
		"additional home":       func(o *settings.Options) { o.AddDirs = []string{o.Home} },
		"additional missing":    func(o *settings.Options) { o.AddDirs = []string{filepath.Join(base, "none")} },
		"no directory":          func(o *settings.Options) { o.Dir = "" },
		"no home":               func(o *settings.Options) { o.Home = "" },
		"no state":              func(o *settings.Options) { o.State = "" },
		"no settings folder":    func(o *settings.Options) { o.Config = "" },
		"no managed folder":     func(o *settings.Options) { o.Managed = "" },
	} {
		at := o
		change(&at)
		if s, err := settings.Load(at); err == nil {
			t.Errorf("%s: starts with roots %v", name, s.Roots)
		}
	}
	o.Dir = filepath.Join(base, "home", "p")
	load(t, o)
	// Settings that are a link into the workspace would be the agent's to write.
	lay(t, base, "ws/dotfiles/settings.json", "{}")
	if err := os.Symlink(filepath.Join(base, "ws/dotfiles/settings.json"), filepath.Join(o.Config, "settings.json")); err != nil {
		t.Skip(err)
	}
	load(t, o)
	o.Dir = filepath.Join(base, "ws")
	if _, err := settings.Load(o); err == nil || !strings.Contains(err.Error(), "own files") {
		t.Errorf("settings in the workspace by a link: %v", err)
	}
}

func TestFoldCase(t *testing.T) {
	o, base := world(t, nil)
	lay(t, base, "ws/probe", "")
	_, err := os.Stat(filepath.Join(base, "WS"))
	if got := load(t, o).FoldCase; got != (err == nil) {
		t.Errorf("folds case: %v on %s", got, runtime.GOOS)
	}
}
