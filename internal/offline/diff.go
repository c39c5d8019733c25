package offline

import (
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Change says what became of a tool. Append-only.
type Change string

const (
	Unchanged Change = "unchanged"
	Added     Change = "added"
	Removed   Change = "removed"
	Changed   Change = "changed"
)

// Compared is the gate's verdict on one tool of two listings.
type Compared struct {
	Server      string
	Name        string // that of the new listing, where it is there
	Change      Change
	Held        bool // exactly where there are signals
	TextChanged bool // a title, description or another text differs
	Signals     []delta.Signal
	Lines       []delta.Line // of the review; none where nothing was compared
	In          *Listing     // where it stands: the new listing, the old one for Removed
	Start, End  int64        // bytes into In
}

// key names a tool within a listing. Those without a name are told apart by their
// order.
type key struct {
	server, name string
	nth          int
}

// Diff gives each what the gate says of each tool: those of live in their order,
// then those of approved that are gone.
//
// What can't be read is held, on either side. An added tool is not, for there is
// nothing to compare it with: what it needs is an approval, or a scan. Two inputs
// of one tool each are compared whatever the names; so are two of one server each.
// An approved input that is null stands for contracts that were not recorded.
//
// It fails with protocol where a listing names a tool twice, or where the servers
// can't be matched, and with each's error.
func Diff(gate delta.Gate, approved, live *Listing, each func(Compared) error) error {
	d := &differ{gate: gate, approved: approved, live: live, each: each}
	switch {
	case approved.null:
		return d.unrecorded()
	case approved.Len() == 1 && live.Len() == 1:
		return d.pair(0, 0)
	}
	a, l := approved.Servers(), live.Servers()
	if (a == nil && len(l) > 1 || l == nil && len(a) > 1) && !approved.whole && !live.whole {
		return fault.New(fault.Protocol, fmt.Sprintf("%q and %q can't be matched: one names several servers and the other none", approved.Name(), live.Name()),
			`Put both into the form {"servers": {NAME: {"tools": [...]}}}.`)
	}
	d.named = len(a) > 1 || len(l) > 1
	return d.run()
}

type differ struct {
	gate           delta.Gate
	approved, live *Listing
	each           func(Compared) error
	named          bool // servers count
}

// keys gives the key of every definition of a listing.
func (d *differ) keys(l *Listing) ([]key, error) {
	all := make([]key, l.Len())
	seen := make(map[key]bool, l.Len())
	nameless := map[string]int{}
	for i, p := range l.entries {
		k := key{name: l.name(i)}
		if d.named {
			k.server = l.servers[p.server]
		}
		switch {
		case k.name == "":
			nameless[k.server]++
			k.nth = nameless[k.server]
		case seen[k]:
			return nil, fault.New(fault.Protocol, fmt.Sprintf("%q lists the tool %q twice, and it can't be known which of the two would be called", l.Name(), k.name),
				"The server has to be corrected; a daemon refuses such a listing too.")
		}
		seen[k] = true
		all[i] = k
	}
	return all, nil
}

// run matches the listings by name.
func (d *differ) run() error {
	before, err := d.keys(d.approved)
	if err != nil {
		return err
	}
	now, err := d.keys(d.live)
	if err != nil {
		return err
	}
	stands := make(map[key]int, len(before))
	for i, k := range before {
		stands[k] = i
	}
	for i, k := range now {
		was, known := stands[k]
		if !known {
			err = d.added(i)
		} else {
			delete(stands, k)
			err = d.pair(was, i)
		}
		if err != nil {
			return err
		}
	}
	for i, k := range before {
		if _, gone := stands[k]; !gone {
			continue
		}
		if err := d.removed(i); err != nil {
			return err
		}
	}
	return nil
}

// pair compares two definitions of one tool.
func (d *differ) pair(was, is int) error {
	a, err := d.approved.Entry(was)
	if err != nil {
		return err
	}
	l, err := d.live.Entry(is)
	if err != nil {
		return err
	}
	if l.Name == "" {
		l.Name = a.Name
	}
	return d.compare(a.Contract, l)
}

// compare judges a definition that has a counterpart.
func (d *differ) compare(a contract.Contract, l Entry) error {
	c := of(d.live, l, Changed)
	if a.Equal(l.Contract) {
		c.Change = Unchanged
		if l.Contract.Parsable() {
			return d.each(c)
		}
	}
	c.Signals = d.gate.Compare(a, l.Contract)
	c.Lines = d.gate.Review(a, l.Contract)
	c.Held, c.TextChanged = len(c.Signals) > 0, TextChanged(c.Lines)
	return d.each(c)
}

// added tells of a new definition, which is held only where it can't be read.
func (d *differ) added(i int) error {
	l, err := d.live.Entry(i)
	if err != nil {
		return err
	}
	c := of(d.live, l, Added)
	if !l.Contract.Parsable() {
		c.Signals, c.Lines, c.Held = d.gate.Compare(l.Contract, l.Contract), d.gate.Review(l.Contract, l.Contract), true
	}
	return d.each(c)
}

// removed tells of a definition that is gone. Where the old input as a whole can't
// be read nothing was compared, and that must not pass.
func (d *differ) removed(i int) error {
	a, err := d.approved.Entry(i)
	if err != nil {
		return err
	}
	c := of(d.approved, a, Removed)
	if d.approved.whole && !a.Contract.Parsable() {
		nothing := contract.Parse([]byte("{}"))
		c.Signals, c.Lines, c.Held = d.gate.Compare(a.Contract, nothing), d.gate.Review(a.Contract, nothing), true
	}
	return d.each(c)
}

// unrecorded compares with nothing: docs/design/structural-gate.md, approved-unknown.
func (d *differ) unrecorded() error {
	for i := range d.live.Len() {
		l, err := d.live.Entry(i)
		if err != nil {
			return err
		}
		if err := d.compare(contract.Contract{}, l); err != nil {
			return err
		}
	}
	return nil
}

func of(in *Listing, e Entry, c Change) Compared {
	return Compared{In: in, Server: e.Server, Name: e.Name, Change: c, Start: e.Start, End: e.End}
}

// TextChanged reports whether one of the lines is about a text.
func TextChanged(lines []delta.Line) bool {
	for _, l := range lines {
		if isText(l) {
			return true
		}
	}
	return false
}

// isText knows a line about a text by what only such lines have: the runs of its
// words, or, where it is no string, the way it is told.
func isText(l delta.Line) bool {
	return len(l.Signals) == 0 && (len(l.Runs) > 0 || strings.HasPrefix(l.Sentence, "The text "))
}
