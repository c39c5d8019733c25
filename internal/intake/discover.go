package intake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

const (
	// maxListings bounds how often a pass starts again with a new listing.
	maxListings = 4
	// passTime is how long a pass in the background may wait for a connection.
	passTime = 2 * time.Minute
)

// lane is the passes of one server: one runs, and one waits for those who came
// after the running one began, since its listing may be older than their question.
type lane struct{ running, next *flight }

// flight is one pass that several callers wait for.
type flight struct {
	ctx     context.Context
	cancel  context.CancelFunc // when nobody waits any more
	waiting int                // guarded by Intake.passes
	done    chan struct{}
	err     error // set before done is closed
}

// Discover takes a pass of one server with a listing that begins after the call;
// callers that wait for the same pass share it. A listing that fails changes
// nothing and is reported.
func (i *Intake) Discover(ctx context.Context, server string) error {
	f, _ := i.join(server, false)
	return i.wait(ctx, server, f)
}

// Lost says how the tools are listed.
func (i *Intake) Lost(string, []string) string { return dispatch.ListAgain }

// Fresh makes sure that the server's tools were listed within the verify interval,
// taking a pass if need be, one for all that wait; fault.Unverified when it can't.
// With an interval of 0 every call waits for a listing taken after it asked.
func (i *Intake) Fresh(ctx context.Context, server string) error {
	interval := i.o.VerifyInterval()
	if interval <= 0 {
		return unverified(server, i.Discover(ctx, server))
	}
	if i.fresh(server, interval) {
		return nil
	}
	// A pass that runs already will do, unless the server announced a change since
	// it was listed.
	f, mine := i.join(server, true)
	err := i.wait(ctx, server, f)
	if !mine && ctx.Err() == nil && (err != nil || !i.fresh(server, interval)) {
		err = i.Discover(ctx, server)
	}
	return unverified(server, err)
}

// fresh reports whether the last listing is recent and has been taken in. A listing
// that is newer than the last committed pass is still on its way, or was refused.
func (i *Intake) fresh(server string, interval time.Duration) bool {
	verified := i.o.Lister.Verified(server)
	if verified.IsZero() {
		return false
	}
	age := i.o.Now().Sub(verified)
	if age < 0 || age >= interval {
		return false
	}
	i.passes.Lock()
	defer i.passes.Unlock()
	return !verified.After(i.passed[server])
}

func unverified(server string, err error) error {
	if err == nil {
		return nil
	}
	why := "see the log"
	if fault.KindOf(err) != fault.Internal {
		why = strings.TrimSuffix(err.Error(), ".")
	}
	return fault.Wrap(err, fault.Unverified, fmt.Sprintf("the tools of %s could not be listed again: %s", server, why), "Look at the server's state and log.")
}

// passSoon takes a pass in the background.
func (i *Intake) passSoon(server string) {
	i.passes.Lock()
	defer i.passes.Unlock()
	if i.closed {
		return
	}
	f, _ := i.joinLocked(server, false)
	i.background.Go(func() {
		ctx, cancel := context.WithTimeout(i.life, passTime)
		defer cancel()
		_ = i.wait(ctx, server, f) // a failure was reported by the pass
	})
}

// join finds the pass to wait for, and starts one when there is none; mine says
// that it began after the call. With any, the pass that runs will do.
func (i *Intake) join(server string, any bool) (f *flight, mine bool) {
	i.passes.Lock()
	defer i.passes.Unlock()
	return i.joinLocked(server, any)
}

// joinLocked is join; the caller holds passes.
func (i *Intake) joinLocked(server string, any bool) (f *flight, mine bool) {
	l := i.lanes[server]
	switch {
	case i.closed:
		f, mine = i.newFlight(), true
		f.err = fault.New(fault.Unavailable, "Holdfast is stopping", "")
		close(f.done)
	case l == nil:
		l = &lane{running: i.newFlight()}
		i.lanes[server] = l
		i.background.Go(func() { i.fly(server, l) })
		f, mine = l.running, true
	case any && l.running.waiting > 0:
		f = l.running
	default:
		if l.next == nil {
			l.next = i.newFlight()
		}
		f, mine = l.next, true
	}
	f.waiting++
	return f, mine
}

func (i *Intake) newFlight() *flight {
	f := &flight{done: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(i.life)
	return f
}

// wait waits for a joined pass. Who leaves early does not end it for the others.
func (i *Intake) wait(ctx context.Context, server string, f *flight) error {
	defer func() {
		i.passes.Lock()
		defer i.passes.Unlock()
		if f.waiting--; f.waiting > 0 {
			return
		}
		f.cancel()
		if l := i.lanes[server]; l != nil && l.next == f {
			l.next = nil // it never began
		}
	}()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return left(ctx)
	}
}

// fly takes the passes of one server, one after the other, while there are any.
func (i *Intake) fly(server string, l *lane) {
	for f := l.running; f != nil; {
		f.err = i.pass(f.ctx, server)
		close(f.done)

		i.passes.Lock()
		l.running, l.next = l.next, nil
		f = l.running
		if f == nil {
			delete(i.lanes, server)
		}
		i.passes.Unlock()
	}
}

// pass is one discovery pass: a complete listing, taken in by the law. A listing of
// another incarnation than the stored one, or one that lost its race to the end, is
// taken anew.
func (i *Intake) pass(ctx context.Context, server string) error {
	for try := 0; ; try++ {
		listing, err := i.o.Lister.List(ctx, server)
		if err != nil {
			i.listingFailed(ctx, server, err)
			return err
		}
		verified := i.o.Lister.Verified(server)
		change, err := i.apply(ctx, server, keysOf(server, listing), func(s approval.State) (approval.Change, error) {
			return approval.Pass(s, listing, i.judge(server, s.Settings))
		})
		switch kind := fault.KindOf(err); {
		case err == nil:
			i.passDone(ctx, server, listing, change, verified)
			return nil
		case try < maxListings-1 && (kind == fault.ServerReplaced || kind == fault.Conflict):
			if err := pause(ctx, try); err != nil {
				return err
			}
		default:
			i.listingFailed(ctx, server, err)
			return err
		}
	}
}

// keysOf is the order in which a server lists.
func keysOf(server string, l approval.Listing) []approval.Key {
	keys := make([]approval.Key, len(l.Offers))
	for n, offer := range l.Offers {
		keys[n] = approval.Key{Server: server, Kind: offer.Kind, Name: offer.Name}
	}
	return keys
}
