// Package upstream runs and connects to MCP servers: processes and their groups,
// sessions, listings, calls. A call needs a Permit. Design: docs/design/upstream.md.
package upstream

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// Defaults of a Spec.
const (
	DefaultTimeout       = 2 * time.Minute
	DefaultMaxConcurrent = 16
)

// Spec is one server as it is to run.
type Spec struct {
	Name          string
	Incarnation   string
	Program       approval.Program
	Timeout       time.Duration // of one call, waiting for its turn included; 0: DefaultTimeout
	MaxConcurrent int           // calls at once; 0: DefaultMaxConcurrent
}

// Options of a Pool. All functions are required.
type Options struct {
	// Expand resolves ${env:...}, ${file:...} and ${keyring:...}. It is called only
	// when a server is started.
	Expand func(string) (string, error)
	// Unverified is told, from a goroutine of its own, that a server's tools must
	// be listed before the next call: connected, reconnected, list_changed. It is
	// told at once; while one follows the other, after pauses that double from a
	// second to five minutes, until ten minutes were quiet.
	Unverified func(server string)
	// Changed is told that a server's State is another; it must not block.
	Changed func(State)
	// Builtins serve the servers that are part of this program, by name. They are also
	// what is run where a command is this very program with the name as its first
	// argument: their records are then those of this process.
	Builtins map[string]Builtin
	LogDir   string // bounded stderr logs, one file a server
	Log      *slog.Logger
	Version  string // of Holdfast, for initialize
}

// Builtin serves a connection until it ends or ctx does. What it returns is why it could
// not go on; nothing of it may be left then.
type Builtin func(ctx context.Context, b BuiltinStart, c wire.Conn) error

// BuiltinStart is how a builtin server is started.
type BuiltinStart struct {
	Server string // its name
	Args   []string
	Dir    string            // where a relative path in Args starts; empty: where this process runs
	Env    map[string]string // beside this process's environment
	Stderr io.Writer
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
	Hint            string // what to do about Error; may be empty
	NextTry         time.Time
	PID             int
	ProtocolVersion string
	ServerName      string // as it calls itself
	ServerVersion   string

	// ListingError is a sentence when the server is connected and the last listing of
	// its tools failed, or was refused by the law (ListingTaken); empty once one is
	// taken. Until then calls are refused as unverified. Never a secret.
	ListingError string
	ListingSince time.Time // of ListingError

	plain string // Error without what the server said, for agents
}

// timing is every time of a Pool; tests have shorter ones.
type timing struct {
	initialize time.Duration // from the start of a program to its answer to initialize
	listing    time.Duration // one complete listing
	firstRetry time.Duration // doubled with each failure
	lastRetry  time.Duration // and no longer than this
	stable     time.Duration // connected for so long, failures are forgotten
	soon       time.Duration // a listing waits for a retry that is due so soon
	eof        time.Duration // for a program to end after its stdin was closed
	term       time.Duration // and after SIGTERM
	kill       time.Duration // and after SIGKILL, before we give up on the system
	notify     time.Duration // between two Unverified for a server; doubled while they follow each other
	lastNotify time.Duration // and no longer than this; after twice this they count anew
}

var usual = timing{
	initialize: time.Minute, listing: time.Minute,
	firstRetry: 500 * time.Millisecond, lastRetry: time.Minute, stable: time.Minute, soon: 2 * time.Second,
	eof: 2 * time.Second, term: 3 * time.Second, kill: 2 * time.Second,
	notify: time.Second, lastNotify: 5 * time.Minute,
}

// Pool owns the connections. Safe for concurrent use.
type Pool struct {
	o      Options
	timing timing
	spawn  *spawner

	mu      sync.Mutex
	closed  bool
	servers map[string]*server
	running sync.WaitGroup // of every server that was ever started
}

// NewPool gives a pool without servers. It must be closed.
func NewPool(o Options) *Pool { return newPool(o, usual) }

func newPool(o Options, t timing) *Pool {
	return &Pool{o: o, timing: t, spawn: newSpawner(), servers: map[string]*server{}}
}

// Sync starts what is new, stops what is not named, and restarts what has another
// incarnation; it returns at once. A server is started again only when what ran
// under its name is gone. Other changes of a Spec are in force for the next call.
func (p *Pool) Sync(specs []Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	named := map[string]bool{}
	for _, spec := range specs {
		named[spec.Name] = true
		old := p.servers[spec.Name]
		if old != nil && old.incarnation == spec.Incarnation {
			old.adjust(spec)
			continue
		}
		s := newServer(p, spec, old)
		if old != nil {
			old.stop()
		}
		p.servers[spec.Name] = s
		p.running.Go(s.run)
	}
	for name, s := range p.servers {
		if !named[name] {
			s.stop()
			delete(p.servers, name)
		}
	}
}

// Restart stops and starts a server now, without waiting for a back-off.
func (p *Pool) Restart(name string) error {
	s, err := p.server(name)
	if err != nil {
		return err
	}
	s.restart()
	return nil
}

func (p *Pool) server(name string) (*server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.servers[name]; s != nil {
		return s, nil
	}
	if p.closed {
		return nil, fault.New(fault.Unavailable, "Holdfast is stopping", "")
	}
	return nil, fault.New(fault.NotFound, fmt.Sprintf("no server named %q is run", name), "List the servers to see their names, and whether it is enabled.")
}

// List takes one complete listing (all pages). It waits, within ctx, for a
// connection that is being made, and for one that is tried again within seconds.
func (p *Pool) List(ctx context.Context, name string) (approval.Listing, error) {
	s, err := p.server(name)
	if err != nil {
		return approval.Listing{}, err
	}
	c, err := s.connection(ctx)
	if err != nil {
		return approval.Listing{}, err
	}
	return c.list(ctx)
}

// Verified gives when the last complete listing of this connection was taken (its
// start); the zero time when there is none or the server announced a change since
// that moment.
func (p *Pool) Verified(name string) time.Time {
	s, err := p.server(name)
	if err != nil {
		return time.Time{}
	}
	c := s.now()
	if c == nil {
		return time.Time{}
	}
	return c.verifiedAt()
}

// ListingTaken tells how it went on with a listing: nil when it was taken in, or why
// it was not, which makes the server unverified and stands in its State like a
// listing that failed.
func (p *Pool) ListingTaken(name string, err error) {
	s, _ := p.server(name)
	if s == nil {
		return
	}
	if c := s.now(); c != nil && err != nil {
		c.untrusted()
	}
	s.listed(err, true)
}

// CancelCalls cancels every call in flight to the server, and those that wait for
// their turn. It does not block.
func (p *Pool) CancelCalls(name string) {
	if s, err := p.server(name); err == nil {
		s.cancelCalls()
	}
}

// States lists the state of every server by name.
func (p *Pool) States() []State {
	p.mu.Lock()
	states := make([]State, 0, len(p.servers))
	for _, s := range p.servers {
		states = append(states, s.snapshot())
	}
	p.mu.Unlock()
	slices.SortFunc(states, func(a, b State) int { return strings.Compare(a.Server, b.Server) })
	return states
}

// Logs gives the last n lines of what the server wrote to its stderr, each with
// the time it came.
func (p *Pool) Logs(name string, n int) ([]string, error) {
	return tail(p.o.LogDir, name, n)
}

// Close stops everything; every process group is gone when it returns.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.servers {
		s.stop()
	}
	p.servers = map[string]*server{}
	p.mu.Unlock()
	p.running.Wait()
	p.spawn.close()
}
