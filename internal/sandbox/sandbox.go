// Package sandbox confines a child process: bubblewrap first, Landlock with seccomp
// second, refusal third. One Policy value means the same under each. Design:
// docs/design/workspace.md section 7.
package sandbox

import (
	"context"
	"io"
	"os"
)

// Mode is how much a child may write. The zero Mode is none and is refused.
type Mode string

// The modes. There is no sandbox value for "off": what runs unconfined does not come
// through this package's Sandboxes but through Unconfined, which says so.
const (
	ModeReadOnly       Mode = "read-only"
	ModeWorkspaceWrite Mode = "workspace-write"
)

// Policy is what a child may reach. Paths are absolute and real. The zero Policy is
// refused.
type Policy struct {
	Mode     Mode
	Roots    []string // the workspace first
	Hidden   []string // files and folders inside the roots that can't be read
	ReadOnly []string // files and folders inside the roots that can't be written
	Home     string   // empty inside but for known tool and module folders, and Readable
	Readable []string // further paths that can be read (below Home too)
	Writable []string // further paths that can be written
	State    []string // this program's own files and state: never reachable, whatever else says
	Network  bool     // the host's network; otherwise a loopback of its own and nothing else
	Unix     bool     // unix sockets may be made and connected to
	Env      []string // NAME=value: the whole environment, already filtered
	Limits   Limits
}

// Limits of one child and all that it starts. Zero fields are the package's defaults.
type Limits struct {
	Processes int
	Memory    int64 // bytes of address space of a process
	FileSize  int64 // bytes
	Files     int   // open at once, of a process
}

// Command is what is run.
type Command struct {
	Args           []string // Args[0] is a program name, looked up in the PATH of the policy's Env, or an absolute path
	Dir            string   // a real path inside the roots
	Stdout, Stderr *os.File // or nil for nothing
}

// Sandbox starts confined children. Safe for concurrent use.
type Sandbox interface {
	// Name is "bubblewrap", "landlock" or "none".
	Name() string
	// Start starts the child in a process group (and, where there is one, a process
	// namespace) of its own. When ctx ends, everything that it started is killed.
	Start(ctx context.Context, p Policy, c Command) (Process, error)
}

// Process is a started child with all its descendants.
type Process interface {
	// Wait waits for the child's end and then ends what is left of its descendants.
	Wait() (Exit, error)
	// Kill ends the child and every descendant at once.
	Kill()
}

// Exit is how a child ended.
type Exit struct {
	Code   int    // of an exit; -1 for a signal
	Signal string // "killed" and so on; empty for an exit
}

// Diagnosis says which sandbox can be used here, and why another can't: cause and fix
// in sentences for the banner.
type Diagnosis struct {
	Chosen string   // a Sandbox's Name; empty when there is none
	Causes []string // why what is better can't be used, with the fix
}

// Choose probes with this very policy, best sandbox first, and gives the one that holds.
// It fails (fault.Unavailable) when none does: nothing may then be run.
func Choose(ctx context.Context, p Policy) (Sandbox, Diagnosis, error) { panic("unwritten") }

// Unconfined runs children without a sandbox, in a process group of their own with a
// filtered environment: only for `--sandbox off`.
func Unconfined() Sandbox { panic("unwritten") }

// Main runs the second stage of a confined child when this process was started as one
// (by re-execution), and does not return then. Every program that uses the package calls
// it first in main and in TestMain.
func Main() {}

var _ io.Writer // placeholder
