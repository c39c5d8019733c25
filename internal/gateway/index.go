package gateway

import (
	"context"
	"database/sql"
	"math"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // FTS5 in memory

	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// maxIndexes is how many lists of tools are kept indexed: agents with the same
// scope share one.
const maxIndexes = 4

// indexes find tools by words. Each is of exactly the tools that its agents see:
// ranks depend on how rare a word is, so an index of more would tell of tools that
// are outside the scope.
//
// One mutex guards all: a search takes about a millisecond, and a list is indexed
// once, at the first search after it changed.
type indexes struct {
	mu  sync.Mutex
	all []*index // the last used first
}

// index is a database in memory, on one connection.
type index struct {
	of mark
	db *sql.DB
}

// hit is a tool that was found, by its place in the list.
type hit struct {
	place int
	score float64 // higher is better; 0 without a word to search for
}

// find gives all tools of a list that match, the best first. The list is that
// which of names.
func (x *indexes) find(ctx context.Context, of mark, tools []dispatch.Entry, query string) ([]hit, error) {
	words := match(query)
	if words == "" {
		hits := make([]hit, len(tools))
		for i := range tools {
			hits[i].place = i
		}
		return hits, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// A query that is cut off takes the connection, and the index, with it.
	ctx = context.WithoutCancel(ctx)
	ix, err := x.get(ctx, of, tools)
	if err != nil {
		return nil, err
	}
	hits, err := ix.search(ctx, words, len(tools))
	if err != nil {
		x.drop(ix)
	}
	return hits, err
}

func (x *indexes) get(ctx context.Context, of mark, tools []dispatch.Entry) (*index, error) {
	for i, ix := range x.all {
		if ix.of == of {
			copy(x.all[1:i+1], x.all[:i])
			x.all[0] = ix
			return ix, nil
		}
	}
	ix, err := newIndex(ctx, of, tools)
	if err != nil {
		return nil, err
	}
	for len(x.all) >= maxIndexes {
		x.drop(x.all[len(x.all)-1])
	}
	x.all = append([]*index{ix}, x.all...)
	return ix, nil
}

func (x *indexes) drop(ix *index) {
	for i := range x.all {
		if x.all[i] == ix {
			x.all = append(x.all[:i], x.all[i+1:]...)
			break
		}
	}
	ix.db.Close()
}

func (x *indexes) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.all) > 0 {
		x.drop(x.all[0])
	}
}

func newIndex(ctx context.Context, of mark, tools []dispatch.Entry) (*index, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	ix := &index{of: of, db: db}
	if err := ix.fill(ctx, tools); err != nil {
		db.Close()
		return nil, err
	}
	return ix, nil
}

func (ix *index) fill(ctx context.Context, tools []dispatch.Entry) error {
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing once it is committed
	if _, err := tx.ExecContext(ctx, `CREATE VIRTUAL TABLE tools USING fts5(name, title, description, parameters, details, content='', tokenize='porter unicode61 remove_diacritics 2')`); err != nil {
		return err
	}
	add, err := tx.PrepareContext(ctx, `INSERT INTO tools (rowid, name, title, description, parameters, details) VALUES (?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer add.Close()
	for i := range tools {
		key := tools[i].Record.Key
		d := describe(tools[i].Record.Approved.Root())
		name := strings.Join(append(wordsOf(key.Server), wordsOf(key.Name)...), " ")
		if _, err := add.ExecContext(ctx, i, name, d.title, d.description, d.parameters, d.details); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// search ranks by BM25: a word in the name weighs most.
func (ix *index) search(ctx context.Context, words string, most int) ([]hit, error) {
	rows, err := ix.db.QueryContext(ctx, `SELECT rowid, bm25(tools, 8.0, 5.0, 3.0, 2.0, 1.0) AS rank FROM tools WHERE tools MATCH ? ORDER BY rank, rowid`, words)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var hits []hit
	for rows.Next() {
		var h hit
		if err := rows.Scan(&h.place, &h.score); err != nil {
			return nil, err
		}
		if h.place < most {
			h.score = math.Round(-h.score*1000) / 1000
			hits = append(hits, h)
		}
	}
	return hits, rows.Err()
}
