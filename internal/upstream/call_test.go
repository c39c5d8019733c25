package upstream

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func TestPermitIsOneCall(t *testing.T) {
	h := newHouse(t, fast)
	h.Sync([]Spec{h.fake("plain")})
	l := h.list("plain")
	permit := h.permit("plain", l, "echo")
	params := []byte("{ \"arguments\" : {\"x\": 9007199254740993,\"e\":1e2} ,\n\"name\": \"asked\" , \"zz\":1.0}")
	reply, err := h.Call(t.Context(), permit, dispatch.Outgoing{Params: params})
	if err != nil {
		t.Fatal(err)
	}
	want := `{ "content":[], "n":1.0, "params":` + strings.Replace(strings.ReplaceAll(string(params), "\n", " "), "asked", "echo", 1) + `}`
	if string(reply.Result) != want || reply.Error != nil {
		t.Errorf("got %s\nwant %s", reply.Result, want)
	}
	calls := func() int { return len(h.notes("plain", "call")) }
	if calls() != 1 {
		t.Fatalf("%d calls were made", calls())
	}

	send := func(p dispatch.Permit) error {
		_, err := h.Call(t.Context(), p, dispatch.Outgoing{Params: params})
		return err
	}
	echo := l.Offers[0].Contract
	refused(t, send(dispatch.Permit{}), dispatch.PermitInvalid) // zero
	refused(t, send(permit), dispatch.PermitInvalid)            // used
	refused(t, send(admit(t, "plain", "other", "echo", echo)), dispatch.PermitInvalid)
	refused(t, send(admit(t, "elsewhere", "inc-plain", "echo", echo)), dispatch.PermitInvalid)
	changed := contract.Parse([]byte(`{"name":"echo","inputSchema":{"type":"object"},"description":"other"}`))
	refused(t, send(admit(t, "plain", "inc-plain", "echo", changed)), dispatch.ToolChanged) // stale
	refused(t, send(admit(t, "plain", "inc-plain", "unlisted", echo)), dispatch.ToolChanged)

	stale := h.permit("plain", l, "echo")
	if _, err := h.call(t.Context(), "plain", l, "announce"); err != nil {
		t.Fatal(err)
	}
	refused(t, send(stale), dispatch.ToolChanged) // the server announced a change since
	l = h.list("plain")
	refused(t, send(stale), dispatch.PermitInvalid) // a failed use is a use
	if calls() != 2 {
		t.Errorf("%d calls were made", calls())
	}
	if err := send(h.permit("plain", l, "echo")); err != nil || calls() != 3 {
		t.Errorf("%v, %d calls were made", err, calls())
	}
}

func TestConfusingParamsAreNotSent(t *testing.T) {
	h := newHouse(t, fast)
	h.Sync([]Spec{h.fake("plain")})
	l := h.list("plain")
	for _, params := range []string{
		`{"name":"a","Name":"die"}`, `{"name":"a","NAME":"die"}`, `{"name":"a","n\u0061Me":"x"}`, `{"name":"a","name\u0000":"die"}`,
		`{"name":"a","argument\u017f":{}}`, `{"name":"a","_Meta":{}}`, `{"name":"a","arguments\u0000x":{}}`, `[]`,
	} {
		_, err := h.Call(t.Context(), h.permit("plain", l, "echo"), dispatch.Outgoing{Params: []byte(params)})
		faulty(t, err, fault.BadInput, "nothing was sent")
	}
	for params, want := range map[string]string{
		``: `{"name":"echo"}`, `{}`: `{"name":"echo"}`, `{"arguments":{"Name":1}}`: `{"name":"echo","arguments":{"Name":1}}`, `{"n\u0061me":"x"}`: `{"n\u0061me":"echo"}`,
	} {
		reply, err := h.Call(t.Context(), h.permit("plain", l, "echo"), dispatch.Outgoing{Params: []byte(params)})
		if err != nil || !strings.Contains(string(reply.Result), `"params":`+want+`}`) {
			t.Errorf("%s: %s %v", params, reply.Result, err)
		}
	}
	if n := len(h.notes("plain", "call")); n != 4 {
		t.Errorf("%d calls were made", n)
	}
}

func TestProgress(t *testing.T) {
	h := newHouse(t, fast)
	h.Sync([]Spec{h.fake("plain")})
	l := h.list("plain")
	var got []string
	_, err := h.Call(t.Context(), h.permit("plain", l, "echo"), dispatch.Outgoing{
		Params: []byte(`{"name":"x","_meta":{"progressToken":"tok"}}`), Progress: func(p []byte) { got = append(got, string(p)) },
	})
	if err != nil || len(got) != 1 || got[0] != `{"progressToken":"tok","progress":1}` {
		t.Errorf("%q %v", got, err)
	}
}

func TestCallsThatFail(t *testing.T) {
	h := newHouse(t, fast)
	spec := h.fake("plain")
	h.Sync([]Spec{spec})
	l := h.list("plain")

	_, err := h.call(t.Context(), "plain", l, "huge")
	faulty(t, err, fault.TooLarge, "may have happened")
	_, err = h.call(t.Context(), "plain", l, "garble")
	faulty(t, err, fault.Protocol, "same name", "may have happened")

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := h.call(ctx, "plain", l, "slow")
		done <- err
	}()
	h.awaitNotes("plain", "call", 3)
	cancel()
	faulty(t, <-done, fault.Cancelled, "may have happened")
	if got := h.awaitNotes("plain", "cancelled", 1); !strings.Contains(got[0], `"requestId":`) {
		t.Errorf("%q", got)
	}

	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = h.call(ctx, "plain", l, "slow")
	faulty(t, err, fault.Timeout, "may have happened")

	spec.Timeout = 50 * time.Millisecond
	h.Sync([]Spec{spec}) // in force for the next call, without a restart
	_, err = h.call(t.Context(), "plain", l, "slow")
	faulty(t, err, fault.Timeout, "time limit", "may have happened")
	h.awaitNotes("plain", "cancelled", 3)
	spec.Timeout = 0
	h.Sync([]Spec{spec})

	go func() {
		_, err := h.call(t.Context(), "plain", l, "slow")
		done <- err
	}()
	h.awaitNotes("plain", "call", 6)
	h.CancelCalls("plain")
	faulty(t, <-done, fault.Cancelled, "no longer to be called", "may have happened")

	_, err = h.call(t.Context(), "plain", l, "die")
	faulty(t, err, fault.Upstream, "exit status 7", "may have happened")
	if strings.Contains(err.Error(), "out of memory") || !strings.Contains(h.log.String(), "out of memory") {
		t.Errorf("the program speaks in our sentence, or not in the log: %v", err)
	}
	if n := len(h.notes("plain", "started")); n > 2 {
		t.Errorf("started %d times", n)
	}
	// It comes back by itself, and its tools are to be listed again.
	h.connected("plain", 2)
	_, err = h.call(t.Context(), "plain", l, "echo")
	refused(t, err, dispatch.ToolChanged)
	l = h.list("plain")
	if _, err := h.call(t.Context(), "plain", l, "echo"); err != nil {
		t.Error(err)
	}
	if n := len(h.notes("plain", "call")); n != 8 { // no call was sent twice
		t.Errorf("%d calls: %q", n, h.notes("plain", "call"))
	}
}

func TestTurns(t *testing.T) {
	h := newHouse(t, fast)
	spec := h.fake("plain")
	spec.MaxConcurrent = 1
	h.Sync([]Spec{spec})
	l := h.list("plain")
	done := make(chan error, 2)
	go func() {
		_, err := h.call(t.Context(), "plain", l, "slow")
		done <- err
	}()
	h.awaitNotes("plain", "call", 1)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	waiting := h.permit("plain", l, "echo")
	_, err := h.Call(ctx, waiting, dispatch.Outgoing{})
	faulty(t, err, fault.Timeout, "its turn", "nothing was sent")
	go func() { // it waits for its turn, and CancelCalls ends it too
		_, err := h.call(t.Context(), "plain", l, "echo")
		done <- err
	}()
	s, _ := h.server("plain")
	for {
		s.mu.Lock()
		n := len(s.calls)
		s.mu.Unlock()
		if n == 2 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	h.CancelCalls("plain")
	faulty(t, <-done, fault.Cancelled)
	faulty(t, <-done, fault.Cancelled)
	if n := len(h.notes("plain", "call")); n != 1 {
		t.Errorf("%d calls were made", n)
	}
	if _, err := h.call(t.Context(), "plain", l, "echo"); err != nil {
		t.Error(err)
	}
}

func TestNotConnected(t *testing.T) {
	h := newHouse(t, fast)
	h.Sync([]Spec{h.fake("silent")})
	h.phase("silent", Connecting)
	permit := admit(t, "silent", "inc-silent", "echo", contract.Parse([]byte(`{"name":"echo"}`)))
	_, err := h.Call(t.Context(), permit, dispatch.Outgoing{})
	faulty(t, err, fault.Unavailable, "not connected yet", "nothing was sent")
	_, err = h.Call(t.Context(), permit, dispatch.Outgoing{})
	refused(t, err, dispatch.PermitInvalid)
}
