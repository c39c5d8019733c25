package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// micro is a time as it is stored: microseconds since 1970, NULL for none.
func micro(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

func fromMicro(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}

// CreateToken stores a token with its audit entry; times are kept to the
// microsecond. fault.Exists: another token that is not revoked has the name, or
// any token has the id or the secret. fault.BadInput: it has no id, name or hash.
func (s *Store) CreateToken(ctx context.Context, t dispatch.Token, e record.Entry) error {
	if t.ID == "" || t.Name == "" || t.Hash == [32]byte{} {
		return fault.New(fault.BadInput, "a token needs an id, a name and a secret", "Give it a name.")
	}
	lines, err := linesOf(e)
	if err != nil {
		return err
	}
	body, err := encode(tokenRow{Scope: scopeRow(t.Scope), Permissions: t.Permissions})
	if err != nil {
		return err
	}
	return s.w.submit(ctx, lines, func(x *tx, _ int64) error {
		var same int
		err := x.row("SELECT count(*) FROM tokens WHERE name = ? AND revoked IS NULL", []any{t.Name}, &same)
		if err == nil && same > 0 {
			return fault.New(fault.Exists, fmt.Sprintf("there is a token named %q already", t.Name), "Choose another name, or revoke that token first.")
		}
		if err == nil {
			err = x.row("SELECT count(*) FROM tokens WHERE id = ? OR hash = ?", []any{t.ID, t.Hash[:]}, &same)
		}
		if err == nil && same > 0 {
			return fault.New(fault.Exists, "a token with this id or secret exists already", "Create the token again.")
		}
		if err != nil {
			return err
		}
		x.tokens = true
		return x.exec("INSERT INTO tokens (id, name, hash, body, created, expires, used, revoked) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			t.ID, t.Name, t.Hash[:], body, t.Created.UnixMicro(), micro(t.Expires), micro(t.LastUsed), micro(t.Revoked))
	})
}

// RevokeToken revokes the token with that id, or else the one that is not revoked
// and has that name, together with its audit entry. fault.NotFound when there is
// none, or when it is revoked already.
func (s *Store) RevokeToken(ctx context.Context, nameOrID string, at time.Time, e record.Entry) error {
	lines, err := linesOf(e)
	if err != nil {
		return err
	}
	return s.w.submit(ctx, lines, func(x *tx, _ int64) error {
		var id string
		var revoked sql.NullInt64
		err := x.row("SELECT id, revoked FROM tokens WHERE id = ?1 OR name = ?1 ORDER BY id = ?1 DESC, revoked IS NULL DESC LIMIT 1",
			[]any{nameOrID}, &id, &revoked)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fault.New(fault.NotFound, fmt.Sprintf("there is no token %q", nameOrID), "List the tokens to see their names.")
		case err != nil:
			return err
		case revoked.Valid:
			return fault.New(fault.NotFound, fmt.Sprintf("the token %q is revoked already", nameOrID), "")
		}
		x.tokens = true
		return x.change("UPDATE tokens SET revoked = ? WHERE id = ?", at.UnixMicro(), id)
	})
}

const tokenSelect = "SELECT id, name, hash, body, created, expires, used, revoked FROM tokens "

// Tokens lists all tokens, revoked ones too, in the order in which they were created.
func (s *Store) Tokens(ctx context.Context) (tokens []dispatch.Token, err error) {
	err = s.reading(ctx, "read the tokens", func(tx *sql.Tx) error {
		return query(ctx, tx, tokenSelect+"ORDER BY place", nil, func(rows *sql.Rows) error {
			t, err := tokenIn(rows)
			if at := s.w.lastUse(t.ID); at.After(t.LastUsed) {
				t.LastUsed = at
			}
			tokens = append(tokens, t)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return tokens, nil
}

// tokenIn reads a row. A token whose text is damaged is given by its id, name and hash
// beside the fault.
func tokenIn(row scanner) (dispatch.Token, error) {
	var t dispatch.Token
	var hash []byte
	var body string
	var created, expires, used, revoked sql.NullInt64
	if err := row.Scan(&t.ID, &t.Name, &hash, &body, &created, &expires, &used, &revoked); err != nil {
		return dispatch.Token{}, err
	}
	copy(t.Hash[:], hash)
	var r tokenRow
	if err := decode(body, &r); err != nil {
		return t, damaged(err, fmt.Sprintf("the token %q", t.Name))
	}
	t.Scope, t.Permissions = dispatch.Scope(r.Scope), r.Permissions
	t.Created, t.Expires, t.LastUsed, t.Revoked = fromMicro(created), fromMicro(expires), fromMicro(used), fromMicro(revoked)
	return t, nil
}

// TouchToken notes when a token was last used; it may be late and is not durable.
func (s *Store) TouchToken(id string, at time.Time) {
	s.w.touch(id, at.UTC().Truncate(time.Microsecond))
}

// removeGrants takes a server's name out of all tokens.
func (t *tx) removeGrants(server string) error {
	s, err := t.stmt("SELECT id, body FROM tokens")
	if err != nil {
		return err
	}
	rows, err := s.Query()
	if err != nil {
		return err
	}
	bodies := map[string]string{}
	for rows.Next() {
		var id, body string
		var r tokenRow
		err := rows.Scan(&id, &body)
		if err == nil {
			if bad := decode(body, &r); bad != nil {
				err = damaged(bad, "the token "+id)
			}
		}
		if left, less := grantsLeft(r.Scope, server); err == nil && less {
			r.Scope = left
			bodies[id], err = encode(r)
		}
		if err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for id, body := range bodies {
		t.tokens = true
		if err := t.change("UPDATE tokens SET body = ? WHERE id = ?", body, id); err != nil {
			return err
		}
	}
	return nil
}

// PutReport keeps the last security scan report of a stored server; fault.NotFound.
func (s *Store) PutReport(ctx context.Context, server string, r approval.Report) error {
	r.Time = r.Time.UTC()
	body, err := encode(reportRow{Incarnation: r.Incarnation, Time: r.Time, Tools: each(r.Tools, reportedOut)})
	if err != nil {
		return err
	}
	return s.w.submit(ctx, nil, func(t *tx, _ int64) error {
		var n int
		if err := t.row("SELECT count(*) FROM servers WHERE name = ?", []any{server}, &n); err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.NotFound, fmt.Sprintf("there is no server %q", server), "List the servers to see their names.")
		}
		return t.exec("INSERT OR REPLACE INTO reports (server, body) VALUES (?, ?)", server, body)
	})
}

// Report gives the last report of a server; nil when there is none.
func (s *Store) Report(ctx context.Context, server string) (report *approval.Report, err error) {
	err = s.reading(ctx, "read the scan report", func(tx *sql.Tx) error {
		var body string
		err := tx.QueryRowContext(ctx, "SELECT body FROM reports WHERE server = ?", server).Scan(&body)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		var r reportRow
		if err := decode(body, &r); err != nil {
			return damaged(err, "the scan report of server "+server)
		}
		report = &approval.Report{Incarnation: r.Incarnation, Time: r.Time, Tools: each(r.Tools, reportedRow.in)}
		return nil
	})
	return report, err
}
