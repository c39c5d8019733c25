package dispatch

import (
	"github.com/holdfast-mcp/holdfast/core/approval"
)

// Reason is the class of a refusal, or Ready. Append-only.
type Reason string

const (
	// Classification, in the order that decides which one names a refusal.
	ServerNotConfigured Reason = "server_not_configured"
	ServerQuarantined   Reason = "server_quarantined"
	ServerDisabled      Reason = "server_disabled"
	ToolDeniedByConfig  Reason = "tool_denied_by_config"
	ToolUnknown         Reason = "tool_unknown"
	ToolBlocked         Reason = "tool_blocked"
	ToolChanged         Reason = "tool_changed"
	ToolPending         Reason = "tool_pending"
	Ready               Reason = "ready"

	// Further refusals of a call.
	TokenInvalid      Reason = "token_invalid" // unknown, expired, revoked: the zero Caller
	PermissionMissing Reason = "permission_missing"
	IntentMismatch    Reason = "intent_mismatch"
	InvalidArguments  Reason = "invalid_arguments"
	Unverified        Reason = "unverified"
	TooLarge          Reason = "too_large"
	AuditUnavailable  Reason = "audit_unavailable"
	UpstreamFailed    Reason = "upstream_unavailable"
	PermitInvalid     Reason = "permit_invalid" // zero, used, or of another server or incarnation

	// Refusals of a tool that rules govern (docs/design/workspace.md section 1), and
	// with them the stage that decided.
	RefusedByRules Reason = "refused_by_rules"
	ByArguments    Reason = "by_arguments"
	BySandbox      Reason = "by_sandbox"
	ByContract     Reason = "by_contract"
	ByRules        Reason = "by_rules"
	ByMode         Reason = "by_mode"
	ByHooks        Reason = "by_hooks"
	ByAsk          Reason = "by_ask"
)

// Situation is what classification reads. Gate and mode stand here only so that
// the table can show that they make no difference.
type Situation struct {
	Found       bool
	Enabled     bool
	Quarantined bool
	Denied      bool // by enabled_tools / disabled_tools
	GateOn      bool
	TrustMode   string
	Status      approval.Status // None: no record, or absent
	Blocked     bool
}

// Classify gives the first failure (or Ready) and all failures in order; Ready has
// none. It is total: docs/design/dispatch.md section 2.
func Classify(s Situation) (Reason, []Reason) {
	if !s.Found {
		return ServerNotConfigured, []Reason{ServerNotConfigured}
	}
	var failed []Reason
	if s.Quarantined {
		failed = append(failed, ServerQuarantined)
	}
	if !s.Enabled {
		failed = append(failed, ServerDisabled)
	}
	if s.Denied {
		failed = append(failed, ToolDeniedByConfig)
	}
	failed = append(failed, recordFailures(s.Status, s.Blocked)...)
	if len(failed) == 0 {
		return Ready, nil
	}
	return failed[0], failed
}

// recordFailures is what the record alone says. A status that is not known counts
// as no record.
func recordFailures(status approval.Status, blocked bool) []Reason {
	var failed []Reason
	if blocked {
		failed = append(failed, ToolBlocked)
	}
	switch status {
	case approval.Approved:
		return failed
	case approval.Changed:
		return append(failed, ToolChanged)
	case approval.Pending:
		return append(failed, ToolPending)
	case approval.None:
	}
	return []Reason{ToolUnknown}
}

// situation reads what Classify needs from what is stored. An approved record
// whose approved contract can't be read has nothing that could be served: it
// counts as changed.
func situation(s approval.Settings, srv approval.Server, r approval.Record) Situation {
	status := r.Status
	if status == approval.Approved && !r.Approved.Parsable() {
		status = approval.Changed
	}
	if r.Absent {
		status = approval.None
	}
	mode, _ := s.ModeOf(srv)
	return Situation{
		Found:       srv.Name != "" && srv.Named,
		Enabled:     srv.Enabled && !srv.Proposal,
		Quarantined: srv.Quarantined,
		Denied:      r.Key.Kind == approval.Tool && denied(srv.Options, r.Key.Name),
		GateOn:      !s.GateOff,
		TrustMode:   mode.String(),
		Status:      status,
		Blocked:     r.Blocked,
	}
}

// denied reports whether the operator's lists exclude a tool: a list of enabled
// tools excludes all that it does not name, and disabled_tools wins.
func denied(o approval.Options, tool string) bool {
	if len(o.EnabledTools) > 0 && !matchAny(o.EnabledTools, tool) {
		return true
	}
	return matchAny(o.DisabledTools, tool)
}
