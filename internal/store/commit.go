package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// change is an approval.Change made ready outside the writer.
type change struct {
	approval.Change
	server  string // body of the new server
	records []recordRow
	last    map[approval.Key]int // the last transition of each record: index into lines
	lines   []line
	blobs   []blob
}

// Commit writes a change whole, durably, or not at all: fault.Conflict when the
// settings, the server or a record are no longer what it was made from. A change
// that would leave a record without the audit entry that explains it is refused
// (fault.Internal).
func (s *Store) Commit(ctx context.Context, c approval.Change) error {
	ready, err := s.prepare(c)
	if err != nil {
		return err
	}
	return s.w.submit(ctx, ready.lines, ready.write)
}

func (s *Store) prepare(c approval.Change) (*change, error) {
	ready := &change{Change: c, last: map[approval.Key]int{}}
	if c.Remove && (c.Server != nil || len(c.Records) > 0) {
		return nil, internal("a change of server %q both removes and writes it", c.Name)
	}
	if c.Server != nil {
		if c.Name == "" || c.Server.Name != c.Name {
			return nil, internal("a change of server %q holds a server %q", c.Name, c.Server.Name)
		}
		body, err := encode(serverOut(*c.Server))
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", c.Name, err)
		}
		ready.server = body
	}
	states := map[approval.Key][32]byte{}
	raws := blobs{known: s.parsed}
	for _, r := range c.Records {
		if _, twice := states[r.Key]; twice || r.Key.Server != c.Name {
			return nil, internal("a change of server %q holds %s, which does not belong there or is there twice", c.Name, naming(r.Key))
		}
		row, err := recordOut(r, &raws)
		if err != nil {
			return nil, err
		}
		ready.records = append(ready.records, row)
		states[r.Key] = row.state
	}
	if err := ready.entries(states, &raws); err != nil {
		return nil, err
	}
	ready.blobs = raws.list
	return ready, nil
}

// entries makes the lines, the last transition of each record with its new state.
func (c *change) entries(states map[approval.Key][32]byte, raws *blobs) (err error) {
	for i, e := range c.Entries {
		if e.Type == record.TypeTransition {
			key := approval.Key{Server: e.Server, Kind: approval.Kind(e.Kind), Name: e.Name}
			if _, written := states[key]; !written && !c.Remove {
				return internal("a change of server %q tells of a transition of %s and does not write it", c.Name, naming(key))
			}
			c.last[key] = i
		}
	}
	entries := make([]record.Entry, len(c.Entries))
	copy(entries, c.Entries)
	for key, i := range c.last {
		if entries[i].Transition != nil {
			told := *entries[i].Transition // the caller's is not touched
			told.State = states[key]
			entries[i].Transition = &told
		}
	}
	c.lines, err = raws.lines(entries)
	return err
}

// write runs in the writer's transaction; its lines are in the audit from first on.
func (c *change) write(t *tx, first int64) error {
	if err := c.isCurrent(t); err != nil {
		return err
	}
	if err := c.writeServer(t); err != nil {
		return err
	}
	for _, b := range c.blobs {
		if err := t.blob(b); err != nil {
			return err
		}
	}
	for _, r := range c.records {
		if err := c.writeRecord(t, r, first); err != nil {
			return err
		}
	}
	return nil
}

func conflict(what string) error {
	return fault.New(fault.Conflict, what+" changed in the meantime", "Look again and repeat it.")
}

func (c *change) isCurrent(t *tx) error {
	var id string
	if err := t.row("SELECT id FROM settings", nil, &id); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if id != c.SettingsID {
		return conflict("the settings")
	}
	var version int64
	if err := t.row("SELECT version FROM servers WHERE name = ?", []any{c.Name}, &version); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if version != c.Made {
		return conflict(fmt.Sprintf("server %q", c.Name))
	}
	if version == 0 && c.Server == nil && len(c.records) > 0 {
		return internal("a change holds records of server %q, which is not stored", c.Name)
	}
	return nil
}

func (c *change) writeServer(t *tx) error {
	switch {
	case c.Remove && c.Made > 0:
		return c.remove(t)
	case c.Server == nil:
		return nil
	case c.Made > 0:
		return t.change("UPDATE servers SET version = version + 1, incarnation = ?, body = ? WHERE name = ? AND version = ?",
			c.Server.Incarnation, c.server, c.Name, c.Made)
	}
	return t.change("INSERT INTO servers (name, version, incarnation, body)"+
		" VALUES (?1, 1 + coalesce((SELECT version FROM removed WHERE name = ?1), 0), ?2, ?3)",
		c.Name, c.Server.Incarnation, c.server)
}

// remove forgets the server, with it its records and report, and what tokens were
// granted on it: a server added later under the same name is another one.
func (c *change) remove(t *tx) error {
	err := t.exec("INSERT OR REPLACE INTO removed (name, version) VALUES (?, ?)", c.Name, c.Made)
	if err == nil {
		err = t.change("DELETE FROM servers WHERE name = ?", c.Name)
	}
	if err == nil {
		err = t.removeGrants(c.Name)
	}
	return err
}

// A record is named by its unique index, and one of another version is not written:
// then the change lost a race.
const (
	recordInsert = "INSERT INTO records (server, kind, name, version, seq, state, " + recordColumns + ")" +
		" VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
	recordUpdate = "UPDATE records SET (version, seq, state, " + recordColumns + ") =" +
		" (version + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" +
		" WHERE server = ? AND kind = ? AND name = ? AND version = ?"
)

func (c *change) writeRecord(t *tx, r recordRow, first int64) error {
	seq := int64(0)
	if i, told := c.last[r.key]; told {
		seq = first + int64(i)
	} else {
		var err error
		if seq, err = c.untold(t, r); err != nil {
			return err
		}
	}
	var written int64
	var err error
	if key := []any{r.key.Server, string(r.key.Kind), r.key.Name}; r.version == 0 {
		written, err = t.changed(recordInsert, append(append(key, seq, r.state[:]), r.values...)...)
	} else {
		args := append([]any{seq, r.state[:]}, r.values...)
		written, err = t.changed(recordUpdate, append(append(args, key...), r.version)...)
	}
	if err == nil && written == 0 {
		err = conflict(naming(r.key))
	}
	return err
}

// untold gives the seq of the last transition of a record of which the change tells
// none: then its state has to be as it was.
func (c *change) untold(t *tx, r recordRow) (seq int64, err error) {
	var version int64
	var state []byte
	err = t.row("SELECT version, seq, state FROM records WHERE server = ? AND kind = ? AND name = ?",
		[]any{r.key.Server, string(r.key.Kind), r.key.Name}, &version, &seq, &state)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return 0, err
	case version != r.version:
		return 0, conflict(naming(r.key))
	case string(state) != string(r.state[:]):
		return 0, internal("a change of %s has no audit entry", naming(r.key))
	}
	return seq, nil
}

// grantsLeft is a scope without what names the server. A tool glob that begins with
// the server's name and "__" names that server alone, for no server's name has "_".
func grantsLeft(s scopeRow, server string) (scopeRow, bool) {
	left := scopeRow{Servers: []string{}, Tools: []string{}}
	for _, name := range s.Servers {
		if name != server {
			left.Servers = append(left.Servers, name)
		}
	}
	for _, glob := range s.Tools {
		if !strings.HasPrefix(glob, server+"__") {
			left.Tools = append(left.Tools, glob)
		}
	}
	return left, len(left.Servers) != len(s.Servers) || len(left.Tools) != len(s.Tools)
}
