package store

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func TestFilesAreThePersonsAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	s, path := filled(t)
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after opening it has the mode %v, %v", info.Mode(), err)
	}
}

// TestDurableSettings: a killed process can't show that a commit waits for the disk.
func TestDurableSettings(t *testing.T) {
	s, _ := filled(t)
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "trusted_schema": "0"} {
		var got string
		if err := s.w.conn.QueryRowContext(context.Background(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v", pragma, got, err)
		}
	}
	if _, err := s.reads.Exec("DELETE FROM tokens"); err == nil {
		t.Error("a reading connection writes")
	}
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{"a b", "100%", "what?", "#1", "é&_journal_mode=OFF", "a;b", "file:x"} {
		if runtime.GOOS == "windows" && strings.ContainsAny(name, "?:") {
			continue
		}
		path := filepath.Join(t.TempDir(), name)
		s, err := Open(context.Background(), path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := s.Append(context.Background(), callEntry(1)); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		kind fault.Kind
		says string
	}{
		"no directory": {func(t *testing.T, path string) {
			if err := os.Remove(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
		}, fault.Storage, "can't be created"},
		"a directory": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, fault.Storage, "can't be opened"},
		"no database": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, fault.Corrupt, "is damaged or is no database"},
		"another program's":         {func(t *testing.T, path string) { script(t, path, "CREATE TABLE mine (x)") }, fault.Corrupt, "another program"},
		"another program's, marked": {func(t *testing.T, path string) { script(t, path, "PRAGMA application_id = 7") }, fault.Corrupt, "another program"},
		"a newer one's": {func(t *testing.T, path string) {
			s, err := Open(ctx, path)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			script(t, path, "PRAGMA user_version = 99")
		}, fault.Unavailable, "newer Holdfast (its schema is version 99, and this program knows 1)"},
		"a damaged one": {func(t *testing.T, path string) {
			s, err := Open(ctx, path)
			if err != nil {
				t.Fatal(err)
			}
			for n := range 200 {
				s.Enqueue(callEntry(n))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt(make([]byte, 100_000), 4096); err != nil {
				t.Fatal(err)
			}
		}, fault.Corrupt, "damaged"},
	} {
		path := filepath.Join(t.TempDir(), "sub", "holdfast.db")
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		c.make(t, path)
		s, err := Open(ctx, path)
		if err == nil {
			_ = s.Close()
		}
		if fault.KindOf(err) != c.kind || err == nil || !strings.Contains(err.Error(), c.says) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v (%s)", name, err, fault.KindOf(err))
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if s, err := Open(cancelled, filepath.Join(t.TempDir(), "x.db")); err == nil {
		_ = s.Close()
		t.Error("opened although cancelled")
	}
}

func script(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// TestMigrationIsWhole: one that fails leaves the database as it was.
func TestMigrationIsWhole(t *testing.T) {
	_, path := filled(t)
	before := migrations
	defer func() { migrations = before }()
	migrations = []string{schema1, "CREATE TABLE more (x) STRICT;", "CREATE TABLE again (x TEXT) STRICT; nonsense;"}
	if s, err := Open(context.Background(), path); err == nil || !strings.Contains(err.Error(), "schema version 2") {
		_ = s.Close()
		t.Fatalf("a migration of nonsense: %v", err)
	}
	migrations = []string{schema1, "CREATE TABLE more (x TEXT) STRICT;", "CREATE TABLE again (x TEXT) STRICT; INSERT INTO more VALUES ('a');"}
	s, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var version, rows int
	if err := s.reads.QueryRow("SELECT user_version, (SELECT count(*) FROM more) FROM pragma_user_version").Scan(&version, &rows); err != nil || version != 3 || rows != 1 {
		t.Errorf("version %d with %d rows: %v", version, rows, err)
	}
	if r, err := s.Verify(context.Background()); err != nil || r.BadSeq != 0 || r.Entries != 10 {
		t.Error(r, err)
	}
}

// TestAFailureBeforeTheCommit is rolled back: nothing is in doubt, and all goes on.
func TestAFailureBeforeTheCommit(t *testing.T) {
	ctx := context.Background()
	for _, query := range []string{
		"BEGIN IMMEDIATE", "SAVEPOINT one", "RELEASE one", "UPDATE head SET seq = ?, hash = ? WHERE one = 1 AND seq = ? AND hash = ?",
		"INSERT OR REPLACE INTO settings (one, id, body) VALUES (1, ?, ?)",
		"INSERT INTO audit (seq, time, type, server, kind, name, body, prev, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	} {
		var armed atomic.Bool
		s, err := OpenHooked(ctx, filepath.Join(t.TempDir(), "holdfast.db"), failNext(query, &armed))
		if err != nil {
			t.Fatal(err)
		}
		entry := tokenEntry("settings")
		put := func() error { return s.PutSettings(ctx, approval.Settings{ID: "s"}, []record.Entry{entry}) }
		armed.Store(true)
		if err := put(); fault.KindOf(err) != fault.Storage || err == nil {
			t.Errorf("%s fails: %v", query, err)
		}
		if armed.Load() {
			t.Fatalf("%s never ran", query)
		}
		if err := put(); err != nil {
			t.Errorf("after %s failed: %v", query, err)
		}
		if err := s.Append(ctx, callEntry(1)); err != nil {
			t.Errorf("after %s failed: %v", query, err)
		}
		if r, err := s.Verify(ctx); err != nil || r.BadSeq != 0 || r.Entries != 2 {
			t.Errorf("after %s failed: %+v %v", query, r, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAFailureThatCannotBeUndone ends all writing.
func TestAFailureThatCannotBeUndone(t *testing.T) {
	ctx := context.Background()
	for _, undo := range []string{"ROLLBACK", "ROLLBACK TO one"} {
		failing := false
		s, err := OpenHooked(ctx, filepath.Join(t.TempDir(), "holdfast.db"), func(query string) (error, error) {
			if failing && (query == undo || strings.HasPrefix(query, "INSERT OR REPLACE INTO settings") || undo == "ROLLBACK" && query == "ROLLBACK TO one") {
				return errDisk, nil
			}
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		failing = true
		if err := s.PutSettings(ctx, approval.Settings{ID: "s"}, nil); fault.KindOf(err) != fault.Storage || err == nil {
			t.Errorf("%s fails: %v", undo, err)
		}
		failing = false
		err = s.Append(ctx, callEntry(1))
		if broken := undo == "ROLLBACK"; broken != (fault.KindOf(err) == fault.Storage && err != nil) {
			t.Errorf("after %s failed: %v", undo, err)
		}
		_ = s.Close() // it says again what failed
	}
}

// TestAFailureOfOneLeavesTheOthers: in one group each is answered for itself.
func TestAFailureOfOneLeavesTheOthers(t *testing.T) {
	ctx := context.Background()
	s, _ := filled(t)
	var all sync.WaitGroup
	var failed, fine atomic.Int32
	for n := range 30 {
		all.Go(func() {
			var err error
			if n%3 == 0 {
				err = s.Commit(ctx, approval.Change{Name: "mail", Made: 7, Entries: []record.Entry{callEntry(n)}})
			} else {
				err = s.Append(ctx, callEntry(n))
			}
			switch {
			case err == nil:
				fine.Add(1)
			case fault.KindOf(err) == fault.Conflict:
				failed.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if r, err := s.Verify(ctx); err != nil || r.BadSeq != 0 || r.Entries != 30 || failed.Load() != 10 || fine.Load() != 20 {
		t.Errorf("%+v %v; %d failed and %d did not", r, err, failed.Load(), fine.Load())
	}
}

// TestALostEntryIsNotForgotten: when an entry that nobody waits for can't be
// written the store fails for good, and says so.
func TestALostEntryIsNotForgotten(t *testing.T) {
	ctx := context.Background()
	var armed atomic.Bool
	s, err := OpenHooked(ctx, filepath.Join(t.TempDir(), "holdfast.db"), failNext("BEGIN IMMEDIATE", &armed))
	if err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	s.Enqueue(callEntry(1))
	if err := s.Append(ctx, callEntry(2)); fault.KindOf(err) != fault.Storage || err == nil {
		t.Errorf("an append after it: %v", err)
	}
	for range 2 * maxEnqueued {
		s.Enqueue(callEntry(3)) // does not wait for ever
	}
	if err := s.Append(ctx, callEntry(4)); fault.KindOf(err) != fault.Storage || err == nil {
		t.Errorf("a later append: %v", err)
	}
	if err := s.Close(); fault.KindOf(err) != fault.Storage || err == nil {
		t.Errorf("close: %v", err)
	}
}

// TestASecondWriterIsNoticed: the chain never forks.
func TestASecondWriterIsNoticed(t *testing.T) {
	ctx := context.Background()
	one, path := filled(t)
	two, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	if err := two.Append(ctx, callEntry(1)); err != nil {
		t.Fatal(err)
	}
	if err := one.Append(ctx, callEntry(2)); fault.KindOf(err) != fault.Storage || err == nil {
		t.Errorf("the first one writes on: %v", err)
	}
	if err := one.PutSettings(ctx, approval.Settings{ID: "x"}, []record.Entry{tokenEntry("x")}); fault.KindOf(err) != fault.Storage || err == nil {
		t.Errorf("the first one writes settings: %v", err)
	}
	if r, err := two.Verify(ctx); err != nil || r.BadSeq != 0 || r.Entries != 11 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestTornLog: whatever a power cut leaves of the end of the write-ahead log, the
// store opens with a beginning of what was written, and verifies.
func TestTornLog(t *testing.T) {
	ctx := context.Background()
	s, path := filled(t)
	for n := range 40 {
		if err := s.Append(ctx, callEntry(n)); err != nil {
			t.Fatal(err)
		}
	}
	db, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for round := range 60 {
		cut := rand.IntN(len(wal) + 1)
		torn := append([]byte(nil), wal[:cut]...)
		if round%3 == 0 { // the length was written and the data was not, or in part
			torn = append(torn, make([]byte, len(wal)-cut)...)
		}
		if round == 0 {
			torn, cut = wal, len(wal)
		}
		copied := filepath.Join(t.TempDir(), "holdfast.db")
		if err := os.WriteFile(copied, db, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+"-wal", torn, 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := Open(ctx, copied)
		if err != nil {
			t.Fatalf("cut at %d of %d: %v", cut, len(wal), err)
		}
		r, err := again.Verify(ctx)
		if err != nil || r.BadSeq != 0 || r.Entries > 50 {
			t.Errorf("cut at %d of %d: %+v, %v", cut, len(wal), r, err)
		}
		if r.Entries == 50 {
			whole++
		}
		if err := again.Append(ctx, callEntry(1)); err != nil {
			t.Error(err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	if whole == 0 || whole > 30 {
		t.Errorf("%d of 60 were whole: the log was not cut where it matters", whole)
	}
}

// TestNothingScans: no statement of the writer reads a whole table, but for the
// tokens, which are few.
func TestNothingScans(t *testing.T) {
	ctx := context.Background()
	s, _ := filled(t)
	if err := s.CreateToken(ctx, sampleToken("t", "n"), tokenEntry("x")); err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeToken(ctx, "n", callEntry(0).Time, tokenEntry("x")); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, approval.Change{Name: "mail", Made: 1, Remove: true}); err != nil {
		t.Fatal(err)
	}
	s.TouchToken("t", callEntry(0).Time)
	if err := s.w.close(); err != nil { // the writer's fields are ours now
		t.Fatal(err)
	}
	seen := 0
	for text := range s.w.statements {
		if strings.Contains(text, "FROM tokens") || !strings.Contains(text, " ") || strings.HasPrefix(text, "BEGIN") ||
			strings.HasPrefix(text, "ROLLBACK TO") || strings.HasPrefix(text, "RELEASE") || strings.HasPrefix(text, "SAVEPOINT") {
			continue
		}
		seen++
		rows, err := s.reads.Query("EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(detail, "SCAN") && !strings.Contains(detail, "SCAN settings") && !strings.Contains(detail, "CONSTANT ROW") {
				t.Errorf("%s: %s", text, detail)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if seen < 10 {
		t.Errorf("only %d statements were looked at", seen)
	}
}
