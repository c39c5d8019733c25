package approval

import (
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
)

// mayWait reports whether the offer may wait beside the approved contract while the
// tool stays callable as it was approved: docs/design/approval.md section 9. Every
// condition that can't be judged is one that fails, so without a judge nothing waits.
func (t *trial) mayWait() bool {
	approved, live := t.before.Approved, t.offered
	v := t.look()
	if !complete(v) || v.Bundle != t.pass.bundle || dangerous(v, t.before.Accepted) || t.pass.judge == nil {
		return false
	}
	t.compare()
	if t.after.Key.Kind != Tool {
		// A changed field is the whole shape of what is no tool: only texts wait.
		return len(t.forward) == 0
	}
	return !moreDangerous(approved, live, t.pass.draft.state.Settings.Unannotated) &&
		approved.Parsable() && t.pass.stillFits(approved, live) &&
		quietAlone(live, t.forward) && stillDeclares(approved, live)
}

// moreDangerous reports whether a hint moved towards danger or the class rose.
func moreDangerous(approved, live contract.Contract, unannotated contract.Class) bool {
	a, l := approved.Hints(), live.Hints()
	return a.ReadOnly && !l.ReadOnly ||
		!a.Destructive && l.Destructive ||
		!a.OpenWorld && l.OpenWorld ||
		a.Idempotent && !l.Idempotent ||
		live.Class(unannotated) > approved.Class(unannotated)
}

// stillFits reports whether what was valid under the approved schema stays valid:
// the gate the other way round has no schema signal but default and enum-introduced.
func (p *pass) stillFits(approved, live contract.Contract) bool {
	for _, s := range p.compare(Tool, live, approved) {
		switch {
		case s.Rule == delta.Unavailable:
			return false
		case s.Rule == delta.SchemaShape && s.Reason != "default" && s.Reason != "enum-introduced":
			return false
		}
	}
	return true
}

// quietAlone reads the signals of the change itself: the output schema is not
// changed or gone, and the server announces no new behaviour of its own, which is a
// new or changed default, a const or a pinned place, or a new property with one.
func quietAlone(live contract.Contract, forward []delta.Signal) bool {
	schema, _ := live.InputSchema()
	for _, s := range forward {
		switch s.Rule {
		case delta.HintChange, delta.HintSaferFlip, delta.Field:
			continue
		case delta.OutputSchema:
			if s.Reason != "added" {
				return false
			}
			continue
		case delta.Unavailable:
			return false
		case delta.SchemaShape:
		default:
			return false // a rule that is not known here
		}
		switch s.Reason {
		case "const", "approved-unknown", "unparsable":
			return false
		case "default": // one that is gone may wait
			at := locate(schema, s.Path)
			if len(at) == 0 || has(at, "default") {
				return false
			}
		case "new-property": // one with an enum alone may wait
			at := locate(schema, s.Path)
			if len(at) == 0 || !enumAlone(schema, at) {
				return false
			}
		}
	}
	return true
}
