// Package sandbox confines a child process: bubblewrap first, Landlock with seccomp
// second, refusal third. One Policy value means the same under each. Design:
// docs/design/workspace.md section 7.
package sandbox

import (
	"context"
	"errors"
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

// Policy is what a child may reach. Paths are absolute, clean and real. The zero Policy
// is refused.
//
// Where two fields speak of one path, State is the strongest, then Hidden, ReadOnly,
// Roots and Writable, Readable. Nothing below what is hidden can be reached, nothing
// below what is read-only can be written. Paths of Hidden, ReadOnly, State, Readable
// and Writable that are not there are passed over. A symbolic link can't be held by a
// mount: of Hidden, ReadOnly and State what it leads to is held, within the roots. What a
// child creates or replaces under such a name is for the caller to find and take away
// when the child has ended.
//
// A folder named .git, in any case, in ReadOnly is held only where something in it
// runs programs or leads elsewhere (GitRuns), so that commits work; the .git of every
// root is held so without being named.
type Policy struct {
	Mode     Mode
	Roots    []string // the workspace first
	Hidden   []string // files and folders inside the roots that can't be read
	ReadOnly []string // files and folders inside the roots that can't be written
	Home     string   // empty inside but for known tool and module folders, and Readable
	Readable []string // further paths that can be read (below Home too)
	Writable []string // further paths that can be written; under ModeReadOnly read
	State    []string // this program's own files and state: never reachable, whatever else says
	Network  bool     // the host's network; otherwise a loopback of its own and nothing else
	Unix     bool     // unix sockets may be made and connected to
	Env      []string // NAME=value: the whole environment, already filtered
	Limits   Limits
}

// Limits of one child and all that it starts. Zero fields are the package's defaults;
// negative ones are refused. Core files are never written.
type Limits struct {
	Processes int   // processes and threads at once, together; 2,048 by default
	Memory    int64 // bytes of private memory that one process can write to (see defaults)
	FileSize  int64 // bytes of one file; 4 GiB by default
	Files     int   // descriptors open at once, of a process; 8,192 by default
}

// Command is what is run.
type Command struct {
	Args           []string // Args[0] is a program name, looked up in the PATH of the policy's Env, or an absolute path
	Dir            string   // a real path inside the roots
	Stdout, Stderr *os.File // or nil for nothing; standard input is always empty
}

// Sandbox starts confined children. Safe for concurrent use.
type Sandbox interface {
	// Name is "bubblewrap", "landlock" or "none".
	Name() string
	// Start starts the child in a process group (and, where there is one, a process
	// namespace) of its own. When ctx ends, everything that it started is killed. It
	// fails when the policy can't be held. A failure that is no ErrBegun is certain:
	// nothing of the command ran, or can run later, and no process is left of it.
	Start(ctx context.Context, p Policy, c Command) (Process, error)
}

// ErrBegun is in the failure of a Start after which something of the command may have run.
// It has been ended by then. No sandbox that confines fails so.
var ErrBegun = errors.New("the command may have begun")

// Process is a started child with all its descendants.
type Process interface {
	// Wait waits for the child's end and then ends what is left of its descendants.
	// The descendants end with the child even if nobody waits. Safe to call again.
	Wait() (Exit, error)
	// Kill ends the child and every descendant at once.
	Kill()
}

// Exit is how a child ended. A supervisor stands between a confined child and this
// program, and gives a signal that ended the child as a shell would: Code 128+n.
// Kill and the end of ctx are Code -1 and Signal "killed".
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
