package approval

import "strconv"

// modes are the words of the trust modes, loosest last.
var modes = [...]string{Manual: "manual", Scan: "scan", Auto: "auto"}

// ParseMode reads a trust mode as it is written to the product: exactly "manual",
// "scan" or "auto"; anything else is refused (bad_trust_mode).
func ParseMode(s string) (Mode, error) {
	for m, word := range modes {
		if s == word {
			return Mode(m), nil
		}
	}
	return Manual, &Refused{
		Code: CodeBadTrustMode,
		What: quote(s) + " is no trust mode",
		Hint: "Write manual, scan or auto, in lower case.",
	}
}

// String is the word of the mode. A Mode that is none prints as manual, which is
// what it counts as.
func (m Mode) String() string {
	if int(m) < len(modes) {
		return modes[m]
	}
	return modes[Manual]
}

// String is "none", "pending", "approved" or "changed".
func (s Status) String() string {
	switch s {
	case None:
		return "none"
	case Pending:
		return "pending"
	case Approved:
		return "approved"
	case Changed:
		return "changed"
	}
	return "status " + strconv.Itoa(int(s))
}

// ModeOf is the mode in force for srv, and the bad value that counts as manual, if
// any. An absent mode is the default mode; an absent default is manual here, for
// the zero Settings is the strictest: that a file without default_trust_mode means
// scan is filled in where the file is read.
func (s Settings) ModeOf(srv Server) (mode Mode, bad string) {
	written := srv.Options.TrustMode
	if written == "" {
		written = s.DefaultMode
	}
	if written == "" {
		return Manual, ""
	}
	mode, err := ParseMode(written)
	if err != nil {
		return Manual, written
	}
	return mode, ""
}

// The values of on_hold.
const (
	OnHoldBlock = "block"
	OnHoldKeep  = "keep"
)

// Keeps reports whether on_hold is keep for srv.
func (s Settings) Keeps(srv Server) bool {
	if srv.Options.OnHold != "" {
		return srv.Options.OnHold == OnHoldKeep
	}
	return s.OnHold == OnHoldKeep
}

// quarantines is the one rule of docs/design/approval.md section 3: whether a
// server is quarantined when it is added, by whatever way, or what it runs changes.
func (s Settings) quarantines(srv Server) bool {
	mode, _ := s.ModeOf(srv)
	return !s.GateOff && mode != Auto
}

// scans reports whether a scan may decide without a person.
func (s Settings) scans(srv Server) bool {
	mode, _ := s.ModeOf(srv)
	return !s.GateOff && mode == Scan
}
