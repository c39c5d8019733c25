package call

import (
	"testing"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

// A name that no tool has is answered with what the caller may see, and with nothing else:
// what is outside of its scope is answered as what does not exist.
func TestWhatIsLost(t *testing.T) {
	_, d := newWorld()
	narrow := caller()
	narrow.Scope.Tools = []string{"notes:read", "read"}
	for _, c := range []struct {
		face         dispatch.Face
		name         string
		who          dispatch.Caller
		text, remedy string
	}{
		{dispatch.Face{Direct: true}, "notes__raed", caller(), `Refused: there is no "notes__raed" here; did you mean "notes__read"?`, "lost notes__raed among [notes__read notes__write notes__delete]"},
		{dispatch.Face{Server: "notes"}, "WriteNote", caller(), `Refused: there is no "WriteNote" here; did you mean "write"?`, "lost WriteNote among [read write delete]"},
		{dispatch.Face{Server: "notes"}, "other", caller(), `Refused: there is no "other" here.`, "lost other among [read write delete]"},
		{dispatch.Face{}, "read", caller(), `Refused: there is no "read" here.`, "lost read among []"},
		{dispatch.Face{Server: "notes"}, "write", narrow, `Refused: there is no "write" here.`, "lost write among [read]"},
		{dispatch.Face{Server: "notes"}, "writf", narrow, `Refused: there is no "writf" here.`, "lost writf among [read]"},
	} {
		r := request("read", `{}`)
		r.Face, r.Name, r.Caller = c.face, c.name, c.who
		_, refusal, err := d.Do(t.Context(), r)
		if refusal == nil || err != nil {
			t.Fatalf("%s: %v, %v", c.name, refusal, err)
		}
		if refusal.Class != dispatch.ToolUnknown || refusal.Server != "" || refusal.Text != c.text || refusal.Remedy != c.remedy {
			t.Errorf("%s: %+v", c.name, refusal)
		}
	}
}
