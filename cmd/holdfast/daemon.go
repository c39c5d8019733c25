package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/gateway"
	"github.com/holdfast-mcp/holdfast/internal/intake"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/upstream"
)

// grace is how long calls in flight may take to end when Holdfast stops.
const grace = 10 * time.Second

// setup is what a daemon is started with.
type setup struct {
	dir        string
	configPath string
	found      found // the configuration file, before it was read
	config     *config.Config
	tcp        bool         // serve agents over TCP, at config.Listen
	listener   net.Listener // open already, for config.Listen; nil: to be opened
	log        *slog.Logger
}

// daemon is every room wired together, on one data directory.
type daemon struct {
	setup
	started time.Time

	lock    *os.File
	store   *store.Store
	pool    *upstream.Pool
	intake  *intake.Intake
	desk    *desk
	gateway *gateway.Gateway
	joined  *joined // agents of holdfast stdio

	defaultsSince time.Time // when the data came under newer defaults; zero: never

	mcp     string // URL for agents, empty without TCP
	servers []*http.Server
	failed  chan error // a listener that broke

	// live is closed when the configuration was applied for the first time: before
	// that nothing is started, so that what the file no longer names never runs.
	live chan struct{}

	applying   sync.Mutex // one change of the configuration at a time
	inForce    atomic.Pointer[config.Config]
	notes      atomic.Pointer[notes]
	signatures atomic.Pointer[signatures]
}

// notes are what a person should know about the configuration.
type notes struct {
	problem  string   // why the file as it is now is not in force
	warnings []string // of the one in force
}

// startDaemon brings everything up or nothing: what was started before a failure
// is stopped again.
func startDaemon(ctx context.Context, s setup) (_ *daemon, err error) {
	d := &daemon{setup: s, started: time.Now(), live: make(chan struct{}), failed: make(chan error, 2)}
	defer func() {
		if err != nil {
			d.stop()
		}
	}()
	if err := prepareDataDirectory(d.dir); err != nil {
		return nil, err
	}
	if d.lock, err = lockDirectory(d.dir); err != nil {
		return nil, err
	}
	if err := checkDatabase(d.dir, wasUsed(d.dir)); err != nil {
		return nil, err
	}
	if d.store, err = store.Open(ctx, filepath.Join(d.dir, databaseName)); err != nil {
		return nil, err
	}
	if err := markUsed(d.dir); err != nil {
		return nil, err
	}
	d.inForce.Store(d.config)
	d.notes.Store(&notes{})
	d.takeSignatures(ctx, d.config.BundlePath)
	if err := d.wire(ctx); err != nil {
		return nil, err
	}
	if err := d.apply(ctx, d.config); err != nil {
		return nil, err
	}
	if err := d.noticeUpgrade(ctx); err != nil {
		return nil, err
	}
	close(d.live)
	d.swapped(d.intake.Catalogue())
	return d, d.listen()
}

// wire builds the rooms from the inside out.
func (d *daemon) wire(ctx context.Context) (err error) {
	d.pool = upstream.NewPool(upstream.Options{
		Expand: config.Expand, Unverified: d.unverified, Changed: func(upstream.State) {},
		LogDir: filepath.Join(d.dir, logsName), Log: d.log, Version: version,
	})
	d.intake, err = intake.New(ctx, intake.Options{
		Store: d.store, Lister: lister{d},
		Bundle:         func() *scan.Bundle { return d.signatures.Load().bundle },
		Swapped:        d.swapped,
		Listed:         d.pool.ListingTaken,
		VerifyInterval: func() time.Duration { return d.inForce.Load().Verify },
		Now:            time.Now, Log: d.log,
	})
	if err != nil {
		return err
	}
	limits := d.config.Limits
	d.desk = &desk{inner: call.New(call.Options{
		Tools: d.intake, Upstream: d.pool, Journal: d.store,
		MaxArguments: limits.Arguments, MaxResult: limits.Result, Now: time.Now, Log: d.log,
	})}
	l := d.config.Listen
	d.gateway, err = gateway.New(gateway.Options{
		Tools: d.intake, Desk: d.desk, Tokens: d.store, Journal: d.store,
		AuthOff: l.AuthOff, Face: l.Face, Origins: l.Origins, Hosts: l.Hosts,
		Limits:  gateway.Limits{Message: limits.Message, Sessions: limits.Sessions, Idle: limits.Idle},
		Version: version, Now: time.Now, Log: d.log,
	})
	if err == nil {
		d.joined = newJoined(d.gateway, limits.Message)
	}
	return err
}

// swapped is told of each catalogue in force: servers run by it, agents see it.
func (d *daemon) swapped(c *dispatch.Catalogue) {
	select {
	case <-d.live:
	default:
		return
	}
	var specs []upstream.Spec
	for _, s := range c.Servers() {
		if s.Runs() {
			specs = append(specs, upstream.Spec{
				Name: s.Name, Incarnation: s.Incarnation, Program: s.Program,
				Timeout: s.Options.Timeout, MaxConcurrent: s.Options.MaxConcurrent,
			})
		}
	}
	d.pool.Sync(specs)
	d.gateway.Swapped(c)
}

// unverified takes a pass of a server that connected or announced a change. Its
// failure is written down by the pass.
func (d *daemon) unverified(server string) {
	if err := d.intake.Discover(context.Background(), server); err != nil {
		d.log.Warn("a server could not be listed", "server", server, "err", err)
	}
}

// lister keeps passes waiting until servers may run.
type lister struct{ d *daemon }

func (l lister) List(ctx context.Context, server string) (approval.Listing, error) {
	select {
	case <-l.d.live:
		return l.d.pool.List(ctx, server)
	case <-ctx.Done():
		return approval.Listing{}, ctx.Err()
	}
}

func (l lister) Verified(server string) time.Time { return l.d.pool.Verified(server) }
func (l lister) CancelCalls(server string)        { l.d.pool.CancelCalls(server) }

// desk counts the calls in flight, for the end.
type desk struct {
	inner *call.Desk

	mu      sync.Mutex
	running int
	idle    chan struct{} // closed when the last call ended, once somebody asked
}

func (k *desk) Do(ctx context.Context, r call.Request) (dispatch.Reply, *dispatch.Refusal, error) {
	k.count(1)
	defer k.count(-1)
	return k.inner.Do(ctx, r)
}

func (k *desk) count(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running += n; k.running == 0 && k.idle != nil {
		close(k.idle)
		k.idle = nil
	}
}

// drained waits until no call is in flight, but not longer than ctx.
func (k *desk) drained(ctx context.Context) {
	k.mu.Lock()
	if k.running == 0 {
		k.mu.Unlock()
		return
	}
	if k.idle == nil {
		k.idle = make(chan struct{})
	}
	idle := k.idle
	k.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// listen opens the socket, and the TCP address if asked, and then serves both.
func (d *daemon) listen() error {
	unix, err := listenSocket(d.dir, d.log)
	if err != nil {
		return err
	}
	if d.tcp && d.listener == nil {
		d.listener, err = net.Listen("tcp", d.config.Listen.Addr)
	}
	if err != nil {
		unix.Close()
		return fault.Wrap(err, fault.Unavailable, "agents can't be served at "+d.config.Listen.Addr+": "+plain(err),
			"set another \"listen\" in the configuration, or stop what listens there")
	}
	local := http.NewServeMux()
	mcp := d.gateway.LocalHandler()
	local.Handle("/mcp", mcp)
	local.Handle("/mcp/", mcp)
	local.Handle(agentPath, d.joined)
	local.Handle("/", admin.New(d.adminOptions(), peerOf))
	if d.tcp {
		d.mcp = "http://" + d.listener.Addr().String() + "/mcp"
		public := http.NewServeMux()
		agents, ready := d.gateway.Handler(), admin.Health(d.ready, d.auditHealth)
		public.Handle("/mcp", agents)
		public.Handle("/mcp/", agents)
		public.Handle("GET /healthz", ready)
		public.Handle("GET /readyz", ready)
		public.HandleFunc("/", nothingHere)
		d.serve(limitConnections(d.listener, connections()), &http.Server{Handler: public})
	}
	d.serve(unix, &http.Server{Handler: local, ConnContext: withPeer})
	return nil
}

// nothingHere names what there is, for who opened the address in a browser.
func nothingHere(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "Holdfast serves agents at /mcp, /mcp/direct, /mcp/search and /mcp/server/NAME, with a token, "+
		"and says how it is at /healthz and /readyz. People use the command line: holdfast status", http.StatusNotFound)
}

func (d *daemon) serve(l net.Listener, s *http.Server) {
	s.ReadHeaderTimeout, s.IdleTimeout = 10*time.Second, 2*time.Minute
	s.ErrorLog = slog.NewLogLogger(d.log.Handler(), slog.LevelWarn)
	d.servers = append(d.servers, s)
	go func() {
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			d.failed <- fault.Wrap(err, fault.Unavailable, "a listener of Holdfast broke: "+plain(err), "start it again")
		}
	}()
}

// ready fails when the store can't be read: then nothing can be decided.
func (d *daemon) ready(ctx context.Context) error {
	_, err := d.store.Tokens(ctx)
	return err
}

// auditHealth says why nothing can be written down any more.
func (d *daemon) auditHealth() error { return d.store.Healthy() }

// stop ends everything in the order in which it is safe: nobody new, calls in
// flight, sessions, servers, passes, the store.
func (d *daemon) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if d.joined != nil {
		d.joined.drain()
	}
	var closed sync.WaitGroup
	for _, s := range d.servers {
		closed.Go(func() { _ = s.Shutdown(ctx) })
	}
	if d.desk != nil {
		d.desk.drained(ctx)
	}
	if d.joined != nil {
		d.joined.end(ctx)
	}
	if d.gateway != nil {
		d.gateway.Close()
	}
	brief, enough := context.WithTimeout(ctx, time.Second)
	within(brief, closed.Wait)
	enough()
	for _, s := range d.servers {
		_ = s.Close()
	}
	if d.listener != nil {
		_ = d.listener.Close()
	}
	if d.pool != nil {
		d.pool.Close()
	}
	if d.intake != nil {
		d.intake.Close()
	}
	if d.store != nil {
		if err := d.store.Close(); err != nil {
			d.log.Error("the store did not close cleanly", "err", err)
		}
	}
	if d.lock != nil {
		_ = os.Remove(socketPath(d.dir))
		_ = d.lock.Close()
	}
}

// within waits for f, but not longer than ctx.
func within(ctx context.Context, f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// warnings are what a person should know about the running daemon.
func (d *daemon) warnings() []string {
	var w []string
	if d.config.Listen.AuthOff && d.tcp {
		w = append(w, authOffWarning)
	}
	if d.intake.Catalogue().Settings().GateOff {
		w = append(w, "the gate is off (quarantine_enabled is false): every new tool and every change is approved by itself")
	}
	n := d.notes.Load()
	if n.problem != "" {
		w = append(w, "the configuration file as it is now is not in force, the one before is: "+n.problem)
	}
	if s := d.signatures.Load(); s.problem != "" {
		w = append(w, fmt.Sprintf("the file of signatures is not in force, the signatures %s are: %s", s.bundle.Version(), s.problem))
	}
	return append(w, slices.Clone(n.warnings)...)
}

const authOffWarning = "auth is off: every program on this machine that reaches the address may call every ready tool without a token"
