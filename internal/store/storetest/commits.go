package storetest

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func versions(t *testing.T, open Open) {
	b := start(t, open)
	b.must(b.Commit(b.ctx, adding(b.state("mail"), "mail", "i-1")))
	b.must(b.Commit(b.ctx, seeing(b.state("mail"), "send")))
	one := b.state("mail")
	if one.Server.Version != 1 || one.Records[0].Version != 1 {
		t.Errorf("the first versions are %d and %d", one.Server.Version, one.Records[0].Version)
	}
	b.must(b.Commit(b.ctx, blocking(one, one.Records[0])))
	two := b.state("mail")
	if two.Server.Version != 1 || two.Records[0].Version != 2 {
		t.Errorf("after a write of the record they are %d and %d", two.Server.Version, two.Records[0].Version)
	}
	b.must(b.Commit(b.ctx, switching(two)))
	three := b.state("mail")
	if three.Server.Version != 2 || three.Records[0].Version != 2 || three.Server.Enabled {
		t.Errorf("after a write of the server they are %d and %d", three.Server.Version, three.Records[0].Version)
	}
}

func (b *bench) conflicts(what string, c approval.Change) {
	b.t.Helper()
	before := everything(b)
	b.fails(what, fault.Conflict, b.Commit(b.ctx, c))
	if after := everything(b); !reflect.DeepEqual(before, after) {
		b.t.Errorf("%s: a lost race wrote something", what)
	}
}

func compareAndSwap(t *testing.T, open Open) {
	b := start(t, open)
	fill(b)
	old := b.state("mail")
	b.must(b.Commit(b.ctx, blocking(old, old.Records[0])))
	b.conflicts("another record version", approving(old, old.Records[1], old.Records[0]))
	b.conflicts("a record that exists", seeing(old, "new", "send"))
	ghost := old.Records[0]
	ghost.Key.Name = "ghost"
	b.conflicts("a record that does not exist", blocking(old, ghost))
	b.must(b.Commit(b.ctx, switching(b.state("mail"))))
	b.conflicts("another server version", approving(old, old.Records[1]))
	b.conflicts("a server that exists", adding(approval.State{Settings: settings}, "mail", "i-2"))
	missing := old
	missing.Server.Name = "nobody"
	b.conflicts("a server that does not exist", switching(missing))
	now := b.state("mail")
	other := settings
	other.ID = "s-2"
	b.must(b.PutSettings(b.ctx, other, nil))
	b.conflicts("other settings", approving(now, now.Records[1]))
	b.must(b.Commit(b.ctx, approving(b.state("mail"), now.Records[1])))
}

// oneWins: of many that act on one record at the same time exactly one does.
func oneWins(t *testing.T, open Open) {
	b := start(t, open)
	fill(b)
	entries := len(b.entries())
	const rounds, rivals = 10, 8
	for round := range rounds {
		s := b.state("mail")
		errs := make([]error, rivals)
		var all sync.WaitGroup
		for i := range rivals {
			all.Go(func() {
				c := changing(s, 100+round*rivals+i, s.Records[1])
				if i%2 == 1 {
					c = switching(s)
					c.Records = blocking(s, s.Records[1]).Records
					c.Entries = append(c.Entries, blocking(s, s.Records[1]).Entries...)
				}
				errs[i] = b.Commit(b.ctx, c)
			})
		}
		all.Wait()
		won := 0
		for i, err := range errs {
			if err == nil {
				won++
				entries += 1 + i%2
			} else {
				b.fails("a rival", fault.Conflict, err)
			}
		}
		if won != 1 {
			t.Fatalf("%d of %d won: %v", won, rivals, errs)
		}
	}
	b.verifies(entries)
}

func allOrNothing(t *testing.T, open Open) {
	b := start(t, open)
	fill(b)
	s := b.state("mail")
	bad := approving(s, s.Records[0])
	bad.Entries = append(bad.Entries, record.Entry{Time: noon, Type: "no such type"})
	twice := blocking(s, s.Records[0], s.Records[0])
	foreign := blocking(s, s.Records[0])
	foreign.Name = "github"
	both := removing(s)
	both.Server = &s.Server
	renamed := switching(s)
	renamed.Name = "github"
	notUTF8 := switching(s)
	notUTF8.Server.Program.Command = "caf\xe9"
	oddEvidence := blocking(s, s.Records[0])
	oddEvidence.Records[0].Evidence.Signals = []string{"\xff"}
	orphan := seeing(approval.State{Settings: s.Settings, Server: approval.Server{Name: "nobody"}}, "send")
	before := everything(b)
	for name, c := range map[string]approval.Change{
		"an entry of no type": bad, "a record twice": twice, "another server's record": foreign, "removed and written": both,
		"another server": renamed, "a text that is not UTF-8": notUTF8, "such an evidence": oddEvidence, "records of no server": orphan,
	} {
		b.fails(name, fault.Internal, b.Commit(b.ctx, c))
		if !reflect.DeepEqual(everything(b), before) {
			t.Errorf("%s: something was written", name)
		}
	}
	replaced := switching(s)
	replaced.Server.Program.Command = "a \\ufffd and \ufffd"
	b.must(b.Commit(b.ctx, replaced))
	if got := b.state("mail").Server.Program.Command; got != replaced.Server.Program.Command {
		t.Errorf("%q became %q", replaced.Server.Program.Command, got)
	}
}

// noSilentTransition: what decides about calls never changes without an entry, and
// an entry never tells of what was not written.
func noSilentTransition(t *testing.T, open Open) {
	b := start(t, open)
	fill(b)
	s := b.state("mail")
	for name, f := range map[string]func(*approval.Record){
		"status":   func(r *approval.Record) { r.Status = approval.Approved },
		"approved": func(r *approval.Record) { r.Approved = tool("x", 9) },
		"grant":    func(r *approval.Record) { r.ApprovedBy.Reason = approval.Released },
		"anchor":   func(r *approval.Record) { r.Anchor = tool("x", 9) },
		"live":     func(r *approval.Record) { r.Live = tool("x", 9) },
		"accepted": func(r *approval.Record) { r.Accepted = nil },
		"declined": func(r *approval.Record) { r.Declined = "d" },
		"blocked":  func(r *approval.Record) { r.Blocked = true },
		"absent":   func(r *approval.Record) { r.Absent = true },
	} {
		r := s.Records[1]
		f(&r)
		c := approval.Change{SettingsID: s.Settings.ID, Name: "mail", Made: s.Server.Version, Records: []approval.Record{r}}
		b.fails(name+" changed without an entry", fault.Internal, b.Commit(b.ctx, c))
		c.Entries = []record.Entry{transition(s.Records[0], "i", "x", "held", r.Live, r.Live)}
		b.fails(name+" changed with another record's entry", fault.Internal, b.Commit(b.ctx, c))
	}
	c := seeing(s, "new")
	c.Entries = nil
	b.fails("a record without an entry", fault.Internal, b.Commit(b.ctx, c))
	c = blocking(s, s.Records[0])
	c.Records = nil
	b.fails("an entry without its record", fault.Internal, b.Commit(b.ctx, c))
	// A verdict or evidence is renewed without a transition; so are bytes of one meaning.
	r := s.Records[1]
	r.LiveScan.Bundle, r.Evidence.Signals = "b-2", nil
	r.Live = contract.Parse(append([]byte(" "), r.Live.Raw()...))
	b.must(b.Commit(b.ctx, approval.Change{SettingsID: s.Settings.ID, Name: "mail", Made: s.Server.Version, Records: []approval.Record{r}}))
	got := b.state("mail").Records[1]
	if got.LiveScan.Bundle != "b-2" || !bytes.Equal(got.Live.Raw(), r.Live.Raw()) || got.Version != r.Version+1 {
		t.Errorf("the record is %+v", got)
	}
	// One change may tell of one record twice.
	s = b.state("mail")
	c = blocking(s, s.Records[0])
	c.Entries = append(c.Entries, c.Entries[0])
	b.must(b.Commit(b.ctx, c))
	if c.Entries[0].Transition.State != [32]byte{} {
		t.Error("the caller's entry was written to")
	}
	b.verifies(len(b.entries()))
}

func remove(t *testing.T, open Open) {
	b := start(t, open)
	fill(b)
	old := b.state("mail")
	audit := len(b.entries())
	stale := approving(old, old.Records[1])
	b.must(b.Commit(b.ctx, removing(old)))
	if s := b.state("mail"); s.Server.Version != 0 || len(s.Records) > 0 {
		t.Errorf("of a removed server there is %+v", s)
	}
	if r, err := b.Report(b.ctx, "mail"); r != nil || err != nil {
		t.Errorf("of a removed server there is a report: %v, %v", r, err)
	}
	list, err := b.Tokens(b.ctx)
	b.must(err)
	if got := fmt.Sprint(list[0].Scope); got != "{[github] [github__* *]}" {
		t.Errorf("the token's grants are %s", got)
	}
	b.conflicts("removed twice", removing(old))
	b.must(b.Commit(b.ctx, adding(b.state("mail"), "mail", "i-2")))
	if v := b.state("mail").Server.Version; v <= old.Server.Version {
		t.Errorf("a server that was added again has the version %d, and had %d", v, old.Server.Version)
	}
	b.must(b.Commit(b.ctx, seeing(b.state("mail"), "z", "send", odd)))
	b.conflicts("an act on the removed server", stale)
	if got := len(b.entries()); got != audit+5 {
		t.Errorf("the audit has %d entries, and had %d before", got, audit)
	}
	b.verifies(audit + 5)
	// Nothing is stored under the name: there is nothing to remove, but it may be told.
	b.must(b.Commit(b.ctx, approval.Change{SettingsID: settings.ID, Name: "nobody", Remove: true, Entries: []record.Entry{serverEntry("nobody", "", "removed")}}))
}

// large is a listing at the limit of what is usual, with definitions at the limit of
// what is allowed among it.
func large(t *testing.T, open Open) {
	b := start(t, open)
	const tools = 800
	b.must(b.Commit(b.ctx, adding(b.state("mail"), "mail", "i-1")))
	names := make([]string, tools)
	for i := range names {
		names[i] = fmt.Sprint("tool-", i)
	}
	c := seeing(b.state("mail"), names...)
	long := contract.Parse([]byte(`{"name":"a","description":"` + strings.Repeat("é", contract.MaxBytes/2-20) + `"}`))
	if !long.Parsable() {
		t.Fatal(long.Problem())
	}
	for i := range 2 {
		c.Records[i].Live, c.Entries[i].Transition.New.Contract = long, long
	}
	b.must(b.Commit(b.ctx, c))
	b.again(nil)
	s := b.state("mail")
	if len(s.Records) != tools || !reflect.DeepEqual(s.Records[1].Live, long) || !s.Records[tools-1].Live.Equal(tool(names[tools-1], 1)) {
		t.Fatalf("%d records came back", len(s.Records))
	}
	b.must(b.Commit(b.ctx, approving(s, s.Records...)))
	b.verifies(1 + 2*tools)
}
