package store

import (
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// stuckAfter is how long one group may be with the disk before the store counts as
// unable to write: several times what a bad disk takes for a sync, and longer than
// SQLite waits for a lock.
const stuckAfter = 10 * time.Second

// Healthy says whether what is enqueued now will be written: nil, or a fault that says
// why it will not. fault.Storage: a commit or an enqueued entry failed, which stays so
// until the database is opened again, or the disk has not answered for stuckAfter, which
// ends when it does. fault.Unavailable: the store is closed. It costs a mutex and no query.
func (s *Store) Healthy() error { return s.w.healthy() }

// Failed is closed when nothing more will be written until the database is opened
// again; Healthy then says why. Closing the store does not close it.
func (s *Store) Failed() <-chan struct{} { return s.w.failed }

func (w *writer) healthy() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refuses(); err != nil {
		return err
	}
	if w.busy.IsZero() {
		return nil
	}
	if stuck := time.Since(w.busy); stuck > stuckAfter {
		return fault.New(fault.Storage, fmt.Sprintf("the database has been writing for %d seconds and does not come to an end", int(stuck.Seconds())),
			"Check the disk of the data directory (space, errors), and that no other program holds the database.")
	}
	return nil
}
