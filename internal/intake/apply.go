package intake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// A lost race starts again. Acts on one server wait for each other, so a race can
// only be lost to the settings or to another process on the same database.
const (
	maxTries  = 8
	firstWait = 2 * time.Millisecond // doubled with each try, and jittered
)

// Act decides: the state that is stored in, the change to commit out. It is called
// again when a race was lost, so it must not have effects of its own.
type Act = func(approval.State) (approval.Change, error)

// Apply runs one act on a server to its end: it loads the state, decides, commits
// and swaps; a lost race starts again. The error is act's, or a fault; a refusal
// of the law is a fault whose kind is the refusal's code. When it returns nil the
// change is durable, in force and told; ctx ending after the decision does not
// undo it.
func (i *Intake) Apply(ctx context.Context, server string, act Act) (approval.Change, error) {
	return i.apply(ctx, server, nil, act)
}

// apply is Apply; listing is the order of the server's tools when act is a pass.
func (i *Intake) apply(ctx context.Context, server string, listing []approval.Key, act Act) (approval.Change, error) {
	unlock, err := i.lines.lock(ctx, server)
	if err != nil {
		return approval.Change{}, err
	}
	defer unlock()

	for try := 0; ; try++ {
		change, err := i.attempt(ctx, server, listing, act)
		if err == nil || try == maxTries-1 || fault.KindOf(err) != fault.Conflict {
			return change, err
		}
		if err := pause(ctx, try); err != nil {
			return approval.Change{}, err
		}
	}
}

// attempt is one try of an act: durable, then memory, then tell.
func (i *Intake) attempt(ctx context.Context, server string, listing []approval.Key, act Act) (approval.Change, error) {
	state, err := i.o.Store.State(ctx, server)
	if err != nil {
		return approval.Change{}, err
	}
	state.Now = i.now()
	change, err := act(state)
	if err != nil {
		return approval.Change{}, refused(err)
	}
	if !change.Empty() {
		if change.Name != server {
			return approval.Change{}, fault.New(fault.Internal, fmt.Sprintf("an act on %q gave a change of another server", server), "")
		}
		// Once begun, a commit is not given up: memory must follow the disk.
		lasting := context.WithoutCancel(ctx)
		if err := i.o.Store.Commit(lasting, change); err != nil {
			i.followStore(lasting, server, state, err)
			return approval.Change{}, err
		}
	}
	srv, records := merge(state, change)
	if change.Server != nil && change.Made == 0 && !change.Remove {
		// Only the store knows the first version: a name that was removed before
		// does not begin at 1 again.
		if stored, err := i.o.Store.State(context.WithoutCancel(ctx), server); err == nil && stored.Server.Version > 0 {
			srv = stored.Server
		}
	}
	i.putInForce(server, srv, records, change, listing)
	return change, nil
}

// followStore takes what is stored into the catalogue after a commit that failed,
// for it may have been kept although it was reported lost.
func (i *Intake) followStore(ctx context.Context, name string, before approval.State, cause error) {
	if fault.KindOf(cause) == fault.Conflict {
		return // the next try reads the state again
	}
	i.o.Log.Error("a change could not be committed", "server", name, "error", cause)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	after, err := i.o.Store.State(ctx, name)
	if err != nil || after.Server.Version == before.Server.Version && sameVersions(after.Records, before.Records) {
		return
	}
	i.o.Log.Warn("the store has the change that it reported as lost", "server", name)
	i.putInForce(name, after.Server, after.Records, approval.Change{Name: name, Effects: approval.Effects{CancelCalls: true}}, nil)
}

func sameVersions(a, b []approval.Record) bool {
	return slices.EqualFunc(a, b, func(a, b approval.Record) bool { return a.Key == b.Key && a.Version == b.Version })
}

// putInForce swaps the catalogue for one with the change, carries the effects out
// and tells. The caller holds the server's line, so swaps of one server happen in
// the order of their commits.
func (i *Intake) putInForce(server string, srv approval.Server, records []approval.Record, change approval.Change, listing []approval.Key) {
	i.swap.Lock()
	reordered := listing != nil && !slices.Equal(listing, i.listed[server])
	if reordered {
		i.listed[server] = listing
	}
	if srv.Version == 0 {
		delete(i.listed, server)
	}
	committed := !change.Empty() || change.Effects.CancelCalls
	if change.Effects.CancelCalls {
		i.Catalogue().Recall(server) // what was admitted and is not in flight yet
	}
	if committed || reordered {
		inOrder(records, i.listed[server])
		i.catalogue.Store(i.Catalogue().With(server, srv, records))
	}
	if change.Effects.CancelCalls {
		i.o.Lister.CancelCalls(server)
	}
	if committed || reordered {
		i.o.Swapped(i.Catalogue())
	}
	i.swap.Unlock()

	if change.Effects.Restart && i.o.Restarted != nil {
		i.o.Restarted(server)
	}
	if change.Effects.Pass && srv.Runs() {
		i.passSoon(server)
	}
}

// merge gives what is stored once the change is committed.
func merge(state approval.State, change approval.Change) (approval.Server, []approval.Record) {
	if change.Remove {
		return approval.Server{}, nil
	}
	srv := state.Server
	if change.Server != nil {
		srv = *change.Server
		srv.Version = change.Made + 1
	}
	records := slices.Clone(state.Records)
	at := make(map[approval.Key]int, len(records))
	for n, r := range records {
		at[r.Key] = n
	}
	for _, r := range change.Records {
		r.Version++
		if n, ok := at[r.Key]; ok {
			records[n] = r
		} else {
			records = append(records, r)
		}
	}
	return srv, records
}

// inOrder sorts records as the server listed them; what it did not list stays
// behind, in the order in which it was first stored.
func inOrder(records []approval.Record, listed []approval.Key) {
	rank := make(map[approval.Key]int, len(listed))
	for n, k := range listed {
		rank[k] = n + 1
	}
	of := func(r approval.Record) int {
		if n := rank[r.Key]; n > 0 {
			return n
		}
		return len(listed) + 1
	}
	slices.SortStableFunc(records, func(a, b approval.Record) int { return of(a) - of(b) })
}

// refused turns the law's refusal into a fault; any other error stays.
func refused(err error) error {
	if r, ok := errors.AsType[*approval.Refused](err); ok {
		return fault.Wrap(r, fault.Kind(r.Code), r.What, r.Hint)
	}
	return err
}

// pause waits before the next try: longer each time, and never two alike.
func pause(ctx context.Context, try int) error {
	wait := firstWait << try
	t := time.NewTimer(wait/2 + rand.N(wait))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return left(ctx)
	}
}

// left is the fault of a caller that no longer waits.
func left(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.Wrap(context.Cause(ctx), fault.Timeout, "there was no time left to wait", "Try again.")
	}
	return fault.Wrap(context.Cause(ctx), fault.Cancelled, "the request was cancelled before it was carried out", "")
}

// lines are the waiting lines of servers: who holds a server's line acts on it
// alone. The zero value is ready. A line is kept only while somebody stands in it.
type lines struct {
	mu sync.Mutex
	by map[string]*line
}

type line struct {
	held    chan struct{} // full while the line is held
	members int
}

// lock waits for the server's line, within ctx.
func (l *lines) lock(ctx context.Context, server string) (unlock func(), err error) {
	l.mu.Lock()
	mine := l.by[server]
	if mine == nil {
		mine = &line{held: make(chan struct{}, 1)}
		if l.by == nil {
			l.by = make(map[string]*line)
		}
		l.by[server] = mine
	}
	mine.members++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if mine.members--; mine.members == 0 {
			delete(l.by, server)
		}
	}
	select {
	case mine.held <- struct{}{}:
		return func() { <-mine.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, left(ctx)
	}
}
