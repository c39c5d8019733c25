// Package settings reads what the owner of a workspace wrote down: the layers of
// settings, the file contracts and which projects are trusted; and settles what counts
// for one start. Design: docs/design/workspace.md section 3 and 5.
package settings

import (
	"time"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Options of one start. Dir, Home, Managed, State and Config are required.
type Options struct {
	Dir         string   // the workspace, as given
	Home        string   // the user's home directory
	Managed     string   // /etc/holdfast, or what stands for it
	State       string   // $XDG_STATE_HOME/holdfast, or what stands for it
	Config      string   // $XDG_CONFIG_HOME/holdfast, or what stands for it
	Mode        string   // of --mode; empty when not given
	Sandbox     string   // of --sandbox; empty when not given
	AddDirs     []string // of --add-dir, as given
	Root        bool     // this process is root outside a container
	Executables []string // this program's own files
}

// Settings is what counts. Immutable.
type Settings struct {
	Dir       string   // the workspace's real path
	Roots     []string // real paths, the workspace first
	Given     []string // the roots as they were given, where that differs
	Home      string   // real path
	State     string   // this program's state directory
	Own       []string // real paths of this program's files, configuration and state
	Mode      policy.Mode
	Clamp     policy.Clamp
	Trusted   bool
	Ignored   []string // what was asked for in vain, a sentence each
	Rules     []policy.Rule
	Contracts []policy.Contract
	Hooks     []Hook
	HooksOff  bool // disableAllHooks, of the managed or user layer
	Sandbox   Sandbox
	FoldCase  bool
	Layers    []LayerSummary // for the banner: the files that are there
	Specs     []policy.ContractSpec
}

// Policy makes the policy of these settings. confined says that Bash runs in a sandbox
// with a /tmp of its own.
func (s *Settings) Policy(confined bool) (*policy.Policy, error) {
	if s == nil {
		return nil, fault.New(fault.Internal, "there are no settings: nothing may run", "")
	}
	return policy.New(policy.Config{
		Mode: s.Mode, Rules: s.Rules, Contracts: s.Contracts, Roots: s.Roots, Given: s.Given, Home: s.Home,
		Own: s.Own, Hooked: s.hooked(), Confined: confined, FoldCase: s.FoldCase, Uncounted: s.uncounted(),
	})
}

// uncounted is how many allow rules an untrusted project has in vain.
func (s *Settings) uncounted() int {
	n := 0
	for _, l := range s.Layers {
		if l.Uncounted {
			n += l.Allow
		}
	}
	return n
}

// LayerSummary tells what a settings file holds, whether it counts or not.
type LayerSummary struct {
	Layer            policy.Layer
	File             string
	Allow, Ask, Deny int
	Uncounted        bool // its allow rules don't count, for the project is not trusted
}

// Sandbox is what the settings say of the sandbox. Lists of paths are absolute.
type Sandbox struct {
	Mode               string // "read-only", "workspace-write" or "off"
	Network            string // "none" or "host"
	UnixSockets        bool
	Readable, Writable []string
	Env                []string // names
}

// Event is when a hook runs.
type Event string

// The events.
const (
	PreToolUse  Event = "PreToolUse"
	PostToolUse Event = "PostToolUse"
)

// Hook is one hook command.
type Hook struct {
	Event   Event
	Matcher string // see ParseMatcher
	Command string
	Timeout time.Duration
	At      policy.Place
	Files   []HookFile // what the command names, as it was when it was read
	Modules []string   // folders that its Python scripts load modules from
}

// HookFile is a file that a hook's command names. Each is protected. A script (the
// program itself, or what looks like code) must be, whenever the hook runs, what it was
// when the settings were read; one that was missing must not have appeared.
type HookFile struct {
	Path    string // real
	Script  bool
	Missing bool
	SHA256  [32]byte // of a script that is there
}

// Load reads everything once. An error is a *Problem: a fault that says file, line and
// what is wrong; the server does not start then.
func Load(o Options) (*Settings, error) {
	p, store, err := open(o, false)
	if err != nil {
		return nil, err
	}
	return p.settle(o, store.holds(p.dir, p.digest))
}
