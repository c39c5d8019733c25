package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// What was asked for or put in lately is held, and the rest is forgotten: memory is
// bounded.
func TestParsedIsBounded(t *testing.T) {
	var p parsed
	text := strings.Repeat("x", 1<<19)
	hashOf := func(n int) [32]byte { return sha256.Sum256(fmt.Append(nil, n)) }
	size := 0
	for n := range 300 {
		c := contract.Parse(fmt.Appendf(nil, `{"name":"t%d","description":%q}`, n, text))
		size = sizeOf(c)
		p.keep(hashOf(n), c, false)
		if h := p.find(hashOf(0)); h.Name() != "t0" {
			t.Fatalf("what is asked for all the time is forgotten after %d others", n)
		}
		if p.size > maxParsed || len(p.young)*size > maxParsed+size || len(p.old)*size > maxParsed+size {
			t.Fatalf("%d and %d contracts of %d bytes are held", len(p.young), len(p.old), size)
		}
	}
	if h := p.find(hashOf(299)); h.Name() != "t299" {
		t.Error("the latest is forgotten")
	}
	if h := p.find(hashOf(1)); !h.IsZero() {
		t.Error("nothing was forgotten")
	}
}

// Contracts that are loaded again are those that are in memory, and each was checked
// against its bytes: one whose bytes were changed meanwhile is damaged, not as it was.
func TestLoadingAgainParsesNothingAndChecksAll(t *testing.T) {
	ctx := context.Background()
	s, path := filled(t)
	first, err := s.State(ctx, "mail")
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.State(ctx, "mail")
	if err != nil {
		t.Fatal(err)
	}
	for i := range first.Records {
		a, b := first.Records[i].Live.Raw(), again.Records[i].Live.Raw()
		if &a[0] != &b[0] {
			t.Errorf("%s was parsed again", first.Records[i].Key.Name)
		}
	}
	tamper(t, path, `UPDATE blobs SET data = CAST(replace(CAST(data AS TEXT), 'list', 'lost') AS BLOB)`)
	if _, err := s.State(ctx, "mail"); fault.KindOf(err) != fault.Corrupt {
		t.Errorf("changed bytes: %v", err)
	}
	tamper(t, path, `UPDATE blobs SET data = CAST(replace(CAST(data AS TEXT), 'lost', 'list') AS BLOB); UPDATE records SET live_problem = 'x' WHERE name = 'list'`)
	if _, err := s.State(ctx, "mail"); fault.KindOf(err) != fault.Corrupt {
		t.Errorf("a problem that it was not stored with: %v", err)
	}
}

// Bytes that were read in the database are not written again, and others are, so that
// the audit has those of every contract that it names.
func TestBytesAreStoredOnce(t *testing.T) {
	ctx := context.Background()
	s, _ := filled(t)
	state, err := s.State(ctx, "mail")
	if err != nil {
		t.Fatal(err)
	}
	r := state.Records[0]
	before, after := r.Live, contract.Parse([]byte(`{"name":"send","title":"another"}`))
	r.Live = after
	change := approval.Change{Name: "mail", Made: 1, Records: []approval.Record{r}, Entries: []record.Entry{{
		Type: record.TypeTransition, Server: "mail", Kind: "tool", Name: r.Key.Name,
		Transition: &record.Transition{From: "x", To: "y", Reason: "held", Old: record.Snapshot{Contract: before}, New: record.Snapshot{Contract: after}},
	}}}
	ready, err := s.prepare(change)
	if err != nil {
		t.Fatal(err)
	}
	if len(ready.blobs) != 1 || string(ready.blobs[0].data) != string(after.Raw()) {
		t.Errorf("%d texts are to be stored: %s", len(ready.blobs), ready.blobs)
	}
	if err := s.Commit(ctx, change); err != nil {
		t.Fatal(err)
	}
	entry, err := s.Entry(ctx, 11)
	if err != nil || !entry.Transition.Old.Contract.Equal(before) || !entry.Transition.New.Contract.Equal(after) {
		t.Errorf("the audit: %+v, %v", entry.Transition, err)
	}
	if report, err := s.Verify(ctx); err != nil || report.BadSeq != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
