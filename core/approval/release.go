package approval

import (
	"strconv"
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// Report is a security scan of a server's tools made on request.
type Report struct {
	Incarnation string
	Time        time.Time
	Tools       []ReportedTool
}

// ReportedTool is one tool of a Report.
type ReportedTool struct {
	Kind     Kind
	Name     string
	Digest   contract.Digest
	Complete bool
	Hard     bool // a hard finding
	Findings []scan.Finding
}

// hard reports whether the tool has a hard finding.
func (t ReportedTool) hard() bool {
	return t.Hard || dangerous(scan.Verdict{Outcome: scan.Clean, Findings: t.Findings}, nil)
}

// reported is what a report says of the live contracts of one incarnation.
type reported map[named]ReportedTool

// of gives the report as far as it counts: one of another incarnation says nothing.
func (p *Report) of(srv Server) reported {
	if p == nil || p.Incarnation != srv.Incarnation {
		return nil
	}
	m := make(reported, len(p.Tools))
	for _, t := range p.Tools {
		m[named{t.Kind, t.Name}] = t
	}
	return m
}

// tool gives what is said of r; nothing of another definition than the live one.
func (m reported) tool(r Record) (t ReportedTool, found bool) {
	t, found = m[named{r.Key.Kind, r.Key.Name}]
	if !found || !(Seen{t.Kind, t.Name, t.Digest}).is(r) {
		return ReportedTool{}, false
	}
	return t, true
}

// shown are the findings that a person saw of r's live contract, of a pass and of
// the report: those that an approval accepts.
func (m reported) shown(r Record) []scan.Finding {
	t, _ := m.tool(r)
	return union(r.LiveScan.Findings, t.Findings)
}

// hard reports whether the last scan of r's live contract, by a pass or the report,
// has a hard finding. Where both looked, one is enough.
func (m reported) hard(r Record) bool {
	t, _ := m.tool(r)
	return dangerous(r.LiveScan, nil) || t.hard()
}

// ReleaseRequest releases a server. Tools are exactly the pending ones that it
// approves, those named in AcceptFindings among them, with the digests the person saw.
type ReleaseRequest struct {
	Actor          record.Actor
	Incarnation    string
	Tools          []Seen
	AcceptFindings []Seen
	Report         *Report // the last one stored for the server, nil when there is none
}

// Release lifts a quarantine and approves what was pending behind it, all in one.
func Release(s State, r ReleaseRequest) (Change, error) {
	if err := releasable(s, r); err != nil {
		return Change{}, err
	}
	return release(s, r, ActReleased, nil)
}

// SecurityApprove is Release backed by a scan report; force goes without the
// report, never without digests or incarnation.
func SecurityApprove(s State, r ReleaseRequest, force bool) (Change, error) {
	if err := releasable(s, r); err != nil {
		return Change{}, err
	}
	if !force {
		if err := r.Report.vouches(s); err != nil {
			return Change{}, err
		}
	}
	return release(s, r, ActSecurityApproved, map[string]string{"force": strconv.FormatBool(force)})
}

func releasable(s State, r ReleaseRequest) error {
	if err := may(r.Actor, "release a server", record.Person); err != nil {
		return err
	}
	if err := expect(s, r.Incarnation); err != nil {
		return err
	}
	name := s.Server.Name
	switch {
	case s.Server.FileQuarantines:
		return refuse(CodeQuarantinedByFile,
			"server "+quote(name)+" is quarantined by the configuration: "+quote(s.Server.FileSource),
			"Remove quarantined from that entry of the file, then release the server again.")
	case !s.Server.Quarantined:
		return refuse(CodeNotQuarantined, "server "+quote(name)+" is not quarantined",
			"What waits of it can be approved with: holdfast tool list --status review")
	}
	return nil
}

// vouches refuses when the report is not one that a security approval can stand on:
// of this incarnation, of exactly the live definitions of what is listed and can be
// read, complete, and without a hard finding.
func (p *Report) vouches(s State) error {
	none := func(why string) error {
		return refuse(CodeNoScanReport, "there is no scan report that server "+quote(s.Server.Name)+" could be released by: "+why,
			"Have it scanned, or release it with: holdfast server release "+s.Server.Name)
	}
	if p == nil {
		return none("it was not scanned")
	}
	if p.Incarnation != s.Server.Incarnation {
		return none("what it runs was changed since")
	}
	of, said := s.byName(), p.of(s.Server)
	for _, t := range p.Tools {
		i, known := of[named{t.Kind, t.Name}]
		if !known || !(Seen{t.Kind, t.Name, t.Digest}).is(s.Records[i]) {
			return none("its tools are not those that were scanned")
		}
	}
	for _, r := range s.Records {
		if r.Absent || !r.Live.Parsable() {
			continue
		}
		t, found := said.tool(r)
		if !found {
			return none("not all of its tools were scanned")
		}
		if !t.Complete {
			return none("not every check could be made")
		}
	}
	for _, t := range p.Tools {
		if t.hard() {
			return refuse(CodeHardFindings, "the scan has a hard finding in "+describe(s.Server.Name, t.Kind, t.Name),
				"Block the tool, or release the server without it, with: holdfast server release "+s.Server.Name)
		}
	}
	return nil
}

// ReleasePreview is what a release would approve and what it would leave.
type ReleasePreview struct {
	Approves []Record // pending, neither blocked nor absent nor unparsable, no hard finding
	Findings []Record // would be approved only if named in AcceptFindings
	Leaves   []Record // blocked, absent, unparsable, or changed
}

// PreviewRelease shows what a release with this report would do.
func PreviewRelease(s State, report *Report) ReleasePreview {
	var p ReleasePreview
	said := report.of(s.Server)
	for _, r := range s.Records {
		switch {
		case r.Status != Pending && r.Status != Changed:
		case r.Status == Changed, r.Blocked, r.Absent, !r.Live.Parsable():
			p.Leaves = append(p.Leaves, r)
		case said.hard(r):
			p.Findings = append(p.Findings, r)
		default:
			p.Approves = append(p.Approves, r)
		}
	}
	return p
}

// release does it, after the digests are found to be exactly those that a person saw.
func release(s State, r ReleaseRequest, what string, detail map[string]string) (Change, error) {
	preview := PreviewRelease(s, r.Report)
	outdated := refuse(CodeReviewOutOfDate, "what a release of server "+quote(s.Server.Name)+" would approve is not what was looked at",
		"Look at it again with: holdfast server release "+s.Server.Name)
	accepted, ok := match(preview.Findings, r.AcceptFindings)
	if !ok {
		return Change{}, outdated
	}
	approves := append(preview.Approves, accepted...)
	if _, ok := match(approves, r.Tools); !ok || len(approves) != len(r.Tools) {
		return Change{}, outdated
	}
	d := begin(s, s.Server.Name, r.Actor)
	d.server.Quarantined = false
	d.server.FirstScan = false
	said := map[string]string{
		"approved": strconv.Itoa(len(approves)),
		"accepted": strconv.Itoa(len(accepted)),
		"left":     strconv.Itoa(len(preview.Leaves) + len(preview.Findings) - len(accepted)),
	}
	for k, v := range detail {
		said[k] = v
	}
	d.touch(what, said)
	shown := r.Report.of(s.Server)
	for _, before := range approves {
		after := before.approvedBy(d.grant(Released, r.Actor), shown.shown(before))
		d.move(step{before: before, after: after, reason: Released, actor: r.Actor, signals: before.Evidence.Signals})
	}
	return d.whole()
}

// match gives the records that were named by their live digests; ok is false where
// a name is none of them, stale, or there twice.
func match(records []Record, seen []Seen) (found []Record, ok bool) {
	of := make(map[named]Record, len(records))
	for _, r := range records {
		of[named{r.Key.Kind, r.Key.Name}] = r
	}
	for _, n := range seen {
		key := named{n.Kind, n.Name}
		r, known := of[key]
		if !known || !n.is(r) {
			return nil, false
		}
		delete(of, key)
		found = append(found, r)
	}
	return found, true
}
