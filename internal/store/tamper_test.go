package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// filled is a store with ten entries: a server, three transitions of two tools (at
// 2, 3 and 6), and calls.
func filled(t *testing.T) (*Store, string) {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "holdfast.db")
	s, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Commit(ctx, approval.Change{
		Name: "mail", Server: &approval.Server{Name: "mail", Incarnation: "i"},
		Entries: []record.Entry{{Type: record.TypeServer, Server: "mail", Act: &record.Act{What: "added"}}},
	}))
	pending := func(name string) approval.Record {
		return approval.Record{
			Key: approval.Key{Server: "mail", Kind: approval.Tool, Name: name}, Status: approval.Pending,
			Live: contract.Parse([]byte(`{"name":"` + name + `"}`)),
		}
	}
	commit := func(records ...approval.Record) {
		t.Helper()
		c := approval.Change{Name: "mail", Made: 1, Records: records}
		for _, r := range records {
			c.Entries = append(c.Entries, record.Entry{
				Type: record.TypeTransition, Server: "mail", Kind: "tool", Name: r.Key.Name,
				Transition: &record.Transition{From: "x", To: r.Status.String(), Reason: "held", New: record.Snapshot{Contract: r.Live}},
			})
		}
		must(s.Commit(ctx, c))
	}
	commit(pending("send"), pending("list"))
	must(s.Append(ctx, callEntry(4), callEntry(5)))
	again := pending("send")
	again.Version, again.Live = 1, contract.Parse([]byte(`{"name":"send","title":"x"}`))
	commit(again)
	must(s.Append(ctx, callEntry(7), callEntry(8), callEntry(9), callEntry(10)))
	return s, path
}

// tamper runs SQL past the store, as somebody with the file does.
func tamper(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("DROP TRIGGER IF EXISTS audit_stays; DROP TRIGGER IF EXISTS audit_is_final; " + script); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
}

func TestVerifyFindsWhatWasChanged(t *testing.T) {
	for _, c := range []struct {
		name, script string
		seq          int64
		says         string
	}{
		{"nothing", "", 0, ""},
		{"a text", `UPDATE audit SET body = replace(body, 'github', 'gitlab') WHERE seq = 4`, 4, "does not have its hash"},
		{"a column", `UPDATE audit SET name = 'other' WHERE seq = 4`, 4, "columns"},
		{"a time", `UPDATE audit SET time = time + 1 WHERE seq = 7`, 7, "columns"},
		{"a hash", `UPDATE audit SET hash = zeroblob(32) WHERE seq = 8`, 8, "does not have its hash"},
		{"a previous hash", `UPDATE audit SET prev = zeroblob(32) WHERE seq = 8`, 8, "does not follow"},
		{"the first entry deleted", `DELETE FROM audit WHERE seq = 1`, 1, "is gone"},
		{"an entry deleted", `DELETE FROM audit WHERE seq = 5`, 5, "is gone"},
		{"an entry deleted and the rest moved up", `DELETE FROM audit WHERE seq = 5; UPDATE audit SET seq = seq - 1 WHERE seq > 5`, 5, "does not follow"},
		{"the tail deleted", `DELETE FROM audit WHERE seq > 8`, 9, "what follows entry 8 is gone"},
		{"all deleted", `DELETE FROM audit`, 1, "what follows entry 0 is gone"},
		{"the tail deleted, and the head moved", `DELETE FROM audit WHERE seq > 5; UPDATE head SET seq = 5, hash = (SELECT hash FROM audit WHERE seq = 5)`, 6, `last transition of tool "send" of server "mail" is gone`},
		{"the head's hash", `UPDATE head SET hash = zeroblob(32)`, 10, "another entry"},
		{"two entries swapped", `UPDATE audit SET seq = -4 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = 5; UPDATE audit SET seq = 5 WHERE seq = -4`, 4, "does not follow"},
		{"two texts swapped", `UPDATE audit SET body = (SELECT body FROM audit WHERE seq = 9) WHERE seq = 8`, 8, "does not have its hash"},
		{"an entry doubled", `UPDATE audit SET seq = seq + 100 WHERE seq > 5; UPDATE audit SET seq = seq - 99 WHERE seq > 5; INSERT INTO audit SELECT 6, time, type, server, kind, name, body, prev, hash FROM audit WHERE seq = 5`, 6, "does not follow"},
		{"a contract", `UPDATE blobs SET data = CAST(replace(CAST(data AS TEXT), 'list', 'lost') AS BLOB)`, 3, `a contract of entry 3 (server "mail", tool "list") was changed`},
		{"a contract shortened", `UPDATE blobs SET data = substr(data, 1, 3) WHERE CAST(data AS TEXT) LIKE '%title%'`, 6, "was changed"},
		{"a contract deleted", `DELETE FROM blobs WHERE CAST(data AS TEXT) LIKE '%title%'`, 6, "is gone"},
		{"a record's status", `UPDATE records SET status = 2 WHERE name = 'send'`, 6, "changed without an audit entry"},
		{"a record's contract", `UPDATE records SET (live, live_raw) = (SELECT live, live_raw FROM records WHERE name = 'list') WHERE name = 'send'`, 6, "changed without an audit entry"},
		{"a record approved", `UPDATE records SET approved = live, approved_raw = live_raw WHERE name = 'list'`, 3, "changed without an audit entry"},
		{"a record's block", `UPDATE records SET blocked = 1 WHERE name = 'list'`, 3, "changed without an audit entry"},
		{"a record's stored state", `UPDATE records SET state = zeroblob(32) WHERE name = 'list'`, 3, "changed without an audit entry"},
		{"a record's digest", `UPDATE records SET live = 'sha256:' || hex(zeroblob(32)) WHERE name = 'list'`, 3, `tool "list" of server "mail" does not verify`},
		{"a record's grant", `UPDATE records SET approved_by = 'x' WHERE name = 'list'`, 3, `tool "list" of server "mail" does not verify`},
		{"a record's entry", `UPDATE records SET seq = 2 WHERE name = 'list'`, 2, "is no transition of"},
		{"an older entry of a record", `UPDATE records SET seq = 2 WHERE name = 'send'`, 2, "changed without an audit entry"},
		{"a record without an entry", `UPDATE records SET seq = 0 WHERE name = 'list'`, -1, "is gone"},
		{"a record renamed", `UPDATE records SET name = 'other' WHERE name = 'list'`, 3, "is no transition of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, path := filled(t)
			tamper(t, path, c.script)
			r, err := s.Verify(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if r.BadSeq != c.seq || !strings.Contains(r.Problem, c.says) || (c.seq == 0) != (r.Problem == "") {
				t.Errorf("%+v; expected %d: %s", r, c.seq, c.says)
			}
		})
	}
}

func TestAuditCannotBeChangedBySQL(t *testing.T) {
	_, path := filled(t)
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range []string{"DELETE FROM audit WHERE seq = 4", "UPDATE audit SET name = 'x' WHERE seq = 4"} {
		if _, err := db.Exec(text); err == nil || !strings.Contains(err.Error(), "audit entries are never") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOpenRefusesAnAuditThatEndsElsewhere(t *testing.T) {
	for name, script := range map[string]string{
		"tail deleted": "DELETE FROM audit WHERE seq = 10", "all deleted": "DELETE FROM audit", "last changed": "UPDATE audit SET body = body || ' ' WHERE seq = 10",
		"head moved": "UPDATE head SET seq = 9", "one more": "INSERT INTO audit SELECT 11, time, type, server, kind, name, body, hash, hash FROM audit WHERE seq = 10",
	} {
		s, path := filled(t)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		tamper(t, path, script)
		s, err := Open(context.Background(), path)
		if fault.KindOf(err) != fault.Corrupt || !strings.Contains(err.Error(), "the audit should end with entry") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = s.Close()
		}
	}
}

func TestReadingSaysWhatIsDamaged(t *testing.T) {
	ctx := context.Background()
	load := func(s *Store) error { _, _, _, err := s.Load(ctx); return err }
	state := func(s *Store) error { _, err := s.State(ctx, "mail"); return err }
	audit := func(s *Store) error { _, err := s.Audit(ctx, AuditFilter{}); return err }
	entry := func(seq int64) func(s *Store) error {
		return func(s *Store) error { _, err := s.Entry(ctx, seq); return err }
	}
	walk := func(s *Store) error { return s.Walk(ctx, 1, func(record.Entry) error { return nil }) }
	tokens := func(s *Store) error { _, err := s.Tokens(ctx); return err }
	for _, c := range []struct {
		script string
		read   func(*Store) error
		says   string
	}{
		{`UPDATE blobs SET data = CAST(replace(CAST(data AS TEXT), 'list', 'lost') AS BLOB)`, load, `tool "list" of server "mail"`},
		{`UPDATE blobs SET data = CAST(replace(CAST(data AS TEXT), 'list', 'lost') AS BLOB)`, state, `tool "list" of server "mail"`},
		{`UPDATE blobs SET data = CAST(replace(CAST(data AS TEXT), 'list', 'lost') AS BLOB)`, audit, `audit entry 3 (server "mail", tool "list")`},
		{`UPDATE blobs SET data = CAST(replace(CAST(data AS TEXT), 'list', 'lost') AS BLOB)`, walk, `audit entry 3 (server "mail", tool "list")`},
		{`DELETE FROM blobs`, entry(6), `audit entry 6 (server "mail", tool "send") does not verify: the bytes of its contract are gone`},
		{`UPDATE audit SET body = '{}' WHERE seq = 5`, audit, "audit entry 5"},
		{`UPDATE audit SET prev = x'00' WHERE seq = 5`, entry(5), "audit entry 5"},
		{`UPDATE servers SET body = 'x'`, load, "server mail"},
		{`UPDATE records SET evidence = 'x' WHERE name = 'send'`, load, `tool "send" of server "mail"`},
		{`UPDATE records SET approved = 'x' WHERE name = 'send'`, load, `tool "send" of server "mail"`},
		{`UPDATE records SET anchor = 'x' WHERE name = 'send'`, load, `tool "send" of server "mail"`},
		{`INSERT INTO settings VALUES (1, 'x', 'x')`, load, "the settings"},
		{`INSERT INTO reports VALUES ('mail', 'x')`, func(s *Store) error { _, err := s.Report(ctx, "mail"); return err }, "the scan report of server mail"},
		{`INSERT INTO tokens VALUES (1, 'id', 'ci', zeroblob(32), 'x', 0, NULL, NULL, NULL)`, tokens, `the token "ci"`},
		{`INSERT INTO tokens VALUES (1, 'id', 'ci', zeroblob(32), 'x', 0, NULL, NULL, NULL)`, func(s *Store) error { return s.Commit(ctx, approval.Change{Name: "mail", Made: 1, Remove: true}) }, "the token id"},
	} {
		s, path := filled(t)
		tamper(t, path, c.script)
		err := c.read(s)
		if fault.KindOf(err) != fault.Corrupt || err == nil || !strings.Contains(err.Error(), c.says) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v", c.script, err)
		}
	}
}

// TestTables: a table that is gone is a failure of the database in every method,
// never a silent nothing.
func TestTables(t *testing.T) {
	ctx := context.Background()
	calls := map[string]func(s *Store) error{
		"load":  func(s *Store) error { _, _, _, err := s.Load(ctx); return err },
		"state": func(s *Store) error { _, err := s.State(ctx, "mail"); return err },
		"commit": func(s *Store) error {
			return s.Commit(ctx, approval.Change{Name: "x", Server: &approval.Server{Name: "x"}})
		},
		"remove":   func(s *Store) error { return s.Commit(ctx, approval.Change{Name: "mail", Made: 1, Remove: true}) },
		"settings": func(s *Store) error { return s.PutSettings(ctx, approval.Settings{}, nil) },
		"append":   func(s *Store) error { return s.Append(ctx, callEntry(1)) },
		"create":   func(s *Store) error { return s.CreateToken(ctx, sampleToken("t", "n"), tokenEntry("x")) },
		"revoke":   func(s *Store) error { return s.RevokeToken(ctx, "n", callEntry(0).Time, tokenEntry("x")) },
		"tokens":   func(s *Store) error { _, err := s.Tokens(ctx); return err },
		"audit":    func(s *Store) error { _, err := s.Audit(ctx, AuditFilter{}); return err },
		"entry":    func(s *Store) error { _, err := s.Entry(ctx, 6); return err },
		"walk":     func(s *Store) error { return s.Walk(ctx, 1, func(record.Entry) error { return nil }) },
		"verify":   func(s *Store) error { _, err := s.Verify(ctx); return err },
		"report":   func(s *Store) error { _, err := s.Report(ctx, "mail"); return err },
		"put":      func(s *Store) error { return s.PutReport(ctx, "mail", approval.Report{}) },
		"version":  func(s *Store) error { _, err := s.DataVersion(ctx); return err },
		"set":      func(s *Store) error { return s.SetDataVersion(ctx, 1, callEntry(0).Time) },
		"since":    func(s *Store) error { _, err := s.DefaultsSince(ctx); return err },
	}
	for table, broken := range map[string]string{
		"head": "append verify create", "blobs": "load state audit entry walk verify", "audit": "append audit entry walk verify create settings:", "settings": "load state commit settings",
		"servers": "load state commit remove put", "removed": "commit remove", "records": "load state verify", "tokens": "remove create revoke tokens", "reports": "report put", "meta": "version set since",
	} {
		for _, name := range strings.Fields(broken) {
			call, known := calls[name]
			if !known {
				continue
			}
			s, path := filled(t)
			tamper(t, path, fmt.Sprintf("PRAGMA foreign_keys = 0; ALTER TABLE %s RENAME TO moved", table))
			if err := call(s); fault.KindOf(err) != fault.Storage || fault.HintOf(err) == "" {
				t.Errorf("%s without the table %s: %v", name, table, err)
			}
		}
	}
}
