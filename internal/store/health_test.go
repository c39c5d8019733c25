package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func isFailed(s *Store) bool {
	select {
	case <-s.Failed():
		return true
	default:
		return false
	}
}

// TestHealthy: the store says that it can't write from the moment it can't, also
// when nobody waited for the entry that was lost.
func TestHealthy(t *testing.T) {
	ctx := context.Background()
	for _, at := range []string{"BEGIN IMMEDIATE", "COMMIT", "UPDATE head SET seq = ?, hash = ? WHERE one = 1 AND seq = ? AND hash = ?"} {
		var armed atomic.Bool
		s, err := OpenHooked(ctx, filepath.Join(t.TempDir(), "holdfast.db"), failNext(at, &armed))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(ctx, callEntry(1)); err != nil {
			t.Fatal(err)
		}
		if err := s.Healthy(); err != nil || isFailed(s) {
			t.Fatalf("%s: a store that works says %v", at, err)
		}
		armed.Store(true)
		s.Enqueue(callEntry(2))
		<-s.Failed()
		if err := s.Healthy(); err == nil || fault.KindOf(err) != fault.Storage || fault.HintOf(err) == "" || !errors.Is(err, errDisk) {
			t.Errorf("%s: after an entry was lost it says %v", at, err)
		}
		if err := s.Close(); err == nil {
			t.Errorf("%s: closing says nothing of it", at)
		}
		if err := s.Healthy(); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s: a closed store says %v", at, err)
		}
	}
}

// An error that only one caller sees, and that lost nothing, is not the store's end.
func TestHealthyAfterARollback(t *testing.T) {
	ctx := context.Background()
	var armed atomic.Bool
	s, err := OpenHooked(ctx, filepath.Join(t.TempDir(), "holdfast.db"), failNext("BEGIN IMMEDIATE", &armed))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	armed.Store(true)
	if err := s.Append(ctx, callEntry(1)); fault.KindOf(err) != fault.Storage {
		t.Fatal(err)
	}
	if err := s.Healthy(); err != nil || isFailed(s) {
		t.Errorf("it says %v", err)
	}
	if err := s.Append(ctx, callEntry(1)); err != nil {
		t.Error(err)
	}
}

// A disk that does not answer makes the store unhealthy for as long as it does not.
func TestHealthyWhileTheDiskIsStuck(t *testing.T) {
	ctx := context.Background()
	var armed atomic.Bool
	reached, free := make(chan struct{}), make(chan struct{})
	s, err := OpenHooked(ctx, filepath.Join(t.TempDir(), "holdfast.db"), func(query string) (error, error) {
		if query == "COMMIT" && armed.CompareAndSwap(true, false) {
			close(reached)
			<-free
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	armed.Store(true)
	done := make(chan error)
	go func() { done <- s.Append(ctx, callEntry(1)) }()
	<-reached
	if err := s.Healthy(); err != nil {
		t.Errorf("a commit that takes a moment makes it say %v", err)
	}
	s.w.mu.Lock()
	s.w.busy = s.w.busy.Add(-stuckAfter - time.Second)
	s.w.mu.Unlock()
	if err := s.Healthy(); fault.KindOf(err) != fault.Storage || fault.HintOf(err) == "" {
		t.Errorf("while the disk is stuck it says %v", err)
	}
	close(free)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := s.Healthy(); err != nil || isFailed(s) {
		t.Errorf("after the disk answered it says %v", err)
	}
}

// TestTokensInMemory: what was committed of tokens counts at once, what was rolled
// back does not, and nobody can change what is in memory.
func TestTokensInMemory(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "holdfast.db")
	var armed atomic.Bool
	s, err := OpenHooked(ctx, path, failNext("UPDATE tokens SET revoked = ? WHERE id = ?", &armed))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	token := sampleToken("t1", "ci")
	if err := s.CreateToken(ctx, token, tokenEntry("created")); err != nil {
		t.Fatal(err)
	}
	got, err := s.TokenByHash(ctx, token.Hash)
	if err != nil {
		t.Fatal(err)
	}
	got.Scope.Servers[0], got.Scope.Tools[0] = "*", "everything"
	if got, _ := s.TokenByHash(ctx, token.Hash); got.Scope.Servers[0] != "github" || got.Scope.Tools[0] != "*" {
		t.Fatal("who is given a token can change it for all")
	}
	armed.Store(true)
	if err := s.RevokeToken(ctx, "ci", callEntry(0).Time, tokenEntry("revoked")); err == nil {
		t.Fatal("the revocation did not fail")
	}
	if got, _ := s.TokenByHash(ctx, token.Hash); !got.Revoked.IsZero() {
		t.Error("a revocation that was rolled back counts")
	}
	if err := s.RevokeToken(ctx, "ci", callEntry(0).Time, tokenEntry("revoked")); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.TokenByHash(ctx, token.Hash); got.Revoked.IsZero() {
		t.Error("a revocation does not count")
	}
	if err := s.CreateToken(ctx, sampleToken("t2", "two"), tokenEntry("created")); err != nil {
		t.Fatal(err)
	}
	add := approval.Change{Name: "github", Server: &approval.Server{Name: "github"}}
	if err := s.Commit(ctx, add); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, approval.Change{Name: "github", Made: 1, Remove: true}); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.TokenByHash(ctx, sampleToken("t2", "two").Hash); len(got.Scope.Servers) != 0 {
		t.Errorf("a server that was removed is still in scope: %v", got.Scope)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tamper(t, path, `UPDATE tokens SET body = 'x' WHERE id = 't1'`)
	if s, err = Open(ctx, path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.TokenByHash(ctx, token.Hash); fault.KindOf(err) != fault.Corrupt || !strings.Contains(err.Error(), `the token "ci"`) {
		t.Errorf("of a damaged token it says %v", err)
	}
	if got, err := s.TokenByHash(ctx, sampleToken("t2", "two").Hash); err != nil || got.Name != "two" {
		t.Errorf("a damaged token spoils another: %+v, %v", got, err)
	}
}

// Tokens are looked up while they are created, used and revoked; -race watches. A
// token is known once CreateToken returned, and revoked once RevokeToken did.
func TestTokensAtOnce(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "holdfast.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 20 {
				token := sampleToken(fmt.Sprintf("t%d-%d", worker, i), fmt.Sprintf("n%d-%d", worker, i))
				if err := s.CreateToken(ctx, token, tokenEntry("created")); err != nil {
					t.Error(err)
					return
				}
				s.TouchToken(token.ID, callEntry(0).Time)
				if got, err := s.TokenByHash(ctx, token.Hash); err != nil || !got.Revoked.IsZero() || got.LastUsed.IsZero() {
					t.Errorf("%+v, %v", got, err)
				}
				if err := s.RevokeToken(ctx, token.ID, callEntry(0).Time, tokenEntry("revoked")); err != nil {
					t.Error(err)
				}
				if got, err := s.TokenByHash(ctx, token.Hash); err != nil || got.Revoked.IsZero() {
					t.Errorf("%+v, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}
