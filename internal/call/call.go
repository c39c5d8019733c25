// Package call is journey 2: a call is refused or done, and written down either
// way. Design: docs/design/journeys.md.
package call

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Tools is the catalogue and its freshness (intake). Both are called for every
// call: Catalogue is a load of a pointer, and Fresh is cheap while the server's
// last pass is recent. Lost is what to do, a sentence, about a name that no tool has
// that the caller may see; offered are the names of those.
type Tools interface {
	Catalogue() *dispatch.Catalogue
	Fresh(ctx context.Context, server string) error
	Lost(name string, offered []string) string
}

// Upstream runs calls; it spends the permit before anything is sent. An error that
// is a *dispatch.Refusal, or a fault of the kind fault.Unavailable (the server is not
// connected), says that nothing was sent; after any other the call may have happened.
type Upstream interface {
	Call(ctx context.Context, p dispatch.Permit, out dispatch.Outgoing) (dispatch.Reply, error)
}

// Journal is the audit: Append is durable when it returns, Enqueue soon after, in
// the order of the calls. Healthy is nil while what is enqueued will be written, and
// else says why it will not; it is asked before every call that is sent.
type Journal interface {
	Append(ctx context.Context, entries ...record.Entry) error
	Enqueue(e record.Entry)
	Healthy() error
}

// Rules are step 6 of a call, after its arguments were held against the schema:
// permission rules, mode and file contract, where tools are governed by them. Rule
// gives the arguments to run, which are those that came or, after hooks, others; or
// an objection, and then nothing is sent. ctx ends when the call does.
type Rules interface {
	Rule(ctx context.Context, g dispatch.Granted, arguments []byte) (run []byte, no *dispatch.Objection)
}

// Ungoverned says that no rules are held against calls: the tools of upstream servers
// are governed by their approved contracts alone.
type Ungoverned struct{}

// Rule lets every call through as it came.
func (Ungoverned) Rule(_ context.Context, _ dispatch.Granted, arguments []byte) ([]byte, *dispatch.Objection) {
	return arguments, nil
}

// Options of a Desk. All are required; a limit of 0 refuses everything.
type Options struct {
	Tools        Tools
	Rules        Rules
	Upstream     Upstream
	Journal      Journal
	MaxArguments int // bytes of the arguments
	MaxResult    int // bytes of a result
	Now          func() time.Time
	Log          *slog.Logger
}

// Desk takes calls. Safe for concurrent use.
type Desk struct {
	o         Options
	schemas   schemas
	unaudited atomic.Int64 // when the log was last told of a call refused for the audit; nanoseconds since 1970
}

// unauditedEvery is the time between two lines of the log that say so.
const unauditedEvery = time.Minute

// New gives a desk. It fails when a room is missing: above all no Rules are not the
// same as Ungoverned.
func New(o Options) (*Desk, error) {
	if o.Tools == nil || o.Rules == nil || o.Upstream == nil || o.Journal == nil || o.Now == nil || o.Log == nil {
		return nil, errors.New("the desk lacks one of its rooms")
	}
	return &Desk{o: o}, nil
}

// Request is one call as a face has it.
type Request struct {
	ID       string // request id, also in the audit; one is made when it is empty
	Caller   dispatch.Caller
	Face     dispatch.Face
	Name     string
	Variant  contract.Class
	Params   []byte // params of tools/call, read strictly, as they came
	Progress func(params []byte)
}

// Do takes one call to its end. Exactly one of reply, refusal and err is set; err
// is a fault (upstream gone, timeout, cancelled), and the call may have happened.
// A refusal says that nothing was sent.
func (d *Desk) Do(ctx context.Context, r Request) (reply dispatch.Reply, refusal *dispatch.Refusal, err error) {
	if r.ID == "" {
		r.ID = rand.Text()
	}
	ctx, over := context.WithCancel(ctx)
	defer over()
	j := journey{desk: d, r: r, begun: d.o.Now()}
	if refusal = j.admit(ctx); refusal == nil {
		refusal = j.check(ctx)
	}
	if refusal == nil {
		refusal = j.rule(ctx)
	}
	if refusal == nil {
		refusal, err = j.intend(ctx)
	}
	if refusal == nil && err == nil {
		refusal = j.stillAdmitted()
	}
	if refusal == nil && err == nil {
		reply, refusal, err = j.send(ctx)
	}
	if refusal != nil {
		j.writeRefusal(refusal)
	}
	return reply, refusal, err
}

// journey is one call on its way. One goroutine owns it.
type journey struct {
	desk  *Desk
	r     Request
	begun time.Time

	catalogue *dispatch.Catalogue // the snapshot that the permit is of
	entry     dispatch.Entry      // zero when the name resolves to nothing
	permit    dispatch.Permit
	granted   dispatch.Granted
	args      arguments
	digest    string // of the arguments; empty before they were read
}

// admit resolves and classifies the call, lists the server again when its last
// pass is too old, and then admits by the catalogue that is in force.
func (j *journey) admit(ctx context.Context) *dispatch.Refusal {
	if refusal := j.ask(); refusal != nil {
		return refusal
	}
	if err := j.desk.o.Tools.Fresh(ctx, j.granted.Server); err != nil {
		j.desk.o.Log.Info("call refused: the server's tools could not be listed again",
			"call", j.r.ID, "server", j.granted.Server, "error", logged(err))
		// What the server or its program said about it stays in the log: it is no
		// text that anybody approved.
		return dispatch.Refuse(j.entry, dispatch.Unverified, "")
	}
	if j.desk.o.Tools.Catalogue() == j.catalogue {
		return nil
	}
	return j.ask()
}

// ask admits the call by the catalogue in force.
func (j *journey) ask() *dispatch.Refusal {
	j.catalogue = j.desk.o.Tools.Catalogue()
	j.entry, _ = j.catalogue.Resolve(j.r.Face, j.r.Name)
	permit, refusal := dispatch.Admit(j.catalogue, dispatch.Request{
		CallID:  j.r.ID,
		Caller:  j.r.Caller,
		Face:    j.r.Face,
		Name:    j.r.Name,
		Variant: j.r.Variant,
	})
	switch {
	case refusal == nil:
	case refusal.Class == dispatch.ToolUnknown && refusal.Server == "":
		return j.lost()
	default:
		return refusal
	}
	granted, ok := permit.Granted()
	if !ok { // the gate gave neither: nothing may run
		return dispatch.Refuse(j.entry, dispatch.ToolUnknown, "")
	}
	j.permit, j.granted = permit, granted
	return nil
}

// lost refuses a name that no tool has, or none that the caller may see: by what it may
// see alone.
func (j *journey) lost() *dispatch.Refusal {
	var offered []string
	for _, e := range j.catalogue.Ready(j.r.Face, approval.Tool, j.r.Caller) {
		name := e.Direct
		if j.r.Face.Server != "" {
			name = e.Own
		}
		offered = append(offered, name)
	}
	return dispatch.Unknown(j.r.Name, fault.Nearest(j.r.Name, offered), j.desk.o.Tools.Lost(j.r.Name, offered))
}

// check reads the arguments and holds them against the approved input schema.
func (j *journey) check(ctx context.Context) *dispatch.Refusal {
	limit := j.desk.o.MaxArguments
	args, problem := readArguments(j.r.Params)
	j.args, j.digest = args, args.digest()
	switch {
	case problem != "":
		return dispatch.Refuse(j.entry, dispatch.InvalidArguments, problem)
	case len(args.raw) > limit:
		return dispatch.Refuse(j.entry, dispatch.TooLarge, tooLarge(len(args.raw), limit))
	}
	if problem := j.desk.schemas.check(ctx, j.entry.Record.Approved, args.raw); problem != "" {
		return dispatch.Refuse(j.entry, dispatch.InvalidArguments, problem)
	}
	return nil
}

// rule asks the rules, which may have other arguments run than those that came. The
// audit has the digest of those that came.
func (j *journey) rule(ctx context.Context) *dispatch.Refusal {
	run, no := j.desk.o.Rules.Rule(ctx, j.granted, j.args.raw)
	switch {
	case no != nil:
		return dispatch.Object(j.entry, *no)
	case len(run) == 0: // neither
		return dispatch.Object(j.entry, dispatch.Objection{})
	case !bytes.Equal(run, j.args.raw):
		j.r.Params = j.args.with(j.r.Params, run)
	}
	return nil
}

// intend makes the intent durable, where the call may have an effect. The intent of
// a read is written with its outcome, so nothing runs either while the audit is known
// to be broken: what is enqueued then is lost without a word.
func (j *journey) intend(ctx context.Context) (*dispatch.Refusal, error) {
	if err := j.desk.o.Journal.Healthy(); err != nil {
		return j.unaudited(err), nil
	}
	if !hasEffect(j.granted.Class) {
		return nil, nil
	}
	err := j.desk.o.Journal.Append(ctx, j.intent())
	switch {
	case err == nil:
		return nil, nil
	case ctx.Err() != nil: // whoever asked is gone; the intent may stand in the audit
		fail := gone(ctx, j.granted, "before it was sent")
		j.writeOutcome(outcomeOf(fail), 0)
		return nil, fail
	}
	return j.unaudited(err), nil
}

// unaudited refuses a call that could not be written down. The log has it once in
// unauditedEvery: agents try again, and the disk that is full is often the log's too.
func (j *journey) unaudited(err error) *dispatch.Refusal {
	d := j.desk
	now := d.o.Now().UnixNano()
	if last := d.unaudited.Load(); (last == 0 || now-last >= int64(unauditedEvery)) && d.unaudited.CompareAndSwap(last, now) {
		d.o.Log.Error("calls are refused: the audit can't be written",
			"call", j.r.ID, "server", j.granted.Server, "tool", j.granted.Tool, "error", logged(err))
	}
	return dispatch.Refuse(j.entry, dispatch.AuditUnavailable, "")
}

// stillAdmitted looks once more, for the wait for the disk is long enough for a
// person to quarantine the server or block the tool.
func (j *journey) stillAdmitted() *dispatch.Refusal {
	if j.desk.o.Tools.Catalogue() == j.catalogue {
		return nil
	}
	before := j.granted
	if refusal := j.ask(); refusal != nil {
		return refusal
	}
	now := j.granted
	if now.Server != before.Server || now.Incarnation != before.Incarnation ||
		now.Kind != before.Kind || now.Tool != before.Tool ||
		now.Approved != before.Approved || now.Live != before.Live || now.Class != before.Class {
		return dispatch.Refuse(j.entry, dispatch.ToolChanged, "it changed while the call was being written down")
	}
	return nil
}
