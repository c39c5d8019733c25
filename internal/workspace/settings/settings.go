// Package settings reads what the owner of a workspace wrote down: the layers of
// settings, the file contracts and which projects are trusted; and settles what counts
// for one start. Design: docs/design/workspace.md section 3 and 5.
package settings

import (
	_ "github.com/tailscale/hujson" // placeholder
	_ "go.yaml.in/yaml/v3"          // placeholder
	"time"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// Options of one start. Dir, Home and Managed are required.
type Options struct {
	Dir         string   // the workspace, as given
	Home        string   // the user's home directory, with .config/holdfast and the state in it
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
	Given     []string // the roots as they were given
	Home      string   // real path
	State     string   // this program's state directory
	Own       []string // real paths of this program's files, configuration and state
	Mode      policy.Mode
	Clamp     policy.Clamp
	Trusted   bool
	Ignored   []string // what an untrusted project asked for in vain, a sentence each
	Rules     []policy.Rule
	Contracts []policy.Contract
	Hooks     []Hook
	HooksOff  bool // disableAllHooks, of the managed or user layer
	Sandbox   Sandbox
	FoldCase  bool
	Layers    []LayerSummary // for the banner
}

// Policy makes the policy of these settings.
func (s *Settings) Policy(confined bool) (*policy.Policy, error) { panic("unwritten") }

// LayerSummary tells what a layer holds.
type LayerSummary struct {
	Layer            policy.Layer
	File             string
	Allow, Ask, Deny int
}

// Sandbox is what the settings say of the sandbox.
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
	Matcher string
	Command string
	Timeout time.Duration
	At      policy.Place
	Files   []HookFile // what the command names, as it was when it was read
}

// HookFile is a file that a hook's command names.
type HookFile struct {
	Path   string // real
	SHA256 [32]byte
}

// Load reads everything once. An error is a fault that says file, line and what is
// wrong; the server does not start then.
func Load(o Options) (*Settings, error) { panic("unwritten") }
