package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// application marks a file as ours in the header of the database ("HLDF").
const application = 0x484c4446

// migrations bring the schema from version i to i+1, each in one transaction.
// One that was released is never changed.
var migrations = []string{schema1}

const schema1 = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- The last entry of the audit, beside the audit: what was cut off its end is missed.
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash BLOB NOT NULL) STRICT;
INSERT INTO head VALUES (1, 0, zeroblob(32));

CREATE TABLE blobs (hash BLOB PRIMARY KEY, data BLOB NOT NULL) STRICT;

CREATE TABLE audit (
	seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, type TEXT NOT NULL,
	server TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
	body TEXT NOT NULL, prev BLOB NOT NULL, hash BLOB NOT NULL
) STRICT;
CREATE INDEX audit_name ON audit (server, name);
CREATE TRIGGER audit_stays BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit entries are never deleted'); END;
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit entries are never changed'); END;

CREATE TABLE settings (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, body TEXT NOT NULL) STRICT;

CREATE TABLE servers (
	place INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
	version INTEGER NOT NULL, incarnation TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
-- The last version of a removed server: its name never has one twice.
CREATE TABLE removed (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE records (
	place INTEGER PRIMARY KEY AUTOINCREMENT,
	server TEXT NOT NULL REFERENCES servers (name) ON DELETE CASCADE,
	kind TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
	seq INTEGER NOT NULL REFERENCES audit (seq), -- the entry of the last transition
	state BLOB NOT NULL,                         -- hash of what that entry led to
	status INTEGER NOT NULL,
	approved TEXT NOT NULL, approved_problem TEXT NOT NULL, approved_raw BLOB REFERENCES blobs (hash), approved_by TEXT NOT NULL,
	anchor TEXT NOT NULL, anchor_problem TEXT NOT NULL, anchor_raw BLOB REFERENCES blobs (hash), anchor_by TEXT NOT NULL,
	accepted TEXT NOT NULL,
	live TEXT NOT NULL, live_problem TEXT NOT NULL, live_raw BLOB REFERENCES blobs (hash), live_scan TEXT NOT NULL,
	declined TEXT NOT NULL, blocked INTEGER NOT NULL, absent INTEGER NOT NULL, evidence TEXT NOT NULL,
	UNIQUE (server, kind, name)
) STRICT;

CREATE TABLE tokens (
	place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, hash BLOB NOT NULL UNIQUE,
	body TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER, used INTEGER, revoked INTEGER
) STRICT;
CREATE UNIQUE INDEX tokens_name ON tokens (name) WHERE revoked IS NULL;

CREATE TABLE reports (server TEXT PRIMARY KEY REFERENCES servers (name) ON DELETE CASCADE, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
`

// migrate brings the database up to date. It refuses one that is not ours or
// that a newer program wrote: what it does not know it can't keep.
func migrate(ctx context.Context, conn *sql.Conn, path string) error {
	var app, version, tables int
	err := errors.Join(
		conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app),
		conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version),
		conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
	)
	switch {
	case err != nil:
		return err
	case app != application && (app != 0 || version != 0 || tables != 0):
		return fault.New(fault.Corrupt, fmt.Sprintf("%s is the database of another program", path),
			"Give Holdfast a data directory of its own.")
	case version > len(migrations):
		return fault.New(fault.Unavailable, fmt.Sprintf("%s was written by a newer Holdfast (its schema is version %d, and this program knows %d)",
			path, version, len(migrations)), "Start the newer program, or restore a backup from before the upgrade.")
	}
	for v := version; v < len(migrations); v++ {
		script := fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA application_id = %d; PRAGMA user_version = %d;", migrations[v], application, v+1)
		if v == 0 {
			script += fmt.Sprintf("INSERT INTO meta VALUES ('defaults', %d);", DefaultsVersion)
		}
		if _, err := conn.ExecContext(ctx, script+"COMMIT;"); err != nil {
			// It fails where the database rolled back by itself.
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return fmt.Errorf("migration to schema version %d: %w", v+1, err)
		}
	}
	return nil
}
