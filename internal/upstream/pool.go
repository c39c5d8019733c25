// Package upstream runs and connects to MCP servers: processes and their groups,
// sessions, listings, calls. A call needs a Permit. Design: docs/design/upstream.md.
package upstream

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// Spec is one server as it is to run.
type Spec struct {
	Name          string
	Incarnation   string
	Program       approval.Program
	Timeout       time.Duration // of one call; 0: DefaultTimeout
	MaxConcurrent int           // calls at once; 0: DefaultMaxConcurrent
}

// Options of a Pool. All functions are required.
type Options struct {
	// Expand resolves ${env:...}, ${file:...} and ${keyring:...}.
	Expand func(string) (string, error)
	// Unverified is told, from a goroutine of its own, that a server's tools must
	// be listed before the next call: connected, reconnected, list_changed.
	Unverified func(server string)
	// Changed is told that a server's State is another; it must not block.
	Changed func(State)
	LogDir  string // bounded stderr logs, one file a server
	Log     *slog.Logger
	Version string // of Holdfast, for initialize
}

// Phase of a server's connection.
type Phase string

const (
	Stopped    Phase = "stopped"
	Connecting Phase = "connecting"
	Connected  Phase = "connected"
	BackingOff Phase = "backing_off"
)

// State is what is known about a server's connection.
type State struct {
	Server          string
	Phase           Phase
	Since           time.Time
	Error           string // one sentence; empty when there is none; never a secret
	NextTry         time.Time
	PID             int
	ProtocolVersion string
	ServerName      string // as it calls itself
	ServerVersion   string
}

// Pool owns the connections. Safe for concurrent use.
type Pool struct{}

func NewPool(o Options) *Pool { panic("unwritten") }

// Sync starts what is new, stops what is not named, and restarts what has another
// incarnation; it returns at once.
func (p *Pool) Sync(specs []Spec) { panic("unwritten") }

// Restart stops and starts a server now, without waiting for a back-off.
func (p *Pool) Restart(name string) error { panic("unwritten") }

// List takes one complete listing (all pages). It waits, within ctx, for a
// connection that is being made.
func (p *Pool) List(ctx context.Context, name string) (approval.Listing, error) { panic("unwritten") }

// Verified gives when the last complete listing of this connection was taken; the
// zero time when there is none or the server announced a change since.
func (p *Pool) Verified(name string) time.Time { panic("unwritten") }

// Call sends one call under a permit, which it spends first.
func (p *Pool) Call(ctx context.Context, permit dispatch.Permit, out dispatch.Outgoing) (dispatch.Reply, error) {
	panic("unwritten")
}

// CancelCalls cancels every call in flight to the server.
func (p *Pool) CancelCalls(name string) { panic("unwritten") }

// States lists the state of every server by name.
func (p *Pool) States() []State { panic("unwritten") }

// Logs gives the last n lines of the server's stderr.
func (p *Pool) Logs(name string, n int) ([]string, error) { panic("unwritten") }

// Close stops everything; every process group is gone when it returns.
func (p *Pool) Close() { panic("unwritten") }
