package call

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
)

// ruleFunc is rules as a function.
type ruleFunc func(ctx context.Context, g dispatch.Granted, arguments []byte) ([]byte, *dispatch.Objection)

func (f ruleFunc) Rule(ctx context.Context, g dispatch.Granted, arguments []byte) ([]byte, *dispatch.Objection) {
	return f(ctx, g, arguments)
}

func TestADeskWithoutARoomIsNone(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("a desk of nothing was made")
	}
	w, _ := newWorld()
	o := w.desk(1, 1).o
	o.Rules = nil
	if _, err := New(o); err == nil {
		t.Error("a desk without rules was made")
	}
}

// Rules see the arguments as they came, after the schema was held against them.
func TestRulesSeeWhatWasSent(t *testing.T) {
	w, _ := newWorld()
	var saw []string
	d := w.ruled(ruleFunc(func(_ context.Context, g dispatch.Granted, arguments []byte) ([]byte, *dispatch.Objection) {
		saw = append(saw, g.Tool+" "+string(arguments))
		return arguments, nil
	}), 1<<16, 1<<16)
	spaced := `{ "text" : "a\u0062" }`
	if _, refusal, err := d.Do(t.Context(), request("write", spaced)); refusal != nil || err != nil {
		t.Fatal(refusal, err)
	}
	if _, refusal, _ := d.Do(t.Context(), request("write", `{"text":1}`)); refusal == nil || refusal.Class != dispatch.InvalidArguments {
		t.Errorf("arguments that do not fit: %v", refusal)
	}
	if want := []string{"write " + spaced}; !slices.Equal(saw, want) {
		t.Errorf("the rules saw %q, not %q", saw, want)
	}
}

// What rules refuse is not sent, and is written down as refused by them.
func TestRulesRefuse(t *testing.T) {
	for name, no := range map[string]*dispatch.Objection{
		"an objection":             {Stage: dispatch.ByMode, Reason: "the mode is plan", Remedy: "start it with --mode default"},
		"an objection of no words": {},
		"neither":                  nil,
	} {
		w, _ := newWorld()
		d := w.ruled(ruleFunc(func(context.Context, dispatch.Granted, []byte) ([]byte, *dispatch.Objection) { return nil, no }), 1<<16, 1<<16)
		_, refusal, err := d.Do(t.Context(), request("write", good))
		if err != nil || refusal == nil || refusal.Class != dispatch.RefusedByRules {
			t.Fatalf("%s: %v, %v", name, refusal, err)
		}
		if w.calls != 0 || len(w.entries) != 1 || w.entries[0].Type != record.TypeRefusal || w.entries[0].Call.Refused != "refused_by_rules" {
			t.Errorf("%s: %d calls, entries %+v", name, w.calls, w.entries)
		}
		if name == "an objection" && (refusal.Text != "Refused: the mode is plan" || !slices.Equal(w.entries[0].Call.Reasons, []string{"refused_by_rules", "by_mode"})) {
			t.Errorf("%s: %+v, audit %+v", name, refusal, w.entries[0].Call)
		}
	}
}

// Rules may have other arguments run. The audit keeps the digest of those that came.
func TestRulesChangeArguments(t *testing.T) {
	for params, want := range map[string]string{
		`{"name":"notes__write","arguments":{"text":"x"},"_meta":{}}`: `{"name":"notes__write","arguments":{"n":1},"_meta":{}}`,
		`{"arguments" : {"text":"x"} , "name":"notes__write"}`:        `{"arguments" : {"n":1} , "name":"notes__write"}`,
		` { "name":"notes__write"}`:                                   `{"arguments":{"n":1},"name":"notes__write"}`,
		`{ }`:                                                         `{"arguments":{"n":1}}`,
		``:                                                            `{"arguments":{"n":1}}`,
	} {
		w, _ := newWorld()
		var sent string
		w.answer = func(ctx context.Context, out dispatch.Outgoing) (dispatch.Reply, error) {
			sent = string(out.Params)
			return dispatch.Reply{Result: []byte(`{}`)}, nil
		}
		var over context.Context
		d := w.ruled(ruleFunc(func(ctx context.Context, _ dispatch.Granted, _ []byte) ([]byte, *dispatch.Objection) {
			over = ctx
			return []byte(`{"n":1}`), nil
		}), 1<<16, 1<<16)
		r := request("write", good)
		r.Params = []byte(params)
		if _, refusal, err := d.Do(t.Context(), r); refusal != nil || err != nil {
			t.Fatal(params, refusal, err)
		}
		if strings.TrimSpace(sent) != want {
			t.Errorf("%s went out as %s, not %s", params, sent, want)
		}
		came, _ := readArguments(r.Params)
		if got := w.durable[0].Call.ArgsSHA256; got != came.digest() {
			t.Errorf("%s: the audit has the digest %s", params, got)
		}
		if over.Err() == nil {
			t.Error("the context that rules got did not end with the call")
		}
	}
}
