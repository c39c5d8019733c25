package approval

import (
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/record"
)

// Way is the way in of an added server.
type Way string

const (
	ByCLI    Way = "cli"
	ByREST   Way = "rest"
	ByMCP    Way = "mcp"
	ByImport Way = "import"
	ByFile   Way = "file"
)

// Ask is what a request says about quarantine.
type Ask byte

const (
	AskNothing Ask = iota
	AskMore        // quarantined: true
	AskLess        // quarantined: false
)

// AddRequest adds one server.
type AddRequest struct {
	Name        string
	Way         Way
	Actor       record.Actor
	Program     Program
	Options     Options
	Quarantine  Ask
	FileSource  string // file and line, for ByFile
	Incarnation string // random, made by the caller
}

// Add admits a server: docs/design/approval.md section 3. For ByFile a stored
// server is not an error but brought up to date with the file (Program, Options,
// an added quarantine, named again).
func Add(s State, r AddRequest) (Change, error) { panic("unwritten") }

// Dropped marks a server of the file that the file no longer names.
func Dropped(s State, actor record.Actor) (Change, error) { panic("unwritten") }

// Edit changes what is run or the options of a stored server (person or file,
// never an agent). Nil fields stay.
type EditRequest struct {
	Actor       record.Actor
	Program     *Program
	Options     *Options
	Incarnation string // random; used if Program differs
}

func Edit(s State, r EditRequest) (Change, error) { panic("unwritten") }

// Offer is one listed thing, of which the contract was read.
type Offer struct {
	Kind     Kind
	Name     string
	Contract contract.Contract
}

// Listing is one complete discovery pass of a server: all kinds, all pages.
type Listing struct {
	Incarnation string // under which it was taken
	Offers      []Offer
	LeftOut     []string // entries without a readable name, and why, for the report
}

// Limits of a listing; over one of them nothing changes and the pass is reported.
const (
	MaxTools   = 10_000
	MaxListing = 64 << 20 // bytes
	MaxRecords = 20_000
)

// Pass takes a complete listing: section 4, first scan included. It fails with
// server_replaced when the listing is of another incarnation.
func Pass(s State, l Listing, j Judge) (Change, error) { panic("unwritten") }

// Seen names one record and the digest of its live contract that a person saw.
type Seen struct {
	Kind   Kind
	Name   string
	Digest contract.Digest
}

// ReviewRequest is a person's act on records. Every field is required; for Block
// the digests of Seen are not looked at.
type ReviewRequest struct {
	Actor       record.Actor
	Incarnation string // expected
	Tools       []Seen
}

func Approve(s State, r ReviewRequest) (Change, error) { panic("unwritten") }
func Block(s State, r ReviewRequest) (Change, error)   { panic("unwritten") }
func Unblock(s State, r ReviewRequest) (Change, error) { panic("unwritten") }
func Dismiss(s State, r ReviewRequest) (Change, error) { panic("unwritten") }

// Report is a security scan of a server's tools made on request.
type Report struct {
	Incarnation string
	Time        time.Time
	Tools       []ReportedTool
}

// ReportedTool is one tool of a Report.
type ReportedTool struct {
	Kind     Kind
	Name     string
	Digest   contract.Digest
	Complete bool
	Hard     bool // a hard finding
}

// ReleaseRequest releases a server. Tools are exactly the pending ones that it
// approves, with the digests the person saw.
type ReleaseRequest struct {
	Actor          record.Actor
	Incarnation    string
	Tools          []Seen
	AcceptFindings []Seen
	Report         *Report // the last one stored for the server, nil when there is none
}

func Release(s State, r ReleaseRequest) (Change, error) { panic("unwritten") }

// SecurityApprove is Release backed by a scan report; Force goes without the
// report, never without digests or incarnation.
func SecurityApprove(s State, r ReleaseRequest, force bool) (Change, error) { panic("unwritten") }

// ReleasePreview is what a release would approve and what it would leave.
type ReleasePreview struct {
	Approves []Record // pending, neither blocked nor absent nor unparsable, no hard finding
	Findings []Record // would be approved only if named in AcceptFindings
	Leaves   []Record // blocked, absent, unparsable, or changed
}

func PreviewRelease(s State, report *Report) ReleasePreview { panic("unwritten") }

func Quarantine(s State, actor record.Actor) (Change, error) { panic("unwritten") }
func Enable(s State, actor record.Actor) (Change, error)     { panic("unwritten") }
func Disable(s State, actor record.Actor) (Change, error)    { panic("unwritten") }
func Remove(s State, actor record.Actor) (Change, error)     { panic("unwritten") }

// SettingsChanged gives the audit entries of a change of settings: one for each
// thing that loosens, and one for the change as a whole.
func SettingsChanged(old, new Settings, actor record.Actor, now time.Time) []record.Entry {
	panic("unwritten")
}
