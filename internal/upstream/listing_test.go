package upstream

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func TestListingIsExact(t *testing.T) {
	h := newHouse(t, fast)
	h.Sync([]Spec{h.fake("pages"), h.fake("nameless")})
	l := h.list("pages")
	if len(l.Offers) != 2 || l.Incarnation != "inc-pages" || len(l.LeftOut) != 0 {
		t.Fatalf("%+v", l)
	}
	for i, want := range []string{`{"name":"a", "x":1.0}`, `{ "name" : "b" , "x":9007199254740993 }`} {
		if got := string(l.Offers[i].Contract.Raw()); got != want {
			t.Errorf("got %s", got)
		}
	}
	l = h.list("nameless")
	if len(l.Offers) != 2 || l.Offers[1].Name != "é ß" {
		t.Errorf("%+v", l.Offers)
	}
	want := "entry 2 has no name|entry 3 is no object|entry 4 has an empty name|entry 5 has a name that is no text|entry 6 has a name with control characters|entry 7 has a name of more than 256 bytes|entry 8 has no name"
	if got := strings.Join(l.LeftOut, "|"); got != want {
		t.Errorf("left out: %s", got)
	}
}

func TestListingsThatFail(t *testing.T) {
	short := fast
	short.listing = time.Minute
	h := newHouse(t, short)
	for _, c := range []struct {
		how  string
		kind fault.Kind
		says string
	}{
		{"endless", fault.TooLarge, "2000 pages"},
		{"fat", fault.TooLarge, "67108864 bytes"},
		{"longcursor", fault.Protocol, "longer than 4096 bytes"},
		{"values", fault.TooLarge, "2000000 JSON values"},
		{"circle", fault.Protocol, "a cursor twice"},
		{"many", fault.TooLarge, "10000 tools"},
		{"twice", fault.Protocol, `the tool "a" twice`},
		{"halfway", fault.Upstream, "error -32603"},
		{"cut", fault.Upstream, "could not list its tools"},
		{"notools", fault.Protocol, "no list of tools"},
	} {
		t.Run(c.how, func(t *testing.T) {
			h.Sync([]Spec{h.fake(c.how)})
			_, err := h.List(t.Context(), c.how)
			faulty(t, err, c.kind, c.says)
			if !h.Verified(c.how).IsZero() {
				t.Error("it counts as verified")
			}
			if strings.Contains(err.Error(), "no more") {
				t.Error("the server speaks in our sentence")
			}
		})
	}
}

func TestListingWaitsNoLongerThanItMay(t *testing.T) {
	h := newHouse(t, fast)
	h.Sync([]Spec{h.fake("silent"), h.fake("mute")})
	h.phase("mute", Connected)
	for _, name := range []string{"silent", "mute"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := h.List(ctx, name)
		faulty(t, err, fault.Timeout, name)
		cancel()
	}
}

// A change announced while listing leaves the tools unverified.
func TestChangeDuringListing(t *testing.T) {
	h := newHouse(t, fast)
	h.Sync([]Spec{h.fake("restless"), h.fake("plain")})
	l := h.list("restless")
	if len(l.Offers) != 6 {
		t.Errorf("%+v", l)
	}
	if !h.Verified("restless").IsZero() {
		t.Error("verified, although it announced a change")
	}
	before := time.Now()
	l = h.list("plain")
	if v := h.Verified("plain"); v.Before(before) || v.After(time.Now()) {
		t.Errorf("verified at %v", v)
	}
	if _, err := h.call(t.Context(), "plain", l, "announce"); err != nil {
		t.Fatal(err)
	}
	if !h.Verified("plain").IsZero() {
		t.Error("verified, although it announced a change")
	}
	h.until("it is told", func() bool { return h.told["plain"] >= 2 })
}

func TestStormOfChanges(t *testing.T) {
	calm := fast
	calm.notify = time.Second
	h := newHouse(t, calm)
	h.Sync([]Spec{h.fake("storm")})
	l := h.list("storm") // answered behind the whole storm
	h.list("storm")
	if _, err := h.call(t.Context(), "storm", l, "echo"); err != nil {
		t.Error(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.told["storm"]; n < 1 || n > 5 {
		t.Errorf("told %d times", n)
	}
}
