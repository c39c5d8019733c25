package upstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// server keeps one incarnation of one server connected. Its goroutine (run) owns
// the state: nobody else changes it.
type server struct {
	pool        *Pool
	name        string
	incarnation string
	before      *server // what ran under the name; it must be gone first
	ctx         context.Context
	stop        context.CancelFunc
	gone        chan struct{} // closed when everything of it is stopped
	again       chan struct{} // one: stop and start now
	dirty       chan struct{} // one: Unverified is due
	calm        chan struct{} // one: Unverified is to be told at once again

	mu      sync.Mutex
	spec    Spec
	turns   chan struct{} // a place for each call at once
	state   State
	conn    *connection   // nil unless Connected
	changed chan struct{} // closed when state is another
	calls   map[*callInFlight]bool
	trouble trouble
}

// trouble is why the last listing of the tools did not succeed.
type trouble struct {
	what  string
	since time.Time
	taken bool // it was listed, and not taken in
}

type callInFlight struct{ cancel context.CancelCauseFunc }

func newServer(p *Pool, spec Spec, before *server) *server {
	s := &server{
		pool: p, name: spec.Name, incarnation: spec.Incarnation, before: before,
		gone: make(chan struct{}), again: make(chan struct{}, 1), dirty: make(chan struct{}, 1), calm: make(chan struct{}, 1),
		state: State{Server: spec.Name, Phase: Connecting, Since: time.Now()}, changed: make(chan struct{}),
		calls: map[*callInFlight]bool{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.adjust(spec)
	return s
}

// adjust takes what may change without a restart.
func (s *server) adjust(spec Spec) {
	if spec.Timeout <= 0 {
		spec.Timeout = DefaultTimeout
	}
	if spec.MaxConcurrent <= 0 {
		spec.MaxConcurrent = DefaultMaxConcurrent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns == nil || cap(s.turns) != spec.MaxConcurrent {
		s.turns = make(chan struct{}, spec.MaxConcurrent)
	}
	s.spec = spec
}

func (s *server) restart() {
	poke(s.calm)
	poke(s.again)
}

// unverified has the pool's owner told that the tools must be listed again.
func (s *server) unverified() { poke(s.dirty) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is due already
	}
}

func (s *server) snapshot() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stateLocked()
}

// stateLocked is the state with what is wrong with the listing; s.mu is held.
func (s *server) stateLocked() State {
	state := s.state
	if state.Phase == Connected {
		state.ListingError, state.ListingSince = s.trouble.what, s.trouble.since
	}
	return state
}

// listed takes how a listing went, or how it went on with it (taken). A listing that
// was not taken in stays in trouble until one is.
func (s *server) listed(err error, taken bool) {
	s.mu.Lock()
	t := trouble{}
	if err != nil {
		t = trouble{"connected, but its tools could not be listed: " + told(err), time.Now(), taken}
	}
	old := s.trouble
	if t.what == old.what || err == nil && old.taken && !taken {
		s.mu.Unlock()
		return
	}
	s.trouble = t
	state := s.stateLocked()
	s.mu.Unlock()
	if err != nil {
		s.pool.o.Log.Warn("tools could not be listed", "server", s.name, "error", told(err))
	}
	s.pool.o.Changed(state)
}

// now gives the present connection; nil when there is none.
func (s *server) now() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

func (s *server) set(state State, c *connection) {
	state.Server, state.Since = s.name, time.Now()
	s.mu.Lock()
	s.state, s.conn = state, c
	close(s.changed)
	s.changed = make(chan struct{})
	state = s.stateLocked()
	s.mu.Unlock()
	s.pool.o.Changed(state)
}

// run is the life of the server.
func (s *server) run() {
	defer close(s.gone)
	if s.before != nil {
		<-s.before.gone
		s.before = nil
	}
	var telling sync.WaitGroup
	telling.Go(s.tell)
	defer telling.Wait()
	for failures := 0; s.ctx.Err() == nil; {
		restarted, lasted, err := s.live()
		if restarted {
			failures = 0
			continue
		}
		if lasted >= s.pool.timing.stable {
			failures = 0
		}
		if failures++; s.ctx.Err() == nil && s.backOff(err, failures) {
			failures = 0
		}
	}
	s.set(State{Phase: Stopped}, nil)
}

// live is one connection, from being made to being gone.
func (s *server) live() (restarted bool, lasted time.Duration, err error) {
	drain(s.again)
	s.set(State{Phase: Connecting}, nil)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	restart := make(chan bool, 1)
	go func() { // a restart also ends an attempt to connect
		select {
		case <-s.again:
			restart <- true
			cancel()
		case <-ctx.Done():
			restart <- false
		}
	}()
	c, err := s.connect(ctx)
	if err == nil {
		began := time.Now()
		state := c.state
		state.Phase = Connected
		s.set(state, c)
		s.pool.o.Log.Info("connected", "server", s.name, "pid", state.PID, "protocol", state.ProtocolVersion)
		s.unverified()
		select {
		case <-c.gone:
			err = c.why()
		case <-ctx.Done():
		}
		lasted = time.Since(began)
		s.set(State{Phase: Connecting}, nil) // no call begins while it is being stopped
		c.stop()
	}
	cancel()
	return <-restart, lasted, err
}

func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// backOff waits before the next attempt; it reports whether a restart ended it.
func (s *server) backOff(err error, failures int) (restarted bool) {
	t := s.pool.timing
	wait := t.lastRetry
	if shift := failures - 1; shift < 16 {
		wait = min(t.firstRetry<<shift, t.lastRetry)
	}
	wait = wait/2 + rand.N(wait/2+1) // servers that failed together don't come back together
	s.pool.o.Log.Warn("server is not connected", "server", s.name, "error", told(err), "next_try", wait.Round(time.Millisecond))
	s.set(State{Phase: BackingOff, Error: told(err), plain: err.Error(), Hint: fault.HintOf(err), NextTry: time.Now().Add(wait)}, nil)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	case <-s.again:
		return true
	}
	return false
}

// tell calls Unverified, so that neither a storm of changes nor a slow listener
// holds anything else up. Every pass of a server that changes with each is written
// down for good, so the more often it has the tools listed, the longer it waits;
// calls do not wait for it, they have them listed themselves.
func (s *server) tell() {
	t := s.pool.timing
	var last time.Time
	pause := t.notify
	for {
		select {
		case <-s.dirty:
		case <-s.ctx.Done():
			return
		}
		if time.Since(last) > 2*t.lastNotify {
			pause = t.notify
		}
		s.pool.o.Unverified(s.name)
		last = time.Now()
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			pause = min(2*pause, t.lastNotify)
		case <-s.calm:
			pause = t.notify
		case <-s.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// connection gives the connection, waiting for one that is being made.
func (s *server) connection(ctx context.Context) (*connection, error) {
	for {
		s.mu.Lock()
		state, c, changed := s.state, s.conn, s.changed
		s.mu.Unlock()
		switch {
		case c != nil:
			return c, nil
		case s.ctx.Err() != nil || state.Phase == Stopped:
			return nil, fault.New(fault.Unavailable, fmt.Sprintf("%s is stopped", s.name), "")
		case state.Phase == BackingOff && time.Until(state.NextTry) > s.pool.timing.soon:
			return nil, s.notConnected(state)
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
		case <-ctx.Done():
			return nil, ended(ctx, fmt.Sprintf("%s was not connected in time", s.name), s.notConnected(s.snapshot()))
		}
	}
}

// notConnected is the fault of a server that can't be asked now.
func (s *server) notConnected(state State) *fault.Error {
	what := fmt.Sprintf("%s is not connected", s.name)
	switch state.Phase {
	case BackingOff:
		what += fmt.Sprintf(" (next try %s): %s", state.NextTry.Format("15:04:05"), state.plain)
	case Connecting:
		what += " yet"
	case Stopped, Connected: // it was, a moment ago
	}
	return fault.New(fault.Unavailable, what, state.Hint)
}
