// Package store keeps records, servers, settings, tokens and the audit in SQLite.
// A transition and its audit entry are one transaction. Design: docs/design/store.md.
package store

import (
	"context"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
)

// Store is one database. Safe for concurrent use.
type Store struct{}

// Open opens or creates the database file and brings its schema up to date.
func Open(ctx context.Context, path string) (*Store, error) { panic("unwritten") }
func (s *Store) Close() error                               { panic("unwritten") }

// Load gives everything that a start needs. Records come in the order in which
// they were first stored.
func (s *Store) Load(ctx context.Context) (approval.Settings, []approval.Server, []approval.Record, error) {
	panic("unwritten")
}

// State gives what an act on one server reads, in one snapshot; Now is not set.
func (s *Store) State(ctx context.Context, server string) (approval.State, error) { panic("unwritten") }

// Commit writes a change whole, durably, or not at all: fault.Conflict when the
// settings, the server or a record are no longer what it was made from.
func (s *Store) Commit(ctx context.Context, c approval.Change) error { panic("unwritten") }

// PutSettings replaces the settings snapshot together with its audit entries.
func (s *Store) PutSettings(ctx context.Context, v approval.Settings, entries []record.Entry) error {
	panic("unwritten")
}

// Append writes audit entries; they are durable when it returns. Concurrent
// callers share a commit.
func (s *Store) Append(ctx context.Context, entries ...record.Entry) error { panic("unwritten") }

// Enqueue writes an audit entry soon, in order with Append; Close waits for it.
// When the store failed for good, the next Append says so.
func (s *Store) Enqueue(e record.Entry) { panic("unwritten") }

// Tokens.
func (s *Store) CreateToken(ctx context.Context, t dispatch.Token, e record.Entry) error {
	panic("unwritten")
}
func (s *Store) RevokeToken(ctx context.Context, nameOrID string, at time.Time, e record.Entry) error {
	panic("unwritten")
}
func (s *Store) Tokens(ctx context.Context) ([]dispatch.Token, error) { panic("unwritten") }

// TokenByHash finds a token by the SHA-256 of its secret; fault.NotFound.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (dispatch.Token, error) {
	panic("unwritten")
}

// TouchToken notes when a token was last used; it may be late and is not durable.
func (s *Store) TouchToken(id string, at time.Time) { panic("unwritten") }

// AuditFilter selects audit entries; zero fields select everything.
type AuditFilter struct {
	Server, Name string
	Types        []record.Type
	Since, Until time.Time
	Text         string // found anywhere in the entry
	Before       int64  // seq: newest first, entries before this one; 0 starts at the end
	Limit        int    // 0 is 100
}

// Audit lists entries, newest first.
func (s *Store) Audit(ctx context.Context, f AuditFilter) ([]record.Entry, error) { panic("unwritten") }

// Entry gives one audit entry with its contracts in full.
func (s *Store) Entry(ctx context.Context, seq int64) (record.Entry, error) { panic("unwritten") }

// Walk calls f for every entry, oldest first, from seq on, until f fails.
func (s *Store) Walk(ctx context.Context, from int64, f func(record.Entry) error) error {
	panic("unwritten")
}

// ChainReport is the result of Verify.
type ChainReport struct {
	Entries int64
	Head    [32]byte
	BadSeq  int64  // 0 when the chain verifies
	Problem string // what is wrong at BadSeq
}

// Verify recomputes the whole hash chain and that every record's version has its
// transition's entry.
func (s *Store) Verify(ctx context.Context) (ChainReport, error) { panic("unwritten") }

// Reports are security scan reports, one (the last) a server.
func (s *Store) PutReport(ctx context.Context, server string, r approval.Report) error {
	panic("unwritten")
}
func (s *Store) Report(ctx context.Context, server string) (*approval.Report, error) {
	panic("unwritten")
}
