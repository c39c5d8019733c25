package intake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

var person = record.Actor{Kind: record.Person, Name: "ann"}

// disk is the real store, which can be made to fail.
type disk struct {
	*store.Store
	mu     sync.Mutex
	before func() error // before a commit; its error is the commit's
	after  func() error // after a commit that was kept
	states int          // State was called

	settings func() error // after settings that were kept
}

func (d *disk) State(ctx context.Context, server string) (approval.State, error) {
	d.mu.Lock()
	d.states++
	d.mu.Unlock()
	return d.Store.State(ctx, server)
}

func (d *disk) PutSettings(ctx context.Context, v approval.Settings, entries []record.Entry) error {
	if err := d.Store.PutSettings(ctx, v, entries); err != nil || d.settings == nil {
		return err
	}
	return d.settings()
}

func (d *disk) Commit(ctx context.Context, c approval.Change) error {
	d.mu.Lock()
	before, after := d.before, d.after
	d.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	if err := d.Store.Commit(ctx, c); err != nil {
		return err
	}
	if after != nil {
		return after()
	}
	return nil
}

func (d *disk) fail(before, after func() error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before, d.after = before, after
}

// shelf is what servers list, and how the listings go.
type shelf struct {
	mu        sync.Mutex
	offers    map[string][]approval.Offer
	current   map[string]string // incarnation
	verified  map[string]time.Time
	begun     map[string]int
	cancelled map[string]int
	err       error
	gate      chan struct{} // when set, a listing takes one from it before it ends
	listing   func(server string)
	announces bool // the next listing is followed by the news that it is outdated
}

func (s *shelf) List(ctx context.Context, server string) (approval.Listing, error) {
	s.mu.Lock()
	s.begun[server]++
	gate, hook := s.gate, s.listing
	s.mu.Unlock()
	if hook != nil {
		hook(server)
	}
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return approval.Listing{}, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return approval.Listing{}, s.err
	}
	s.verified[server] = time.Now()
	if s.announces {
		s.verified[server], s.announces = time.Time{}, false
	}
	return approval.Listing{Incarnation: s.current[server], Offers: slices.Clone(s.offers[server])}, nil
}

func (s *shelf) Verified(server string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verified[server]
}

func (s *shelf) CancelCalls(server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelled[server]++
}

func (s *shelf) count(server string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun[server]
}

func (s *shelf) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// room is an intake on a real store, with what it was told.
type room struct {
	t        testing.TB
	disk     *disk
	shelf    *shelf
	i        *Intake
	interval time.Duration
	bundle   atomic.Pointer[scan.Bundle] // none: no scan is complete
	log      strings.Builder

	mu        sync.Mutex
	swapped   []*dispatch.Catalogue
	restarted []string
}

func newRoom(t testing.TB) *room {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "holdfast.db"))
	if err != nil {
		t.Fatal(err)
	}
	r := &room{t: t, disk: &disk{Store: s}, interval: time.Hour, shelf: &shelf{
		offers: map[string][]approval.Offer{}, current: map[string]string{}, verified: map[string]time.Time{},
		begun: map[string]int{}, cancelled: map[string]int{},
	}}
	r.start()
	t.Cleanup(func() {
		r.i.Close()
		r.verifies()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.i.SetSettings(t.Context(), settings("scan"), person); err != nil {
		t.Fatal(err)
	}
	return r
}

// start makes a new intake on the same store, as a restart does.
func (r *room) start() {
	r.t.Helper()
	i, err := New(r.t.Context(), Options{
		Store: r.disk, Lister: r.shelf, Bundle: r.bundle.Load,
		Swapped: func(c *dispatch.Catalogue) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.swapped = append(r.swapped, c)
		},
		Restarted: func(server string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.restarted = append(r.restarted, server)
		},
		VerifyInterval: func() time.Duration { return r.interval },
		Now:            time.Now,
		Log:            slog.New(slog.NewTextHandler(&syncWriter{r: r}, nil)),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.i = i
}

type syncWriter struct{ r *room }

func (w *syncWriter) Write(p []byte) (int, error) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	return w.r.log.Write(p)
}

func (r *room) swaps() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.swapped)
}

func settings(mode string, change ...func(*approval.Settings)) approval.Settings {
	s := approval.Settings{DefaultMode: mode, OnHold: "block", Unannotated: contract.Destructive}
	for _, c := range change {
		c(&s)
	}
	s.ID = fmt.Sprintf("%s %v %s %s", s.DefaultMode, s.GateOff, s.OnHold, s.Unannotated)
	return s
}

func tool(name, text string) approval.Offer {
	return approval.Offer{Kind: approval.Tool, Name: name, Contract: contract.Parse(fmt.Appendf(nil,
		`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, text))}
}

func (r *room) add(name string, options approval.Options) {
	r.t.Helper()
	incarnation := rand.Text()
	r.shelf.set(func() { r.shelf.current[name] = incarnation })
	if _, err := r.i.Apply(r.t.Context(), name, func(s approval.State) (approval.Change, error) {
		return approval.Add(s, approval.AddRequest{
			Name: name, Way: approval.ByCLI, Actor: person, Incarnation: incarnation,
			Program: approval.Program{Type: "stdio", Command: "server"}, Options: options,
		})
	}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) offer(server string, offers ...approval.Offer) {
	r.shelf.set(func() { r.shelf.offers[server] = offers })
}

func (r *room) discover(server string) {
	r.t.Helper()
	if err := r.i.Discover(r.t.Context(), server); err != nil {
		r.t.Fatal(err)
	}
}

// quiet waits until no pass runs in the background.
func (r *room) quiet() {
	r.i.background.Wait()
}

func (r *room) approve(server string, names ...string) error {
	var seen []approval.Seen
	for _, name := range names {
		e, _ := r.i.Catalogue().Find(approval.Key{Server: server, Kind: approval.Tool, Name: name})
		seen = append(seen, approval.Seen{Kind: approval.Tool, Name: name, Digest: e.Record.Live.Digest()})
	}
	srv, _ := r.i.Catalogue().Server(server)
	_, err := r.i.Apply(r.t.Context(), server, func(s approval.State) (approval.Change, error) {
		return approval.Approve(s, approval.ReviewRequest{Actor: person, Incarnation: srv.Incarnation, Tools: seen})
	})
	return err
}

func (r *room) statuses(server string) string {
	var list []string
	for _, e := range r.i.Catalogue().Entries(server) {
		list = append(list, e.Record.Key.Name+" "+e.Record.Status.String())
	}
	return strings.Join(list, ", ")
}

func (r *room) audit(types ...record.Type) []record.Entry {
	r.t.Helper()
	list, err := r.disk.Audit(r.t.Context(), store.AuditFilter{Types: types, Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// same fails unless the catalogue in memory is what a restart would build.
func (r *room) same() {
	r.t.Helper()
	_, servers, records, err := r.disk.Load(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	describe := func(servers []approval.Server, records []approval.Record) string {
		var lines []string
		for _, s := range servers {
			lines = append(lines, fmt.Sprintf("%+v", s))
		}
		for _, x := range records {
			lines = append(lines, fmt.Sprintf("%v v%d %s %s %s %s %v %v %v %+v %+v %v", x.Key, x.Version, x.Status, x.Approved.Digest(), x.Anchor.Digest(),
				x.Live.Digest(), x.Declined, x.Blocked, x.Absent, x.ApprovedBy, x.AnchorBy, x.Evidence))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	c := r.i.Catalogue()
	var inMemory []approval.Record
	for _, s := range c.Servers() {
		for _, e := range c.Entries(s.Name) {
			inMemory = append(inMemory, e.Record)
		}
	}
	if memory, stored := describe(c.Servers(), inMemory), describe(servers, records); memory != stored {
		r.t.Fatalf("memory is not what is stored:\n%s\n--- stored:\n%s", memory, stored)
	}
}

// verifies checks the audit's chain and its transitions, at the end of a test.
func (r *room) verifies() {
	if report, err := r.disk.Verify(context.Background()); err != nil || report.BadSeq != 0 {
		r.t.Errorf("the audit does not verify: %+v, %v", report, err)
	}
}

func TestFromListingToCatalogue(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{TrustMode: "manual"})
	r.quiet() // an added server is listed by itself
	r.offer("notes", tool("b", "1"), tool("a", "1"))
	r.discover("notes")
	if got := r.statuses("notes"); got != "b pending, a pending" {
		t.Fatalf("after the first listing: %s", got)
	}
	if err := r.approve("notes", "a", "b"); err != nil {
		t.Fatal(err)
	}
	r.offer("notes", tool("a", "2"), tool("b", "1"), tool("c", "1"))
	before := r.swaps()
	r.discover("notes")
	if got := r.statuses("notes"); got != "a changed, b approved, c pending" {
		t.Fatalf("after a change: %s", got)
	}
	if r.swaps() != before+1 || r.swapped[before] != r.i.Catalogue() {
		t.Error("the new catalogue was not told once")
	}
	// The same again writes, swaps and tells nothing.
	entries := len(r.audit())
	r.discover("notes")
	if len(r.audit()) != entries || r.swaps() != before+1 {
		t.Error("a pass that found everything as it was wrote or told something")
	}
	// Another order alone is served in that order.
	r.offer("notes", tool("c", "1"), tool("b", "1"), tool("a", "2"))
	r.discover("notes")
	if got := r.statuses("notes"); got != "c pending, b approved, a changed" || r.swaps() != before+2 || len(r.audit()) != entries {
		t.Errorf("after another order: %s", got)
	}
	// What is not listed stays behind, as it was first stored, and an act keeps the order.
	r.offer("notes", tool("b", "1"))
	r.discover("notes")
	if err := r.approve("notes", "b"); err != nil {
		t.Fatal(err)
	}
	if got := r.statuses("notes"); got != "b approved, a changed, c pending" {
		t.Errorf("after two vanished: %s", got)
	}
	r.same()
}

func TestRestartChangesNothing(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{})
	r.offer("notes", tool("a", "1"), tool("b", "1"))
	r.discover("notes")
	if err := r.approve("notes", "a"); err != nil {
		t.Fatal(err)
	}
	r.offer("notes", tool("a", "2"), tool("b", "1"))
	r.discover("notes")
	r.same()
	r.i.Close()
	before := r.statuses("notes")
	r.start()
	if after := r.statuses("notes"); after != before || r.i.Catalogue().Settings() != settings("scan") {
		t.Errorf("before %s, after %s", before, after)
	}
	entries := len(r.audit())
	r.discover("notes")
	if len(r.audit()) != entries || r.statuses("notes") != before {
		t.Error("the first pass after a restart changed something")
	}
	r.same()
}

// A decision that lost its race is made again from what is stored now.
func TestLostRace(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{})
	r.quiet()
	r.offer("notes", tool("a", "1"))

	lost := 0
	r.disk.fail(func() error {
		if lost++; lost == 1 { // somebody else puts other settings in force first
			return r.disk.PutSettings(r.t.Context(), settings("auto"), nil)
		}
		return nil
	}, nil)
	r.discover("notes")
	if lost != 2 {
		t.Errorf("%d commits were tried", lost)
	}
	if got := r.statuses("notes"); got != "a approved" {
		t.Errorf("decided under the old settings: %s", got)
	}

	tries := 0
	r.disk.fail(func() error { tries++; return fault.New(fault.Conflict, "somebody else was first", "") }, nil)
	err := r.approve("notes", "a")
	if fault.KindOf(err) != fault.Conflict || tries != maxTries {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// A commit that fails changes nothing in memory; one that was kept although it was
// reported lost does.
func TestCommitFails(t *testing.T) {
	broken := fault.New(fault.Storage, "the disk is full", "")
	r := newRoom(t)
	r.add("notes", approval.Options{})
	r.offer("notes", tool("a", "1"))
	r.discover("notes")
	r.quiet()
	before := r.i.Catalogue()

	r.disk.fail(func() error { return broken }, nil)
	if err := r.approve("notes", "a"); fault.KindOf(err) != fault.Storage {
		t.Fatal(err)
	}
	if r.i.Catalogue() != before {
		t.Fatal("memory went ahead of the disk")
	}
	r.same()

	r.disk.fail(nil, func() error { return broken })
	if err := r.approve("notes", "a"); fault.KindOf(err) != fault.Storage {
		t.Fatal(err)
	}
	if got := r.statuses("notes"); got != "a approved" {
		t.Errorf("memory stayed behind the disk: %s", got)
	}
	if r.shelf.cancelled["notes"] == 0 {
		t.Error("calls in flight were not cancelled, though nobody knows what changed")
	}
	r.same()
}

// Once a decision is being committed, its caller leaving does not cut it off.
func TestCallerLeavesDuringTheCommit(t *testing.T) {
	r := newRoom(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.disk.fail(func() error { cancel(); return nil }, nil)
	_, err := r.i.Apply(ctx, "notes", func(s approval.State) (approval.Change, error) {
		return approval.Add(s, approval.AddRequest{Name: "notes", Way: approval.ByCLI, Actor: person, Incarnation: "i", Program: approval.Program{Command: "x"}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.i.Catalogue().Server("notes"); !ok {
		t.Error("the server is not there")
	}
	r.same()
}

// Acts on one server wait for each other; who waits may leave.
func TestLine(t *testing.T) {
	r := newRoom(t)
	inside, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := r.i.Apply(t.Context(), "notes", func(approval.State) (approval.Change, error) {
			close(inside)
			<-leave
			return approval.Change{}, nil
		})
		done <- err
	}()
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.i.Apply(ctx, "notes", nil); fault.KindOf(err) != fault.Cancelled {
		t.Errorf("who left the line: %v", err)
	}
	late, end := context.WithDeadline(t.Context(), time.Now())
	defer end()
	if _, err := r.i.Apply(late, "notes", nil); fault.KindOf(err) != fault.Timeout {
		t.Errorf("who had no time: %v", err)
	}
	r.add("other", approval.Options{}) // another server has a line of its own
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
	r.quiet()
	r.i.lines.mu.Lock()
	defer r.i.lines.mu.Unlock()
	if len(r.i.lines.by) != 0 {
		t.Error("empty lines are kept")
	}
}

// The law's refusals are faults with the same code.
func TestRefusalsAreFaults(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{})
	_, err := r.i.Apply(t.Context(), "notes", func(s approval.State) (approval.Change, error) {
		return approval.Add(s, approval.AddRequest{Name: "notes", Way: approval.ByCLI, Actor: person, Incarnation: "i", Program: approval.Program{Command: "x"}})
	})
	refused, ok := errors.AsType[*approval.Refused](err)
	if !ok || fault.KindOf(err) != fault.ServerExists || err.Error() != refused.What || fault.HintOf(err) != refused.Hint {
		t.Errorf("%v", err)
	}
	_, err = r.i.Apply(t.Context(), "other", func(approval.State) (approval.Change, error) {
		return approval.Change{Name: "notes", Remove: true}, nil
	})
	if fault.KindOf(err) != fault.Internal {
		t.Errorf("a change of another server: %v", err)
	}
	mine := errors.New("mine")
	if _, err := r.i.Apply(t.Context(), "notes", func(approval.State) (approval.Change, error) { return approval.Change{}, mine }); err != mine {
		t.Errorf("an error of the act: %v", err)
	}
}

// Calls are cancelled once the new catalogue refuses more of them, and before
// anybody is told.
func TestEffects(t *testing.T) {
	r := newRoom(t)
	r.add("notes", approval.Options{TrustMode: "auto"})
	r.offer("notes", tool("a", "1"))
	r.discover("notes")
	r.quiet()
	if _, err := r.i.Apply(t.Context(), "notes", func(s approval.State) (approval.Change, error) { return approval.Quarantine(s, person) }); err != nil {
		t.Fatal(err)
	}
	if r.shelf.cancelled["notes"] != 1 {
		t.Errorf("calls were cancelled %d times", r.shelf.cancelled["notes"])
	}
	if srv, _ := r.i.Catalogue().Server("notes"); !srv.Quarantined {
		t.Error("it is not quarantined")
	}

	listings := r.shelf.count("notes")
	other := approval.Program{Type: "stdio", Command: "another"}
	if _, err := r.i.Apply(t.Context(), "notes", func(s approval.State) (approval.Change, error) {
		return approval.Edit(s, approval.EditRequest{Actor: person, Program: &other, Incarnation: "next"})
	}); err != nil {
		t.Fatal(err)
	}
	r.shelf.set(func() { r.shelf.current["notes"] = "next" })
	r.quiet()
	if !slices.Equal(r.restarted, []string{"notes"}) {
		t.Errorf("restarted: %v", r.restarted)
	}
	if r.shelf.count("notes") <= listings {
		t.Error("what is run now was not listed")
	}

	if _, err := r.i.Apply(t.Context(), "notes", func(s approval.State) (approval.Change, error) { return approval.Remove(s, person) }); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.i.Catalogue().Server("notes"); ok || len(r.i.listed) != 0 {
		t.Error("it is still there")
	}
	r.add("notes", approval.Options{}) // and may come again, as another one
	r.quiet()
	r.same()
}

func TestSetSettings(t *testing.T) {
	r := newRoom(t)
	r.add("default", approval.Options{})
	r.add("manual", approval.Options{TrustMode: "manual"})
	r.quiet()
	count := func() string { return fmt.Sprint(r.shelf.count("default"), r.shelf.count("manual")) }
	put := func(s approval.Settings) {
		t.Helper()
		if err := r.i.SetSettings(t.Context(), s, person); err != nil {
			t.Fatal(err)
		}
		r.quiet()
		if r.i.Catalogue().Settings().ID != s.ID {
			t.Fatal("not in force")
		}
	}
	entries, swaps := len(r.audit(record.TypeSettings)), r.swaps()
	put(settings("scan"))
	if len(r.audit(record.TypeSettings)) != entries || r.swaps() != swaps || count() != "1 1" {
		t.Errorf("the same settings: %s", count())
	}
	put(settings("auto"))
	if len(r.audit(record.TypeSettings)) <= entries || r.swaps() <= swaps || count() != "2 1" {
		t.Errorf("another default mode concerns the one without a mode: %s", count())
	}
	put(settings("auto", func(s *approval.Settings) { s.GateOff = true }))
	if count() != "3 2" {
		t.Errorf("the gate concerns all: %s", count())
	}
	if err := r.i.SetSettings(t.Context(), approval.Settings{}, person); fault.KindOf(err) != fault.Internal {
		t.Errorf("settings without an id: %v", err)
	}
	r.same()

	// Settings that were kept although they were reported lost are in force.
	r.disk.settings = func() error { return fault.New(fault.Storage, "the disk is full", "") }
	if err := r.i.SetSettings(t.Context(), settings("manual"), person); fault.KindOf(err) != fault.Storage {
		t.Errorf("got %v", err)
	}
	r.quiet()
	r.same()
	if id := r.i.Catalogue().Settings().ID; id != settings("manual").ID {
		t.Errorf("in force is %s", id)
	}
}

// The neighbours of a pass are the approved tools of the other servers that run and
// are not quarantined.
func TestNeighbours(t *testing.T) {
	r := newRoom(t)
	for _, name := range []string{"a", "b", "c"} {
		r.add(name, approval.Options{TrustMode: "auto"})
		r.offer(name, tool("t-"+name, "1"))
		r.discover(name)
	}
	r.quiet()
	if _, err := r.i.Apply(t.Context(), "c", func(s approval.State) (approval.Change, error) { return approval.Quarantine(s, person) }); err != nil {
		t.Fatal(err)
	}
	seen := neighbours(r.i.Catalogue(), "a")
	if len(seen) != 1 || seen[0].Server != "b" || seen[0].Name != "t-b" || seen[0].Contract.IsZero() {
		t.Errorf("neighbours: %+v", seen)
	}
}
