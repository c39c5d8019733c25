package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// reading runs f in one read transaction, so that all it reads is of one moment.
func (s *Store) reading(ctx context.Context, doing string, f func(tx *sql.Tx) error) error {
	tx, err := s.reads.BeginTx(ctx, nil)
	if err == nil {
		err = errors.Join(f(tx), tx.Rollback())
	}
	if err != nil && errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		err = ctx.Err() // the transaction ended with it
	}
	if err != nil && s.w.isClosed() {
		return errClosed
	}
	return faultOf(err, doing)
}

// Load gives everything that a start needs: servers and records, each in the order
// in which they were first stored. It fails with fault.Corrupt, naming server and
// tool, when a contract does not have the digest that it was stored under.
func (s *Store) Load(ctx context.Context) (settings approval.Settings, servers []approval.Server, records []approval.Record, err error) {
	err = s.reading(ctx, "load the records", func(tx *sql.Tx) error {
		var err error
		if settings, err = readSettings(ctx, tx); err != nil {
			return err
		}
		if servers, err = readServers(ctx, tx, "ORDER BY place"); err != nil {
			return err
		}
		records, err = s.readRecords(ctx, tx, "")
		return err
	})
	if err != nil {
		return approval.Settings{}, nil, nil, err
	}
	return settings, servers, records, nil
}

// State gives what an act on one server reads, in one snapshot; Now is not set.
// Of a name that is not stored it gives the settings alone.
func (s *Store) State(ctx context.Context, server string) (state approval.State, err error) {
	err = s.reading(ctx, "load the server", func(tx *sql.Tx) error {
		var err error
		if state.Settings, err = readSettings(ctx, tx); err != nil {
			return err
		}
		servers, err := readServers(ctx, tx, "WHERE name = ?", server)
		if err != nil || len(servers) == 0 {
			return err
		}
		state.Server = servers[0]
		state.Records, err = s.readRecords(ctx, tx, "WHERE r.server = ?", server)
		return err
	})
	if err != nil {
		return approval.State{}, err
	}
	return state, nil
}

func readSettings(ctx context.Context, tx *sql.Tx) (approval.Settings, error) {
	var id, body string
	err := tx.QueryRowContext(ctx, "SELECT id, body FROM settings").Scan(&id, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return approval.Settings{}, nil // the strictest
	}
	if err != nil {
		return approval.Settings{}, err
	}
	var r settingsRow
	if err := decode(body, &r); err != nil {
		return approval.Settings{}, damaged(err, "the settings")
	}
	v := approval.Settings{ID: id, GateOff: r.GateOff, DefaultMode: r.DefaultMode, OnHold: r.OnHold, Unannotated: r.Unannotated}
	if r.Lock != nil {
		v.Lock = &approval.Lock{Source: r.Lock.Source}
		if r.Lock.Pins != nil {
			v.Lock.Pins = make(map[approval.Key]contract.Digest, len(r.Lock.Pins))
		}
		for _, p := range r.Lock.Pins {
			v.Lock.Pins[approval.Key{Server: p.Server, Kind: p.Kind, Name: p.Name}] = p.Digest
		}
	}
	return v, nil
}

func settingsOut(v approval.Settings) settingsRow {
	r := settingsRow{GateOff: v.GateOff, DefaultMode: v.DefaultMode, OnHold: v.OnHold, Unannotated: v.Unannotated}
	if v.Lock != nil {
		r.Lock = &lockRow{Source: v.Lock.Source}
		if v.Lock.Pins != nil {
			r.Lock.Pins = []pinRow{}
		}
		for k, d := range v.Lock.Pins {
			r.Lock.Pins = append(r.Lock.Pins, pinRow{Server: k.Server, Kind: k.Kind, Name: k.Name, Digest: d})
		}
		slices.SortFunc(r.Lock.Pins, func(a, b pinRow) int {
			return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
		})
	}
	return r
}

// PutSettings replaces the settings snapshot together with its audit entries.
func (s *Store) PutSettings(ctx context.Context, v approval.Settings, entries []record.Entry) error {
	lines, err := linesOf(entries...)
	if err != nil {
		return err
	}
	body, err := encode(settingsOut(v))
	if err != nil {
		return err
	}
	return s.w.submit(ctx, lines, func(t *tx, _ int64) error {
		return t.exec("INSERT OR REPLACE INTO settings (one, id, body) VALUES (1, ?, ?)", v.ID, body)
	})
}

// scanner is a row of a query.
type scanner interface{ Scan(into ...any) error }

// query calls f for each row.
func query(ctx context.Context, tx *sql.Tx, text string, args []any, f func(*sql.Rows) error) error {
	rows, err := tx.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := f(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return rows.Err()
}

func readServers(ctx context.Context, tx *sql.Tx, where string, args ...any) (servers []approval.Server, err error) {
	err = query(ctx, tx, "SELECT name, version, incarnation, body FROM servers "+where, args, func(rows *sql.Rows) error {
		var name, incarnation, body string
		var version int64
		if err := rows.Scan(&name, &version, &incarnation, &body); err != nil {
			return err
		}
		var r serverRow
		if err := decode(body, &r); err != nil {
			return damaged(err, "server "+name)
		}
		servers = append(servers, r.in(name, incarnation, version))
		return nil
	})
	return servers, err
}

// readRecords gives records in the order in which they were first stored. They are
// sorted here, for SQLite would take rows with their contracts through a file.
func (s *Store) readRecords(ctx context.Context, tx *sql.Tx, where string, args ...any) ([]approval.Record, error) {
	var records []approval.Record
	var places []placed
	reader := recordReader{known: s.parsed}
	err := query(ctx, tx, recordSelect+" "+where, args, func(rows *sql.Rows) error {
		r, err := reader.read(rows)
		if err == nil {
			places = append(places, placed{r.place, len(records)})
			records = append(records, r.Record)
		}
		return err
	})
	if err != nil || len(records) == 0 {
		return nil, err
	}
	slices.SortFunc(places, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	sorted := make([]approval.Record, len(records))
	for i, p := range places {
		sorted[i] = records[p.at]
	}
	return sorted, nil
}

// placed is the place of a record, and where it is.
type placed struct {
	place int64
	at    int
}

func damaged(err error, what string) error {
	return fault.Wrap(err, fault.Corrupt, "what is stored of "+what+" does not verify: "+err.Error(),
		"Restore the data directory from a backup.")
}
