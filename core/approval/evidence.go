package approval

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// The rules of the scanner's signals, which stand after the gate's in Evidence:
// "SCAN-FINDING:<check>:<place>" and "SCAN-COVERAGE".
const (
	ScanFinding  delta.Rule = "SCAN-FINDING"
	ScanCoverage delta.Rule = "SCAN-COVERAGE"
)

// compare gives the structural signals of a change of a thing of this kind. What
// can't be compared has a signal, never none.
func (p *pass) compare(kind Kind, before, live contract.Contract) []delta.Signal {
	switch {
	case !before.Parsable():
		return []delta.Signal{{Rule: delta.SchemaShape, Reason: "approved-unknown", Path: "#"}}
	case kind != Tool:
		return compareFields(kind, before, live)
	case p.judge == nil:
		return []delta.Signal{{Rule: delta.Unavailable}}
	}
	return p.judge.Compare(before, live)
}

// compareFields compares what is no tool: each field but the name and the texts is
// held when its value changed; the instructions of a server are text alone.
func compareFields(kind Kind, before, live contract.Contract) []delta.Signal {
	if kind == Instructions {
		return nil
	}
	var signals []delta.Signal
	a, l := before.Root(), live.Root()
	for _, m := range slices.Concat(a.Members(), l.Members()) {
		switch m.Name {
		case "name", "title", "description":
			continue
		}
		was, had := a.Get(m.Name)
		is, has := l.Get(m.Name)
		if had != has || !was.Equal(is) {
			signals = append(signals, delta.Signal{Rule: delta.Field, Reason: legible(m.Name)})
		}
	}
	return delta.Merge(signals)
}

// evidence says why the offer is held. v is the verdict that was judged by.
func (t *trial) evidence(v scan.Verdict) Evidence {
	e := Evidence{Verdict: t.after.LiveScan}
	if !t.offered.Parsable() {
		e.Reason = HeldStructural
		e.Signals = []string{delta.Signal{Rule: delta.SchemaShape, Reason: "unparsable", Path: "#"}.String()}
		return e
	}
	signals := t.compare()
	e.Reason = t.heldReason(signals, v)
	e.Signals = delta.Compact(delta.Merge(signals, t.scanSignals(v)), delta.MaxKept)
	return e
}

// heldReason is the first that applies of docs/design/approval.md section 7.
func (t *trial) heldReason(signals []delta.Signal, v scan.Verdict) HeldReason {
	p := t.pass
	switch {
	case p.lock != nil:
		return HeldNotLocked
	case p.scans && len(signals) > 0:
		return HeldStructural
	case p.scans && (len(unaccepted(v, t.before.Accepted)) > 0 || !consistent(v) && v.Outcome > scan.Clean):
		return HeldScanFindings
	case p.scans && t.after.Declined == t.offered.Digest() && clean(v, p.bundle, t.before.Accepted):
		return HeldDeclined
	case p.scans:
		return HeldScanCoverage
	case t.after.Status == Pending:
		return HeldFirstSeen
	}
	return HeldManual
}

// scanSignals are the scanner's signals, as far as it was asked.
func (t *trial) scanSignals(v scan.Verdict) []delta.Signal {
	var signals []delta.Signal
	for _, f := range unaccepted(v, t.before.Accepted) {
		signals = append(signals, delta.Signal{Rule: ScanFinding, Reason: legible(f.Check), Path: legible(f.Path)})
	}
	if t.verdict != nil && !complete(v) {
		signals = append(signals, delta.Signal{Rule: ScanCoverage})
	}
	return signals
}

// legible makes a foreign name safe to print in a line: control, format and
// separator characters become \u{HEX}, a backslash two.
func legible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, `\u{%X}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
