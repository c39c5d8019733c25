// Package intake is journey 1: a listing becomes held or approved records; and it
// is where a person's act becomes a committed change. Every change of trust goes
// through Apply: load, decide (core/approval), commit, swap the catalogue, tell.
// Design: docs/design/journeys.md.
package intake

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Store is what intake needs of storage.
type Store interface {
	Load(ctx context.Context) (approval.Settings, []approval.Server, []approval.Record, error)
	// State is one consistent snapshot of what an act on a server reads; Now is not set.
	State(ctx context.Context, server string) (approval.State, error)
	// Commit is durable and whole, or fails; fault.Conflict: somebody else was first.
	// The stored version of each written server and record is one over that which the
	// change was made from, but for the first one of a server.
	Commit(ctx context.Context, c approval.Change) error
	PutSettings(ctx context.Context, s approval.Settings, entries []record.Entry) error
	Append(ctx context.Context, entries ...record.Entry) error
}

// Lister takes listings.
type Lister interface {
	// List takes one complete listing; it waits, within ctx, for a connection.
	List(ctx context.Context, server string) (approval.Listing, error)
	// Verified is when the last complete listing of the present connection was taken;
	// zero when there is none, or the server announced a change since.
	Verified(server string) time.Time
	// CancelCalls cancels every call in flight to the server; it does not block.
	CancelCalls(server string)
}

// Options of an Intake. All but Bundle and Restarted are required.
type Options struct {
	Store  Store
	Lister Lister
	// Bundle gives the signatures in force. Without it, or while it gives nil, no scan
	// is complete, and whatever needs a scan is held. It must be safe for concurrent
	// use; BundleChanged is called after it gives another one.
	Bundle func() *scan.Bundle
	// Swapped is told of each new catalogue, in order, after it is in force: who
	// keeps servers running or agents informed. It must not block.
	Swapped func(*dispatch.Catalogue)
	// Restarted is told, after Swapped, that what is run changed for a server. The
	// catalogue has its new incarnation already. It must not block.
	Restarted      func(server string)
	VerifyInterval func() time.Duration // 0: every call
	Now            func() time.Time
	Log            *slog.Logger
}

// Intake owns the catalogue. Safe for concurrent use.
type Intake struct {
	o Options

	lines lines // one act at a time on one server: load, decide, commit and swap

	swap      sync.Mutex // owns the replacement of the catalogue and the order of Swapped
	catalogue atomic.Pointer[dispatch.Catalogue]
	listed    map[string][]approval.Key // by server: the order of its last pass

	settings sync.Mutex // one change of the settings at a time

	scanners scanners

	passes   sync.Mutex // owns the lanes and what is known of past passes
	lanes    map[string]*lane
	passed   map[string]time.Time // the Verified of the last listing that was committed
	reported map[string]string    // the last failure that was written down
	closed   bool                 // no further pass begins

	life       context.Context // of what runs in the background
	end        context.CancelFunc
	background sync.WaitGroup
}

// New loads everything from the store and builds the first catalogue. ctx is for
// the loading alone; Close ends what runs in the background.
func New(ctx context.Context, o Options) (*Intake, error) {
	settings, servers, records, err := o.Store.Load(ctx)
	if err != nil {
		return nil, err
	}
	i := &Intake{
		o:        o,
		listed:   make(map[string][]approval.Key),
		lanes:    make(map[string]*lane),
		passed:   make(map[string]time.Time),
		reported: make(map[string]string),
	}
	i.life, i.end = context.WithCancel(context.Background())
	i.catalogue.Store(dispatch.NewCatalogue(settings, servers, records))
	return i, nil
}

// Close ends the passes that run and waits for them. No pass begins afterwards:
// Discover, and Fresh where it needs one, fail with fault.Unavailable and
// fault.Unverified.
func (i *Intake) Close() {
	i.passes.Lock()
	i.closed = true
	i.passes.Unlock()
	i.end()
	i.background.Wait()
}

// Catalogue is the snapshot in force.
func (i *Intake) Catalogue() *dispatch.Catalogue { return i.catalogue.Load() }

// now is the time of an act, as the audit keeps it.
func (i *Intake) now() time.Time { return i.o.Now().UTC().Truncate(time.Microsecond) }

// SetSettings puts new settings in force: durable, audited, then a pass of each
// server concerned, in the background. It changes no record and lifts no
// quarantine by itself (docs/design/approval.md section 2).
func (i *Intake) SetSettings(ctx context.Context, s approval.Settings, actor record.Actor) error {
	i.settings.Lock()
	defer i.settings.Unlock()

	old := i.Catalogue().Settings()
	if s.ID == old.ID {
		return nil
	}
	if s.ID == "" {
		return fault.New(fault.Internal, "settings without an ID can't be put in force", "")
	}
	entries := approval.SettingsChanged(old, s, actor, i.now())
	lasting := context.WithoutCancel(ctx)
	err := i.o.Store.PutSettings(lasting, s, entries)
	if err != nil {
		// As with any commit, it may have been kept although it was reported lost.
		if state, readErr := i.o.Store.State(lasting, ""); readErr != nil || state.Settings.ID != s.ID {
			return err
		}
		i.o.Log.Warn("the store has the settings that it reported as lost", "error", err)
	}

	i.swap.Lock()
	next := i.Catalogue().WithSettings(s)
	i.catalogue.Store(next)
	i.o.Swapped(next)
	i.swap.Unlock()

	for _, srv := range next.Servers() {
		if srv.Runs() && concerns(old, s, srv) {
			i.passSoon(srv.Name)
		}
	}
	return err
}

// concerns reports whether a change of settings may change what a pass of srv decides.
func concerns(old, now approval.Settings, srv approval.Server) bool {
	if old.ID == "" { // the first settings ever: nothing was decided under others
		return false
	}
	oldMode, _ := old.ModeOf(srv)
	mode, _ := now.ModeOf(srv)
	return oldMode != mode || old.GateOff != now.GateOff || old.Keeps(srv) != now.Keeps(srv) ||
		old.Unannotated != now.Unannotated || old.Lock != nil || now.Lock != nil
}
