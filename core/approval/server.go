package approval

import (
	"maps"
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
)

// Quarantine hides and refuses everything of a server at once. Agents may ask for
// it too. It ends the permissions that a quarantined server may still have: to be
// released by its first scan, and to be taken as a baseline.
func Quarantine(s State, actor record.Actor) (Change, error) {
	if err := may(actor, "quarantine a server", record.Person, record.Agent, record.Operator); err != nil {
		return Change{}, err
	}
	if err := stored(s, s.Server.Name); err != nil {
		return Change{}, err
	}
	d := begin(s, s.Server.Name, actor)
	if !d.server.Quarantined || d.server.FirstScan || d.server.TrustedWhenAdded {
		d.quarantine("asked for")
	}
	return d.done(), nil
}

// quarantine is every quarantine that somebody asks for.
func (d *draft) quarantine(why string) {
	d.server.Quarantined = true
	d.server.FirstScan = false
	d.server.TrustedWhenAdded = false
	d.touch(ActQuarantined, map[string]string{"why": why})
	d.change.Effects.CancelCalls = true
}

// EnableRequest enables a server.
type EnableRequest struct {
	Actor record.Actor
	// Program is Program.Digest of what the person saw that would be run. It is
	// required for a proposal; where it is given, it has to be that of the server.
	Program contract.Digest
	// Mask hides secrets in what the audit says of the program; see AddRequest.
	Mask func(Program) Program
}

// Enable lets a server be started and called. For an agent's proposal this is the
// decision to run it at all, and like every decision it names what was seen.
func Enable(s State, r EnableRequest) (Change, error) {
	if err := may(r.Actor, "enable a server", record.Person); err != nil {
		return Change{}, err
	}
	if err := stored(s, s.Server.Name); err != nil {
		return Change{}, err
	}
	d := begin(s, s.Server.Name, r.Actor)
	look := "Look at it with: holdfast server show " + s.Server.Name
	if d.server.Proposal && r.Program == "" {
		return Change{}, refuse(CodeBadInput,
			"an agent proposed server "+quote(s.Server.Name)+", and it is enabled only with the digest of the program that was looked at", look)
	}
	if r.Program != "" && r.Program != d.server.Program.Digest() {
		return Change{}, refuse(CodeReviewOutOfDate, "what server "+quote(s.Server.Name)+" would run is not what was looked at", look)
	}
	if d.server.Enabled && !d.server.Proposal {
		return d.done(), nil
	}
	detail := d.server.said(r.Mask)
	if d.server.Proposal {
		detail["accepts"] = "a proposal"
	}
	d.server.Enabled, d.server.Proposal = true, false
	d.touch(ActEnabled, detail)
	d.change.Effects.Pass = true
	return d.done(), nil
}

// Disable stops a server from being called; records stay. Agents may ask for it too.
func Disable(s State, actor record.Actor) (Change, error) {
	if err := may(actor, "disable a server", record.Person, record.Agent); err != nil {
		return Change{}, err
	}
	if err := stored(s, s.Server.Name); err != nil {
		return Change{}, err
	}
	d := begin(s, s.Server.Name, actor)
	if !d.server.Enabled {
		return d.done(), nil
	}
	d.server.Enabled = false
	d.touch(ActDisabled, nil)
	d.change.Effects.CancelCalls = true
	return d.done(), nil
}

// Remove forgets a server, its records and the tokens' grants on it. The audit stays.
func Remove(s State, actor record.Actor) (Change, error) {
	if err := may(actor, "remove a server", record.Person); err != nil {
		return Change{}, err
	}
	if err := stored(s, s.Server.Name); err != nil {
		return Change{}, err
	}
	d := begin(s, s.Server.Name, actor)
	d.change.Remove = true
	d.change.Effects.CancelCalls = true
	d.act(ActRemoved, nil)
	return d.done(), nil
}

// SettingsChanged gives the audit entries of a change of settings: one for each
// thing that loosens, and one for the change as a whole; none when nothing changed.
// Where there were no settings before (an empty ID), the product's defaults were.
func SettingsChanged(before, after Settings, actor record.Actor, now time.Time) []record.Entry {
	if before.ID == "" {
		before = Settings{DefaultMode: Scan.String(), OnHold: OnHoldBlock, Unannotated: contract.Destructive}
	}
	var entries []record.Entry
	say := func(what string, detail map[string]string) {
		entries = append(entries, record.Entry{
			Time: now.UTC().Truncate(time.Microsecond), Type: record.TypeSettings, Actor: actor, SettingsID: after.ID,
			Act: &record.Act{What: what, Detail: detail},
		})
	}
	wasMode, _ := before.ModeOf(Server{})
	mode, _ := after.ModeOf(Server{})
	was, is := unannotated(before), unannotated(after)
	if after.GateOff && !before.GateOff {
		say(ActGateOff, nil)
	}
	if mode > wasMode {
		say(ActModeLoosened, map[string]string{"from": wasMode.String(), "to": mode.String(), "of": "every server without a mode of its own"})
	}
	if after.OnHold == OnHoldKeep && before.OnHold != OnHoldKeep {
		say(ActKeepSet, map[string]string{"of": "every server without a value of its own"})
	}
	if is < was {
		say(ActUnannotatedLowered, map[string]string{"from": was.String(), "to": is.String()})
	}
	if before.Lock != nil && after.Lock == nil {
		say(ActLockRemoved, map[string]string{"source": before.Lock.Source})
	}
	changed := settingsDiffer(before, after)
	if len(changed) > 0 {
		say(ActSettingsChanged, map[string]string{"changed": list(changed)})
	}
	return entries
}

// unannotated is the class in force for tools without annotations.
func unannotated(s Settings) contract.Class {
	if s.Unannotated == contract.NoClass {
		return contract.Destructive
	}
	return s.Unannotated
}

func settingsDiffer(a, b Settings) []string {
	var names []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"quarantine_enabled", a.GateOff == b.GateOff},
		{"default_trust_mode", a.DefaultMode == b.DefaultMode},
		{"on_hold", (a.OnHold == OnHoldKeep) == (b.OnHold == OnHoldKeep)},
		{"unannotated", unannotated(a) == unannotated(b)},
		{"lock", sameLock(a.Lock, b.Lock)},
	} {
		if !f.same {
			names = append(names, f.name)
		}
	}
	return names
}

func sameLock(a, b *Lock) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Source == b.Source && maps.Equal(a.Pins, b.Pins)
}
