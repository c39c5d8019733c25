package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

const (
	// flushAfter is how long an enqueued entry waits for company.
	flushAfter = 40 * time.Millisecond
	// touchAfter is how long the last use of a token may be known in memory alone.
	touchAfter = 2 * time.Second
	// maxEnqueued bounds the entries that wait; whoever enqueues more waits too.
	maxEnqueued = 4096
	// idleAfter is how long nothing is written before the log is put into the database.
	idleAfter = 250 * time.Millisecond
	// checkpointAt is the number of entries that is worth doing so for.
	checkpointAt = 256
)

// request is one thing to write: entries, and what do writes beside them.
type request struct {
	lines []line
	do    func(t *tx, first int64) error // first is the seq of lines[0]; nil: only the lines
	done  chan error                     // nil when nobody waits for it
	taken bool                           // the writer has it, or its caller gave up; guarded by writer.mu
}

// writer owns the one connection that writes. Whoever has the turn takes everything
// that waits into one transaction, so that callers at the same time share one commit:
// one wait for the disk. That is a caller that finds nobody writing, which spares it
// two hand-overs, else the writer's goroutine.
type writer struct {
	db   *sql.DB
	path string
	turn chan struct{} // has room for one: who may use what follows

	conn       *sql.Conn
	statements map[string]*sql.Stmt
	head       head // of the audit, as committed
	broken     error
	written    int       // entries since the last checkpoint
	wrote      time.Time // when the last group was written

	mu       sync.Mutex // guards what follows
	space    *sync.Cond // an enqueued entry was taken
	queue    []*request
	waiting  int                  // requests in queue with somebody waiting
	clock    *time.Timer          // wakes the goroutine for flushAt
	flushAt  time.Time            // when the rest of the queue is due; zero when it is empty
	touched  map[string]time.Time // uses of tokens that are to be stored
	touchAt  time.Time
	tokens   tokenTable
	used     map[string]time.Time // the last use of each token since opening
	busy     time.Time            // since when a group is being written; zero: none is
	closing  bool
	refusing error // a copy of broken

	wake   chan struct{}
	gone   chan struct{}
	failed chan struct{} // closed once nothing more is written
}

func newWriter(ctx context.Context, db *sql.DB, path string) (*writer, error) {
	w := &writer{
		db: db, path: path, turn: make(chan struct{}, 1), statements: map[string]*sql.Stmt{}, touched: map[string]time.Time{}, used: map[string]time.Time{},
		wake: make(chan struct{}, 1), gone: make(chan struct{}), failed: make(chan struct{}),
	}
	w.space = sync.NewCond(&w.mu)
	w.clock = time.AfterFunc(time.Hour, w.signal)
	w.clock.Stop()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, openFault(path, err)
	}
	w.conn = conn
	err = migrate(ctx, conn, path)
	if err == nil {
		w.head, err = readHead(ctx, conn)
	}
	if err == nil {
		w.tokens, err = readTokenTable(ctx, conn)
	}
	if err != nil {
		if _, known := errors.AsType[*fault.Error](err); !known {
			err = openFault(path, err)
		}
		return nil, errors.Join(err, conn.Close())
	}
	return w, nil
}

// submit writes lines and what do writes, durably, and waits for it. Until the
// writer has taken it a request can be given up with ctx; after that it is waited
// for, for its outcome is then the database's.
func (w *writer) submit(ctx context.Context, lines []line, do func(t *tx, first int64) error) error {
	if err := ctx.Err(); err != nil {
		return faultOf(err, "write")
	}
	r := &request{lines: lines, do: do, done: make(chan error, 1)}
	w.mu.Lock()
	if err := w.refuses(); err != nil {
		w.mu.Unlock()
		return err
	}
	w.queue = append(w.queue, r)
	w.waiting++
	w.mu.Unlock()
	w.lead()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
	}
	w.mu.Lock()
	taken := r.taken
	if !taken {
		r.taken = true
		w.waiting--
	}
	w.mu.Unlock()
	if taken {
		return <-r.done
	}
	return faultOf(ctx.Err(), "write")
}

// refuses says why nothing more is written. mu is held.
func (w *writer) refuses() error {
	if w.closing {
		return errClosed
	}
	return w.refusing
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it is awake already
	}
}

// enqueue writes a line soon. It waits while too many do; after a failure for
// good, and after close, the line is dropped: every Append then fails too.
func (w *writer) enqueue(l line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) >= maxEnqueued && w.refuses() == nil {
		w.signal()
		w.space.Wait()
	}
	if w.refuses() != nil {
		return
	}
	w.queue = append(w.queue, &request{lines: []line{l}})
	if w.flushAt.IsZero() {
		w.flushAt = time.Now().Add(flushAfter)
		w.clock.Reset(flushAfter)
	}
}

func (w *writer) touch(id string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuses() != nil {
		return
	}
	if at.After(w.used[id]) {
		w.used[id], w.touched[id] = at, at
	}
	if w.touchAt.IsZero() {
		w.touchAt = time.Now().Add(touchAfter)
		w.signal()
	}
}

// lastUse is the last use of the token since opening, stored or not.
func (w *writer) lastUse(id string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.used[id]
}

func (w *writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closing
}

// close writes what waits and ends the goroutine. It is called once.
func (w *writer) close() error {
	w.mu.Lock()
	w.closing = true
	w.space.Broadcast()
	w.mu.Unlock()
	w.signal()
	<-w.gone
	err := w.broken
	for _, s := range w.statements {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, w.conn.Close())
}

// lead writes what waits, unless somebody else is writing, who is then woken for it.
func (w *writer) lead() {
	select {
	case w.turn <- struct{}{}:
	default:
		w.signal()
		return
	}
	defer func() {
		if p := recover(); p != nil {
			// The transaction is open, and nobody knows what is in it. A caller must not
			// be able to go on from that as if nothing had been.
			stack := debug.Stack()
			go panic(fmt.Sprintf("%v\n\n%s", p, stack))
			select {}
		}
	}()
	group, touched, _, _ := w.take()
	w.write(group, touched)
	<-w.turn
	w.mu.Lock()
	more := w.waiting > 0
	w.mu.Unlock()
	if more {
		w.signal()
	}
}

// run takes groups and writes them until close, and what nobody waits for when it is due.
func (w *writer) run() {
	defer close(w.gone)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		w.turn <- struct{}{}
		group, touched, closing, wait := w.take()
		w.write(group, touched)
		if closing {
			w.clock.Stop()
			w.checkpoint("PRAGMA wal_checkpoint(TRUNCATE)")
			return // with the turn: nobody writes any more
		}
		if len(group) == 0 && w.written >= checkpointAt && time.Since(w.wrote) >= idleAfter {
			w.checkpoint("PRAGMA wal_checkpoint(PASSIVE)")
		}
		<-w.turn
		if len(group) > 0 {
			continue // who was answered may have the next one ready
		}
		timer.Reset(wait)
		select {
		case <-w.wake:
		case <-timer.C:
		}
	}
}

// take gives what is to be written now, in order, or how long to wait.
func (w *writer) take() (group []*request, touched map[string]time.Time, closing bool, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	wait = idleAfter
	touching := len(w.touched) > 0 && (w.closing || !now.Before(w.touchAt))
	due := !w.flushAt.IsZero() && !now.Before(w.flushAt)
	if w.waiting > 0 || due || touching || w.closing || len(w.queue) >= maxEnqueued/2 {
		for _, r := range w.queue {
			if !r.taken {
				r.taken = true
				group = append(group, r)
			}
		}
		if !w.flushAt.IsZero() {
			w.clock.Stop()
		}
		w.queue, w.waiting, w.flushAt = nil, 0, time.Time{}
		w.space.Broadcast()
	} else if !w.flushAt.IsZero() {
		wait = min(wait, w.flushAt.Sub(now))
	}
	if touching {
		touched, w.touched, w.touchAt = w.touched, map[string]time.Time{}, time.Time{}
	} else if !w.touchAt.IsZero() {
		wait = min(wait, w.touchAt.Sub(now))
	}
	if len(group) > 0 || len(touched) > 0 {
		w.busy = now
	}
	return group, touched, w.closing, wait
}

// write writes one group in one transaction and answers everybody in it.
func (w *writer) write(group []*request, touched map[string]time.Time) {
	if len(group) == 0 && len(touched) == 0 {
		return
	}
	answers, err := w.transact(group, touched)
	if err != nil {
		err = faultOf(err, "write")
	}
	w.wrote = time.Now()
	w.mu.Lock()
	w.busy = time.Time{}
	w.mu.Unlock()
	for i, r := range group {
		if r.done == nil {
			continue
		}
		if err != nil {
			r.done <- err
		} else {
			r.done <- answers[i]
		}
	}
}

// transact writes a group. Its error is everybody's: nothing was written, or, when
// the commit failed, nobody knows, and the writer is broken.
func (w *writer) transact(group []*request, touched map[string]time.Time) ([]error, error) {
	if w.broken != nil {
		return nil, w.broken
	}
	t := &tx{w: w, head: w.head}
	if err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, w.lost(group, err)
	}
	answers, err := t.group(group)
	if err == nil {
		err = t.touch(touched)
	}
	if err == nil && t.head != w.head {
		err = t.moveHead(w.head)
	}
	var tokens tokenTable
	if err == nil && t.tokens {
		tokens, err = readTokenTable(context.Background(), w.conn)
	}
	if err != nil {
		if undo := t.exec("ROLLBACK"); undo != nil {
			w.fail(errors.Join(err, undo))
			return nil, w.broken
		}
		return nil, w.lost(group, err)
	}
	if err := t.exec("COMMIT"); err != nil {
		_ = t.exec("ROLLBACK") // whatever it says, the outcome is in doubt
		w.fail(err)
		return nil, w.broken
	}
	w.written += int(t.head.seq - w.head.seq)
	w.head = t.head
	if t.tokens {
		w.mu.Lock()
		w.tokens = tokens
		w.mu.Unlock()
	}
	return answers, nil
}

// lost breaks the writer when an entry that nobody waits for could not be written:
// the audit has a gap, and the next Append has to say so.
func (w *writer) lost(group []*request, err error) error {
	for _, r := range group {
		if r.done == nil {
			w.fail(err)
			return w.broken
		}
	}
	return err
}

// fail ends all writing until the database is opened again. It is called once, for
// nothing is written afterwards.
func (w *writer) fail(err error) {
	w.broken = fault.Wrap(err, fault.Storage, fmt.Sprintf("the database failed while writing, and whether the last change was kept is not known: %v", err),
		"Check the disk of the data directory (space, errors) and restart Holdfast; until then nothing more is written.")
	w.mu.Lock()
	w.refusing = w.broken
	w.space.Broadcast()
	w.mu.Unlock()
	close(w.failed)
}

// checkpoint moves the write-ahead log into the database while nobody waits. Its
// failure loses nothing: the log stays, and the next one tries again.
func (w *writer) checkpoint(pragma string) {
	w.written = 0
	if w.broken == nil {
		_, _ = w.conn.ExecContext(context.Background(), pragma)
	}
}
