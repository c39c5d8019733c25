package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/record"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "h.db")
	s, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	e := record.Entry{Time: time.Now(), Type: record.TypePass, Actor: record.Actor{Kind: record.Holdfast}, Act: &record.Act{What: "x", Detail: map[string]string{"a": "b\xff"}}}
	for range 10 {
		if err := s.Append(ctx, e); err != nil {
			t.Fatal(err)
		}
		s.Enqueue(e)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rep, err := s.Verify(ctx)
	if err != nil || rep.Entries != 20 || rep.BadSeq != 0 {
		t.Fatal(rep, err)
	}
	got, err := s.Audit(ctx, AuditFilter{Text: "B\xff"})
	if err != nil || len(got) != 20 {
		t.Fatal(got, err)
	}
}
