package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// ChainReport is the result of Verify.
type ChainReport struct {
	Entries int64 // that were verified
	Head    [32]byte
	BadSeq  int64  // 0 when the chain verifies; -1 when what is wrong has no entry at all
	Problem string // what is wrong at BadSeq
}

// Verify recomputes the whole hash chain, with the bytes of every contract in it,
// and that the state of every record is the one that the entry of its last
// transition led to. It reads in constant memory and stops at the first thing that
// is wrong. Entries written meanwhile are left to the next time.
func (s *Store) Verify(ctx context.Context) (ChainReport, error) {
	var end head
	err := s.reading(ctx, "verify the audit", func(tx *sql.Tx) error {
		var hash []byte
		err := tx.QueryRowContext(ctx, "SELECT seq, hash FROM head").Scan(&end.seq, &hash)
		copy(end.hash[:], hash)
		return err
	})
	if err != nil {
		return ChainReport{}, err
	}
	v := verifier{s: s}
	for v.report.BadSeq == 0 && v.last.seq < end.seq {
		before := v.last.seq
		if err := v.chain(ctx, end.seq); err != nil {
			return ChainReport{}, err
		}
		if v.report.BadSeq == 0 && v.last.seq == before {
			v.bad(before+1, fmt.Sprintf("the audit should end with entry %d: what follows entry %d is gone", end.seq, before))
		}
	}
	if v.report.BadSeq == 0 && v.last.hash != end.hash {
		v.bad(end.seq, "the audit ends with another entry than the one that was written last")
	}
	if v.report.BadSeq == 0 {
		err = v.records(ctx)
	}
	return v.report, err
}

type verifier struct {
	s      *Store
	last   head
	report ChainReport
}

// bad notes the first thing that is wrong.
func (v *verifier) bad(seq int64, problem string) {
	if v.report.BadSeq != 0 {
		return
	}
	if seq < 1 {
		seq = -1
	}
	v.report.BadSeq, v.report.Problem = seq, problem
}

// chain verifies the next batch of entries, up to the one with seq end.
func (v *verifier) chain(ctx context.Context, end int64) error {
	return v.s.reading(ctx, "verify the audit", func(tx *sql.Tx) error {
		text := fmt.Sprintf("SELECT "+auditColumns+" FROM audit WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT %d", batch)
		return query(ctx, tx, text, []any{v.last.seq, end}, func(rows *sql.Rows) error {
			raw, err := rawIn(rows)
			if err != nil || v.report.BadSeq != 0 {
				return err
			}
			return v.entry(ctx, tx, raw)
		})
	})
}

func (v *verifier) entry(ctx context.Context, tx *sql.Tx, raw rawEntry) error {
	seq := v.last.seq + 1
	link := record.Link(v.last.hash, seq, []byte(raw.body))
	switch {
	case raw.seq != seq:
		v.bad(seq, fmt.Sprintf("entry %d is gone", seq))
	case string(raw.prev) != string(v.last.hash[:]):
		v.bad(seq, fmt.Sprintf("entry %d does not follow from the entry before it", seq))
	case string(raw.hash) != string(link[:]):
		v.bad(seq, fmt.Sprintf("entry %d was changed: it does not have its hash", seq))
	}
	e, err := raw.entry()
	if err != nil {
		v.bad(seq, fmt.Sprintf("entry %d was changed: %v", seq, err))
	}
	if v.report.BadSeq == 0 && e.Transition != nil {
		for _, part := range []record.Ref{e.Transition.Old.Ref, e.Transition.New.Ref} {
			if problem, err := blobProblem(ctx, tx, part); err != nil {
				return err
			} else if problem != "" {
				v.bad(seq, fmt.Sprintf("a contract of entry %d (server %q, %s %q) %s", seq, e.Server, e.Kind, e.Name, problem))
			}
		}
	}
	if v.report.BadSeq == 0 {
		v.last = head{seq: seq, hash: link}
		v.report.Entries, v.report.Head = seq, link
	}
	return nil
}

// blobProblem says what is wrong with the stored bytes of a contract.
func blobProblem(ctx context.Context, tx *sql.Tx, ref record.Ref) (string, error) {
	if ref.Bytes == 0 {
		return "", nil
	}
	var data []byte
	err := tx.QueryRowContext(ctx, "SELECT data FROM blobs WHERE hash = ?", ref.Raw[:]).Scan(&data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "is gone", nil
	case err != nil:
		return "", err
	case len(data) != ref.Bytes || sha256.Sum256(data) != ref.Raw:
		return "was changed", nil
	}
	return "", nil
}

// records verifies every record against the entry of its last transition.
func (v *verifier) records(ctx context.Context) error {
	for place, n := int64(0), batch; v.report.BadSeq == 0 && n == batch; {
		n = 0
		err := v.s.reading(ctx, "verify the records", func(tx *sql.Tx) error {
			text := recordSelect + fmt.Sprintf(" WHERE r.place > ? ORDER BY r.place LIMIT %d", batch)
			var reader recordReader // nothing is taken from memory
			return query(ctx, tx, text, []any{place}, func(rows *sql.Rows) error {
				r, err := reader.read(rows)
				place, n = r.place, n+1
				switch {
				case v.report.BadSeq != 0:
					return nil
				case fault.KindOf(err) == fault.Corrupt:
					v.bad(r.seq, err.Error())
					return nil
				case err != nil:
					return err
				}
				return v.record(ctx, tx, r)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// record verifies that the entry which r names is a transition of r to what r is now.
func (v *verifier) record(ctx context.Context, tx *sql.Tx, r storedRecord) error {
	raw, err := rawIn(tx.QueryRowContext(ctx, "SELECT "+auditColumns+" FROM audit WHERE seq = ?", r.seq))
	if errors.Is(err, sql.ErrNoRows) {
		v.bad(r.seq, fmt.Sprintf("the entry of the last transition of %s is gone", naming(r.Key)))
		return nil
	}
	if err != nil {
		return err
	}
	want := about{typ: string(record.TypeTransition), server: r.Key.Server, kind: string(r.Key.Kind), name: r.Key.Name}
	e, err := raw.entry()
	switch {
	case err != nil:
		v.bad(r.seq, fmt.Sprintf("entry %d was changed: %v", r.seq, err))
	case aboutOf(e) != want:
		v.bad(r.seq, fmt.Sprintf("entry %d is no transition of %s, whose last one it should be", r.seq, naming(r.Key)))
	case e.Transition.State != r.state || string(r.stored) != string(r.state[:]):
		v.bad(r.seq, fmt.Sprintf("%s is not as its last transition left it: it was changed without an audit entry", naming(r.Key)))
	}
	return nil
}
