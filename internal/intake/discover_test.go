package intake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// until waits for what another goroutine is about to do.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain until " + what)
		}
	}
}

func (r *room) waiting(server string) (running, next int) {
	r.i.passes.Lock()
	defer r.i.passes.Unlock()
	l := r.i.lanes[server]
	if l == nil {
		return 0, 0
	}
	running = l.running.waiting
	if l.next != nil {
		next = l.next.waiting
	}
	return running, next
}

// Who asks while a listing is being taken is served by the next one, all together.
func TestDiscoverIsShared(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{})
	r.quiet()
	before := r.shelf.count("notes")
	gate := make(chan struct{})
	r.shelf.set(func() { r.shelf.gate = gate })

	var group sync.WaitGroup
	ask := func() {
		if err := r.i.Discover(t.Context(), "notes"); err != nil {
			t.Error(err)
		}
	}
	group.Go(ask)
	until(t, "the first listing begins", func() bool { return r.shelf.count("notes") == before+1 })
	for range 20 {
		group.Go(ask)
	}
	until(t, "all others wait", func() bool { _, next := r.waiting("notes"); return next == 20 })
	close(gate)
	group.Wait()
	if got := r.shelf.count("notes") - before; got != 2 {
		t.Errorf("%d listings", got)
	}
	r.quiet()
	if len(r.i.lanes) != 0 {
		t.Error("lanes are kept")
	}
}

// However many ask and whenever, each is served by a listing that began after it asked.
func TestNoStalePass(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{})
	r.quiet()
	r.interval = 0
	var group sync.WaitGroup
	for range 30 {
		group.Go(func() {
			for range 20 {
				asked := r.shelf.count("notes") // listings begun before the question
				var err error
				if rand.N(2) == 0 {
					err = r.i.Discover(t.Context(), "notes")
				} else {
					err = r.i.Fresh(t.Context(), "notes")
				}
				if err != nil || r.shelf.count("notes") <= asked {
					t.Errorf("%v; %d listings had begun before, %d now", err, asked, r.shelf.count("notes"))
				}
			}
		})
	}
	group.Wait()
}

// Who leaves does not take the pass away from the others; when the last one leaves
// the listing is given up.
func TestLeavingAPass(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{})
	r.quiet()
	before := r.shelf.count("notes")
	gate := make(chan struct{})
	r.shelf.set(func() { r.shelf.gate = gate })

	results := make(chan error, 3)
	leaving, leave := context.WithCancel(t.Context())
	go func() { results <- r.i.Discover(leaving, "notes") }()
	until(t, "the listing begins", func() bool { return r.shelf.count("notes") == before+1 })
	staying, leaveToo := context.WithCancel(t.Context())
	go func() { results <- r.i.Discover(staying, "notes") }()
	until(t, "the second waits", func() bool { _, next := r.waiting("notes"); return next == 1 })

	leave() // the only one of the running pass: its listing ends, the next begins
	if err := <-results; fault.KindOf(err) != fault.Cancelled {
		t.Errorf("who left: %v", err)
	}
	until(t, "the next listing begins", func() bool { return r.shelf.count("notes") == before+2 })

	go func() { results <- r.i.Discover(t.Context(), "notes") }()
	until(t, "the third waits", func() bool { _, next := r.waiting("notes"); return next == 1 })
	leaveToo()
	if err := <-results; fault.KindOf(err) != fault.Cancelled {
		t.Errorf("who left too: %v", err)
	}
	gate <- struct{}{} // for the third alone
	if err := <-results; err != nil {
		t.Errorf("who stayed: %v", err)
	}
	r.quiet()
}

func TestFresh(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{})
	r.offer("notes", tool("a", "1"))
	r.quiet()
	fresh := func(wantListings int) {
		t.Helper()
		before := r.shelf.count("notes")
		if err := r.i.Fresh(t.Context(), "notes"); err != nil {
			t.Fatal(err)
		}
		if got := r.shelf.count("notes") - before; got != wantListings {
			t.Fatalf("%d listings, want %d", got, wantListings)
		}
	}
	age := func(d time.Duration) {
		r.shelf.set(func() { r.shelf.verified["notes"] = r.shelf.verified["notes"].Add(-d) })
	}
	r.discover("notes")
	fresh(0)
	age(2 * time.Hour) // over the interval of an hour
	fresh(1)
	fresh(0)
	r.shelf.set(func() { r.shelf.verified["notes"] = time.Time{} }) // list_changed, or another connection
	fresh(1)
	fresh(0)
	age(-2 * time.Hour) // the clock was set back: nobody knows how old it is
	fresh(1)
	r.interval = 0
	fresh(1)
	fresh(1)
	r.interval = time.Hour

	// A listing that was taken and could not be taken in is no verification.
	r.discover("notes")
	r.disk.fail(func() error { return fault.New(fault.Storage, "the disk is full", "") }, nil)
	r.offer("notes", tool("a", "2"))
	if err := r.i.Discover(t.Context(), "notes"); fault.KindOf(err) != fault.Storage {
		t.Fatal(err)
	}
	if err := r.i.Fresh(t.Context(), "notes"); fault.KindOf(err) != fault.Unverified {
		t.Fatalf("what is listed is newer than what is judged: %v", err)
	}
	r.disk.fail(nil, nil)
	fresh(1)

	r.shelf.set(func() {
		r.shelf.err = fault.New(fault.Unavailable, "notes is gone.", "")
		r.shelf.verified["notes"] = time.Time{}
	})
	err := r.i.Fresh(t.Context(), "notes")
	if fault.KindOf(err) != fault.Unverified || err.Error() != "the tools of notes could not be listed again: notes is gone" {
		t.Errorf("%v", err)
	}
}

// All that wait for a stale server share the listing that is being taken, if it is
// one that counts when it ends: a change that was announced meanwhile has those who
// did not begin it ask again.
func TestFreshIsShared(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{})
	r.quiet()
	for announced, want := range map[bool][2]int{false: {1, 1}, true: {2, 5}} { // on a slow machine some ask once more

		gate := make(chan struct{})
		r.shelf.set(func() {
			r.shelf.verified["notes"] = time.Time{}
			r.shelf.gate, r.shelf.announces = gate, announced
		})
		before := r.shelf.count("notes")
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if err := r.i.Fresh(t.Context(), "notes"); err != nil {
					t.Error(err)
				}
			})
		}
		until(t, "all wait", func() bool { running, _ := r.waiting("notes"); return running == 20 })
		close(gate)
		group.Wait()
		if got := r.shelf.count("notes") - before; got < want[0] || got > want[1] {
			t.Errorf("announced %v: %d listings, want %v", announced, got, want)
		}
		r.shelf.set(func() { r.shelf.gate = nil })
	}
}

// A listing of what ran before is not taken in: the one of what runs now is.
func TestListingOfAnotherIncarnation(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{TrustMode: "auto"})
	r.quiet()
	r.offer("notes", tool("a", "1"))
	right := r.shelf.current["notes"]
	r.shelf.set(func() {
		r.shelf.current["notes"] = "before"
		r.shelf.listing = func(string) {
			r.shelf.set(func() {
				if r.shelf.begun["notes"] > 2 {
					r.shelf.current["notes"] = right
				}
			})
		}
	})
	r.discover("notes")
	if got := r.statuses("notes"); got != "a approved" {
		t.Errorf("got %s", got)
	}
	r.shelf.set(func() { r.shelf.listing, r.shelf.current["notes"] = nil, "never" })
	before := r.shelf.count("notes")
	if err := r.i.Discover(t.Context(), "notes"); fault.KindOf(err) != fault.ServerReplaced || r.shelf.count("notes") != before+maxListings {
		t.Errorf("%v after %d listings", err, r.shelf.count("notes")-before)
	}
}

// What a server does wrong is written down once; that it is not there is not.
func TestFailedListings(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{TrustMode: "auto"})
	r.offer("notes", tool("a", "1"))
	r.quiet()
	before := r.statuses("notes")
	fails := func(err error, wantEntries int) {
		t.Helper()
		r.shelf.set(func() { r.shelf.err = err })
		if got := r.i.Discover(t.Context(), "notes"); got == nil {
			t.Fatal("no error")
		}
		if got := len(r.audit(record.TypePass)); got != wantEntries {
			t.Fatalf("%v: %d entries, want %d", err, got, wantEntries)
		}
		if r.statuses("notes") != before {
			t.Fatal("a failed listing changed something")
		}
	}
	loop := fault.New(fault.Protocol, "notes repeats a cursor\u202e", "")
	fails(fault.New(fault.Unavailable, "gone", ""), 0)
	fails(loop, 1)
	fails(loop, 1)
	fails(fault.New(fault.Upstream, "error -32603", ""), 1)
	fails(loop, 1)
	fails(fault.New(fault.TooLarge, "too much", ""), 2)
	fails(loop, 3)
	r.shelf.set(func() { r.shelf.err = nil })
	r.discover("notes")
	before = r.statuses("notes")
	fails(loop, 4)
	e := r.audit(record.TypePass)[0]
	if e.Act.What != "listing_failed" || e.Act.Detail["kind"] != "protocol" || e.Act.Detail["why"] != `notes repeats a cursor\u202e` || e.Server != "notes" || e.Incarnation == "" {
		t.Errorf("entry: %+v %+v", e, e.Act)
	}

	// The law refuses a listing that names a tool twice; that is reported alike.
	r.shelf.set(func() { r.shelf.err = nil })
	r.offer("notes", tool("a", "1"), tool("a", "2"))
	if err := r.i.Discover(t.Context(), "notes"); fault.KindOf(err) != fault.Protocol {
		t.Errorf("a name twice: %v", err)
	}
	// How each pass ended is told, refusals of the law too.
	r.mu.Lock()
	if n := len(r.ended); n < 9 || fault.KindOf(r.ended[n-1]) != fault.Protocol || r.ended[n-2] != loop || r.ended[n-3] != nil {
		t.Errorf("passes ended with %v", r.ended)
	}
	r.mu.Unlock()
	if got := len(r.audit(record.TypePass)); got != 5 {
		t.Errorf("%d entries", got)
	}
	if !strings.Contains(r.log.String(), "a listing could not be taken") {
		t.Error("nothing was logged")
	}
}

// A definition that is no text can be held, written down and shown like any other,
// and the others of its server go on.
func TestUnreadableDefinitionIsHeldAlone(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{TrustMode: "auto"})
	bad := func(raw string) approval.Offer {
		return approval.Offer{Kind: approval.Tool, Name: "b", Contract: contract.Parse([]byte(raw))}
	}
	r.offer("notes", tool("a", "1"), bad("{\"name\":\"b\",\"x\":\"\xe9\xff\"}"), tool("c", "1"))
	r.discover("notes")
	if got := r.statuses("notes"); !strings.Contains(got, "a approved") || !strings.Contains(got, "b pending") || !strings.Contains(got, "c approved") {
		t.Errorf("statuses: %s", got)
	}
	r.offer("notes", tool("a", "2"), bad(`{"name":"b","x":1,"x":2}`), tool("c", "2"))
	r.discover("notes")
	if got := r.statuses("notes"); !strings.Contains(got, "a approved") || !strings.Contains(got, "b pending") {
		t.Errorf("statuses: %s", got)
	}
	r.same()
}

func TestLeftOutEntriesAreReportedOnce(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{})
	r.quiet()
	out := []string{"entry 3 has no name", strings.Repeat("x", 1000)}
	l := approval.Listing{LeftOut: out}
	for range 3 {
		r.i.passDone(t.Context(), "notes", l, approval.Change{}, time.Time{})
	}
	entries := r.audit(record.TypePass)
	if len(entries) != 1 || entries[0].Act.What != "left_out" || entries[0].Act.Detail["count"] != "2" || len(entries[0].Act.Detail["entries"]) > 300 {
		t.Errorf("entries: %+v", entries)
	}
	r.i.passDone(t.Context(), "notes", approval.Listing{}, approval.Change{}, time.Time{})
	r.i.passDone(t.Context(), "notes", l, approval.Change{}, time.Time{})
	if got := len(r.audit(record.TypePass)); got != 2 {
		t.Errorf("after a good pass: %d entries", got)
	}
}

// Close ends a pass that waits for its server.
func TestClose(t *testing.T) {
	r := newRoom(t)
	r.shelf.set(func() { r.shelf.gate = make(chan struct{}) })
	r.add("notes", approval.Options{}) // lists in the background
	until(t, "the listing begins", func() bool { return r.shelf.count("notes") == 1 })
	r.i.Close()
	if err := r.i.Discover(t.Context(), "notes"); fault.KindOf(err) != fault.Unavailable || r.shelf.count("notes") != 1 {
		t.Errorf("a pass after the end: %v", err)
	}
	r.i.passSoon("notes")
	r.quiet()
	if r.shelf.count("notes") != 1 {
		t.Error("a pass began after the end")
	}
}

// Many act, list and ask at once; at the end memory is what is stored.
func TestAtOnce(t *testing.T) {
	r := newRoom(t)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		r.add(name, approval.Options{TrustMode: []string{"auto", "manual", "scan"}[len(name)%3]})
		r.offer(name, tool("x", "1"), tool("y", "1"))
	}
	var group sync.WaitGroup
	for n := range 12 {
		group.Go(func() {
			for k := range 15 {
				name := names[rand.N(len(names))]
				switch n % 4 {
				case 0:
					r.offer(name, tool("x", fmt.Sprint(k)), tool(fmt.Sprint("z", k%3), "1"))
					_ = r.i.Discover(t.Context(), name)
				case 1:
					_ = r.approve(name, "x", "y") // may be out of date by now
				case 2:
					act := func(s approval.State, who record.Actor) (approval.Change, error) {
						return approval.Enable(s, approval.EnableRequest{Actor: who})
					}
					if k%2 == 0 {
						act = approval.Disable
					}
					if _, err := r.i.Apply(t.Context(), name, func(s approval.State) (approval.Change, error) { return act(s, person) }); err != nil {
						t.Error(err)
					}
				case 3:
					s := settings([]string{"scan", "auto", "manual"}[k%3])
					if err := r.i.SetSettings(t.Context(), s, person); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	r.quiet()
	r.same()
	for n := 1; n < len(r.swapped); n++ {
		if r.swapped[n] == r.swapped[n-1] {
			t.Fatal("one catalogue was told twice")
		}
	}
	if r.swapped[len(r.swapped)-1] != r.i.Catalogue() {
		t.Error("the last catalogue told is not the one in force")
	}
}

// After any acts in any order, memory is what a restart would build, and a restart
// changes nothing.
func TestMemoryFollowsTheStore(t *testing.T) {
	r := newRoom(t)
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 12).Draw(rt, "acts") {
			name := rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "server")
			_, there := r.i.Catalogue().Server(name)
			switch rapid.IntRange(0, 6).Draw(rt, "act") {
			case 0, 1:
				if !there {
					r.add(name, approval.Options{TrustMode: rapid.SampledFrom([]string{"", "manual", "scan", "auto"}).Draw(rt, "mode")})
				}
				var offers []approval.Offer
				for _, t := range rapid.Permutation([]string{"x", "y", "z"}).Draw(rt, "listed")[:rapid.IntRange(0, 3).Draw(rt, "count")] {
					offers = append(offers, tool(t, rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "text")))
				}
				r.offer(name, offers...)
				_ = r.i.Discover(t.Context(), name)
			case 2:
				_ = r.approve(name, "x")
			case 3:
				_, _ = r.i.Apply(t.Context(), name, func(s approval.State) (approval.Change, error) { return approval.Quarantine(s, person) })
			case 4:
				_, _ = r.i.Apply(t.Context(), name, func(s approval.State) (approval.Change, error) { return approval.Remove(s, person) })
			case 5:
				if err := r.i.SetSettings(t.Context(), settings(rapid.SampledFrom([]string{"scan", "auto"}).Draw(rt, "default")), person); err != nil {
					t.Fatal(err)
				}
			case 6:
				r.i.Close()
				r.start()
			}
			r.quiet()
		}
		r.same()
	})
}
