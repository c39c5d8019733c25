package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/store/storetest"
)

// open is the SQLite store, with commits that fail as they are told.
func open(dir string, commit func() storetest.Failure) (storetest.Store, error) {
	path := filepath.Join(dir, "holdfast.db")
	if commit == nil {
		return notNil(store.Open(context.Background(), path))
	}
	reported := errors.New("the disk did not answer")
	return notNil(store.OpenHooked(context.Background(), path, func(query string) (before, after error) {
		if query == "COMMIT" {
			switch commit() {
			case storetest.Lost:
				return reported, nil
			case storetest.Kept:
				return nil, reported
			case storetest.Never:
			}
		}
		return nil, nil
	}))
}

func notNil(s *store.Store, err error) (storetest.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func TestMain(m *testing.M) {
	storetest.Child(open)
	os.Exit(m.Run())
}

// TestKilled kills writers, for a shorter time in short mode.
func TestKilled(t *testing.T) {
	long := 6 * time.Second
	if testing.Short() {
		long = 2 * time.Second
	}
	storetest.RunKilled(t, open, long)
}

func TestStore(t *testing.T) { storetest.Run(t, open) }
