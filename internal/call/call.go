// Package call is journey 2: a call is refused or done, and written down either
// way. Design: docs/design/journeys.md.
package call

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
)

// Tools is the catalogue and its freshness (intake).
type Tools interface {
	Catalogue() *dispatch.Catalogue
	Fresh(ctx context.Context, server string) error
}

// Upstream runs calls; it spends the permit before anything is sent.
type Upstream interface {
	Call(ctx context.Context, p dispatch.Permit, out dispatch.Outgoing) (dispatch.Reply, error)
}

// Journal is the audit: Append is durable when it returns, Enqueue soon after.
type Journal interface {
	Append(ctx context.Context, entries ...record.Entry) error
	Enqueue(e record.Entry)
}

// Options of a Desk. All are required.
type Options struct {
	Tools        Tools
	Upstream     Upstream
	Journal      Journal
	MaxArguments int // bytes of the arguments
	MaxResult    int // bytes of a result
	Now          func() time.Time
	Log          *slog.Logger
}

// Desk takes calls. Safe for concurrent use.
type Desk struct{}

func New(o Options) *Desk { panic("unwritten") }

// Request is one call as a face has it.
type Request struct {
	ID       string // request id, also in the audit
	Caller   dispatch.Caller
	Face     dispatch.Face
	Name     string
	Variant  contract.Class
	Params   []byte // params of tools/call, read strictly, as they came
	Progress func(params []byte)
}

// Do takes one call to its end. Exactly one of reply, refusal and err is set; err
// is a fault (upstream gone, timeout, cancelled), and the call may have happened.
func (d *Desk) Do(ctx context.Context, r Request) (reply dispatch.Reply, refusal *dispatch.Refusal, err error) {
	panic("unwritten")
}
