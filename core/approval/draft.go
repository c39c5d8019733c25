package approval

import (
	"slices"
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// draft is a Change in the making. Records get into it through move alone, which
// asks the guard.
type draft struct {
	state  State
	actor  record.Actor
	now    time.Time
	server Server // its new value, if touched
	change Change
}

// begin starts a Change of the server called name.
func begin(s State, name string, actor record.Actor) *draft {
	return &draft{
		state:  s,
		actor:  actor,
		now:    s.Now.UTC().Truncate(time.Microsecond), // as precise as the audit keeps it
		server: s.Server,
		change: Change{SettingsID: s.Settings.ID, Name: name, Made: s.Server.Version},
	}
}

// done gives the Change.
func (d *draft) done() Change { return d.change }

// touch notes that the server has a new value, and writes down what was done to it.
func (d *draft) touch(what string, detail map[string]string) {
	srv := d.server
	d.change.Server = &srv
	d.act(what, detail)
}

// act writes down what was done to the server.
func (d *draft) act(what string, detail map[string]string) {
	e := d.entry(record.TypeServer)
	e.Act = &record.Act{What: what, Detail: detail}
	d.change.Entries = append(d.change.Entries, e)
}

func (d *draft) entry(t record.Type) record.Entry {
	return record.Entry{
		Time:        d.now,
		Type:        t,
		Actor:       d.actor,
		Server:      d.change.Name,
		Incarnation: d.server.Incarnation,
		SettingsID:  d.change.SettingsID,
	}
}

func (d *draft) grant(r Reason, actor record.Actor) Grant {
	return Grant{Reason: r, Actor: actor, Time: d.now}
}

// step is one transition of one record, with what is written down about it.
type step struct {
	before, after Record
	reason        Reason
	actor         record.Actor
	proof         *proof // of a scan approval
	signals       []string
	detail        map[string]string
}

// move puts a transition into the Change if the guard permits it. If not, it says
// so, in the Change and in the audit, and the record stays as it was.
func (d *draft) move(s step) bool {
	e := d.entry(record.TypeTransition)
	e.Actor = s.actor
	e.Kind, e.Name = string(s.after.Key.Kind), s.after.Key.Name
	if why := guard(s.before, s.after, s.reason, s.proof); why != "" {
		d.change.Forbidden = append(d.change.Forbidden, describe(e.Server, s.after.Key.Kind, e.Name)+": "+why)
		e.Type = record.TypePass
		e.Act = &record.Act{What: ActForbidden, Detail: map[string]string{"why": why}}
		d.change.Entries = append(d.change.Entries, e)
		return false
	}
	verdict := s.after.LiveScan
	e.Transition = &record.Transition{
		From:     s.before.Status.String(),
		To:       s.after.Status.String(),
		Reason:   string(s.reason),
		Old:      record.Snapshot{Contract: pick(s.before.Approved, s.before.Live)},
		New:      record.Snapshot{Contract: s.after.Live},
		Signals:  s.signals,
		Verdict:  outcomeWord(verdict.Outcome),
		Complete: verdict.Complete,
		Findings: written(verdict.Findings),
		Bundle:   verdict.Bundle,
		Detail:   s.detail,
	}
	if s.proof != nil {
		e.Transition.Accepted = written(s.proof.accepted)
	}
	d.change.Entries = append(roomFor(d.change.Entries), e)
	d.change.Records = append(roomFor(d.change.Records), s.after)
	return true
}

// roomFor gives list with room for one more. A list of large values that grows to
// thousands is copied less often when it doubles.
func roomFor[T any](list []T) []T {
	if len(list) < cap(list) {
		return list
	}
	return slices.Grow(list, max(4, len(list)))
}

// pick is the approved contract where there is one, else the live one.
func pick(approved, live contract.Contract) contract.Contract {
	if approved.IsZero() {
		return live
	}
	return approved
}

func outcomeWord(o scan.Outcome) string {
	switch o {
	case scan.Clean:
		return "clean"
	case scan.Review:
		return "review"
	case scan.Dangerous:
		return "dangerous"
	case scan.NotScanned:
	}
	return "not_scanned"
}

func written(findings []scan.Finding) []record.Finding {
	var list []record.Finding
	for _, f := range findings {
		tier := "hard"
		if f.Tier == scan.Soft {
			tier = "soft"
		}
		list = append(list, record.Finding{
			Check: f.Check, Tier: tier, Path: f.Path, Evidence: f.Evidence, Start: f.Start, End: f.End,
		})
	}
	return list
}
