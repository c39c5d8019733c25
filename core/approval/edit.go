package approval

import (
	"slices"

	"github.com/holdfast-mcp/holdfast/core/record"
)

// EditRequest changes what is run or the options of a stored server (person or
// file, never an agent). Nil fields stay.
type EditRequest struct {
	Actor       record.Actor
	Program     *Program
	Options     *Options
	Incarnation string // random; used if Program differs

	// Mask hides secrets in what the audit says of the program; see AddRequest.
	Mask func(Program) Program
}

// Edit changes what is run, which gives a new incarnation, or the options of a
// stored server. What is equal changes nothing.
func Edit(s State, r EditRequest) (Change, error) {
	if err := may(r.Actor, "change a server", record.Person, record.Operator); err != nil {
		return Change{}, err
	}
	if err := stored(s, s.Server.Name); err != nil {
		return Change{}, err
	}
	if r.Options != nil {
		if err := r.Options.check(r.Actor); err != nil {
			return Change{}, err
		}
	}
	if r.Program != nil {
		filled := r.Program.filled()
		if err := filled.check(); err != nil {
			return Change{}, err
		}
		if s.Server.Proposal && !filled.Equal(s.Server.Program) {
			// A proposal is shown unmasked, because nothing in it is a person's.
			return Change{}, refuse(CodeForbidden, "what an agent proposed is enabled as it is or not at all",
				"Add your own in its place, under the same name, with: holdfast server add")
		}
		r.Program = &filled
	}
	d := begin(s, s.Server.Name, r.Actor)
	if err := d.rewrite(r); err != nil {
		return Change{}, err
	}
	return d.done(), nil
}

// rewrite puts a new program and new options in force, as far as they differ.
func (d *draft) rewrite(r EditRequest) error {
	if r.Options != nil {
		d.options(*r.Options)
	}
	if r.Program == nil {
		return nil
	}
	changed := r.Program.differs(d.server.Program)
	if len(changed) == 0 {
		return nil
	}
	if r.Incarnation == "" || r.Incarnation == d.server.Incarnation {
		return refuse(CodeBadInput, "what a server runs can't be changed without a new identity for it", "This is a fault of Holdfast, please report it.")
	}
	d.program(r, changed)
	return nil
}

// program is a change of what is run. Records, blocks, anchors and the baseline
// marker stay; what was looked at was another program, so that it is quarantined
// again if the rule says so. In scan mode the first complete scan may release it,
// but only what that scan could have released, or what was not quarantined.
func (d *draft) program(r EditRequest, changed []string) {
	settings, srv := d.state.Settings, &d.server
	was := srv.Quarantined
	srv.Program, srv.Incarnation = *r.Program, r.Incarnation
	srv.TrustedWhenAdded = false
	if settings.quarantines(*srv) {
		srv.Quarantined = true
		srv.FirstScan = settings.scans(*srv) && (!was || srv.FirstScan)
	}
	detail := srv.said(r.Mask)
	detail["changed"] = list(changed)
	if srv.Quarantined && !was {
		detail["quarantined"] = "again"
	}
	d.touch(ActProgramChanged, detail)
	d.change.Effects.CancelCalls = true
	d.change.Effects.Restart = true
	d.change.Effects.Pass = true
}

// options puts new options in force. Leaving scan mode spends the first scan. Each
// thing that loosens is an entry of its own.
func (d *draft) options(o Options) {
	changed := o.differs(d.server.Options)
	if len(changed) == 0 {
		return
	}
	settings := d.state.Settings
	wasMode, _ := settings.ModeOf(d.server)
	kept := settings.Keeps(d.server)
	d.server.Options = o
	mode, _ := settings.ModeOf(d.server)
	if wasMode == Scan && mode != Scan {
		d.server.FirstScan = false
	}
	d.touch(ActEdited, map[string]string{"changed": list(changed)})
	if mode > wasMode {
		d.act(ActModeLoosened, map[string]string{"from": wasMode.String(), "to": mode.String()})
	}
	if settings.Keeps(d.server) && !kept {
		d.act(ActKeepSet, nil)
	}
	if slices.Contains(changed, "trust_mode") || slices.Contains(changed, "on_hold") {
		d.change.Effects.Pass = true
	}
}
