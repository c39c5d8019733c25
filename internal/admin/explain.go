package admin

import (
	"strings"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
)

var heldSentences = map[approval.HeldReason]string{
	approval.HeldStructural:   "the definition differs in a way that needs a look",
	approval.HeldNotLocked:    "the lock file does not pin this contract",
	approval.HeldScanFindings: "the scan found something in its texts",
	approval.HeldScanCoverage: "the scan could not look at everything",
	approval.HeldDeclined:     "a person dismissed this update",
	approval.HeldFirstSeen:    "it was seen for the first time, and a person decides",
	approval.HeldManual:       "in manual mode a person decides about every change",
}

func explainHeld(r approval.HeldReason) string { return heldSentences[r] }

var ruleSentences = map[delta.Rule]string{
	delta.HintChange:    "a hint about what the tool does moved towards danger",
	delta.HintSaferFlip: "a hint now claims that the tool does less harm than before",
	delta.SchemaShape:   "the input takes something that it did not take before",
	delta.OutputSchema:  "the shape of the results is another",
	delta.Field:         "a part of the definition that a model or a client reads is another",
	delta.Unavailable:   "the two definitions could not be compared, so the change is held",

	approval.ScanFinding:  "the scan found something in a text",
	approval.ScanCoverage: "the texts could not be scanned completely, so nobody can tell that they are clean",
}

func explainSignal(printed string) string {
	rule, rest, _ := strings.Cut(printed, ":")
	if rest == "unparsable" {
		return "the definition can't be read in exactly one way, so nobody can approve it"
	}
	return ruleSentences[delta.Rule(rule)]
}

var reasonSentences = map[dispatch.Reason]string{
	dispatch.ServerNotConfigured: "its server is not configured",
	dispatch.ServerQuarantined:   "its server is quarantined",
	dispatch.ServerDisabled:      "its server is disabled",
	dispatch.ToolDeniedByConfig:  "enabled_tools or disabled_tools exclude it",
	dispatch.ToolUnknown:         "its server no longer lists it",
	dispatch.ToolBlocked:         "a person blocked it",
	dispatch.ToolChanged:         "it changed since it was approved",
	dispatch.ToolPending:         "it was never approved",
}

func explainReason(r dispatch.Reason) string {
	if s, ok := reasonSentences[r]; ok {
		return s
	}
	return string(r)
}
