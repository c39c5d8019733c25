package approval

import (
	"testing"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// cell is one combination of what a pass can meet for one tool: section 4.
type cell struct {
	record   string // none, pending, approved, waiting, changed
	live     string // stored, approved, anchor, third, unparsable, gone
	vouched  bool   // the anchor (which is not what is approved)
	blocked  bool
	declined bool   // the live contract is the one that was dismissed
	lock     string // none, pins, other
	gateOff  bool
	mode     Mode
	finds    string // what a scan finds: clean, soft, hard, partial
	silent   bool   // no structural signal
	keep     bool
	baseline bool // trusted when added, and nothing decided
	scanned  bool // the stored live contract was completely scanned under this bundle
}

// outcome is what the page says of a cell.
type outcome struct {
	status  string
	waiting bool
	reason  string // of the transition; empty where nothing is written
	moved   bool   // the anchor is now the live contract, and was not
}

// page is section 4 of docs/design/approval.md, row by row, in words.
func (c cell) page() outcome {
	known := c.record == "approved" || c.record == "waiting" || c.record == "changed"
	held := func(status string) outcome {
		o := outcome{status: status, reason: "held"}
		if c.record == "none" {
			o.reason = "first_seen"
		}
		return o
	}
	same := c.live == "stored"
	switch {
	case c.live == "gone" && c.record == "none":
		return outcome{status: "none"}
	case c.live == "gone":
		return outcome{status: map[string]string{"waiting": "approved"}[c.record] + only(c.record, "pending", "approved", "changed"), waiting: c.record == "waiting", reason: "vanished"}
	case c.live == "unparsable" && known:
		return held("changed")
	case c.live == "unparsable":
		return held("pending")
	case !known:
		return c.addition(held, same)
	case c.live == "anchor" && c.vouched:
		return outcome{status: "approved", reason: "reverted"}
	case c.live == "approved" || c.record == "approved" && same:
		switch c.record {
		case "approved":
			return outcome{status: "approved"}
		case "waiting":
			return outcome{status: "approved", reason: "update_withdrawn"}
		}
		return outcome{status: "approved", reason: "reverted"}
	}
	return c.difference(held, same)
}

func only(s string, of ...string) string {
	for _, o := range of {
		if s == o {
			return s
		}
	}
	return ""
}

func (c cell) addition(held func(string) outcome, same bool) outcome {
	scans := c.mode == Scan && !c.gateOff
	pending := held("pending")
	if same {
		pending.reason = ""
		if scans && !c.scanned {
			pending.reason = "held" // it was looked at now
		}
	}
	baseline := c.baseline && !c.gateOff && c.mode != Auto && c.lock == "none" && !c.blocked
	switch {
	case c.lock == "pins":
		return outcome{status: "approved", reason: "locked", moved: true}
	case c.lock == "other":
		return pending
	case c.gateOff:
		return outcome{status: "approved", reason: "gate_off", moved: true}
	case c.mode == Auto:
		return outcome{status: "approved", reason: "auto_approve", moved: true}
	case baseline && scans && c.finds == "hard":
		return pending
	case baseline:
		return outcome{status: "approved", reason: "baseline_trust", moved: true}
	case scans && c.finds == "clean":
		return outcome{status: "approved", reason: "scan_approved", moved: true}
	}
	return pending
}

func (c cell) difference(held func(string) outcome, same bool) outcome {
	scans := c.mode == Scan && !c.gateOff
	looks := !same || !c.scanned
	changed := held("changed")
	if same && c.record == "changed" {
		changed.reason = ""
		if scans && looks {
			changed.reason = "held"
		}
	}
	switch {
	case c.lock == "pins":
		return outcome{status: "approved", reason: "locked", moved: true}
	case c.lock == "other":
		return changed
	case c.gateOff:
		return outcome{status: "approved", reason: "gate_off"}
	case c.mode == Auto:
		return outcome{status: "approved", reason: "auto_approve"}
	case c.record == "changed" && same && !(scans && looks):
		return changed
	case scans && c.silent && c.finds == "clean" && !c.declined:
		return outcome{status: "approved", reason: "scan_approved"}
	case c.keep && c.record != "changed" && (c.finds == "clean" || c.finds == "soft"):
		o := outcome{status: "approved", waiting: true, reason: "waits"}
		if same && !looks {
			o.reason = ""
		}
		return o
	}
	return changed
}

// scripted is a judge with one answer to everything.
type scripted struct {
	verdict scan.Verdict
	signals []delta.Signal
}

func (s scripted) Compare(_, _ contract.Contract) []delta.Signal { return s.signals }
func (s scripted) Scan(contract.Contract) scan.Verdict           { return s.verdict }
func (s scripted) Bundle() string                                { return "b1" }

func verdictOf(finds string) scan.Verdict {
	v := scan.Verdict{Outcome: scan.Clean, Complete: true, Bundle: "b1"}
	switch finds {
	case "soft":
		v.Outcome, v.Findings = scan.Review, []scan.Finding{{Check: "s", Tier: scan.Soft}}
	case "hard":
		v.Outcome, v.Findings = scan.Dangerous, []scan.Finding{{Check: "h", Tier: scan.Hard}}
	case "partial":
		v.Complete = false
	}
	return v
}

// fixed are contracts that differ, read once.
var fixed = [...]contract.Contract{
	benign("t").Contract, edited("t").Contract, soft("t").Contract, softOther("t").Contract, unparsable("t").Contract, wide("t").Contract,
}

// build makes the state, the listing and the judge of a cell.
func (c cell) build() (State, Listing, Judge) {
	approved, live, anchor, third, unread := fixed[0], fixed[1], fixed[2], fixed[3], fixed[4]
	s := State{
		Settings: Settings{ID: "cfg", GateOff: c.gateOff, DefaultMode: c.mode.String()}, Now: start,
		Server: Server{Name: "srv", Version: 1, Incarnation: "inc", Named: true, Enabled: true, TrustedWhenAdded: c.baseline},
	}
	if c.keep {
		s.Settings.OnHold = OnHoldKeep
	}
	key := Key{"srv", Tool, "t"}
	r := Record{Key: key, Version: 1, Blocked: c.blocked}
	by := Grant{Reason: AutoApprove}
	if c.vouched {
		by.Reason = UserApproved
	}
	switch c.record {
	case "pending":
		r.Status, r.Live = Pending, live
	case "approved":
		r.Status, r.Live = Approved, approved
	case "waiting":
		r.Status, r.Live = Approved, live
	case "changed":
		r.Status, r.Live = Changed, live
	}
	if r.Status == Approved || r.Status == Changed {
		r.Approved, r.ApprovedBy = approved, Grant{Reason: ScanApproved}
		r.Anchor, r.AnchorBy = anchor, by
	}
	if c.scanned {
		r.LiveScan = verdictOf(c.finds)
		r.LiveScan.Complete = true
	}
	listed := map[string]contract.Contract{
		"stored": r.Live, "approved": approved, "anchor": anchor, "third": third, "unparsable": unread,
	}[c.live]
	if c.declined {
		r.Declined = listed.Digest()
	}
	if c.record != "none" {
		s.Records = []Record{r}
	}
	pin := listed
	if c.lock == "other" {
		pin = fixed[5]
	}
	if c.lock != "none" {
		s.Settings.Lock = &Lock{Pins: map[Key]contract.Digest{key: pin.Digest()}}
	}
	l := Listing{Incarnation: "inc"}
	if c.live != "gone" {
		l.Offers = []Offer{{Tool, "t", listed}}
	}
	j := scripted{verdict: verdictOf(c.finds)}
	if !c.silent {
		j.signals = []delta.Signal{{Rule: delta.Field, Reason: "_meta"}}
	}
	return s, l, j
}

// sensible leaves out what can't be met: a stored contract where none is, a
// verdict of a partial scan that is complete.
func (c cell) sensible() bool {
	unknown := c.record == "none" || c.record == "pending"
	switch {
	case c.record == "none" && (c.live == "stored" || c.live == "approved" || c.live == "anchor" || c.blocked || c.scanned || c.declined):
		return false
	case c.record == "pending" && (c.live == "approved" || c.live == "anchor" || c.declined):
		return false
	case unknown && c.vouched, !unknown && c.baseline:
		return false
	case c.scanned && (c.finds == "partial" || c.live != "stored" || c.record == "approved"):
		return false
	}
	return true
}

func TestPassEveryCell(t *testing.T) {
	both := []bool{false, true}
	cells := 0
	for _, record := range []string{"none", "pending", "approved", "waiting", "changed"} {
		for _, live := range []string{"stored", "approved", "anchor", "third", "unparsable", "gone"} {
			for bits := range 1 << 8 {
				bit := func(i int) bool { return both[bits>>i&1] }
				for _, lock := range []string{"none", "pins", "other"} {
					for _, mode := range []Mode{Manual, Scan, Auto} {
						for _, finds := range []string{"clean", "soft", "hard", "partial"} {
							c := cell{
								record: record, live: live, lock: lock, mode: mode, finds: finds,
								vouched: bit(0), blocked: bit(1), declined: bit(2), gateOff: bit(3),
								silent: bit(4), keep: bit(5), baseline: bit(6), scanned: bit(7),
							}
							if c.sensible() {
								cells++
								c.check(t)
							}
						}
					}
				}
			}
		}
	}
	if cells < 50_000 {
		t.Errorf("only %d cells", cells)
	}
}

func (c cell) check(t *testing.T) {
	s, l, j := c.build()
	change, err := Pass(s, l, j)
	if err != nil || len(change.Forbidden) > 0 {
		t.Fatalf("%+v: %v %v", c, err, change.Forbidden)
	}
	got := outcome{status: "none"}
	after := Record{}
	if len(s.Records) > 0 {
		after = s.Records[0]
	}
	if len(change.Records) > 0 {
		after = change.Records[0]
	}
	for _, e := range change.Entries {
		if e.Transition != nil {
			got.reason += e.Transition.Reason
		}
	}
	got.status, got.waiting = after.Status.String(), after.Waiting()
	before := Record{}
	if len(s.Records) > 0 {
		before = s.Records[0]
	}
	got.moved = !same(before.Anchor, after.Anchor)
	want := c.page()
	want.moved = want.moved && c.live != "anchor"
	if got != want {
		t.Errorf("%+v:\n%+v, want %+v", c, got, want)
	}
	if after.Blocked != c.blocked {
		t.Errorf("%+v: the block changed", c)
	}
	if holds := after.Status == Pending || after.Status == Changed || after.Waiting(); len(change.Records) > 0 && holds != (after.Evidence.Reason != "") && got.reason != "vanished" {
		t.Errorf("%+v: evidence %q", c, after.Evidence.Reason)
	}
}
