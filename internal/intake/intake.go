// Package intake is journey 1: a listing becomes held or approved records; and it
// is where a person's act becomes a committed change. Every change of trust goes
// through Apply: load, decide (core/approval), commit, swap the catalogue, tell.
// Design: docs/design/journeys.md.
package intake

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// Store is what intake needs of storage.
type Store interface {
	Load(ctx context.Context) (approval.Settings, []approval.Server, []approval.Record, error)
	State(ctx context.Context, server string) (approval.State, error)
	// Commit is durable and whole, or fails; fault.Conflict: somebody else was first.
	Commit(ctx context.Context, c approval.Change) error
	PutSettings(ctx context.Context, s approval.Settings, entries []record.Entry) error
	Append(ctx context.Context, entries ...record.Entry) error
}

// Lister takes listings.
type Lister interface {
	List(ctx context.Context, server string) (approval.Listing, error)
	Verified(server string) time.Time
	CancelCalls(server string)
}

// Options of an Intake. All are required.
type Options struct {
	Store  Store
	Lister Lister
	// Judge binds the comparison and the scan to one pass's neighbours.
	Judge func(neighbours []scan.Neighbour) approval.Judge
	// Swapped is told of each new catalogue, in order, after it is in force: who
	// keeps servers running or agents informed. It must not block.
	Swapped func(*dispatch.Catalogue)
	// Restarted is told that what is run changed for a server.
	VerifyInterval func() time.Duration // 0: every call
	Now            func() time.Time
	Log            *slog.Logger
}

type Intake struct{}

// New loads everything from the store and builds the first catalogue.
func New(ctx context.Context, o Options) (*Intake, error) { panic("unwritten") }

// Catalogue is the snapshot in force.
func (i *Intake) Catalogue() *dispatch.Catalogue { panic("unwritten") }

// Apply runs one act on a server to its end: it loads the state, decides, commits
// and swaps; a lost race starts again. The error is act's, or a fault.
func (i *Intake) Apply(ctx context.Context, server string, act func(approval.State) (approval.Change, error)) (approval.Change, error) {
	panic("unwritten")
}

// Discover takes a pass of one server; callers at the same time share one.
func (i *Intake) Discover(ctx context.Context, server string) error { panic("unwritten") }

// Fresh makes sure that the server's tools were listed within the verify interval,
// taking a pass if need be, one for all that wait; fault.Unverified when it can't.
func (i *Intake) Fresh(ctx context.Context, server string) error { panic("unwritten") }

// SetSettings puts new settings in force: durable, audited, then a pass of each
// server concerned.
func (i *Intake) SetSettings(ctx context.Context, s approval.Settings, actor record.Actor) error {
	panic("unwritten")
}
