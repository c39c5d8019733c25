package gateway

import (
	"testing"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/call"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// FuzzToolCall: any params of tools/call and tools/list get a well-formed answer,
// and what goes to the desk from a call_tool is a message that can be read strictly.
func FuzzToolCall(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"name":7}`, `{"name":"retrieve_tools","arguments":{"query":"a","limit":1e9}}`, `{"name":"describe_tool","arguments":{"names":["s__t0000",1]}}`,
		`{"name":"call_tool_read","arguments":{"name":"s__t0000","arguments":{"a":[1.0,{"b":"\u0000"}]}},"_meta":{"progressToken":1e400}}`,
		`{"n\u0061me":"call_tool_write","argument\u0073":{"nam\u0065":"s__t0001","arguments":{}}}`,
		`{"name":"upstream_servers","arguments":{"operation":"add","name":"x","env":{"A":"b"},"args":["a"],"quarantined":null}}`,
		`{"name":"quarantine_security","arguments":{"operation":"inspect","server":"s","tool":"t"}}`, `{"cursor":"eyJzIjoicyIsInQiOiJ0MDAwMCIsImkiOjB9"}`,
	} {
		f.Add([]byte(seed))
	}
	s := newStill(f)
	s.set(set{server: "s", tools: 3})
	s.desk = func(r call.Request) (dispatch.Reply, *dispatch.Refusal, error) {
		if _, err := wire.Parse(wire.NewRequest([]byte("1"), "tools/call", r.Params)); err != nil {
			panic("what goes on is no message: " + err.Error() + ": " + string(r.Params))
		}
		if r.Progress != nil {
			r.Progress(nil)
		}
		return dispatch.Reply{}, &dispatch.Refusal{Class: dispatch.ToolUnknown, Reasons: []dispatch.Reason{dispatch.ToolUnknown}, Text: "Refused: no."}, nil
	}
	_, x := s.open(f, place{kind: faceSearch}, dispatch.Local())
	_, y := s.open(f, place{kind: faceDirect}, dispatch.Local())
	f.Fuzz(func(t *testing.T, params []byte) {
		m, err := wire.Parse(wire.NewRequest([]byte("1"), "tools/call", params))
		if err != nil || m.Params == nil {
			t.Skip("no params")
		}
		for _, session := range []*session{x, y} {
			for _, method := range []string{"tools/call", "tools/list"} {
				m.Method = method
				result, rpcErr := (*face)(s.g).Request(t.Context(), session, wire.Exchange{Message: m, Notify: func(string, []byte) {}})
				if rpcErr != nil {
					if rpcErr.Code == wire.CodeInternal {
						t.Fatalf("%s of %s: %s", method, params, rpcErr.Message)
					}
					continue
				}
				if _, err := wire.Parse(wire.NewResult([]byte("1"), result)); err != nil {
					t.Fatalf("the answer to %s is no message: %v: %s", params, err, result)
				}
			}
		}
	})
}
