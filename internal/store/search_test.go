package store_test

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// TestTextFound: what is found is what a slow look at every text finds.
func TestTextFound(t *testing.T) {
	ctx := context.Background()
	s, err := store.Open(ctx, filepath.Join(t.TempDir(), "holdfast.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := time.Date(2026, 5, 6, 12, 0, 0, 123456000, time.UTC)
	alphabet := rapid.StringOfN(rapid.SampledFrom([]rune("aAbé\"\\%_\n\x00{:")), 1, 3, -1)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(alphabet, rapid.Just("\xff"), rapid.Map(alphabet, func(s string) string { return s + "\xff" })).Draw(t, "value")
		e := record.Entry{Time: at, Type: record.TypePass, Actor: record.Actor{Kind: record.Person, Name: "anna"}, Server: "rapid", Act: &record.Act{What: value}}
		if err := s.Append(ctx, e); err != nil {
			t.Fatal(err)
		}
		text := rapid.OneOf(alphabet, rapid.Just("\xff"), rapid.Just("a\xff")).Draw(t, "text")
		got, err := s.Audit(ctx, store.AuditFilter{Server: "rapid", Text: text, Limit: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.Audit(ctx, store.AuditFilter{Server: "rapid", Limit: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var want []record.Entry
		for _, e := range all {
			for _, have := range []string{e.Act.What, string(e.Type), string(e.Actor.Kind), e.Actor.Name, e.Server, "2026-05-06T12:00:00.123456Z"} {
				if strings.Contains(upper(have), upper(text)) {
					want = append(want, e)
					break
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is found in %d entries, and stands in %d", text, len(got), len(want))
		}
	})
}

// upper changes a to z alone.
func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}
