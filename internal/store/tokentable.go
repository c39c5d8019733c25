package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// tokenTable is all tokens by the SHA-256 of their secrets, as committed. A token is
// looked up for every request of every agent, so no query may stand there. A table is
// never changed: a transaction that wrote tokens reads them again before its commit,
// and the new table is in force before anybody is told that it was committed.
type tokenTable map[[32]byte]storedToken

// storedToken is a token, or why it can't be read; one that can't spoils no other.
type storedToken struct {
	dispatch.Token
	err error
}

// readTokenTable reads the tokens, by the connection that writes them.
func readTokenTable(ctx context.Context, conn *sql.Conn) (tokenTable, error) {
	rows, err := conn.QueryContext(ctx, tokenSelect)
	if err != nil {
		return nil, err
	}
	table := tokenTable{}
	for rows.Next() {
		t, err := tokenIn(rows)
		if _, known := errors.AsType[*fault.Error](err); err != nil && !known {
			return nil, errors.Join(err, rows.Close())
		}
		table[t.Hash] = storedToken{t, err}
	}
	return table, rows.Err()
}

// TokenByHash finds a token by the SHA-256 of its secret, a revoked one too;
// fault.NotFound. It asks memory, not the database: what CreateToken, RevokeToken or
// the removal of a server did counts from the moment they return.
func (s *Store) TokenByHash(_ context.Context, hash [32]byte) (dispatch.Token, error) {
	last, closed := s.w.lookUp(hash)
	switch {
	case closed:
		return dispatch.Token{}, errClosed
	case last.Hash != hash || last.ID == "":
		return dispatch.Token{}, fault.New(fault.NotFound, "there is no such token", "")
	case last.err != nil:
		return dispatch.Token{}, last.err
	}
	t := last.Token
	t.Scope.Servers, t.Scope.Tools = slices.Clone(t.Scope.Servers), slices.Clone(t.Scope.Tools)
	return t, nil
}

// lookUp finds a token with its last use.
func (w *writer) lookUp(hash [32]byte) (t storedToken, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t = w.tokens[hash]
	if at := w.used[t.ID]; at.After(t.LastUsed) {
		t.LastUsed = at
	}
	return t, w.closing
}
