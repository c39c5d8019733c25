package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// head is the end of the audit.
type head struct {
	seq  int64
	hash [32]byte
}

// tx is the transaction of one group, used by the writer's goroutine alone. The
// database can't be interrupted within it: its statements have no context.
type tx struct {
	w      *writer
	head   head // grows with every line
	tokens bool // a token was written
}

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if s := t.w.statements[query]; s != nil {
		return s, nil
	}
	s, err := t.w.conn.PrepareContext(context.Background(), query)
	if err == nil {
		t.w.statements[query] = s
	}
	return s, err
}

func (t *tx) exec(query string, args ...any) error {
	s, err := t.stmt(query)
	if err == nil {
		_, err = s.Exec(args...)
	}
	return err
}

// changed is exec that gives how many rows were written.
func (t *tx) changed(query string, args ...any) (int64, error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	r, err := s.Exec(args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// change is exec for a statement that must touch exactly one row.
func (t *tx) change(query string, args ...any) error {
	n, err := t.changed(query, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("%d rows were changed where one should be: another program writes this database", n)
	}
	return err
}

// row scans one row; sql.ErrNoRows when there is none.
func (t *tx) row(query string, args []any, into ...any) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	return s.QueryRow(args...).Scan(into...)
}

// group writes the requests one after the other. One that fails is undone and
// answered alone; an error is one after which the transaction is of no use.
func (t *tx) group(requests []*request) ([]error, error) {
	answers := make([]error, len(requests))
	for i, r := range requests {
		if r.do == nil {
			if err := t.append(r.lines); err != nil {
				return nil, err
			}
			continue
		}
		before := t.head
		if err := t.exec("SAVEPOINT one"); err != nil {
			return nil, err
		}
		err := t.append(r.lines)
		if err == nil {
			err = r.do(t, before.seq+1)
		}
		if err != nil {
			if undo := t.exec("ROLLBACK TO one"); undo != nil {
				return nil, errors.Join(err, undo)
			}
			t.head, answers[i] = before, faultOf(err, "write")
		}
		if err := t.exec("RELEASE one"); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// append adds lines to the audit.
func (t *tx) append(lines []line) error {
	for _, l := range lines {
		for _, b := range l.blobs {
			if err := t.blob(b); err != nil {
				return err
			}
		}
		next := head{seq: t.head.seq + 1}
		next.hash = record.Link(t.head.hash, next.seq, l.body)
		err := t.exec("INSERT INTO audit (seq, time, type, server, kind, name, body, prev, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			next.seq, l.time, l.about.typ, l.about.server, l.about.kind, l.about.name, string(l.body), t.head.hash[:], next.hash[:])
		if err != nil {
			return err
		}
		t.head = next
	}
	return nil
}

func (t *tx) blob(b blob) error {
	return t.exec("INSERT INTO blobs (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING", b.hash[:], b.data)
}

// moveHead notes the new end of the audit, if the old one is where it was left.
func (t *tx) moveHead(from head) error {
	return t.change("UPDATE head SET seq = ?, hash = ? WHERE one = 1 AND seq = ? AND hash = ?",
		t.head.seq, t.head.hash[:], from.seq, from.hash[:])
}

func (t *tx) touch(touched map[string]time.Time) error {
	for id, at := range touched {
		if err := t.exec("UPDATE tokens SET used = max(coalesce(used, 0), ?) WHERE id = ?", at.UnixMicro(), id); err != nil {
			return err
		}
	}
	return nil
}

// readHead gives the end of the audit, and fails when it is not where it should be.
func readHead(ctx context.Context, conn *sql.Conn) (head, error) {
	var h head
	var hash []byte
	if err := conn.QueryRowContext(ctx, "SELECT seq, hash FROM head").Scan(&h.seq, &hash); err != nil {
		return head{}, err
	}
	copy(h.hash[:], hash)
	last, err := lastLink(ctx, conn)
	if err != nil {
		return head{}, err
	}
	if last != h {
		return head{}, fault.New(fault.Corrupt, fmt.Sprintf("the audit should end with entry %d and its hash, and ends with entry %d: it was changed", h.seq, last.seq),
			"Restore the data directory from a backup, or keep it as evidence and move it away to start empty.")
	}
	return h, nil
}

// lastLink recomputes the end of the audit from its last entry.
func lastLink(ctx context.Context, conn *sql.Conn) (head, error) {
	var last head
	var body string
	var prev []byte
	err := conn.QueryRowContext(ctx, "SELECT seq, body, prev FROM audit ORDER BY seq DESC LIMIT 1").Scan(&last.seq, &body, &prev)
	if errors.Is(err, sql.ErrNoRows) {
		return head{}, nil
	}
	if err != nil {
		return head{}, err
	}
	var before [32]byte
	copy(before[:], prev)
	last.hash = record.Link(before, last.seq, []byte(body))
	return last, nil
}
