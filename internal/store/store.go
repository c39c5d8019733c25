// Package store keeps records, servers, settings, tokens and the audit in SQLite.
// A transition and its audit entry are one transaction. Design: docs/design/store.md.
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Store is one database. Safe for concurrent use. That no other process writes
// the same one is up to whoever opens it; a second writer is noticed, and then
// nothing more is written.
//
// Every method that writes is durable when it returns nil. One that fails with
// fault.Storage may have written all or nothing; once the outcome of a commit is
// not known, every later write is refused until the database is opened again.
type Store struct {
	path   string
	reads  *sql.DB
	w      *writer
	parsed *parsed

	closing sync.Once
	closed  error
}

// DefaultsVersion is the version of the defaults that this program gives to a
// new data directory (docs/design/approval.md section 8). Under version 2 the trust
// mode scan, which is the default, decides by itself; under 1 it held everything.
const DefaultsVersion = 2

// readers is how many read transactions run at once; more wait.
const readers = 4

// Open opens or creates the database file, readable by its owner alone, and
// brings its schema up to date. It fails with fault.Unavailable for a database
// that a newer Holdfast wrote, and with fault.Corrupt for a file that is none of
// ours or whose audit does not end in the entry that it should end in.
func Open(ctx context.Context, path string) (*Store, error) {
	return open(ctx, path, func(c driver.Connector) driver.Connector { return c })
}

// open lets tests stand between the store and its connections.
func open(ctx context.Context, path string, wrap func(driver.Connector) driver.Connector) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Storage, "the database's path can't be made absolute", "")
	}
	if err := createFile(path); err != nil {
		return nil, fault.Wrap(err, fault.Storage, fmt.Sprintf("the database %s can't be created or made private: %v", path, err),
			"Check that the data directory exists and belongs to you.")
	}
	// Fdatasync leaves out a file's times, which no recovery reads; where there is
	// none the call says so and SQLite goes on with what the system has.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return nil, fault.Wrap(err, fault.Storage, "SQLite can't be set up", "")
	}
	writes, err := pool(path, 1, wrap, "_journal_mode=WAL", "_synchronous=FULL", "_foreign_keys=1",
		"_pragma=wal_autocheckpoint(4000)", "_pragma=journal_size_limit(67108864)")
	if err != nil {
		return nil, openFault(path, err)
	}
	w, err := newWriter(ctx, writes, path)
	if err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	reads, err := pool(path, readers, func(c driver.Connector) driver.Connector { return c }, "_query_only=1")
	if err != nil {
		return nil, errors.Join(openFault(path, err), w.conn.Close(), writes.Close())
	}
	go w.run()
	return &Store{path: path, reads: reads, w: w, parsed: &parsed{}}, nil
}

// createFile makes sure that the database exists with mode 0600, which SQLite
// gives to the files beside it too, and that its directory remembers it.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return os.Chmod(path, 0o600)
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func pool(path string, size int, wrap func(driver.Connector) driver.Connector, params ...string) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a Windows volume: file:///C:/...
	}
	params = append(params, "mode=rw", "_defensive=1", "_dqs=0", "_busy_timeout=5000", "_pragma=trusted_schema(0)")
	dsn := "file://" + (&url.URL{Path: slashed}).EscapedPath() + "?" + strings.Join(params, "&")
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(wrap(c))
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// Close writes what was enqueued, and closes the database. Calls after it fail
// with fault.Unavailable. It may be called again, and says the same.
func (s *Store) Close() error {
	s.closing.Do(func() {
		err := s.w.close()
		s.closed = errors.Join(err, s.reads.Close(), s.w.db.Close())
	})
	return s.closed
}

func openFault(path string, err error) error {
	if isCorrupt(err) {
		return fault.Wrap(err, fault.Corrupt, fmt.Sprintf("%s is damaged or is no database: %v", path, err),
			"Restore it from a backup, or move it away to start empty.")
	}
	return fault.Wrap(err, fault.Storage, fmt.Sprintf("the database %s can't be opened: %v", path, err),
		"Check the disk, and that no other program holds the file.")
}

// DataVersion is the version of the defaults that the data was last used under: a
// lower one than DefaultsVersion until SetDataVersion says that the person was told.
func (s *Store) DataVersion(ctx context.Context) (version int, err error) {
	err = s.reading(ctx, "read the version of the defaults", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'defaults'").Scan(&version)
	})
	return version, err
}

// SetDataVersion notes that the data is used under these defaults from at on.
func (s *Store) SetDataVersion(ctx context.Context, version int, at time.Time) error {
	return s.w.submit(ctx, nil, func(t *tx, _ int64) error {
		if err := t.change("UPDATE meta SET value = ? WHERE name = 'defaults'", version); err != nil {
			return err
		}
		return t.change("INSERT INTO meta VALUES ('defaults_since', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", at.UnixMicro())
	})
}

// DefaultsSince is when the data came under its present defaults; zero when it was
// created under them.
func (s *Store) DefaultsSince(ctx context.Context) (since time.Time, err error) {
	err = s.reading(ctx, "read since when the defaults are in force", func(tx *sql.Tx) error {
		var at int64
		err := tx.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'defaults_since'").Scan(&at)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err == nil:
			since = time.UnixMicro(at).UTC()
		}
		return err
	})
	return since, err
}
