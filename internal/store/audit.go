package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// AuditFilter selects audit entries; zero fields select everything.
type AuditFilter struct {
	Server, Name string        // exactly
	Types        []record.Type // any of them
	Since, Until time.Time     // from Since on, before Until
	// Text is found in any text of the entry: a name, a reason, a finding's
	// evidence, a detail, a digest, ..., but not in the contracts. The letters A
	// to Z match in either case; there are no wildcards.
	Text   string
	Before int64 // seq: newest first, entries before this one; 0 starts at the end
	Limit  int   // 0 is 100
}

const (
	defaultLimit = 100
	// pageBytes bounds the contracts that one answer of Audit holds.
	pageBytes = 32 << 20
	// batch is how many entries are read in one transaction: a reader that takes
	// its time must not keep the write-ahead log from being taken back.
	batch = 512
)

// Audit lists entries, newest first, with their contracts. A page whose contracts
// have more than 32 MiB has only the Ref of the further ones; Entry gives them.
func (s *Store) Audit(ctx context.Context, f AuditFilter) ([]record.Entry, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	where, args := f.where()
	var found []record.Entry
	for before := f.Before; len(found) < limit; {
		text, all := "SELECT "+auditColumns+" FROM audit WHERE "+where, args
		if before > 0 {
			text, all = text+" AND seq < ?", append(args[:len(args):len(args)], before)
		}
		page, err := s.entries(ctx, text+fmt.Sprintf(" ORDER BY seq DESC LIMIT %d", min(batch, limit-len(found))), all)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		before = page[len(page)-1].Seq
		for _, e := range page {
			if f.Text == "" || e.holds(f.Text) {
				found = append(found, e.Entry)
			}
		}
	}
	budget := pageBytes
	for i := range found {
		if budget <= 0 {
			break
		}
		n, err := s.contracts(ctx, &found[i])
		if err != nil {
			return nil, err
		}
		budget -= n
	}
	return found, nil
}

func (f AuditFilter) where() (string, []any) {
	terms, args := []string{"1"}, []any(nil)
	add := func(term string, values ...any) { terms, args = append(terms, term), append(args, values...) }
	if f.Server != "" {
		add("server = ?", f.Server)
	}
	if f.Name != "" {
		add("name = ?", f.Name)
	}
	if len(f.Types) > 0 {
		marks := strings.Repeat(", ?", len(f.Types))
		types := each(f.Types, func(t record.Type) any { return string(t) })
		add("type IN ("+marks[2:]+")", types...)
	}
	if !f.Since.IsZero() {
		add("time >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		add("time < ?", f.Until.UnixMicro())
	}
	if f.Text != "" {
		add("(instr(lower(body), ?) > 0 OR instr(body, ?) > 0)", escaped(f.Text), oddText)
	}
	return strings.Join(terms, " AND "), args
}

// Entry gives one audit entry with its contracts in full; fault.NotFound.
func (s *Store) Entry(ctx context.Context, seq int64) (record.Entry, error) {
	page, err := s.entries(ctx, "SELECT "+auditColumns+" FROM audit WHERE seq = ?", []any{seq})
	if err != nil {
		return record.Entry{}, err
	}
	if len(page) == 0 {
		return record.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("there is no audit entry %d", seq), "List the audit to see its entries.")
	}
	e := page[0].Entry
	if _, err := s.contracts(ctx, &e); err != nil {
		return record.Entry{}, err
	}
	return e, nil
}

// Walk calls f for every entry with its contracts in full, oldest first, from seq
// on, until f fails; the error is then f's. Entries written meanwhile are walked too.
func (s *Store) Walk(ctx context.Context, from int64, f func(record.Entry) error) error {
	for {
		page, err := s.entries(ctx, "SELECT "+auditColumns+fmt.Sprintf(" FROM audit WHERE seq >= ? ORDER BY seq LIMIT %d", batch), []any{from})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			if _, err := s.contracts(ctx, &e.Entry); err != nil {
				return err
			}
			if err := f(e.Entry); err != nil {
				return err
			}
			from = e.Seq + 1
		}
	}
}

const auditColumns = "seq, time, type, server, kind, name, body, prev, hash"

// storedEntry is an entry with the text that it was read from.
type storedEntry struct {
	record.Entry
	body string
}

func (s *Store) entries(ctx context.Context, text string, args []any) (page []storedEntry, err error) {
	err = s.reading(ctx, "read the audit", func(tx *sql.Tx) error {
		return query(ctx, tx, text, args, func(rows *sql.Rows) error {
			raw, err := rawIn(rows)
			if err != nil {
				return err
			}
			e, err := raw.entry()
			if err != nil {
				return fault.Wrap(err, fault.Corrupt, fmt.Sprintf("audit entry %d does not verify: %v", raw.seq, err), verifyHint)
			}
			page = append(page, storedEntry{Entry: e, body: raw.body})
			return nil
		})
	})
	return page, err
}

const verifyHint = "Verify the audit to see what was changed, and restore the data directory from a backup."

// rawEntry is a row of the audit, of which nothing was checked.
type rawEntry struct {
	seq, time  int64
	about      about
	body       string
	prev, hash []byte
}

func rawIn(row scanner) (r rawEntry, err error) {
	err = row.Scan(&r.seq, &r.time, &r.about.typ, &r.about.server, &r.about.kind, &r.about.name, &r.body, &r.prev, &r.hash)
	return r, err
}

// entry reads the row's text and compares with it what entries are found by.
func (r rawEntry) entry() (record.Entry, error) {
	e, err := record.Decode([]byte(r.body))
	if err != nil {
		return record.Entry{}, err
	}
	if aboutOf(e) != r.about || e.Time.UnixMicro() != r.time {
		return record.Entry{}, errors.New("its columns say other things than its text")
	}
	if len(r.prev) != len(e.Prev) || len(r.hash) != len(e.Hash) {
		return record.Entry{}, errors.New("it has no hash")
	}
	e.Seq, e.Prev, e.Hash = r.seq, [32]byte(r.prev), [32]byte(r.hash)
	return e, nil
}

// contracts reads the contracts of an entry, and gives the size of their bytes.
func (s *Store) contracts(ctx context.Context, e *record.Entry) (size int, err error) {
	t := e.Transition
	if t == nil {
		return 0, nil
	}
	for _, part := range []*record.Snapshot{&t.Old, &t.New} {
		if part.Ref == (record.Ref{}) {
			continue
		}
		var raw []byte
		if part.Ref.Bytes > 0 {
			err := s.reads.QueryRowContext(ctx, "SELECT data FROM blobs WHERE hash = ?", part.Ref.Raw[:]).Scan(&raw)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return 0, faultOf(err, "read a contract")
			}
		}
		if raw == nil && part.Ref.Bytes > 0 {
			err = errors.New("the bytes of its contract are gone")
		} else {
			part.Contract, err = part.Ref.Restore(raw)
		}
		if err != nil {
			return 0, fault.Wrap(err, fault.Corrupt, fmt.Sprintf("audit entry %d (server %q, %s %q) does not verify: %v", e.Seq, e.Server, e.Kind, e.Name, err), verifyHint)
		}
		size += len(raw)
	}
	return size, nil
}
