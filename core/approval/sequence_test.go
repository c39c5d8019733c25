package approval

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
)

// walk is a sequence of acts on one server, with what must hold after each.
type walk struct {
	*bench
	rt       *rapid.T
	approved map[contract.Digest]Reason // every contract that was ever approved, and why
}

// TestSequences plays any acts in any order, by anybody, under any settings.
func TestSequences(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := setup(rt, rapid.SampledFrom([]string{"manual", "scan", "auto"}).Draw(rt, "default mode"))
		w := &walk{bench: b, rt: rt, approved: map[contract.Digest]Reason{}}
		w.add(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"add":              w.add,
			"settings":         w.settings,
			"edit":             w.edit,
			"pass":             w.list,
			"another pass":     w.list,
			"a third pass":     w.list,
			"pass again":       w.again,
			"another review":   w.decide,
			"review":           w.decide,
			"release":          w.releases,
			"server":           w.switches,
			"":                 w.holds,
			"an agent reviews": w.agentReviews,
		})
	})
}

func draw[T any](rt *rapid.T, label string, of ...T) T { return rapid.SampledFrom(of).Draw(rt, label) }

// callable is what dispatch would let through.
func (w *walk) callable() []string {
	var names []string
	s := w.s.Server
	for _, r := range w.s.Records {
		if s.Version > 0 && s.Named && s.Enabled && !s.Proposal && !s.Quarantined && r.Status == Approved && !r.Blocked && !r.Absent {
			names = append(names, r.Key.Name+string(r.Approved.Digest()))
		}
	}
	return names
}

// try does an act and commits it, or sees it refused with nothing written; then it
// looks at what changed.
func (w *walk) try(actor record.Actor, c Change, err error) {
	before, could := w.s, w.callable()
	if err != nil {
		r, is := errors.AsType[*Refused](err)
		if !is || r.Code == "" || r.Hint == "" || !c.Empty() {
			w.rt.Fatalf("refused with %v, writing %s", err, reasons(c))
		}
		if r.Code == CodeForbidden && actor.Kind == record.Person && c.Forbidden != nil {
			w.rt.Fatalf("the guard had to hold a person back: %v", err)
		}
		return
	}
	w.commit(c)
	if actor.Kind == record.Agent {
		for _, now := range w.callable() {
			if !slices.Contains(could, now) {
				w.rt.Fatalf("an agent made %s callable", now)
			}
		}
	}
	if before.Server.Quarantined && !w.s.Server.Quarantined && w.s.Server.Version > 0 && !before.Server.Proposal {
		byPerson := actor.Kind == record.Person
		byScan := actor == machine && before.Server.FirstScan && w.s.Settings.scans(before.Server) && w.s.Settings.Lock == nil
		if !byPerson && !byScan {
			w.rt.Fatalf("a quarantine ended by %+v: %s", actor, reasons(c))
		}
	}
	w.transitions(before, c)
}

// transitions looks at each record that changed.
func (w *walk) transitions(before State, c Change) {
	old := map[Key]Record{}
	for _, r := range before.Records {
		old[r.Key] = r
	}
	why := map[string]Reason{}
	for _, e := range c.Entries {
		if e.Transition != nil {
			why[e.Name] = Reason(e.Transition.Reason)
		}
	}
	for _, r := range c.Records {
		was, reason := old[r.Key], why[r.Key.Name]
		moved := !same(was.Approved, r.Approved)
		if moved {
			w.approved[r.Approved.Digest()] = reason
		}
		switch {
		case !permits(was.Status.String(), r.Status.String(), string(reason)):
			w.rt.Fatalf("%s to %s by %s", was.Status, r.Status, reason)
		case was.Blocked && !r.Blocked && reason != Unblocked, !was.Blocked && r.Blocked && reason != Blocked:
			w.rt.Fatalf("a block changed by %s", reason)
		case moved && !slices.Contains(approves, reason) && (reason != Reverted || !was.AnchorBy.vouchedFor() || !r.Approved.Equal(was.Anchor)):
			w.rt.Fatalf("what is approved changed by %s", reason)
		case !same(was.Anchor, r.Anchor) && !was.Anchor.IsZero() && !slices.Contains(vouches, reason):
			w.rt.Fatalf("an anchor moved by %s", reason)
		case was.Status == Changed && r.Waiting():
			w.rt.Fatalf("what was changed waits")
		case reason == ScanApproved && !was.Anchor.IsZero() && len(w.j.Compare(was.Anchor, r.Live)) > 0:
			w.rt.Fatalf("a scan approved what is not silent against the anchor")
		case reason == ScanApproved && (len(unaccepted(w.j.Scan(r.Live), was.Accepted)) > 0 || !complete(r.LiveScan) || w.s.Settings.GateOff):
			w.rt.Fatalf("a scan approved what is not clean")
		case reason == ScanApproved && was.Declined == r.Live.Digest():
			w.rt.Fatalf("a scan approved what a person declined")
		case moved && w.s.Settings.Lock != nil && reason != Locked && reason != Reverted && reason != UserApproved && reason != Released:
			w.rt.Fatalf("approved by %s under a lock file", reason)
		}
	}
}

// holds is what is true in every state.
func (w *walk) holds(*rapid.T) {
	for _, r := range w.s.Records {
		switch {
		case r.Status == Approved && (!r.Live.Parsable() || !r.Approved.Parsable()):
			w.rt.Fatalf("%s is approved and can't be read", r.Key.Name)
		case r.Status == Pending && (!r.Approved.IsZero() || !r.Anchor.IsZero()):
			w.rt.Fatalf("%s is pending and was approved", r.Key.Name)
		case (r.Status == Approved || r.Status == Changed) && (r.Approved.IsZero() || r.Anchor.IsZero() || r.ApprovedBy.Reason == "" || r.AnchorBy.Reason == ""):
			w.rt.Fatalf("%s is %s and nobody knows by whom", r.Key.Name, r.Status)
		case r.Status == Changed && r.Live.Equal(r.Approved):
			w.rt.Fatalf("%s is changed and did not", r.Key.Name)
		case (r.Status != Approved || r.Waiting()) != (r.Evidence.Reason != ""):
			w.rt.Fatalf("%s: evidence %q", state(r), r.Evidence.Reason)
		case len(r.Evidence.Signals) > 16:
			w.rt.Fatalf("%d signals", len(r.Evidence.Signals))
		case len(r.Accepted) > 0 && r.AnchorBy.Reason != UserApproved && r.AnchorBy.Reason != Released:
			w.rt.Fatalf("%s accepted findings", r.AnchorBy.Reason)
		}
		if !r.Approved.IsZero() && w.approved[r.Approved.Digest()] == "" {
			w.rt.Fatalf("%s serves what nobody approved", r.Key.Name)
		}
	}
	if s := w.s.Server; s.FileQuarantines && !s.Quarantined || s.Proposal && s.Enabled || s.FirstScan && !s.Quarantined && s.Named {
		w.rt.Fatalf("server %+v", s)
	}
}

func (w *walk) add(rt *rapid.T) {
	way := draw(rt, "way", ByCLI, ByREST, ByMCP, ByImport, ByFile, ByFile)
	r := w.addRequest(way, draw(rt, "ask", AskNothing, AskMore, AskLess))
	r.Options.TrustMode = draw(rt, "mode", "", "", "manual", "scan", "auto", "bad")
	r.Program.Args = draw(rt, "args", nil, nil, []string{"v2"})
	c, err := Add(w.s, r)
	w.try(r.Actor, c, err)
}

// settings changes what the operator says: no record, no quarantine.
func (w *walk) settings(rt *rapid.T) {
	s := &w.s.Settings
	s.ID = fmt.Sprint("cfg", rapid.IntRange(0, 99).Draw(rt, "id"))
	s.GateOff = draw(rt, "gate off", false, false, true)
	s.DefaultMode = draw(rt, "mode", "manual", "scan", "scan", "auto", "bad", "")
	s.OnHold = draw(rt, "on hold", OnHoldBlock, OnHoldKeep)
	s.Unannotated = draw(rt, "unannotated", contract.NoClass, contract.Read)
	s.Lock = nil
	if rapid.IntRange(0, 4).Draw(rt, "lock") == 0 {
		s.Lock = &Lock{Source: "holdfast.lock", Pins: map[Key]contract.Digest{{"srv", Tool, "a"}: draw(rt, "pinned", wide, edited)("a").Contract.Digest()}}
	}
	w.j.bundle = draw(rt, "bundle", "b1", "b2", "")
	w.j.partial = rapid.IntRange(0, 4).Draw(rt, "partial") == 0
}

func (w *walk) edit(rt *rapid.T) {
	actor := draw(rt, "actor", person, operator, agent, nobody)
	r := EditRequest{Actor: actor, Incarnation: w.incarnation()}
	if rapid.Bool().Draw(rt, "program") {
		r.Program = &Program{Command: draw(rt, "command", "run", "other")}
	} else {
		r.Options = &Options{TrustMode: draw(rt, "mode", "", "manual", "scan", "auto"), OnHold: draw(rt, "on hold", "", OnHoldBlock, OnHoldKeep)}
	}
	c, err := Edit(w.s, r)
	w.try(actor, c, err)
}

var offers = map[string]func(string) Offer{
	"benign": benign, "edited": edited, "wide": wide, "danger": danger, "soft": soft, "softEdited": softEdited, "unparsable": unparsable,
}

func (w *walk) list(rt *rapid.T) {
	w.j.answer(wide("a").Contract, benign("a").Contract)
	var listed []Offer
	kinds := slices.Sorted(maps.Keys(offers))
	for _, name := range []string{"a", "b"} {
		if what := draw(rt, name, append(kinds, "gone")...); what != "gone" {
			listed = append(listed, offers[what](name))
		}
	}
	l := w.listing(listed...)
	if rapid.IntRange(0, 9).Draw(rt, "another program") == 0 {
		l.Incarnation = "another"
	}
	c, err := Pass(w.s, l, w.theJudge())
	w.try(machine, c, err)
	if err != nil {
		return
	}
	for _, o := range listed {
		if r := w.rec(o.Name); !r.Live.Equal(o.Contract) || r.Absent {
			rt.Fatalf("%s was listed and is not live", o.Name)
		}
	}
}

// again lists what was listed last: nothing moves, whoever reconnects.
func (w *walk) again(rt *rapid.T) {
	w.list(rt)
	var listed []Offer
	for _, r := range w.s.Records {
		if !r.Absent {
			listed = append(listed, Offer{r.Key.Kind, r.Key.Name, r.Live})
		}
	}
	first, err := Pass(w.s, w.listing(listed...), w.theJudge())
	w.try(machine, first, err)
	second, err := Pass(w.s, w.listing(listed...), w.theJudge())
	if err == nil && !second.Empty() {
		rt.Fatalf("a pass that saw the same wrote %s", reasons(second))
	}
	w.try(machine, second, err)
}

func (w *walk) request(rt *rapid.T, actor record.Actor) ReviewRequest {
	r := ReviewRequest{Actor: actor, Incarnation: w.s.Server.Incarnation}
	for _, rec := range w.s.Records {
		if rapid.Bool().Draw(rt, rec.Key.Name) {
			r.Tools = append(r.Tools, Seen{rec.Key.Kind, rec.Key.Name, rec.Live.Digest()})
		}
	}
	if len(r.Tools) > 0 && rapid.IntRange(0, 5).Draw(rt, "stale") == 0 {
		r.Tools[0].Digest = danger("x").Contract.Digest()
	}
	if rapid.Bool().Draw(rt, "with a report") && w.s.Server.Version > 0 {
		report := w.report()
		r.Report = &report
	}
	return r
}

var reviews = map[string]func(State, ReviewRequest) (Change, error){"approve": Approve, "block": Block, "unblock": Unblock, "dismiss": Dismiss}

func (w *walk) decide(rt *rapid.T) {
	act := draw(rt, "act", slices.Sorted(maps.Keys(reviews))...)
	r := w.request(rt, person)
	stale := slices.ContainsFunc(r.Tools, func(s Seen) bool { return !s.is(w.rec(s.Name)) })
	c, err := reviews[act](w.s, r)
	if stale && act != "block" && err == nil {
		rt.Fatalf("%s went through with a stale digest", act)
	}
	if act == "block" && len(r.Tools) > 0 && err != nil {
		rt.Fatalf("a block was refused: %v", err)
	}
	w.try(person, c, err)
}

func (w *walk) agentReviews(rt *rapid.T) {
	act := draw(rt, "act", slices.Sorted(maps.Keys(reviews))...)
	actor := draw(rt, "actor", agent, operator, machine, nobody)
	if _, err := reviews[act](w.s, w.request(rt, actor)); err == nil {
		rt.Fatalf("%+v may %s", actor, act)
	}
}

func (w *walk) releases(rt *rapid.T) {
	actor := draw(rt, "actor", person, person, person, agent, operator)
	q := w.request(rt, actor)
	r := ReleaseRequest{Actor: actor, Incarnation: q.Incarnation, Report: q.Report, Tools: q.Tools}
	p := PreviewRelease(w.s, r.Report)
	if rapid.IntRange(0, 3).Draw(rt, "as shown") > 0 {
		r.Tools = nil
		for _, rec := range p.Approves {
			r.Tools = append(r.Tools, Seen{rec.Key.Kind, rec.Key.Name, rec.Live.Digest()})
		}
		if rapid.Bool().Draw(rt, "accept") {
			for _, rec := range p.Findings {
				r.AcceptFindings = append(r.AcceptFindings, Seen{rec.Key.Kind, rec.Key.Name, rec.Live.Digest()})
			}
			r.Tools = append(r.Tools, r.AcceptFindings...)
		}
	}
	var c Change
	var err error
	if rapid.Bool().Draw(rt, "security") {
		c, err = SecurityApprove(w.s, r, rapid.Bool().Draw(rt, "force"))
	} else {
		c, err = Release(w.s, r)
	}
	for _, rec := range c.Records {
		hard := slices.ContainsFunc(p.Findings, func(f Record) bool { return f.Key == rec.Key })
		named := slices.ContainsFunc(r.AcceptFindings, func(s Seen) bool { return s.is(rec) })
		if hard && !named || rec.Absent || rec.Blocked {
			rt.Fatalf("a release approved %s", state(rec))
		}
	}
	w.try(actor, c, err)
}

func (w *walk) switches(rt *rapid.T) {
	actor := draw(rt, "actor", person, person, agent, operator, nobody)
	enable := func(s State, actor record.Actor) (Change, error) {
		seen := draw(rt, "seen", s.Server.Program.Digest(), "")
		c, err := Enable(s, EnableRequest{Actor: actor, Program: seen})
		if err == nil && s.Server.Proposal && seen == "" {
			rt.Fatal("a proposal was enabled unseen")
		}
		return c, err
	}
	act := draw(rt, "act", Quarantine, enable, Disable, Dropped)
	if rapid.IntRange(0, 19).Draw(rt, "remove") == 0 {
		act = Remove
	}
	c, err := act(w.s, actor)
	w.try(actor, c, err)
}
