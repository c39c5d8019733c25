// Package storetest is what every store has to pass: Run, for what it promises
// while it lives, and RunKilled, for what it promises when its process is killed.
// Design: docs/design/store.md.
package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Store is what is tested; the contracts of the methods stand at store.Store.
type Store interface {
	Close() error
	Load(ctx context.Context) (approval.Settings, []approval.Server, []approval.Record, error)
	State(ctx context.Context, server string) (approval.State, error)
	Commit(ctx context.Context, c approval.Change) error
	PutSettings(ctx context.Context, v approval.Settings, entries []record.Entry) error
	Append(ctx context.Context, entries ...record.Entry) error
	Enqueue(e record.Entry)
	CreateToken(ctx context.Context, t dispatch.Token, e record.Entry) error
	RevokeToken(ctx context.Context, nameOrID string, at time.Time, e record.Entry) error
	Tokens(ctx context.Context) ([]dispatch.Token, error)
	TokenByHash(ctx context.Context, hash [32]byte) (dispatch.Token, error)
	TouchToken(id string, at time.Time)
	Audit(ctx context.Context, f store.AuditFilter) ([]record.Entry, error)
	Entry(ctx context.Context, seq int64) (record.Entry, error)
	Walk(ctx context.Context, from int64, f func(record.Entry) error) error
	Verify(ctx context.Context) (store.ChainReport, error)
	PutReport(ctx context.Context, server string, r approval.Report) error
	Report(ctx context.Context, server string) (*approval.Report, error)
	DataVersion(ctx context.Context) (int, error)
	SetDataVersion(ctx context.Context, version int, at time.Time) error
	DefaultsSince(ctx context.Context) (time.Time, error)
}

// Failure is how a commit of the database fails.
type Failure byte

const (
	Never Failure = iota
	Lost          // nothing was written, and an error is reported
	Kept          // all was written durably, and an error is reported all the same
)

// Open opens the store that lives in a directory, anew after every Close. commit
// is asked before each commit of the database how it is to fail; nil is Never.
type Open func(dir string, commit func() Failure) (Store, error)

// Run runs the whole suite, but for RunKilled.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, Open){
		"starts empty":          startsEmpty,
		"restart":               restart,
		"every field":           everyField,
		"versions":              versions,
		"compare and swap":      compareAndSwap,
		"one of many wins":      oneWins,
		"all or nothing":        allOrNothing,
		"no silent transition":  noSilentTransition,
		"remove":                remove,
		"large":                 large,
		"order":                 order,
		"close writes the rest": closeWritesTheRest,
		"cancelled":             cancelled,
		"filters":               filters,
		"text search":           textSearch,
		"walk":                  walk,
		"refused entries":       refusedEntries,
		"together":              together,
		"tokens":                tokens,
		"token touch":           tokenTouch,
		"reports":               reports,
		"write lost":            writeLost,
		"write kept":            writeKept,
		"closed":                closed,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// bench is one store in a directory, for one test.
type bench struct {
	Store
	t    testing.TB
	open Open
	dir  string
	ctx  context.Context
}

func start(t testing.TB, open Open) *bench {
	t.Helper()
	b := &bench{t: t, open: open, dir: t.TempDir(), ctx: context.Background()}
	b.again(nil)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// again opens the store, after closing it if it is open.
func (b *bench) again(commit func() Failure) {
	b.t.Helper()
	if b.Store != nil {
		if err := b.Close(); err != nil {
			b.t.Fatal(err)
		}
	}
	s, err := b.open(b.dir, commit)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Store = s
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) state(server string) approval.State {
	b.t.Helper()
	s, err := b.State(b.ctx, server)
	b.must(err)
	return s
}

// entries gives the whole audit, oldest first.
func (b *bench) entries() (all []record.Entry) {
	b.t.Helper()
	b.must(b.Walk(b.ctx, 1, func(e record.Entry) error { all = append(all, e); return nil }))
	return all
}

// verifies fails the test unless the chain verifies with so many entries.
func (b *bench) verifies(entries int) {
	b.t.Helper()
	r, err := b.Verify(b.ctx)
	b.must(err)
	if r.BadSeq != 0 || r.Problem != "" || r.Entries != int64(entries) {
		b.t.Fatalf("the chain does not verify with %d entries: %+v", entries, r)
	}
}

// fails fails the test unless err is a fault of that kind.
func (b *bench) fails(what string, kind fault.Kind, err error) {
	b.t.Helper()
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != kind {
		b.t.Errorf("%s: %v, and %s was expected", what, err, kind)
	}
}
