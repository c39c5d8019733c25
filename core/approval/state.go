// Package approval is the law of trust: who may approve what, and what a listing
// does to the records. Pure functions of values: State and a request give a
// Change, which a store commits as one transaction.
// Specification: docs/design/approval.md.
package approval

import (
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// Kind is what a record is about.
type Kind string

const (
	Tool         Kind = "tool"
	Prompt       Kind = "prompt"
	Template     Kind = "template"
	Instructions Kind = "instructions"
)

// Status of a record. The zero Status is None: no record; not callable.
type Status byte

const (
	None Status = iota
	Pending
	Approved
	Changed
)

// Mode is a trust mode. The zero Mode is Manual, the strictest.
type Mode byte

const (
	Manual Mode = iota
	Scan
	Auto
)

// Reason says why a record's status or approved contract changed. Append-only.
type Reason string

const (
	UserApproved    Reason = "user_approved"
	Released        Reason = "released"
	BaselineTrust   Reason = "baseline_trust"
	AutoApprove     Reason = "auto_approve"
	GateOff         Reason = "gate_off"
	Locked          Reason = "locked"
	ScanApproved    Reason = "scan_approved"
	Reverted        Reason = "reverted"
	FirstSeen       Reason = "first_seen"       // none to pending
	Held            Reason = "held"             // approved to changed; live replaced while pending or changed
	Waits           Reason = "waits"            // an update waits beside the approved contract
	UpdateWithdrawn Reason = "update_withdrawn" // the waiting update is gone
	Dismissed       Reason = "dismissed"
	Blocked         Reason = "blocked"
	Unblocked       Reason = "unblocked"
	Vanished        Reason = "vanished" // no longer listed
	Returned        Reason = "returned" // listed again, equal to what was live
)

// HeldReason is the first that applies of docs/design/approval.md section 7.
type HeldReason string

const (
	HeldStructural   HeldReason = "structural"
	HeldNotLocked    HeldReason = "not_locked"
	HeldScanFindings HeldReason = "scan_findings"
	HeldScanCoverage HeldReason = "scan_coverage"
	HeldDeclined     HeldReason = "declined"
	HeldFirstSeen    HeldReason = "first_seen"
	HeldManual       HeldReason = "manual"
)

// Key names one record.
type Key struct {
	Server string
	Kind   Kind
	Name   string
}

// Grant is who approved a contract, why and when.
type Grant struct {
	Reason Reason
	Actor  record.Actor
	Time   time.Time
}

// Evidence is why a contract is held. The zero Evidence is none.
type Evidence struct {
	Reason  HeldReason
	Signals []string // printed gate signals, compacted to 16, gate before scan
	Verdict scan.Verdict
}

// Record is what is stored about one offered thing.
type Record struct {
	Key     Key
	Version int64 // raised by the store with every write; 0 is not stored
	Status  Status

	Approved   contract.Contract // zero: never approved
	ApprovedBy Grant
	Anchor     contract.Contract // zero: never approved
	AnchorBy   Grant
	Accepted   []scan.Finding // kept with the anchor

	Live     contract.Contract
	LiveScan scan.Verdict // of the live contract, as far as one was made by a pass
	Declined contract.Digest
	Blocked  bool
	Absent   bool
	Evidence Evidence // of a pending or changed record, or of a waiting update
}

// Waiting reports whether an update waits beside the approved contract.
func (r Record) Waiting() bool {
	return r.Status == Approved && !r.Live.Equal(r.Approved)
}

// InReview reports whether the record stands in the review queue: pending, changed
// or waiting without having been dismissed, and neither blocked nor absent.
func (r Record) InReview() bool {
	if r.Blocked || r.Absent {
		return false
	}
	undecided := r.Waiting() && r.Live.Digest() != r.Declined
	return r.Status == Pending || r.Status == Changed || undecided
}

// Server is what is stored about one server. The zero Server is not stored.
type Server struct {
	Name        string
	Version     int64  // raised by the store with every write; 0 is not stored
	Incarnation string // random, given when added and when Program changes

	Program Program
	Options Options

	FromFile bool // it came from the configuration file
	Named    bool // the file still names it, or it never came from the file: else it is not configured
	Proposal bool // an agent added it and no person enabled it yet
	Enabled  bool

	Quarantined      bool
	FileQuarantines  bool   // the file says quarantined: true
	FileSource       string // file and line of that, for the refusal
	FirstScan        bool   // a first complete scan may still release it
	TrustedWhenAdded bool   // a baseline may still be taken
	BaselineDecided  bool   // durable: one was taken, or must not be
	Created          time.Time
}

// Runs reports whether the server's program may be started or connected to.
func (s Server) Runs() bool { return s.Version > 0 && s.Named && s.Enabled && !s.Proposal }

// Settings is the operator's configuration as far as the law reads it. The zero
// Settings is the strictest: gate on, manual, block, destructive.
type Settings struct {
	ID          string // names this snapshot; a Change made under another is not committed
	GateOff     bool
	DefaultMode string // as written
	OnHold      string // "block" or "keep"
	Unannotated contract.Class
	Lock        *Lock // nil: no lock file
}

// Lock is what a lock file pins: server, kind and name to the digest.
type Lock struct {
	Source string
	Pins   map[Key]contract.Digest
}

// Judge compares and scans for one pass, with the neighbours already bound.
// It is pure. A nil Judge can't tell: everything that needs it is held.
type Judge interface {
	// Compare gives the structural signals of a change; none is silent.
	Compare(approved, live contract.Contract) []delta.Signal
	// Scan gives the verdict on one contract.
	Scan(live contract.Contract) scan.Verdict
	// Bundle is the version of the signatures that Scan uses; empty when there are none.
	Bundle() string
}

// State is everything that an act reads. Server is zero when none is stored
// under that name; Records are all of that server.
type State struct {
	Settings Settings
	Server   Server
	Records  []Record
	Now      time.Time
}

// Change is what an act decided, as data: it is committed whole or not at all,
// under compare-and-swap on everything it was made from.
type Change struct {
	SettingsID string   // State.Settings.ID
	Name       string   // the server's name
	Made       int64    // State.Server.Version
	Server     *Server  // its new value; nil when unchanged
	Records    []Record // new values; Version is the one each was made from
	Remove     bool     // the server, its records and the tokens' grants on it
	Entries    []record.Entry
	Effects    Effects

	// Forbidden are transitions that the guard refused, to be logged and counted;
	// the tools stay held. It is empty unless the law itself has a fault.
	Forbidden []string
}

// Effects are what follows once a Change is durable.
type Effects struct {
	CancelCalls bool // calls in flight to the server are cancelled
	Pass        bool // a discovery pass is due
	Restart     bool // what is run changed: stop it, start the new one
}

// Empty reports whether there is nothing to commit.
func (c Change) Empty() bool {
	return c.Server == nil && len(c.Records) == 0 && len(c.Entries) == 0 && !c.Remove
}
