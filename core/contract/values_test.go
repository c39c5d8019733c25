package contract

import (
	"runtime"
	"strings"
	"testing"
)

func TestValues(t *testing.T) {
	for raw, want := range map[string]int{
		`{}`: 1, `{"a":1}`: 2, `{"a":[1,"x",null,true,{}],"b":{"":[]}}`: 9, `{"a":1,"a":2}`: 0, `[1]`: 0, ``: 0,
		`{"x":[` + strings.Repeat(`{"":0},`, 1000) + `0]}`: 2003,
	} {
		c := Parse([]byte(raw))
		if got := c.Values(); got != want {
			t.Errorf("%.40s: %d values, want %d", raw, got, want)
		}
		if again, err := Restore(c.Raw(), c.Digest(), c.Problem()); err != nil || again.Values() != want {
			t.Errorf("%.40s: restored with %d values, %v", raw, again.Values(), err)
		}
	}
}

// What a definition costs in memory follows from its values, whatever it is made of.
func TestValuesBoundMemory(t *testing.T) {
	for name, item := range map[string]string{"numbers": "0,", "lists": "[],", "nested": "[[]],", "objects": `{"":0},`, "pairs": `{"b":0,"a":0},`} {
		raw := []byte(`{"x":[` + strings.Repeat(item, 600_000/len(item)) + `0]}`)
		before := heap()
		c := Parse(raw)
		held := int64(heap()) - int64(before) - 2*int64(len(raw))
		if perValue := held / int64(c.Values()); perValue > 90 {
			t.Errorf("%s: %d bytes for each of %d values", name, perValue, c.Values())
		}
		runtime.KeepAlive(c)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
