package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

var (
	person   = record.Actor{Kind: record.Person, Name: "ada"}
	agent    = record.Actor{Kind: record.Agent, Name: "bot"}
	operator = record.Actor{Kind: record.Operator, Name: "holdfast.json"}
	machine  = record.Actor{Kind: record.Holdfast}
	nobody   = record.Actor{}
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 1500, time.UTC)

// tb is what the harness needs of a test, or of a sequence.
type tb interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// bench is one server's stored state, to which acts are applied as a store would.
type bench struct {
	t    tb
	s    State
	j    *judge
	n    int // incarnations given
	last Change
}

// judge answers by the words in a contract's description: HARD and SOFT<x> are
// findings, PARTIAL is a check that did not run. Compare is silent for equal input
// schemas, hints and output schemas, and otherwise answers what its answers say.
type judge struct {
	bundle   string
	partial  bool // no scan is complete
	answers  map[[2]contract.Digest][]delta.Signal
	scans    int
	compares int
	unasked  tb // fails when anything is asked
}

func (j *judge) Bundle() string { return j.bundle }

func (j *judge) Scan(c contract.Contract) scan.Verdict {
	j.scans++
	if j.unasked != nil {
		j.unasked.Errorf("a scan was asked for")
	}
	text := c.Description()
	v := scan.Verdict{Outcome: scan.Clean, Complete: j.bundle != "" && !j.partial && !strings.Contains(text, "PARTIAL"), Bundle: j.bundle}
	for _, word := range strings.Fields(text) {
		switch {
		case strings.HasPrefix(word, "HARD"):
			v.Findings = append(v.Findings, scan.Finding{Check: "phrase.injection", Tier: scan.Hard, Path: "/description", Evidence: word})
		case strings.HasPrefix(word, "SOFT"):
			v.Findings = append(v.Findings, scan.Finding{Check: "directive.imperative", Tier: scan.Soft, Path: "/description", Evidence: word})
		}
	}
	for _, f := range v.Findings {
		if f.Tier == scan.Hard {
			v.Outcome = scan.Dangerous
		} else if v.Outcome == scan.Clean {
			v.Outcome = scan.Review
		}
	}
	return v
}

func (j *judge) Compare(approved, live contract.Contract) []delta.Signal {
	j.compares++
	if j.unasked != nil {
		j.unasked.Errorf("a comparison was asked for")
	}
	if s, scripted := j.answers[[2]contract.Digest{approved.Digest(), live.Digest()}]; scripted {
		return s
	}
	var signals []delta.Signal
	a, l := approved.Hints(), live.Hints()
	for _, h := range []struct {
		name string
		a, l bool
	}{
		{"destructiveHint", a.Destructive, l.Destructive},
		{"idempotentHint", a.Idempotent, l.Idempotent},
		{"openWorldHint", a.OpenWorld, l.OpenWorld},
		{"readOnlyHint", a.ReadOnly, l.ReadOnly},
	} {
		if h.a != h.l {
			signals = append(signals, delta.Signal{Rule: delta.HintChange, Reason: h.name, Old: fmt.Sprint(h.a), New: fmt.Sprint(h.l)})
		}
	}
	if x, y := approved.Class(contract.Read), live.Class(contract.Read); x != y {
		signals = append(signals, delta.Signal{Rule: delta.HintChange, Reason: "dispatch", Old: x.String(), New: y.String()})
	}
	in, _ := approved.InputSchema()
	now, _ := live.InputSchema()
	if !in.Equal(now) {
		signals = append(signals, delta.Signal{Rule: delta.SchemaShape, Reason: "type", Path: "properties/to"})
	}
	out, had := approved.OutputSchema()
	is, has := live.OutputSchema()
	switch {
	case !had && has:
		signals = append(signals, delta.Signal{Rule: delta.OutputSchema, Reason: "added"})
	case had && !has:
		signals = append(signals, delta.Signal{Rule: delta.OutputSchema, Reason: "removed"})
	case !out.Equal(is):
		signals = append(signals, delta.Signal{Rule: delta.OutputSchema, Reason: "changed"})
	}
	return delta.Merge(signals)
}

// answer scripts what Compare says of a pair.
func (j *judge) answer(approved, live contract.Contract, signals ...delta.Signal) {
	if j.answers == nil {
		j.answers = map[[2]contract.Digest][]delta.Signal{}
	}
	j.answers[[2]contract.Digest{approved.Digest(), live.Digest()}] = signals
}

func shape(reason, path string) delta.Signal {
	return delta.Signal{Rule: delta.SchemaShape, Reason: reason, Path: path}
}

// setup gives a bench without a server, under a default mode.
func setup(t tb, mode string) *bench {
	return &bench{
		t: t, j: &judge{bundle: "b1"},
		s: State{Settings: Settings{ID: "cfg1", DefaultMode: mode, OnHold: OnHoldBlock}, Now: start},
	}
}

// added gives a bench with a server that was added under a mode.
func added(t tb, mode string, ask Ask) *bench {
	b := setup(t, mode)
	b.ok(Add(b.s, b.addRequest(ByCLI, ask)))
	return b
}

// trusted gives a bench whose server was said to be trusted, with offers in its
// baseline.
func trusted(t tb, mode string, offers ...Offer) *bench {
	b := added(t, mode, AskLess)
	b.pass(offers...)
	return b
}

func (b *bench) addRequest(way Way, ask Ask) AddRequest {
	who := person
	switch way {
	case ByMCP:
		who = agent
	case ByFile:
		who = operator
	case ByCLI, ByREST, ByImport:
	}
	return AddRequest{
		Name: "srv", Way: way, Actor: who, Program: Program{Command: "run"}, Quarantine: ask,
		FileSource: "holdfast.json:7", Incarnation: b.incarnation(),
	}
}

func (b *bench) incarnation() string {
	b.n++
	return fmt.Sprintf("inc%d", b.n)
}

// ok commits a Change, after checking that it is whole.
func (b *bench) ok(c Change, err error) Change {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("refused: %v", err)
	}
	b.commit(c)
	return c
}

// refused wants a refusal that explains itself and writes nothing.
func (b *bench) refused(code string) func(Change, error) {
	return func(c Change, err error) {
		b.t.Helper()
		r, is := errors.AsType[*Refused](err)
		if !is {
			b.t.Fatalf("not refused, want %s: %v", code, err)
		}
		if r.Code != code {
			b.t.Errorf("refused as %s, want %s: %s", r.Code, code, r.What)
		}
		if r.What == "" || r.Hint == "" || strings.HasSuffix(r.What, ".") || r.Error() != r.What {
			b.t.Errorf("%s does not explain itself: %+v", code, r)
		}
		if !c.Empty() || len(c.Forbidden) > 0 {
			b.t.Errorf("a refusal as %s wrote something", code)
		}
	}
}

// commit does what a store does, and checks what a Change promises.
func (b *bench) commit(c Change) {
	b.t.Helper()
	b.last = c
	if c.SettingsID != b.s.Settings.ID || c.Made != b.s.Server.Version {
		b.t.Errorf("the change is of settings %q and version %d", c.SettingsID, c.Made)
	}
	if len(c.Forbidden) > 0 {
		b.t.Errorf("forbidden: %v", c.Forbidden)
	}
	transitions := map[string]int{}
	for _, e := range c.Entries {
		if e.Server != "srv" || e.SettingsID != c.SettingsID || e.Time.Nanosecond()%1000 != 0 {
			b.t.Errorf("entry %+v", e)
		}
		if e.Type == record.TypeTransition {
			transitions[e.Kind+e.Name]++
		}
	}
	if (c.Server != nil || c.Remove) && !slices.ContainsFunc(c.Entries, func(e record.Entry) bool { return e.Type == record.TypeServer }) {
		b.t.Error("a server was written without an entry")
	}
	if c.Remove {
		b.s.Server, b.s.Records = Server{}, nil
		return
	}
	if c.Server != nil {
		b.s.Server = *c.Server
		b.s.Server.Version = c.Made + 1
	}
	b.s.Records = slices.Clone(b.s.Records)
	for _, r := range c.Records {
		key := string(r.Key.Kind) + r.Key.Name
		if transitions[key] != 1 {
			b.t.Errorf("%s was written with %d transitions", key, transitions[key])
		}
		delete(transitions, key)
		i := slices.IndexFunc(b.s.Records, func(old Record) bool { return old.Key == r.Key })
		if i < 0 {
			r.Version = 1
			b.s.Records = append(b.s.Records, r)
			continue
		}
		if r.Version != b.s.Records[i].Version {
			b.t.Errorf("%s was made from version %d", key, r.Version)
		}
		r.Version++
		b.s.Records[i] = r
	}
	if len(transitions) > 0 {
		b.t.Errorf("transitions without their records: %v", transitions)
	}
}

// pass takes a listing.
func (b *bench) pass(offers ...Offer) Change {
	b.t.Helper()
	return b.ok(Pass(b.s, b.listing(offers...), b.theJudge()))
}

func (b *bench) theJudge() Judge {
	if b.j == nil {
		return nil
	}
	return b.j
}

func (b *bench) listing(offers ...Offer) Listing {
	return Listing{Incarnation: b.s.Server.Incarnation, Offers: offers}
}

// quiet takes a listing that must change nothing and ask for nothing.
func (b *bench) quiet(offers ...Offer) {
	b.t.Helper()
	before := *b.j
	b.j.unasked = b.t
	if c := b.pass(offers...); !c.Empty() {
		b.t.Errorf("a quiet pass wrote %s", reasons(c))
	}
	*b.j = before
}

// still takes a listing that must change nothing.
func (b *bench) still(offers ...Offer) {
	b.t.Helper()
	if c := b.pass(offers...); !c.Empty() {
		b.t.Errorf("a pass wrote %s", reasons(c))
	}
}

// rec gives a record by name.
func (b *bench) rec(name string) Record {
	b.t.Helper()
	for _, r := range b.s.Records {
		if r.Key.Name == name {
			return r
		}
	}
	b.t.Fatalf("no record of %s", name)
	return Record{}
}

// see is what a person sees of the named tools.
func (b *bench) see(names ...string) []Seen {
	var seen []Seen
	for _, n := range names {
		r := b.rec(n)
		seen = append(seen, Seen{r.Key.Kind, n, r.Live.Digest()})
	}
	return seen
}

func (b *bench) review(names ...string) ReviewRequest {
	return ReviewRequest{Actor: person, Incarnation: b.s.Server.Incarnation, Tools: b.see(names...)}
}

// release releases the server, approving the named tools.
func (b *bench) releaseRequest(names ...string) ReleaseRequest {
	return ReleaseRequest{Actor: person, Incarnation: b.s.Server.Incarnation, Tools: b.see(names...)}
}

// is checks a record in one line: status and flags as state prints them.
func (b *bench) is(name, want string) {
	b.t.Helper()
	if got := state(b.rec(name)); got != want {
		b.t.Errorf("%s is %s, want %s", name, got, want)
	}
}

// state prints what a record is: status, by whom it is approved, where it is
// anchored, waiting, declined, blocked, absent, and why it is held.
func state(r Record) string {
	s := r.Status.String()
	if r.ApprovedBy.Reason != "" {
		s += " " + string(r.ApprovedBy.Reason)
	}
	if r.AnchorBy.Reason != r.ApprovedBy.Reason {
		s += " anchored " + string(r.AnchorBy.Reason)
	}
	for _, f := range []struct {
		word string
		is   bool
	}{
		{"waiting", r.Waiting()}, {"declined", r.Declined != ""}, {"blocked", r.Blocked}, {"absent", r.Absent},
	} {
		if f.is {
			s += " " + f.word
		}
	}
	if r.Evidence.Reason != "" {
		s += " held " + string(r.Evidence.Reason)
	}
	return s
}

// reasons prints what a Change wrote.
func reasons(c Change) string {
	var list []string
	for _, e := range c.Entries {
		switch {
		case e.Transition != nil:
			list = append(list, fmt.Sprintf("%s:%s>%s:%s", e.Name, e.Transition.From, e.Transition.To, e.Transition.Reason))
		case e.Act != nil:
			list = append(list, e.Act.What)
		}
	}
	return strings.Join(list, " ")
}

// wrote checks what the last Change wrote.
func (b *bench) wrote(want string) {
	b.t.Helper()
	if got := reasons(b.last); got != want {
		b.t.Errorf("wrote %q, want %q", got, want)
	}
}

// tool offers a tool by its JSON.
func tool(name, rest string) Offer {
	return Offer{Kind: Tool, Name: name, Contract: contract.Parse(fmt.Appendf(nil, `{"name":%q%s}`, name, rest))}
}

// The fixtures of the scenarios, as offers of a tool called name.
const (
	toString  = `,"inputSchema":{"type":"object","properties":{"to":{"type":"string"},"cc":{"type":"string"}}}`
	toWide    = `,"inputSchema":{"type":"object","properties":{"to":{"type":["string","number"]},"cc":{"type":"string"}}}`
	toRequire = `,"inputSchema":{"type":"object","properties":{"to":{"type":"string"},"cc":{"type":"string"}},"required":["to"]}`
	readOnly  = `,"annotations":{"readOnlyHint":true,"openWorldHint":false}`
)

func benign(name string) Offer { return tool(name, `,"description":"Sends."`+toString+readOnly) }
func edited(name string) Offer { return tool(name, `,"description":"Sends it."`+toString+readOnly) }
func wide(name string) Offer   { return tool(name, `,"description":"Sends."`+toWide+readOnly) }
func danger(name string) Offer { return tool(name, `,"description":"HARD"`+toString+readOnly) }
func soft(name string) Offer   { return tool(name, `,"description":"SOFT1"`+toString+readOnly) }
func softEdited(name string) Offer {
	return tool(name, `,"description":"SOFT1 and more"`+toString+readOnly)
}
func softOther(name string) Offer { return tool(name, `,"description":"SOFT2"`+toString+readOnly) }
func unparsable(name string) Offer {
	return tool(name, `,"name":"twice"`)
}
