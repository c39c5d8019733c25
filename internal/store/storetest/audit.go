package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// ids gives the ids of the calls in the audit, oldest first.
func (b *bench) ids() (ids []string) {
	b.t.Helper()
	for _, e := range b.entries() {
		if e.Call != nil {
			ids = append(ids, e.Call.ID)
		}
	}
	return ids
}

// order: what one caller appends and enqueues stands in the audit in that order.
func order(t *testing.T, open Open) {
	b := start(t, open)
	var want []string
	for i := range 300 {
		id := fmt.Sprint(i)
		want = append(want, id)
		if i%10 == 9 {
			b.must(b.Append(b.ctx, calling(record.TypeIntent, id)))
			if got := b.ids(); !slices.Equal(got, want) {
				t.Fatalf("after an append the audit has %v", got)
			}
		} else {
			b.Enqueue(calling(record.TypeOutcome, id))
		}
	}
	b.must(b.Append(b.ctx))
	b.must(b.Append(b.ctx, calling(record.TypeIntent, "a"), calling(record.TypeOutcome, "b")))
	if got := b.ids(); !slices.Equal(got, append(want, "a", "b")) {
		t.Fatalf("the audit has %v", got)
	}
	b.verifies(302)
}

// closeWritesTheRest: enqueued entries are written soon, and all of them by Close;
// more of them than may wait are not lost.
func closeWritesTheRest(t *testing.T, open Open) {
	b := start(t, open)
	for i := range 3 {
		b.Enqueue(calling(record.TypeOutcome, fmt.Sprint("few-", i)))
	}
	b.again(nil)
	b.verifies(3)
	const many = 5_000
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range many / 4 {
				b.Enqueue(calling(record.TypeOutcome, fmt.Sprint(w, "-", i)))
			}
		})
	}
	all.Wait()
	b.again(nil)
	b.verifies(3 + many)
	last := map[string]int{}
	for _, id := range b.ids()[3:] {
		var w string
		var i int
		if _, err := fmt.Sscanf(strings.Replace(id, "-", " ", 1), "%s %d", &w, &i); err != nil || last[w] != i {
			t.Fatalf("%s stands where %s-%d belongs: %v", id, w, last[w], err)
		}
		last[w]++
	}
	b.Enqueue(calling(record.TypeOutcome, "soon"))
	for deadline := time.Now().Add(5 * time.Second); len(b.ids()) <= 3+many; {
		if time.Now().After(deadline) {
			t.Fatal("an enqueued entry was not written within 5 s")
		}
	}
}

// cancelled: what was given up in time was not written.
func cancelled(t *testing.T, open Open) {
	b := start(t, open)
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	b.fails("an append", fault.Cancelled, b.Append(ctx, calling(record.TypeIntent, "1")))
	b.fails("a commit", fault.Cancelled, b.Commit(ctx, adding(b.state("mail"), "mail", "i-1")))
	late, cancel := context.WithDeadline(b.ctx, noon)
	defer cancel()
	b.fails("a late append", fault.Timeout, b.Append(late, calling(record.TypeIntent, "1")))
	if _, err := b.State(ctx, "mail"); fault.KindOf(err) != fault.Cancelled {
		t.Errorf("a read: %v", err)
	}
	b.verifies(0)

	// Given up at any moment, each is written whole or not at all, as its error says.
	var mu sync.Mutex
	var all sync.WaitGroup
	written := 0
	for i := range 64 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(b.ctx, time.Duration(i)*30*time.Microsecond)
			defer cancel()
			if b.Append(ctx, calling(record.TypeIntent, "a"), calling(record.TypeOutcome, "b")) == nil {
				mu.Lock()
				written += 2
				mu.Unlock()
			}
		})
	}
	all.Wait()
	b.verifies(written)
}

func filters(t *testing.T, open Open) {
	b := start(t, open)
	fill(b)
	for i := range 250 {
		e := calling(record.TypeIntent, fmt.Sprint(i))
		e.Time = noon.Add(time.Duration(i) * time.Second)
		b.Enqueue(e)
	}
	b.must(b.Append(b.ctx, calling(record.TypeRefusal, "last")))
	all := b.entries()
	slices.Reverse(all)
	for name, c := range map[string]struct {
		f    store.AuditFilter
		take func(e record.Entry) bool
	}{
		"all":       {store.AuditFilter{}, func(record.Entry) bool { return true }},
		"server":    {store.AuditFilter{Server: "github"}, func(e record.Entry) bool { return e.Server == "github" }},
		"no server": {store.AuditFilter{Server: "git"}, func(record.Entry) bool { return false }},
		"name":      {store.AuditFilter{Name: odd}, func(e record.Entry) bool { return e.Name == odd }},
		"one type":  {store.AuditFilter{Types: []record.Type{record.TypeTransition}}, func(e record.Entry) bool { return e.Type == record.TypeTransition }},
		"types":     {store.AuditFilter{Types: []record.Type{record.TypeToken, record.TypeRefusal}}, func(e record.Entry) bool { return e.Type == record.TypeToken || e.Type == record.TypeRefusal }},
		"since":     {store.AuditFilter{Since: noon.Add(240 * time.Second)}, func(e record.Entry) bool { return !e.Time.Before(noon.Add(240 * time.Second)) }},
		"until":     {store.AuditFilter{Until: noon.Add(time.Second)}, func(e record.Entry) bool { return e.Time.Before(noon.Add(time.Second)) }},
		"before":    {store.AuditFilter{Before: 10}, func(e record.Entry) bool { return e.Seq < 10 }},
		"all together": {store.AuditFilter{Server: "mail", Name: "send", Types: []record.Type{record.TypeIntent}, Since: noon, Until: noon.Add(20 * time.Second), Text: "REQ-1", Before: 60}, func(e record.Entry) bool {
			return e.Type == record.TypeIntent && strings.HasPrefix(e.RequestID, "req-1") && e.Time.Before(noon.Add(20*time.Second)) && e.Seq < 60
		}},
		"text": {store.AuditFilter{Text: "call-no-such"}, func(record.Entry) bool { return false }},
	} {
		for _, limit := range []int{0, 1, 7, 10_000} {
			var want []record.Entry
			for _, e := range all {
				if n := max(limit, 100*(1-min(limit, 1))); c.take(e) && len(want) < n {
					want = append(want, e)
				}
			}
			c.f.Limit = limit
			got, err := b.Audit(b.ctx, c.f)
			b.must(err)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, limit %d: %d entries, and %d were expected", name, limit, len(got), len(want))
			}
		}
	}
}

// textSearch: a text is found as it is, whatever it is made of.
func textSearch(t *testing.T, open Open) {
	b := start(t, open)
	with := func(detail map[string]string) {
		b.must(b.Append(b.ctx, record.Entry{Time: noon, Type: record.TypeServer, Actor: person, Server: "mail", Act: &record.Act{What: "added", Detail: detail}}))
	}
	texts := []string{
		`50% off`, `a_b`, `axb`, `say "hi"`, `it's`, `back\slash`, "line\nbreak", "nul\x00byte", "Ünïcode", "😀", "caf\xe9 \xff", "\xff\xfe",
		`n`, `server":"mail`, `*`, `NEAR`, `a AND b`, "tab\there", "\u2028", `</script>`, `{"base64":"x`,
	}
	for i, s := range texts {
		with(map[string]string{"v" + fmt.Sprint(i): s})
	}
	with(map[string]string{"base64": "plain", "Key Of It": "x"})
	for i, s := range texts {
		got, err := b.Audit(b.ctx, store.AuditFilter{Text: s})
		b.must(err)
		if !slices.ContainsFunc(got, func(e record.Entry) bool { return e.Seq == int64(i+1) }) {
			t.Errorf("%q is not found", s)
		}
	}
	for text, want := range map[string]int{
		`0%`: 1, `a_b`: 1, `a%b`: 0, `SAY "HI"`: 1, `\n`: 0, "\n": 1, `back\\slash`: 0, "ünïcode": 0, "ÜNïCODE": 1, "é": 0, "\xe9 ": 1, "\xff": 2,
		`"`: 3, `what`: 0, `detail`: 0, "added": len(texts) + 1, "anna": len(texts) + 1, "key of": 1, "PLAIN": 1, "base64": 2, "y6k=": 0, "req": 0, "\x00": 1, "v1": 11,
	} {
		got, err := b.Audit(b.ctx, store.AuditFilter{Text: text})
		b.must(err)
		if len(got) != want {
			t.Errorf("%q is found in %d entries, and stands in %d", text, len(got), want)
		}
	}
}

func walk(t *testing.T, open Open) {
	b := start(t, open)
	fill(b)
	for range 1200 {
		b.Enqueue(calling(record.TypeOutcome, "c"))
	}
	b.must(b.Append(b.ctx, calling(record.TypeIntent, "last")))
	all := b.entries()
	var prev [32]byte
	for i, e := range all {
		if e.Seq != int64(i+1) || e.Prev != prev || record.Check(e) != nil {
			t.Fatalf("entry %d does not follow: %+v", i+1, e)
		}
		prev = e.Hash
		line, err := json.Marshal(e)
		b.must(err)
		var back record.Entry
		if err := json.Unmarshal(line, &back); err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%s\n%v", line, err)
		}
		if i%50 == 0 || e.Transition != nil {
			if one, err := b.Entry(b.ctx, e.Seq); err != nil || !reflect.DeepEqual(one, e) {
				t.Fatalf("entry %d alone is %+v, %v", e.Seq, one, err)
			}
		}
	}
	for _, seq := range []int64{0, -1, int64(len(all)) + 1} {
		_, err := b.Entry(b.ctx, seq)
		b.fails(fmt.Sprint("entry ", seq), fault.NotFound, err)
	}
	stop := errors.New("enough")
	n := 0
	err := b.Walk(b.ctx, 1000, func(e record.Entry) error {
		if n++; n == 10 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 10 {
		t.Errorf("the walk ended after %d with %v", n, err)
	}
	b.must(b.Walk(b.ctx, int64(len(all))+1, func(record.Entry) error { return stop }))
	// Entries that are written meanwhile are walked too.
	n = 0
	b.must(b.Walk(b.ctx, int64(len(all)), func(e record.Entry) error {
		if n++; n < 5 {
			return b.Append(b.ctx, e)
		}
		return nil
	}))
	if n != 5 {
		t.Errorf("%d entries were walked", n)
	}
}

func refusedEntries(t *testing.T, open Open) {
	b := start(t, open)
	bad := record.Entry{Time: noon, Type: record.TypeIntent}
	b.fails("an entry without its part", fault.Internal, b.Append(b.ctx, calling(record.TypeIntent, "1"), bad))
	b.fails("settings with such an entry", fault.Internal, b.PutSettings(b.ctx, settings, []record.Entry{bad}))
	b.fails("settings that are not UTF-8", fault.Internal, b.PutSettings(b.ctx, approval.Settings{OnHold: "\xff"}, nil))
	b.fails("a revocation with such an entry", fault.Internal, b.RevokeToken(b.ctx, "ci", noon, bad))
	b.verifies(0)
	b.Enqueue(bad)
	b.must(b.Append(b.ctx, calling(record.TypeIntent, "2")))
	all := b.entries()
	if len(all) != 2 || all[0].Act == nil || all[0].Act.What != "entry_not_written" {
		t.Errorf("in place of an entry that can't be written there is %+v", all)
	}
}

// together: everything at once, and the audit is whole.
func together(t *testing.T, open Open) {
	b := start(t, open)
	fill(b)
	before := len(b.entries())
	var all sync.WaitGroup
	var mu sync.Mutex
	entries := 0
	count := func(n int) { mu.Lock(); entries += n; mu.Unlock() }
	for w := range 6 {
		all.Go(func() {
			for i := range 25 {
				switch w {
				case 0, 1:
					if err := b.Append(b.ctx, calling(record.TypeIntent, "a"), calling(record.TypeOutcome, "b")); err != nil {
						t.Error(err)
					}
					count(2)
				case 2:
					b.Enqueue(calling(record.TypeOutcome, "c"))
					b.TouchToken("t1", noon.Add(time.Duration(i)*time.Second))
					count(1)
				case 3, 4:
					s, err := b.State(b.ctx, "mail")
					if err != nil {
						t.Error(err)
						return
					}
					if err := b.Commit(b.ctx, changing(s, 1000+100*w+i, s.Records[0])); err == nil {
						count(1)
					} else {
						b.fails("a rival", fault.Conflict, err)
					}
				default:
					if i >= 8 {
						return
					}
					if r, err := b.Verify(b.ctx); err != nil || r.BadSeq != 0 {
						t.Error(r, err)
					}
					if _, err := b.Audit(b.ctx, store.AuditFilter{Text: odd}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	b.again(nil)
	b.verifies(before + entries)
}
