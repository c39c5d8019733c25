package dispatch

import "github.com/holdfast-mcp/holdfast/core/contract"

var terms = []contract.Term{
	{Name: string(ServerNotConfigured), Label: "server not configured", Sentence: "Its server is not configured."},
	{Name: string(ServerQuarantined), Label: "server quarantined", Sentence: "Its server is quarantined until a person, or a first clean scan, releases it."},
	{Name: string(ServerDisabled), Label: "server disabled", Sentence: "Its server is disabled."},
	{Name: string(ToolDeniedByConfig), Label: "excluded", Sentence: "The server's enabled_tools or disabled_tools exclude it."},
	{Name: string(ToolUnknown), Label: "not offered", Sentence: "Its server does not list it, or the caller may not know of it."},
	{Name: string(ToolBlocked), Label: "blocked", Sentence: "A person blocked it."},
	{Name: string(ToolChanged), Label: "changed", Sentence: "It changed since it was approved, and the change is held."},
	{Name: string(ToolPending), Label: "not approved", Sentence: "Nobody approved it yet."},
	{Name: string(Ready), Label: "ready", Sentence: "It can be called."},
	{Name: string(TokenInvalid), Label: "token invalid", Sentence: "The token is unknown, expired or revoked."},
	{Name: string(PermissionMissing), Label: "permission missing", Sentence: "The token does not permit calls of the tool's class."},
	{Name: string(IntentMismatch), Label: "milder call", Sentence: "It was called as if it did less than its class says."},
	{Name: string(InvalidArguments), Label: "invalid arguments", Sentence: "The arguments do not fit the approved input schema."},
	{Name: string(Unverified), Label: "not verified", Sentence: "The server's tools could not be listed again, so nobody knows whether it is still what was approved."},
	{Name: string(TooLarge), Label: "too large", Sentence: "The call or its result is over a limit of size."},
	{Name: string(AuditUnavailable), Label: "audit unavailable", Sentence: "The call could not be written down first, so it was not made."},
	{Name: string(UpstreamFailed), Label: "server unreachable", Sentence: "The server can't be reached."},
	{Name: string(PermitInvalid), Label: "permit invalid", Sentence: "The permission to make the call was spent, or was for another call."},
	{Name: string(RefusedByRules), Label: "refused by rules", Sentence: "The rules that the owner wrote down do not allow it."},
	{Name: string(ByArguments), Label: "arguments", Sentence: "The arguments are not such that the tool takes."},
	{Name: string(BySandbox), Label: "outside", Sentence: "It reaches outside the workspace, or could not be confined to it."},
	{Name: string(ByContract), Label: "file contract", Sentence: "A file contract denies it."},
	{Name: string(ByRules), Label: "rule", Sentence: "A permission rule or a protected path denies it."},
	{Name: string(ByMode), Label: "mode", Sentence: "The mode refuses it."},
	{Name: string(ByHooks), Label: "hook", Sentence: "A hook refused it."},
	{Name: string(ByAsk), Label: "would be asked", Sentence: "A person would be asked, and nobody is there."},
}

// Terms are the words for why a call is refused, and for that it is not.
func Terms() []contract.Term { return append([]contract.Term(nil), terms...) }

// Explain gives the term of a reason; what is none explains nothing.
func (r Reason) Explain() contract.Term {
	for _, t := range terms {
		if t.Name == string(r) {
			return t
		}
	}
	return contract.Term{}
}
