package store

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// faultOf makes a fault of what went wrong while doing something ("read the
// tokens"); faults and nil stay as they are.
func faultOf(err error, doing string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, fmt.Sprintf("there was no time left to %s", doing), "")
	case errors.Is(err, context.Canceled):
		return fault.Wrap(err, fault.Cancelled, fmt.Sprintf("cancelled while trying to %s", doing), "")
	case isCorrupt(err):
		return fault.Wrap(err, fault.Corrupt, fmt.Sprintf("the database is damaged: can't %s: %v", doing, err),
			"Stop Holdfast and restore the database from a backup.")
	}
	return fault.Wrap(err, fault.Storage, fmt.Sprintf("the database failed: can't %s: %v", doing, err),
		"Check the disk of the data directory (space, errors) and restart Holdfast.")
}

func isCorrupt(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// internal is a change that must not be written because it would break a rule.
func internal(format string, args ...any) error {
	return fault.New(fault.Internal, fmt.Sprintf(format, args...), "This is a fault of Holdfast: please report it.")
}

var errClosed = fault.New(fault.Unavailable, "the store is closed", "")
