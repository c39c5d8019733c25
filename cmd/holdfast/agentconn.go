package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// agentConn is the agent on standard input and output. When its side closes, the
// end is given only once what it had asked is answered, or after the grace: a script
// that pipes its questions in gets its answers.
type agentConn struct {
	reads, writes wire.Conn
	answered      chan struct{} // an answer went out
	patience      time.Duration // how long a peer that left its side gets answers

	mu      sync.Mutex
	waiting map[string]bool // ids of requests without an answer
}

// newAgentConn reads lines from in and writes lines to out. The two are a
// connection each, because the end of one of them ends a connection.
func newAgentConn(in io.Reader, out io.Writer, limit int, bad func(error) error) *agentConn {
	closer, _ := in.(io.Closer)
	nothing, end := io.Pipe()
	writes := wire.NewLineConn(nothing, out, end, limit, nil)
	answered := func(err error) error {
		// Who sent it waits for an answer, though nobody could read what was asked.
		if answer := wire.AnswerTo(err); answer != nil {
			_ = writes.Send(context.Background(), answer)
		}
		return bad(err)
	}
	return &agentConn{
		reads:    wire.NewLineConn(in, io.Discard, closer, limit, answered),
		writes:   writes,
		answered: make(chan struct{}, 1), patience: grace, waiting: map[string]bool{},
	}
}

func (c *agentConn) Receive(ctx context.Context) (wire.Message, error) {
	m, err := c.reads.Receive(ctx)
	if errors.Is(err, io.EOF) {
		c.settle(ctx)
		return m, err
	}
	if err == nil && m.Kind == wire.Request {
		c.mu.Lock()
		c.waiting[string(m.ID)] = true
		c.mu.Unlock()
	}
	return m, err
}

func (c *agentConn) Send(ctx context.Context, message []byte) error {
	err := c.writes.Send(ctx, message)
	if m, bad := wire.Parse(message); bad == nil && m.Kind == wire.Response {
		c.mu.Lock()
		delete(c.waiting, string(m.ID))
		c.mu.Unlock()
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}

func (c *agentConn) Close() error {
	return errors.Join(c.reads.Close(), c.writes.Close())
}

// settle waits until nothing is left to answer.
func (c *agentConn) settle(ctx context.Context) {
	late := time.NewTimer(c.patience)
	defer late.Stop()
	for {
		c.mu.Lock()
		left := len(c.waiting)
		c.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-c.answered:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
