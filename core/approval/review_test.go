package approval

import (
	"slices"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/scan"
)

func TestReviewRefusals(t *testing.T) {
	acts := map[string]func(State, ReviewRequest) (Change, error){"approve": Approve, "block": Block, "unblock": Unblock, "dismiss": Dismiss}
	for name, act := range acts {
		t.Run(name, func(t *testing.T) {
			b := trusted(t, "manual", benign("a"), benign("b"))
			good := b.review("a", "b")
			with := func(change func(*ReviewRequest)) ReviewRequest {
				r := good
				r.Tools = slices.Clone(good.Tools)
				change(&r)
				return r
			}
			b.refused(CodeServerReplaced)(act(b.s, with(func(r *ReviewRequest) { r.Incarnation = "other" })))
			b.refused(CodeServerReplaced)(act(b.s, with(func(r *ReviewRequest) { r.Incarnation = "" })))
			b.refused(CodeNotFound)(act(b.s, with(func(r *ReviewRequest) { r.Tools[1].Name = "c" })))
			b.refused(CodeNotFound)(act(b.s, with(func(r *ReviewRequest) { r.Tools[1].Kind = Prompt })))
			b.refused(CodeBadInput)(act(b.s, with(func(r *ReviewRequest) { r.Tools = nil })))
			b.refused(CodeBadInput)(act(b.s, with(func(r *ReviewRequest) { r.Tools[1] = r.Tools[0] })))
			for _, digest := range []string{"", "sha256:other"} {
				c, err := act(b.s, with(func(r *ReviewRequest) { r.Tools[1].Digest = unparsable(digest).Contract.Digest() }))
				if name != "block" {
					b.refused(CodeReviewOutOfDate)(c, err)
				} else if err != nil {
					t.Errorf("a block needs no digest: %v", err)
				}
			}
			c, err := act(b.s, with(func(r *ReviewRequest) { r.Tools[0].Digest = "" }))
			if name != "block" {
				b.refused(CodeReviewOutOfDate)(c, err)
			}
		})
	}
}

func TestApproveAgainAndAbsent(t *testing.T) {
	b := trusted(t, "scan", soft("x"))
	b.is("x", "approved baseline_trust")
	if len(b.rec("x").Accepted) != 0 {
		t.Error("a baseline accepted a finding")
	}
	b.ok(Approve(b.s, b.review("x")))
	b.wrote("x:approved>approved:user_approved")
	b.is("x", "approved user_approved")
	if got := b.rec("x").Accepted; len(got) != 1 {
		t.Errorf("accepted %+v", got)
	}
	b.s.Records[0].LiveScan = scan.Verdict{} // what was shown is forgotten; what was accepted is not
	b.ok(Approve(b.s, b.review("x")))
	if got := b.rec("x").Accepted; len(got) != 1 {
		t.Errorf("accepted %+v", got)
	}
	b.pass()
	b.pass(softOther("x"))
	b.pass()
	b.is("x", "changed user_approved absent held scan_findings")
	b.ok(Approve(b.s, b.review("x")))
	b.is("x", "approved user_approved absent")
	if got := b.rec("x").Accepted; len(got) != 1 || got[0].Evidence != "SOFT2" {
		t.Errorf("accepted %+v", got)
	}
	b.pass(softOther("x"))
	b.wrote("x:approved>approved:returned")
}

// TestApproveAcceptsWhatAReportShowed, of this incarnation and this definition only.
func TestApproveAcceptsWhatAReportShowed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Report)
		want   int
	}{
		"the report":          {func(*Report) {}, 1},
		"another incarnation": {func(r *Report) { r.Incarnation = "other" }, 0},
		"another definition":  {func(r *Report) { r.Tools[0].Digest = "sha256:other" }, 0},
		"another tool":        {func(r *Report) { r.Tools[0].Name = "b" }, 0},
	} {
		b := added(t, "manual", AskNothing)
		b.pass(soft("a"))
		report := b.report()
		c.change(&report)
		r := b.review("a")
		r.Report = &report
		b.ok(Approve(b.s, r))
		if got := b.rec("a").Accepted; len(got) != c.want {
			t.Errorf("%s: accepted %+v", name, got)
		}
	}
}

// report scans everything that is listed, as a security scan does.
func (b *bench) report() Report {
	r := Report{Incarnation: b.s.Server.Incarnation, Time: start}
	for _, rec := range b.s.Records {
		if rec.Absent || !rec.Live.Parsable() {
			continue
		}
		v := b.j.Scan(rec.Live)
		r.Tools = append(r.Tools, ReportedTool{
			Kind: rec.Key.Kind, Name: rec.Key.Name, Digest: rec.Live.Digest(), Complete: v.Complete,
			Hard: v.Outcome == scan.Dangerous, Findings: v.Findings,
		})
	}
	return r
}

func TestBlockIsDoneOnce(t *testing.T) {
	b := trusted(t, "manual", benign("a"), benign("b"))
	b.ok(Block(b.s, b.review("a")))
	b.ok(Block(b.s, b.review("a", "b")))
	b.wrote("b:approved>approved:blocked")
	if c := b.ok(Block(b.s, b.review("a"))); !c.Empty() {
		t.Error("blocked twice")
	}
	b.ok(Unblock(b.s, b.review("a", "b")))
	if c := b.ok(Unblock(b.s, b.review("a"))); !c.Empty() {
		t.Error("unblocked twice")
	}
	b.pass(wide("a"), benign("b"), benign("c"))
	b.ok(Block(b.s, b.review("a", "c")))
	b.wrote("a:changed>changed:blocked c:pending>pending:blocked")
	b.ok(Approve(b.s, b.review("a", "c"))) // nothing is unblocked by it
	b.is("a", "approved user_approved blocked")
}

func TestInReview(t *testing.T) {
	live, approved := edited("a").Contract, benign("a").Contract
	for name, c := range map[string]struct {
		r    Record
		want bool
	}{
		"none":      {Record{}, false},
		"pending":   {Record{Status: Pending, Live: live}, true},
		"changed":   {Record{Status: Changed, Live: live, Approved: approved, Declined: live.Digest()}, true},
		"approved":  {Record{Status: Approved, Live: live, Approved: live}, false},
		"waiting":   {Record{Status: Approved, Live: live, Approved: approved}, true},
		"declined":  {Record{Status: Approved, Live: live, Approved: approved, Declined: live.Digest()}, false},
		"the other": {Record{Status: Approved, Live: live, Approved: approved, Declined: approved.Digest()}, true},
		"blocked":   {Record{Status: Pending, Live: live, Blocked: true}, false},
		"absent":    {Record{Status: Changed, Live: live, Absent: true}, false},
	} {
		if c.r.InReview() != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

// TestSecurityApproveTable is QP-04: report × force × digests × accept_findings.
func TestSecurityApproveTable(t *testing.T) {
	for _, kind := range []string{"none", "other incarnation", "other digests", "a tool too many", "a tool missing", "incomplete", "hard", "clean"} {
		for _, force := range []bool{false, true} {
			for _, digests := range []string{"right", "stale", "too few", "too many"} {
				for _, accept := range []string{"none", "right", "stale", "too many"} {
					b := added(t, "manual", AskNothing)
					b.pass(benign("a"), edited("b"), unparsable("c"))
					report := b.report()
					switch kind {
					case "other incarnation":
						report.Incarnation = "other"
					case "other digests":
						report.Tools[0].Digest = "sha256:other"
					case "a tool too many":
						report.Tools = append(report.Tools, ReportedTool{Kind: Tool, Name: "z", Digest: "sha256:other", Complete: true})
					case "a tool missing":
						report.Tools = report.Tools[:1]
					case "incomplete":
						report.Tools[0].Complete = false
					case "hard":
						report.Tools[1].Hard = true
					}
					r := b.releaseRequest("a", "b")
					r.Report = &report
					if kind == "none" {
						r.Report = nil
					}
					hard := kind == "hard"
					if hard && accept != "right" {
						r.Tools = r.Tools[:1] // b is left
					}
					switch accept {
					case "right":
						if hard {
							r.AcceptFindings = b.see("b")
						}
					case "stale":
						r.AcceptFindings = []Seen{{Tool, "b", "sha256:other"}}
					case "too many":
						r.AcceptFindings = b.see("a")
					}
					switch digests {
					case "stale":
						r.Tools = slices.Clone(r.Tools)
						r.Tools[0].Digest = edited("a").Contract.Digest()
					case "too few":
						r.Tools = r.Tools[1:]
					case "too many":
						r.Tools = append(slices.Clone(r.Tools), b.see("c")...)
					}
					want := ""
					switch {
					case !force && hard:
						want = CodeHardFindings
					case !force && kind != "clean":
						want = CodeNoScanReport
					case digests != "right" || accept == "stale" || accept == "too many":
						want = CodeReviewOutOfDate
					}
					c, err := SecurityApprove(b.s, r, force)
					if want != "" {
						b.refused(want)(c, err)
						continue
					}
					b.ok(c, err)
					b.is("a", "approved released")
					b.is("c", "pending held structural")
					if hard && accept != "right" {
						b.is("b", "pending held first_seen")
					} else {
						b.is("b", "approved released")
					}
					if b.s.Server.Quarantined || c.Entries[0].Act.What != ActSecurityApproved || c.Entries[0].Act.Detail["force"] == "" {
						t.Errorf("%+v", c.Entries[0].Act)
					}
				}
			}
		}
	}
}

func TestReleaseAndHardFindings(t *testing.T) {
	b := added(t, "scan", AskNothing)
	b.pass(benign("a"), danger("b"))
	b.is("b", "pending held scan_findings")
	p := PreviewRelease(b.s, nil)
	if len(p.Approves) != 0 || len(p.Findings) != 1 || len(p.Leaves) != 0 {
		t.Errorf("%+v", p)
	}
	b.refused(CodeReviewOutOfDate)(Release(b.s, b.releaseRequest("b")))
	r := b.releaseRequest("b")
	r.AcceptFindings = b.see("b")
	twice := r
	twice.AcceptFindings = append(b.see("b"), b.see("b")...)
	b.refused(CodeReviewOutOfDate)(Release(b.s, twice))
	left := b.s
	b.ok(Release(b.s, b.releaseRequest()))
	b.is("b", "pending held scan_findings")
	b.refused(CodeNotQuarantined)(Release(b.s, b.releaseRequest()))
	b.s = left
	b.ok(Release(b.s, r))
	b.is("b", "approved released")
	if got := b.rec("b").Accepted; len(got) != 1 || got[0].Evidence != "HARD" {
		t.Errorf("accepted %+v", got)
	}

	// In manual mode a report knows; another incarnation's does not.
	m := added(t, "manual", AskNothing)
	m.pass(danger("b"), benign("c"))
	m.pass(danger("b"), benign("c"))
	report := m.report()
	report.Tools[0].Hard = false // its findings say so themselves
	p = PreviewRelease(m.s, &report)
	if len(p.Findings) != 1 || len(p.Approves) != 1 {
		t.Errorf("%+v", p)
	}
	report.Incarnation = "other"
	if p = PreviewRelease(m.s, &report); len(p.Approves) != 2 {
		t.Errorf("%+v", p)
	}
	m.refused(CodeServerReplaced)(Release(m.s, func() ReleaseRequest { r := m.releaseRequest("b"); r.Incarnation = "x"; return r }()))
}

// TestApprovingAgainWritesNothing: what a person approved already stays as it was
// decided; who approved it without a person is replaced by one who is.
func TestApprovingAgainWritesNothing(t *testing.T) {
	b := added(t, "manual", AskLess)
	b.pass(benign("a")) // a baseline: nobody looked
	if c := b.ok(Approve(b.s, b.review("a"))); c.Empty() {
		t.Error("a person's first approval is not written")
	}
	if c := b.ok(Approve(b.s, b.review("a"))); !c.Empty() {
		t.Errorf("the second is: %+v", c)
	}
}
