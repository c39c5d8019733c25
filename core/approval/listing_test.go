package approval

import (
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Small in bytes and large in memory is large.
func TestListingOfTooManyValues(t *testing.T) {
	var l Listing
	for i := range 5 {
		name := strconv.Itoa(i)
		l.Offers = append(l.Offers, Offer{Tool, name, contract.Parse([]byte(`{"name":"` + name + `","x":[` + strings.Repeat("0,", 450_000) + `0]}`))})
	}
	_, err := l.check(State{})
	if r, ok := err.(*Refused); !ok || r.Code != CodeTooLarge || !strings.Contains(r.What, strconv.Itoa(MaxValues)) {
		t.Errorf("got %v", err)
	}
	l.Offers = l.Offers[:4]
	if _, err := l.check(State{}); err != nil {
		t.Errorf("within the limit: %v", err)
	}
}
