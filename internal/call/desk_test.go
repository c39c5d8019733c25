package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// marker stands in every argument and result: it must turn up nowhere else.
const marker = "s3cret-m4rker"

// world is all that a desk needs, and what happened in it.
type world struct {
	catalogue atomic.Pointer[dispatch.Catalogue]
	fresh     func() error // what Fresh does; nil: nothing
	appending func() error // what Append does before it keeps the entries
	sick      error        // what Healthy says
	unsent    error        // what Call says instead of sending
	answer    func(ctx context.Context, out dispatch.Outgoing) (dispatch.Reply, error)

	mu      sync.Mutex
	calls   int // sent under a permit that could be spent
	asked   int // Fresh
	durable []record.Entry
	entries []record.Entry // all, in order
	log     bytes.Buffer
}

func (w *world) Catalogue() *dispatch.Catalogue { return w.catalogue.Load() }

func (w *world) Lost(name string, offered []string) string {
	return fmt.Sprintf("lost %s among %v", name, offered)
}

func (w *world) Fresh(context.Context, string) error {
	w.mu.Lock()
	w.asked++
	w.mu.Unlock()
	if w.fresh != nil {
		return w.fresh()
	}
	return nil
}

func (w *world) Append(_ context.Context, entries ...record.Entry) error {
	if w.appending != nil {
		if err := w.appending(); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.durable = append(w.durable, entries...)
	w.entries = append(w.entries, entries...)
	return nil
}

func (w *world) Enqueue(e record.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, e)
}

func (w *world) Healthy() error { return w.sick }

// Call spends the permit as the real upstream does: against what the catalogue held
// when the world was made.
func (w *world) Call(ctx context.Context, p dispatch.Permit, out dispatch.Outgoing) (dispatch.Reply, error) {
	if w.unsent != nil {
		return dispatch.Reply{}, w.unsent
	}
	granted, _ := p.Granted()
	_, refused := p.Spend("notes", "inc-1", func(k approval.Kind, name string) contract.Digest { return digests[name] })
	if refused != nil {
		return dispatch.Reply{}, refused
	}
	w.mu.Lock()
	w.calls++
	intents := slices.ContainsFunc(w.durable, func(e record.Entry) bool { return e.Call.ID == granted.CallID })
	w.mu.Unlock()
	if granted.Class != contract.Read && !intents {
		return dispatch.Reply{}, errors.New("called without a durable intent")
	}
	if w.answer != nil {
		return w.answer(ctx, out)
	}
	return dispatch.Reply{Result: []byte(`{"content":[{"type":"text","text":"` + marker + `"}]}`)}, nil
}

// definition is what the server lists for a tool, by name.
func definition(name, more string) contract.Contract {
	hints := map[string]string{
		"read": `{"readOnlyHint":true}`, "write": `{"destructiveHint":false}`, "delete": `{"destructiveHint":true}`,
	}[name]
	if hints == "" {
		hints = `{"readOnlyHint":true}`
	}
	return contract.Parse(fmt.Appendf(nil, `{"name":%q,"annotations":%s,"inputSchema":{"type":"object",`+
		`"properties":{"text":{"type":"string"},"n":{"type":"integer"}},"additionalProperties":false}%s}`, name, hints, more))
}

// digests are what the server lists, computed once so that benchmarks measure the desk.
var digests = map[string]contract.Digest{
	"read": definition("read", "").Digest(), "write": definition("write", "").Digest(), "delete": definition("delete", "").Digest(),
}

var settings = approval.Settings{ID: "settings:1", DefaultMode: "manual", OnHold: "block", Unannotated: contract.Destructive}

// server is the one server; change makes it, or a record of it, another.
func server(changes ...func(*approval.Server, map[string]*approval.Record)) (approval.Server, []approval.Record) {
	srv := approval.Server{Name: "notes", Version: 1, Incarnation: "inc-1", Named: true, Enabled: true}
	names := []string{"read", "write", "delete"}
	by := make(map[string]*approval.Record)
	for _, name := range names {
		c := definition(name, "")
		by[name] = &approval.Record{
			Key: approval.Key{Server: "notes", Kind: approval.Tool, Name: name}, Version: 1,
			Status: approval.Approved, Approved: c, Anchor: c, Live: c,
		}
	}
	for _, change := range changes {
		change(&srv, by)
	}
	var records []approval.Record
	for _, name := range names {
		if r := by[name]; r != nil {
			records = append(records, *r)
		}
	}
	return srv, records
}

func (w *world) put(changes ...func(*approval.Server, map[string]*approval.Record)) {
	srv, records := server(changes...)
	w.catalogue.Store(dispatch.NewCatalogue(settings, []approval.Server{srv}, records))
}

func newWorld(changes ...func(*approval.Server, map[string]*approval.Record)) (*world, *Desk) {
	w := &world{}
	w.put(changes...)
	return w, w.desk(1<<16, 1<<16)
}

func (w *world) desk(maxArguments, maxResult int) *Desk {
	return w.ruled(Ungoverned{}, maxArguments, maxResult)
}

func (w *world) ruled(rules Rules, maxArguments, maxResult int) *Desk {
	d, err := New(Options{
		Tools: w, Rules: rules, Upstream: w, Journal: w, MaxArguments: maxArguments, MaxResult: maxResult,
		Now: time.Now, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	if err != nil {
		panic(err)
	}
	return d
}

func caller() dispatch.Caller {
	return dispatch.Caller{
		Name: "agent", TokenID: "t1",
		Scope:       dispatch.Scope{Servers: []string{"*"}, Tools: []string{"*"}},
		Permissions: dispatch.Permissions{Read: true, Write: true, Destructive: true},
	}
}

func request(tool, args string) Request {
	return Request{
		ID: "req-1", Caller: caller(), Face: dispatch.Face{Direct: true}, Name: "notes__" + tool,
		Params: fmt.Appendf(nil, `{"name":"notes__%s","arguments":%s}`, tool, args),
	}
}

var good = `{"text":"` + marker + `"}`

// kept is everything that was written down or logged, as text.
func (w *world) kept(t *testing.T) string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	text, err := json.Marshal(w.entries)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + w.log.String()
}

func types(entries []record.Entry) (list []string) {
	for _, e := range entries {
		what := string(e.Type)
		if e.Type == record.TypeOutcome {
			what += " " + e.Call.Outcome
		}
		if e.Type == record.TypeRefusal {
			what += " " + e.Call.Refused
		}
		list = append(list, what)
	}
	return list
}

func TestPermittedCall(t *testing.T) {
	for tool, want := range map[string]struct {
		class   string
		durable int
	}{
		"read":   {"read", 0},
		"write":  {"write", 1},
		"delete": {"destructive", 1},
	} {
		t.Run(tool, func(t *testing.T) {
			w, d := newWorld()
			r := request(tool, good)
			var sent []byte
			w.answer = func(_ context.Context, out dispatch.Outgoing) (dispatch.Reply, error) {
				sent = out.Params
				return dispatch.Reply{Result: []byte(`{"content":[],"structuredContent":{"x":"` + marker + `"}}`)}, nil
			}
			reply, refusal, err := d.Do(t.Context(), r)
			if refusal != nil || err != nil {
				t.Fatalf("%v, %v", refusal, err)
			}
			if string(reply.Result) != `{"content":[],"structuredContent":{"x":"`+marker+`"}}` {
				t.Errorf("the result is not what came: %s", reply.Result)
			}
			if &sent[0] != &r.Params[0] || len(sent) != len(r.Params) {
				t.Error("the params are not the bytes that came")
			}
			if w.calls != 1 || len(w.durable) != want.durable {
				t.Errorf("%d calls, %d durable entries", w.calls, len(w.durable))
			}
			if got := types(w.entries); !slices.Equal(got, []string{"call.intent", "call.outcome ok"}) {
				t.Fatalf("audit: %v", got)
			}
			for _, e := range w.entries {
				if e.Server != "notes" || e.Name != tool || e.Kind != "tool" || e.Incarnation != "inc-1" || e.SettingsID != "settings:1" ||
					e.RequestID != "req-1" || e.Call.ID != "req-1" || e.Call.Class != want.class || e.Call.Face != "direct" ||
					e.Call.Caller != "agent" || e.Actor != (record.Actor{Kind: record.Agent, Name: "agent"}) ||
					e.Call.Approved != definition(tool, "").Digest() || e.Call.Live != e.Call.Approved ||
					e.Call.ArgsBytes != len(good) || len(e.Call.ArgsSHA256) != 64 || e.Time.IsZero() {
					t.Errorf("entry: %+v\n%+v", e, e.Call)
				}
			}
			if e := w.entries[1].Call; e.ResultBytes != len(reply.Result) || e.Duration < 0 {
				t.Errorf("outcome: %+v", e)
			}
			if strings.Contains(w.kept(t), marker) {
				t.Error("a value of the arguments or the result was written down")
			}
		})
	}
}

// Each refusal class of the gate, with its cause: nothing is sent, and it is
// written down.
func TestEveryRefusal(t *testing.T) {
	type records = map[string]*approval.Record
	changed := definition("write", `,"title":"x"`)
	for _, c := range []struct {
		class  dispatch.Reason
		change func(*approval.Server, records)
		ask    func(*Request)
		fresh  error
		sent   error // what the upstream says instead of sending
		limit  int
	}{
		{class: dispatch.TokenInvalid, ask: func(r *Request) { r.Caller = dispatch.Caller{} }},
		{class: dispatch.ToolUnknown, ask: func(r *Request) { r.Name = "notes__other" }},
		{class: dispatch.ToolUnknown, ask: func(r *Request) { r.Face = dispatch.Face{} }},
		{class: dispatch.ToolUnknown, ask: func(r *Request) { r.Caller.Scope.Servers = []string{"elsewhere"} }},
		{class: dispatch.ServerNotConfigured, change: func(s *approval.Server, _ records) { s.Named = false }},
		{class: dispatch.ServerQuarantined, change: func(s *approval.Server, _ records) { s.Quarantined = true }},
		{class: dispatch.ServerDisabled, change: func(s *approval.Server, _ records) { s.Enabled = false }},
		{class: dispatch.ServerDisabled, change: func(s *approval.Server, _ records) { s.Proposal = true }},
		{class: dispatch.ToolDeniedByConfig, change: func(s *approval.Server, _ records) { s.Options.DisabledTools = []string{"wr*"} }},
		{class: dispatch.ToolUnknown, change: func(_ *approval.Server, r records) { r["write"].Absent = true }},
		{class: dispatch.ToolUnknown, change: func(_ *approval.Server, r records) { delete(r, "write") }},
		{class: dispatch.ToolBlocked, change: func(_ *approval.Server, r records) { r["write"].Blocked = true }},
		{class: dispatch.ToolChanged, change: func(_ *approval.Server, r records) { r["write"].Status, r["write"].Live = approval.Changed, changed }},
		{class: dispatch.ToolPending, change: func(_ *approval.Server, r records) {
			*r["write"] = approval.Record{Key: r["write"].Key, Version: 1, Status: approval.Pending, Live: changed}
		}},
		// what the server holds is not what was judged, which only the upstream can see
		{class: dispatch.ToolChanged, change: func(_ *approval.Server, r records) { r["write"].Live, r["write"].Approved = changed, changed }},
		{class: dispatch.PermitInvalid, change: func(s *approval.Server, _ records) { s.Incarnation = "inc-2" }},
		{class: dispatch.PermissionMissing, ask: func(r *Request) { r.Caller.Permissions.Write = false }},
		{class: dispatch.IntentMismatch, ask: func(r *Request) { r.Variant = contract.Read }},
		{class: dispatch.InvalidArguments, ask: func(r *Request) { r.Params = []byte(`{"arguments":{"text":1}}`) }},
		{class: dispatch.InvalidArguments, ask: func(r *Request) { r.Params = []byte(`{"arguments":["` + marker + `"]}`) }},
		{class: dispatch.TooLarge, limit: 10},
		{class: dispatch.Unverified, fresh: fault.New(fault.Unverified, "the tools of notes could not be listed again: it is gone", "")},
		{class: dispatch.Unverified, fresh: errors.New("dial " + marker)},
		{class: dispatch.UpstreamFailed, sent: fault.New(fault.Unavailable, "notes is not connected: "+marker, "")},
	} {
		t.Run(string(c.class), func(t *testing.T) {
			w, d := newWorld()
			if c.change != nil {
				w.put(c.change)
			}
			if c.limit > 0 {
				d = w.desk(c.limit, 1<<16)
			}
			w.fresh, w.unsent = func() error { return c.fresh }, c.sent
			r := request("write", good)
			if c.ask != nil {
				c.ask(&r)
			}
			reply, refusal, err := d.Do(t.Context(), r)
			if refusal == nil || err != nil || reply.Result != nil || reply.Error != nil {
				t.Fatalf("%s %s, %v, %v", reply.Result, reply.Error, refusal, err)
			}
			if refusal.Class != c.class || !slices.Contains(refusal.Reasons, c.class) {
				t.Errorf("class %s, reasons %v", refusal.Class, refusal.Reasons)
			}
			if w.calls != 0 {
				t.Errorf("%d calls were sent", w.calls)
			}
			last := w.entries[len(w.entries)-1]
			if last.Type != record.TypeRefusal || last.Call.Refused != string(c.class) || len(last.Call.Reasons) != len(refusal.Reasons) {
				t.Errorf("audit: %v", types(w.entries))
			}
			if strings.Contains(w.kept(t), marker) && c.fresh == nil && c.sent == nil || strings.Contains(refusal.Text+refusal.Remedy, marker) {
				t.Errorf("a value turned up: %s\n%s", refusal.Text, w.kept(t))
			}
		})
	}
}

// A tool outside the scope is answered as one that does not exist, and the audit
// still says what it was.
func TestOutsideTheScope(t *testing.T) {
	w, d := newWorld()
	outside := request("write", good)
	outside.Caller.Scope.Tools = []string{"read"}
	_, first, _ := d.Do(t.Context(), outside)
	outside.Name = "notes__nowhere"
	_, second, _ := d.Do(t.Context(), outside)
	if strings.ReplaceAll(first.Text, "notes__write", "X") != strings.ReplaceAll(second.Text, "notes__nowhere", "X") || first.Server != "" {
		t.Errorf("%+v\n%+v", first, second)
	}
	if e := w.entries[0]; e.Server != "notes" || e.Name != "write" {
		t.Errorf("audit of what exists: %+v", e)
	}
	if e := w.entries[1]; e.Server != "" || e.Name != "notes__nowhere" {
		t.Errorf("audit of what does not: %+v", e)
	}
	if w.asked != 0 {
		t.Error("a refused call had the server listed")
	}
}

func TestAuditUnavailable(t *testing.T) {
	w, d := newWorld()
	w.appending = func() error { return fault.New(fault.Storage, "the disk is full", "") }
	_, refusal, err := d.Do(t.Context(), request("write", good))
	if err != nil || refusal == nil || refusal.Class != dispatch.AuditUnavailable || w.calls != 0 {
		t.Fatalf("%v, %v, %d calls", refusal, err, w.calls)
	}
	// A read needs no intent before it.
	if _, refusal, err := d.Do(t.Context(), request("read", good)); refusal != nil || err != nil || w.calls != 1 {
		t.Fatalf("%v, %v, %d calls", refusal, err, w.calls)
	}
	// But an audit that is known to be broken would take its entries and lose them.
	w.appending, w.sick = nil, fault.New(fault.Storage, "the disk is full", "")
	for range 100 {
		for _, tool := range []string{"read", "write", "delete"} {
			_, refusal, err := d.Do(t.Context(), request(tool, good))
			if err != nil || refusal == nil || refusal.Class != dispatch.AuditUnavailable || w.calls != 1 {
				t.Fatalf("%s: %v, %v, %d calls", tool, refusal, err, w.calls)
			}
		}
	}
	if n := strings.Count(w.log.String(), "level=ERROR"); n != 1 || !strings.Contains(w.log.String(), "the disk is full") {
		t.Errorf("the log has it %d times:\n%s", n, w.log.String())
	}
	w.sick = nil
	if _, refusal, err := d.Do(t.Context(), request("read", good)); refusal != nil || err != nil || w.calls != 2 {
		t.Fatalf("after it recovered: %v, %v, %d calls", refusal, err, w.calls)
	}
}

// A member that a careless server could take for another is refused before the
// intent: nothing is written but the refusal, and nothing "may have happened".
func TestMistakableMembers(t *testing.T) {
	w, d := newWorld()
	for _, params := range []string{
		`{"name":"notes__write","arguments":{},"Name":"x"}`,
		`{"name":"notes__write","arguments":{},"name\u0000":"x"}`,
		`{"name":"notes__write","arguments":{},"Arguments":{}}`,
		`{"name":"notes__write","_META":{}}`,
	} {
		r := request("write", `{}`)
		r.Params = []byte(params)
		_, refusal, err := d.Do(t.Context(), r)
		if err != nil || refusal == nil || refusal.Class != dispatch.InvalidArguments || w.calls != 0 {
			t.Errorf("%s: %v, %v, %d calls", params, refusal, err, w.calls)
		}
	}
	if got := types(w.entries); len(got) != 4 || slices.ContainsFunc(got, func(s string) bool { return s != "call.refused invalid_arguments" }) {
		t.Errorf("audit: %v", got)
	}
}

// Who leaves while the intent is being written has called nothing.
func TestCallerLeavesBeforeTheCall(t *testing.T) {
	w, d := newWorld()
	ctx, cancel := context.WithCancel(t.Context())
	w.appending = func() error { cancel(); return ctx.Err() }
	_, refusal, err := d.Do(ctx, request("write", good))
	if refusal != nil || fault.KindOf(err) != fault.Cancelled || w.calls != 0 {
		t.Fatalf("%v, %v, %d calls", refusal, err, w.calls)
	}
	if got := types(w.entries); !slices.Equal(got, []string{"call.outcome cancelled"}) {
		t.Errorf("audit: %v", got)
	}
}

// What changes while the call waits for the disk, or for a listing, is seen.
func TestCatalogueChangesOnTheWay(t *testing.T) {
	type records = map[string]*approval.Record
	block := func(_ *approval.Server, r records) { r["write"].Blocked = true }
	other := func(_ *approval.Server, r records) {
		c := definition("write", `,"title":"x"`)
		r["write"].Approved, r["write"].Anchor, r["write"].Live = c, c, c
	}
	for name, c := range map[string]struct {
		change   func(*approval.Server, records)
		listing  bool
		class    dispatch.Reason
		permited bool
	}{
		"blocked during the intent":   {change: block, class: dispatch.ToolBlocked},
		"replaced during the intent":  {change: other, class: dispatch.ToolChanged},
		"same again during it":        {change: func(*approval.Server, records) {}, permited: true},
		"blocked during the listing":  {change: block, listing: true, class: dispatch.ToolBlocked},
		"same again after a listing":  {change: func(*approval.Server, records) {}, listing: true, permited: true},
		"replaced during the listing": {change: other, listing: true, class: dispatch.ToolChanged}, // the fake upstream holds the old one
	} {
		t.Run(name, func(t *testing.T) {
			w, d := newWorld()
			act := func() error { w.put(c.change); return nil }
			if c.listing {
				w.fresh = act
			} else {
				w.appending = act
			}
			_, refusal, err := d.Do(t.Context(), request("write", good))
			if err != nil || c.permited != (refusal == nil) || refusal != nil && refusal.Class != c.class {
				t.Fatalf("%v, %v", refusal, err)
			}
			if c.permited != (w.calls == 1) {
				t.Errorf("%d calls", w.calls)
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(ctx context.Context) (dispatch.Reply, error)
		outcome string
		kind    fault.Kind // of the error; empty: a reply
	}{
		"ok": {func(context.Context) (dispatch.Reply, error) {
			return dispatch.Reply{Result: []byte(`{"isError":false}`)}, nil
		}, "ok", ""},
		"tool error": {func(context.Context) (dispatch.Reply, error) {
			return dispatch.Reply{Result: []byte(`{"content":[{"isError":false}], "isError" : true}`)}, nil
		}, "tool_error", ""},
		"inner": {func(context.Context) (dispatch.Reply, error) {
			return dispatch.Reply{Result: []byte(`{"content":[{"isError":true}]}`)}, nil
		}, "ok", ""},
		"rpc error": {func(context.Context) (dispatch.Reply, error) {
			return dispatch.Reply{Error: []byte(`{"code":1,"message":"x"}`)}, nil
		}, "error", ""},
		"nothing": {func(context.Context) (dispatch.Reply, error) { return dispatch.Reply{}, nil }, "error", fault.Protocol},
		"large": {func(context.Context) (dispatch.Reply, error) {
			return dispatch.Reply{Result: bytes.Repeat([]byte("x"), 1<<16+1)}, nil
		}, "error", fault.TooLarge},
		"timeout": {func(context.Context) (dispatch.Reply, error) {
			return dispatch.Reply{}, fault.New(fault.Timeout, "slow", "")
		}, "timeout", fault.Timeout},
		"deadline":  {func(context.Context) (dispatch.Reply, error) { return dispatch.Reply{}, context.DeadlineExceeded }, "timeout", fault.Timeout},
		"cancelled": {func(context.Context) (dispatch.Reply, error) { return dispatch.Reply{}, context.Canceled }, "cancelled", fault.Cancelled},
		"gone": {func(context.Context) (dispatch.Reply, error) {
			return dispatch.Reply{}, fault.New(fault.Upstream, "gone", "")
		}, "error", fault.Upstream},
		"other": {func(context.Context) (dispatch.Reply, error) { return dispatch.Reply{}, errors.New(marker) }, "error", fault.Upstream},
		"panic": {func(context.Context) (dispatch.Reply, error) { panic(marker) }, "unknown", fault.Internal},
		"panic of the runtime": {func(context.Context) (dispatch.Reply, error) {
			list := []string{}
			return dispatch.Reply{}, errors.New(list[len(list)])
		}, "unknown", fault.Internal},
	} {
		for _, tool := range []string{"read", "write"} {
			t.Run(name+"/"+tool, func(t *testing.T) {
				w, d := newWorld()
				w.answer = func(ctx context.Context, _ dispatch.Outgoing) (dispatch.Reply, error) { return c.answer(ctx) }
				reply, refusal, err := d.Do(t.Context(), request(tool, good))
				if refusal != nil || (err == nil) != (c.kind == "") || err != nil && fault.KindOf(err) != c.kind {
					t.Fatalf("%s, %v, %v", reply, refusal, err)
				}
				if err != nil && (len(reply.Result) > 0 || len(reply.Error) > 0 || strings.Contains(err.Error(), marker)) {
					t.Errorf("%s beside %v", reply, err)
				}
				if got := types(w.entries); !slices.Equal(got, []string{"call.intent", "call.outcome " + c.outcome}) {
					t.Errorf("audit: %v", got)
				}
				if strings.Contains(w.kept(t), marker) {
					t.Errorf("a value was kept: %s", w.kept(t))
				}
			})
		}
	}
}

// The caller's own deadline and leaving are told apart.
func TestCallerLeavesDuringTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		outcome string
	}{
		"leaves": {context.WithCancel, "cancelled"},
		"deadline": {func(p context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(p, time.Millisecond)
		}, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			w, d := newWorld()
			ctx, cancel := c.ctx(t.Context())
			defer cancel()
			w.answer = func(ctx context.Context, _ dispatch.Outgoing) (dispatch.Reply, error) {
				if c.outcome == "cancelled" {
					cancel()
				}
				<-ctx.Done()
				return dispatch.Reply{}, ctx.Err()
			}
			_, _, err := d.Do(ctx, request("read", good))
			if got := types(w.entries); err == nil || !slices.Equal(got, []string{"call.intent", "call.outcome " + c.outcome}) {
				t.Errorf("%v, audit: %v", err, got)
			}
		})
	}
}

// A limit that was not set refuses everything.
func TestZeroLimits(t *testing.T) {
	w, _ := newWorld()
	if _, refusal, _ := w.desk(0, 1<<16).Do(t.Context(), request("read", `{}`)); refusal == nil || refusal.Class != dispatch.TooLarge || w.calls != 0 {
		t.Errorf("arguments: %v", refusal)
	}
	if _, _, err := w.desk(1<<16, 0).Do(t.Context(), request("read", `{}`)); fault.KindOf(err) != fault.TooLarge {
		t.Errorf("result: %v", err)
	}
}

// Names of tools that do not exist are cut before they are written down.
func TestLongName(t *testing.T) {
	w, d := newWorld()
	r := request("read", `{}`)
	r.Name = strings.Repeat("ü", 4000) + "\xff"
	_, _, _ = d.Do(t.Context(), r)
	if n := len(w.entries[0].Name); n == 0 || n > maxAsked {
		t.Errorf("%d bytes were kept", n)
	}
}

// What a server or its program said may be long: the log has its beginning.
func TestLongErrorsInTheLog(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	w, d := newWorld()
	w.fresh = func() error { return errors.New(long) }
	_, _, _ = d.Do(t.Context(), request("read", `{}`))
	w.fresh, w.unsent = nil, fault.New(fault.Unavailable, long, "")
	_, _, _ = d.Do(t.Context(), request("read", `{}`))
	w.unsent, w.sick = nil, errors.New(long)
	_, _, _ = d.Do(t.Context(), request("read", `{}`))
	if n := w.log.Len(); n < 3*maxLogged || n > 4*maxLogged {
		t.Errorf("the log has %d bytes", n)
	}
	if strings.Contains(w.kept(t), strings.Repeat("ü", maxLogged)) {
		t.Error("more than the beginning was kept")
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	w, d := newWorld()
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			tool := []string{"read", "write", "delete"}[i%3]
			r := request(tool, `{"n":`+fmt.Sprint(i)+`}`)
			r.ID = fmt.Sprint(i)
			if _, refusal, err := d.Do(t.Context(), r); refusal != nil || err != nil {
				t.Errorf("%v, %v", refusal, err)
			}
		})
	}
	group.Wait()
	if w.calls != 200 || len(w.entries) != 400 {
		t.Errorf("%d calls, %d entries", w.calls, len(w.entries))
	}
}
