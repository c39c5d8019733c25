package approval

import (
	"strconv"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// Pass takes a complete listing: section 4, first scan included. It fails with
// server_replaced when the listing is of another incarnation. A pass that finds
// everything as it was gives an empty Change. It scans and compares only what has
// changed, or what has to be looked at again.
func Pass(s State, l Listing, j Judge) (Change, error) {
	if err := expect(s, l.Incarnation); err != nil {
		return Change{}, err
	}
	if !s.Server.Named || s.Server.Proposal {
		return Change{}, refuse(CodeForbidden, "server "+quote(s.Server.Name)+" is not to be listed: it is a proposal, or the configuration does not name it any more",
			"A person can enable it with: holdfast server enable "+s.Server.Name+", or name it in the configuration.")
	}
	stands, err := l.check(s)
	if err != nil {
		return Change{}, err
	}
	p := newPass(s, j)
	of := make(map[named]int, len(s.Records))
	for i, r := range s.Records {
		key := named{r.Key.Kind, r.Key.Name}
		of[key] = i
		if _, listed := stands[key]; !listed {
			p.vanished(r)
		}
	}
	leftOut := l.LeftOut
	for _, o := range l.Offers {
		if o.nameless() {
			leftOut = append(leftOut[:len(leftOut):len(leftOut)], "an entry has no name")
			continue
		}
		if o.Contract.IsZero() {
			o.Contract = contract.Parse(nil) // nothing was read: unparsable
		}
		before := Record{}
		if i, known := of[named{o.Kind, o.Name}]; known {
			before = s.Records[i]
		}
		p.take(before, o)
	}
	p.firstScan(len(leftOut))
	p.baselineDecided()
	p.report(leftOut)
	return p.draft.done(), nil
}

// pass is one discovery pass: what is in force while it runs, and what it saw.
type pass struct {
	draft  *draft
	judge  Judge // may be nil: it can't tell
	bundle string
	lock   *Lock
	mode   Mode

	gateOff  bool
	scans    bool // scan mode, gate on: a scan may decide
	keeps    bool
	baseline bool // this is the baseline pass

	first    bool // this pass may hold the first complete scan
	seen     int  // what was listed
	unclean  bool // something listed was not clean
	unknown  bool // a check of something readable did not run
	keptOut  bool // a dangerous tool was kept out of the baseline
	standing bool // an approved or changed record is there after the pass
}

func newPass(s State, j Judge) *pass {
	mode, _ := s.Settings.ModeOf(s.Server)
	p := &pass{
		draft:   begin(s, s.Server.Name, record.Actor{Kind: record.Holdfast}),
		judge:   j,
		lock:    s.Settings.Lock,
		mode:    mode,
		gateOff: s.Settings.GateOff,
		scans:   s.Settings.scans(s.Server),
		keeps:   s.Settings.Keeps(s.Server) && !s.Settings.GateOff && mode != Auto,
	}
	if j != nil {
		p.bundle = j.Bundle()
	}
	decided := s.Server.BaselineDecided
	for _, r := range s.Records {
		decided = decided || r.Status == Approved || r.Status == Changed
	}
	p.baseline = !p.gateOff && mode != Auto && !s.Server.Quarantined && s.Server.TrustedWhenAdded && !decided && p.lock == nil
	p.first = p.scans && p.lock == nil && s.Server.FirstScan && s.Server.Quarantined
	return p
}

// vanished notes that a record was not listed.
func (p *pass) vanished(r Record) {
	p.standing = p.standing || r.Status == Approved || r.Status == Changed
	if r.Absent {
		return
	}
	after := r
	after.Absent = true
	p.draft.move(step{before: r, after: after, reason: Vanished, actor: p.draft.actor})
}

// take judges one offer, and writes down what came of it if anything did.
func (p *pass) take(before Record, o Offer) {
	t := p.trial(before, o)
	t.judge()
	t = p.settle(t)
	p.standing = p.standing || t.after.Status == Approved || t.after.Status == Changed
	if p.first {
		p.tally(t)
	}
}

// settle puts a judgement into the Change. What the guard refuses is held instead;
// if not even that is a transition, the record stays as it was.
func (p *pass) settle(t *trial) *trial {
	if t.reason == "" || p.draft.move(t.step()) {
		return t
	}
	held := p.trial(t.before, Offer{Kind: t.after.Key.Kind, Name: t.after.Key.Name, Contract: t.offered})
	if t.before.Status == Approved || t.before.Status == Changed {
		held.hold(Changed)
	} else {
		held.hold(Pending)
	}
	if held.reason == "" || !p.draft.move(held.step()) {
		held.after = t.before
	}
	return held
}

// tally counts one offer for the first complete scan.
func (p *pass) tally(t *trial) {
	p.seen++
	if !t.offered.Parsable() {
		p.unclean = true
		return
	}
	v := t.look()
	p.unknown = p.unknown || !complete(v)
	p.unclean = p.unclean || !clean(v, p.bundle, t.after.Accepted)
}

// firstScan settles whether this pass held the server's first complete scan, and
// what follows. An entry without a name was listed, and can't have been clean.
func (p *pass) firstScan(leftOut int) {
	d := p.draft
	switch {
	case !d.server.FirstScan:
	case !p.gateOff && p.mode != Scan:
		d.server.FirstScan = false
		d.touch(ActFirstScanSpent, map[string]string{"why": "the trust mode is " + p.mode.String()})
	case !p.first, p.seen+leftOut == 0, p.unknown:
		// not counted: a later pass may hold it
	case p.unclean || leftOut > 0:
		d.server.FirstScan = false
		d.touch(ActFirstScanSpent, map[string]string{"why": "it was not clean", "bundle": p.bundle})
	default:
		d.server.FirstScan = false
		d.server.Quarantined = false
		d.touch(ActReleased, map[string]string{"by": "first_scan", "bundle": p.bundle, "listed": strconv.Itoa(p.seen)})
	}
}

// baselineDecided sets the durable marker.
func (p *pass) baselineDecided() {
	d := p.draft
	if d.server.BaselineDecided || !p.standing && !p.keptOut {
		return
	}
	d.server.BaselineDecided = true
	d.touch(ActBaselineDecided, nil)
}

// longestReport is how many left-out entries are written down one by one.
const longestReport = 20

// report writes down what was left out, beside what the pass changed. A pass that
// changes nothing writes nothing: the same fault is not told every few minutes.
func (p *pass) report(leftOut []string) {
	if len(leftOut) == 0 || p.draft.change.Empty() {
		return
	}
	detail := map[string]string{"left_out": strconv.Itoa(len(leftOut))}
	for i, why := range leftOut[:min(len(leftOut), longestReport)] {
		detail[strconv.Itoa(i+1)] = quote(why)
	}
	e := p.draft.entry(record.TypePass)
	e.Act = &record.Act{What: ActLeftOut, Detail: detail}
	p.draft.change.Entries = append(p.draft.change.Entries, e)
}

// scan looks at one contract; the zero Verdict where nobody can.
func (p *pass) scan(c contract.Contract) scan.Verdict {
	if p.judge == nil {
		return scan.Verdict{}
	}
	return p.judge.Scan(c)
}
