package delta

import (
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Any two texts give an answer, the same one each time, in order and legible.
func FuzzCompare(f *testing.F) {
	for _, c := range gateCases(f) {
		f.Add([]byte(c.Approved), []byte(c.Live))
	}
	f.Fuzz(func(t *testing.T, approved, live []byte) {
		a, l := contract.Parse(approved), contract.Parse(live)
		checkTotal(t, a, l)
		checkTotal(t, contract.Contract{}, l)
	})
}

// The same for input schemas alone, which is where the work is.
func FuzzCompareSchemas(f *testing.F) {
	for _, c := range gateCases(f) {
		a, l := c.contracts(f)
		x, _ := a.InputSchema()
		y, _ := l.InputSchema()
		f.Add(x.AppendCanonical(nil), y.AppendCanonical(nil))
	}
	f.Fuzz(func(t *testing.T, approved, live []byte) {
		checkTotal(t, tool(string(approved)), tool(string(live)))
	})
}
