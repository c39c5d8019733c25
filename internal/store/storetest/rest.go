package storetest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func tokens(t *testing.T, open Open) {
	b := start(t, open)
	one := token("t1", "ci "+odd)
	one.Expires = time.Time{}
	b.must(b.CreateToken(b.ctx, one, tokenEntry("token_created", "1")))
	for name, other := range map[string]dispatch.Token{"name": token("t2", one.Name), "id": token("t1", "other")} {
		b.fails("the same "+name, fault.Exists, b.CreateToken(b.ctx, other, tokenEntry("token_created", "x")))
	}
	same := token("t3", "third")
	same.Hash = one.Hash
	b.fails("the same secret", fault.Exists, b.CreateToken(b.ctx, same, tokenEntry("token_created", "x")))
	for _, bad := range []dispatch.Token{{}, {ID: "t4", Name: "x"}, {ID: "t4", Hash: one.Hash}, {Name: "x", Hash: one.Hash}} {
		b.fails("a token without all it needs", fault.BadInput, b.CreateToken(b.ctx, bad, tokenEntry("token_created", "x")))
	}
	b.fails("no entry", fault.Internal, b.CreateToken(b.ctx, token("t5", "x"), record.Entry{}))
	b.must(b.CreateToken(b.ctx, token("t2", "two"), tokenEntry("token_created", "2")))
	if got, err := b.TokenByHash(b.ctx, one.Hash); err != nil || !reflect.DeepEqual(got, one) {
		t.Errorf("the token is %+v, %v", got, err)
	}
	_, err := b.TokenByHash(b.ctx, [32]byte{1})
	b.fails("no such secret", fault.NotFound, err)

	b.fails("no such token", fault.NotFound, b.RevokeToken(b.ctx, "nobody", noon, tokenEntry("token_revoked", "x")))
	b.must(b.RevokeToken(b.ctx, one.Name, noon, tokenEntry("token_revoked", "1")))
	b.fails("revoked already, by name", fault.NotFound, b.RevokeToken(b.ctx, one.Name, noon, tokenEntry("token_revoked", "x")))
	b.fails("revoked already, by id", fault.NotFound, b.RevokeToken(b.ctx, "t1", noon, tokenEntry("token_revoked", "x")))
	again := token("t6", one.Name) // the name is free again
	b.must(b.CreateToken(b.ctx, again, tokenEntry("token_created", "3")))
	b.must(b.RevokeToken(b.ctx, one.Name, noon.Add(time.Hour), tokenEntry("token_revoked", "3")))
	b.must(b.CreateToken(b.ctx, token("two", "seven"), tokenEntry("token_created", "4"))) // an id that is another's name
	b.must(b.RevokeToken(b.ctx, "two", noon, tokenEntry("token_revoked", "4")))
	b.again(nil)
	one.Revoked, again.Revoked = noon, noon.Add(time.Hour)
	seven := token("two", "seven")
	seven.Revoked = noon
	want := []dispatch.Token{one, token("t2", "two"), again, seven}
	if got, err := b.Tokens(b.ctx); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the tokens are\n%+v, %v\nand should be\n%+v", got, err, want)
	}
	b.verifies(7)
}

func tokenTouch(t *testing.T, open Open) {
	b := start(t, open)
	one := token("t1", "ci")
	b.must(b.CreateToken(b.ctx, one, tokenEntry("token_created", "1")))
	used := func() time.Time {
		got, err := b.TokenByHash(b.ctx, one.Hash)
		b.must(err)
		return got.LastUsed
	}
	for i := range 1000 {
		b.TouchToken("t1", noon.Add(time.Duration(i)*time.Second))
	}
	b.TouchToken("t1", noon) // late
	b.TouchToken("nobody", noon)
	want := noon.Add(999 * time.Second)
	if got := used(); !got.Equal(want) {
		t.Errorf("the token was last used %v", got)
	}
	b.again(nil)
	if got := used(); !got.Equal(want) {
		t.Errorf("after a restart the token was last used %v", got)
	}
	b.TouchToken("t1", noon)
	b.again(nil)
	if got := used(); !got.Equal(want) {
		t.Errorf("a late use made it %v", got)
	}
	b.verifies(1)
}

func reports(t *testing.T, open Open) {
	b := start(t, open)
	b.fails("no such server", fault.NotFound, b.PutReport(b.ctx, "mail", approval.Report{}))
	b.must(b.Commit(b.ctx, adding(b.state("mail"), "mail", "i-1")))
	if r, err := b.Report(b.ctx, "mail"); r != nil || err != nil {
		t.Errorf("a new server has a report: %+v, %v", r, err)
	}
	for i := range 3 {
		want := approval.Report{Incarnation: fmt.Sprint("i-", i), Time: noon, Tools: []approval.ReportedTool{{Kind: approval.Prompt, Name: odd, Digest: "d", Hard: i == 1}}}
		b.must(b.PutReport(b.ctx, "mail", want))
		b.again(nil)
		if r, err := b.Report(b.ctx, "mail"); err != nil || !reflect.DeepEqual(*r, want) {
			t.Errorf("the report is %+v, %v", r, err)
		}
	}
}

// attempt is one write of each way, and whether it is in the store.
type attempt struct {
	name    string
	write   func(b *bench) error
	written func(b *bench) bool
}

var attempts = []attempt{
	{
		"commit",
		func(b *bench) error {
			s := b.state("mail")
			return b.Commit(b.ctx, blocking(s, s.Records[1]))
		},
		func(b *bench) bool { return b.state("mail").Records[1].Blocked },
	},
	{
		"settings",
		func(b *bench) error {
			v := settings
			v.ID = "s-2"
			return b.PutSettings(b.ctx, v, []record.Entry{settingsEntry("s-2")})
		},
		func(b *bench) bool { return b.state("mail").Settings.ID == "s-2" },
	},
	{
		"append",
		func(b *bench) error { return b.Append(b.ctx, calling(record.TypeIntent, "doubt")) },
		func(b *bench) bool { ids := b.ids(); return len(ids) > 0 && ids[len(ids)-1] == "doubt" },
	},
	{
		"token",
		func(b *bench) error {
			return b.CreateToken(b.ctx, token("t9", "nine"), tokenEntry("token_created", "nine"))
		},
		func(b *bench) bool { _, err := b.TokenByHash(b.ctx, token("t9", "nine").Hash); return err == nil },
	},
	{
		"revocation",
		func(b *bench) error { return b.RevokeToken(b.ctx, "ci", noon, tokenEntry("token_revoked", "ci")) },
		func(b *bench) bool {
			got, err := b.TokenByHash(b.ctx, token("t1", "ci").Hash)
			return err == nil && !got.Revoked.IsZero()
		},
	},
	{
		"report",
		func(b *bench) error { return b.PutReport(b.ctx, "mail", approval.Report{Incarnation: "i-9"}) },
		func(b *bench) bool { r, err := b.Report(b.ctx, "mail"); return err == nil && r.Incarnation == "i-9" },
	},
}

func writeLost(t *testing.T, open Open) { doubted(t, open, Lost) }
func writeKept(t *testing.T, open Open) { doubted(t, open, Kept) }

// doubted: a commit of the database fails. The write is reported as failed, nothing
// more is written, reading goes on, and after opening again all of it is there or
// nothing is, as it was when the commit failed; the audit agrees, and all goes on.
func doubted(t *testing.T, open Open, how Failure) {
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			b := start(t, open)
			fill(b)
			before := len(b.entries())
			failing := false
			b.again(func() Failure {
				if failing {
					failing = false // once: what follows is refused, not failed again
					return how
				}
				return Never
			})
			b.must(b.Append(b.ctx, calling(record.TypeIntent, "fine")))
			failing = true
			b.fails("the write", fault.Storage, a.write(b))
			for _, other := range attempts {
				b.fails("a later "+other.name, fault.Storage, other.write(b))
			}
			b.Enqueue(calling(record.TypeOutcome, "dropped"))
			b.TouchToken("t1", noon)
			if _, _, _, err := b.Load(b.ctx); err != nil {
				t.Errorf("nothing can be read any more: %v", err)
			}
			b.fails("close", fault.Storage, b.Close())
			b.Store = nil
			b.again(nil)
			if got := a.written(b); got != (how == Kept) {
				t.Errorf("after opening again it is written: %t", got)
			}
			entries := before + 1
			if how == Kept && a.name != "report" {
				entries++
			}
			b.verifies(entries)
			b.must(b.Append(b.ctx, calling(record.TypeIntent, "on")))
			s := b.state("mail")
			b.must(b.Commit(b.ctx, blocking(s, s.Records[0])))
			b.verifies(entries + 2)
		})
	}
}

func closed(t *testing.T, open Open) {
	b := start(t, open)
	fill(b)
	b.must(b.Close())
	b.must(b.Close())
	b.fails("append", fault.Unavailable, b.Append(b.ctx, calling(record.TypeIntent, "1")))
	b.fails("commit", fault.Unavailable, b.Commit(b.ctx, adding(approval.State{}, "x", "i")))
	b.Enqueue(calling(record.TypeIntent, "1"))
	b.TouchToken("t1", noon)
	_, err := b.State(b.ctx, "mail")
	b.fails("state", fault.Unavailable, err)
	_, err = b.TokenByHash(b.ctx, token("t1", "ci").Hash)
	b.fails("token", fault.Unavailable, err)
	_, err = b.Audit(b.ctx, store.AuditFilter{})
	b.fails("audit", fault.Unavailable, err)
}
