package approval

// What was done to a server, as the audit says it (record.Act.What). Append-only.
const (
	ActAdded            = "added"
	ActProposed         = "proposed" // an agent added it: stored disabled
	ActEdited           = "edited"
	ActProgramChanged   = "program_changed" // what is run is another: a new incarnation
	ActNamedAgain       = "named_again"     // the file names it (again)
	ActDropped          = "dropped"         // the file does not name it any more
	ActQuarantined      = "quarantined"
	ActReleased         = "released"
	ActSecurityApproved = "security_approved"
	ActEnabled          = "enabled"
	ActDisabled         = "disabled"
	ActRemoved          = "removed"
	ActFirstScanSpent   = "first_scan_spent"
	ActBaselineDecided  = "baseline_decided"
	ActLeftOut          = "left_out"             // entries of a listing without a readable name
	ActForbidden        = "transition_forbidden" // the guard refused: a fault of the law

	// Loosenings, each an entry of its own.
	ActModeLoosened       = "trust_mode_loosened"
	ActKeepSet            = "on_hold_keep"
	ActGateOff            = "gate_off"
	ActUnannotatedLowered = "unannotated_lowered"
	ActLockRemoved        = "lock_removed"

	ActSettingsChanged = "settings_changed"
	ActBundleChanged   = "bundle_changed" // other signatures for the scan
)
