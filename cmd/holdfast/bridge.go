package main

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// How long the daemon is away between two looks for it.
const (
	firstLook   = time.Second
	longestLook = time.Minute
)

// bridge carries messages, as the bytes that came, between the agent's lines and a
// connection to the daemon (handover.go). It knows which requests are not answered
// yet, so that each is, whatever becomes of the daemon.
type bridge struct {
	agent, daemon wire.Conn
	limit         int // bytes of a message that the daemon takes

	mu      sync.Mutex
	waiting map[string]int // how many requests with the id have no answer
	owed    int            // answers that the bridge itself gives and did not send yet
	gone    bool           // the daemon

	answered chan struct{} // has room for one: an answer went out
	asked    chan struct{} // has room for one: a request came while the daemon was gone
}

// bridge joins the agent to the daemon on a socket, until the agent leaves.
func (a *app) bridge(ctx context.Context, socket, server string) error {
	j, err := join(ctx, socket, server)
	if err != nil {
		return err
	}
	b := &bridge{
		agent: a.agent(max(j.limit, wire.DefaultMaxMessage)), daemon: j.conn, limit: j.limit,
		waiting: map[string]int{}, answered: make(chan struct{}, 1), asked: make(chan struct{}, 1),
	}
	defer b.agent.Close()
	defer b.daemon.Close() // what still runs is cancelled by that
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	back, forth := make(chan error, 1), make(chan error, 1)
	go func() { back <- b.toAgent(ctx, socket) }()
	go func() { forth <- wire.Each(ctx, b.agent, func(m wire.Message) error { return b.toDaemon(ctx, m) }) }()
	select {
	case err = <-back:
	case err = <-forth:
		if errors.Is(err, io.EOF) {
			b.settle(ctx)
			return nil
		}
	case <-ctx.Done():
		return nil
	}
	if err == nil {
		return nil
	}
	return fault.Wrap(err, fault.Unavailable, "the connection to Holdfast is gone: "+plain(err), "`holdfast status` shows whether it runs; start the agent again")
}

// toDaemon carries one message of the agent. A request that can't reach the daemon
// gets an answer all the same.
func (b *bridge) toDaemon(ctx context.Context, m wire.Message) error {
	long := len(m.Raw) > b.limit
	switch {
	case m.Kind != wire.Request && !long:
		_ = b.daemon.Send(ctx, m.Raw) // nobody waits for an answer
	case m.Kind != wire.Request:
	case long:
		return b.agent.Send(ctx, wire.NewError(m.ID, wire.CodeInvalidRequest, "the message is longer than the limit of "+strconv.Itoa(b.limit)+" bytes", nil))
	case !b.asks(m.ID):
		return b.fails(ctx, m.ID, unreached)
	default:
		err := b.daemon.Send(ctx, m.Raw)
		if err == nil || !b.done(m.ID) {
			return nil
		}
		if wire.NotSent(err) {
			return b.fails(ctx, m.ID, unreached)
		}
		return b.fails(ctx, m.ID, broken)
	}
	return nil
}

// What an agent is told for a daemon that does not answer.
const (
	unreached = "Holdfast could not be reached: nothing was done"
	broken    = "the connection to Holdfast broke before the answer came: the call may have happened"
)

func (b *bridge) fails(ctx context.Context, id []byte, why string) error {
	return b.agent.Send(ctx, wire.NewError(id, wire.CodeInternal, why, nil))
}

// toAgent carries what the daemon says. When the daemon goes away, what was asked is
// answered for it, and so is what is asked from then on, until one can be reached
// again: that one knows nothing of the session.
func (b *bridge) toAgent(ctx context.Context, socket string) error {
	var left error
	_ = wire.Each(ctx, b.daemon, func(m wire.Message) error {
		if left = b.agent.Send(ctx, m.Raw); left == nil && m.Kind == wire.Response {
			b.done(m.ID)
		}
		return left
	})
	if left != nil {
		return nil // the agent does not read any more
	}
	for id, n := range b.lose() {
		for range n {
			if err := b.fails(ctx, []byte(id), broken); err != nil {
				return nil
			}
			b.paid()
		}
	}
	if !sleep(ctx, firstLook, nil) { // one that is being killed may still listen for a moment
		return nil
	}
	for pause := firstLook; !reachable(socket); pause = min(2*pause, longestLook) {
		if !sleep(ctx, pause, b.asked) {
			return nil
		}
	}
	return wire.ErrSessionGone
}

// sleep waits for a while, or for a sign to go on; false when ctx ended.
func sleep(ctx context.Context, d time.Duration, sign <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-sign:
	case <-ctx.Done():
		return false
	}
	return true
}

// asks notes that a request waits; false when there is nobody to answer it.
func (b *bridge) asks(id []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		b.note(b.asked)
		return false
	}
	b.waiting[string(id)]++
	return true
}

// done notes that a request has, or gets, its answer; false when it has one already.
func (b *bridge) done(id []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.waiting[string(id)]
	if n > 1 {
		b.waiting[string(id)] = n - 1
	} else {
		delete(b.waiting, string(id))
	}
	b.note(b.answered)
	return n > 0
}

// lose notes that the daemon is gone, and gives what it did not answer.
func (b *bridge) lose() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = true
	waiting := b.waiting
	b.waiting = map[string]int{}
	for _, n := range waiting {
		b.owed += n
	}
	return waiting
}

// paid notes that one of the answers that the bridge owed was sent.
func (b *bridge) paid() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owed--
	b.note(b.answered)
}

func (b *bridge) note(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// settle waits until nothing is left to answer, or the grace is over: a script that
// pipes its questions in gets its answers.
func (b *bridge) settle(ctx context.Context) {
	late := time.NewTimer(grace)
	defer late.Stop()
	for {
		b.mu.Lock()
		left := len(b.waiting) + b.owed
		b.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-b.answered:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
