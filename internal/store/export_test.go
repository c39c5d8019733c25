package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
)

// Hook is asked before each prepared statement of the writer runs: an error of
// before is reported in its place, one of after although it ran.
type Hook func(query string) (before, after error)

// OpenHooked is Open with a hook between the store and its writing connection.
func OpenHooked(ctx context.Context, path string, hook Hook) (*Store, error) {
	return open(ctx, path, func(c driver.Connector) driver.Connector { return hookedConnector{c, hook} })
}

type hookedConnector struct {
	driver.Connector
	hook Hook
}

func (c hookedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &hookedConn{full: conn.(full), hook: c.hook}, nil
}

// full is what every connection of the driver can do.
type full interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type hookedConn struct {
	full
	hook Hook
}

func (c *hookedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.full.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &hookedStmt{Stmt: s, query: query, c: c}, nil
}

type hookedStmt struct {
	driver.Stmt
	query string
	c     *hookedConn
}

func (s *hookedStmt) Exec(args []driver.Value) (driver.Result, error) {
	before, after := s.c.hook(s.query)
	if before != nil {
		return nil, before
	}
	r, err := s.Stmt.Exec(args) //nolint:staticcheck // what the driver's statement has without a context
	if err == nil {
		err = after
	}
	return r, err
}

// errDisk is what a failing disk says.
var errDisk = errors.New("the disk is on fire")

// failNext makes a hook that fails the next run of a statement once armed.
func failNext(query string, armed *atomic.Bool) Hook {
	return func(q string) (error, error) {
		if q == query && armed.CompareAndSwap(true, false) {
			return errDisk, nil
		}
		return nil, nil
	}
}
