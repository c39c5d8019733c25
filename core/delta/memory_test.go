package delta

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// A Comparer says of each change what the gate says of it alone, whatever it compared
// before: real changes, schemas that refer to each other in rings, and one so large
// that its memory is not kept.
func TestComparerSaysTheSame(t *testing.T) {
	type pair struct{ approved, live contract.Contract }
	var pairs []pair
	r := rand.New(rand.NewPCG(3, 4))
	drawnTool := func() contract.Contract {
		return contract.Parse([]byte(`{"name":"t","inputSchema":` + graph(r, 2+r.IntN(6)) + `,"outputSchema":` + graph(r, 2) + `}`))
	}
	for range drawn() / 10 {
		pairs = append(pairs, pair{drawnTool(), drawnTool()})
	}
	large := largeTool(3000, "one")
	pairs = append(pairs, pair{large, largeTool(3000, "two")}, pair{large, pairs[0].live}, pair{contract.Contract{}, large}, pair{large, contract.Parse(nil)})
	for _, c := range gateCases(t) {
		approved, live := c.contracts(t)
		pairs = append(pairs, pair{approved, live}, pair{live, approved})
	}
	g := Gate{Unannotated: contract.Read}
	c := g.Comparer()
	for range 2 {
		for i, p := range pairs {
			if got, want := c.Compare(p.approved, p.live), g.Compare(p.approved, p.live); !slices.Equal(got, want) {
				t.Fatalf("pair %d: %v, alone %v\n%.3000s\n%.3000s", i, got, want, p.approved.Raw(), p.live.Raw())
			}
		}
		r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	}
}
