// Package record is what Holdfast writes down: the audit entries, their exact
// bytes, and the hash chain over them. Pure; the store keeps them.
// Specification: docs/design/record.md.
package record

import (
	"time"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// ActorKind says who acted. The zero ActorKind is nobody and may do nothing.
type ActorKind string

const (
	Nobody   ActorKind = ""
	Person   ActorKind = "person"   // CLI, admin REST, page
	Agent    ActorKind = "agent"    // MCP face, agent token
	Operator ActorKind = "operator" // the configuration file, a lock file
	Holdfast ActorKind = "holdfast" // a pass, by the rules
)

// Actor is who did something. Name is a token's or user's name, a file, or empty.
type Actor struct {
	Kind ActorKind `json:"kind"`
	Name string    `json:"name,omitempty"`
}

// Type is the kind of an audit entry. Append-only.
type Type string

const (
	TypeTransition Type = "transition" // a record changed: status, approval, block, waiting, absent
	TypeServer     Type = "server"     // a server was added, changed, quarantined, released, removed, ...
	TypeSettings   Type = "settings"   // a change of the settings that loosens, or any other
	TypeToken      Type = "token"      // created, revoked
	TypeIntent     Type = "call.intent"
	TypeOutcome    Type = "call.outcome"
	TypeRefusal    Type = "call.refused"
	TypePass       Type = "pass" // a listing that could not be taken, or an entry left out, and why
)

// Snapshot is a contract as an audit entry holds it. The chain covers its Ref;
// the bytes themselves are stored once for all entries and records that have them.
// Who writes an entry sets Contract. Of an entry that was read back Ref is always
// set, and Contract too where the bytes were read with it.
type Snapshot struct {
	Contract contract.Contract
	Ref      Ref
}

// Ref names a contract and its bytes without holding them. The zero Ref names none.
type Ref struct {
	Digest  contract.Digest
	Problem string   // why it can't be read; empty when it can
	Raw     [32]byte // SHA-256 of the raw bytes; zero when no bytes were kept
	Bytes   int      // how many raw bytes there are
}

// Entry is one line of the audit. Exactly the part that Type names is set:
// Transition, Call (intent, outcome, refusal) or Act (every other type).
// Seq, Prev and Hash are given by the store when the entry is committed.
// Lists and maps that are empty come back as nil.
type Entry struct {
	Seq         int64
	Time        time.Time // UTC, to the microsecond
	Type        Type
	Actor       Actor
	Server      string
	Incarnation string
	Kind        string // tool, prompt, template, instructions; empty when about a server
	Name        string
	RequestID   string // of the request that led here, if there was one
	SettingsID  string

	Transition *Transition
	Act        *Act
	Call       *Call

	Prev, Hash [32]byte
}

// Transition is a change of one record. From and To are statuses as printed
// ("none", "pending", "approved", "changed").
type Transition struct {
	From, To string
	Reason   string
	Old, New Snapshot // the contracts before and after: of the approved contract where one was, else of the live one
	Signals  []string
	Verdict  string // clean, review, dangerous, not_scanned
	Complete bool
	Findings []Finding
	Bundle   string
	Accepted []Finding // accepted findings that a scan approval used
	Detail   map[string]string
	State    [32]byte // hash of what is stored of the record from then on; given by the store
}

// Finding is a scan finding as it is written down.
type Finding struct {
	Check, Tier, Path, Evidence string
	Start, End                  int
}

// Act is something done to a server, the settings or a token. What is a verb:
// "added", "released", "quarantined", "enabled", "gate_off", "token_created", ...
type Act struct {
	What   string
	Detail map[string]string // never a secret, a token or an argument value
}

// Call is one call of a tool, its refusal or its outcome. Argument and result
// values are never written, only their size and SHA-256.
type Call struct {
	ID         string
	Caller     string // token name or "local"
	Face       string
	Class      string // read, write, destructive
	Approved   contract.Digest
	Live       contract.Digest
	ArgsSHA256 string
	ArgsBytes  int
	// of an outcome:
	Outcome     string // ok, tool_error, error, timeout, cancelled, unknown
	ResultBytes int
	Duration    time.Duration
	// of a refusal:
	Refused string   // the refusal's class
	Reasons []string // all that failed
	Rule    string   // the rule that decided, as its owner wrote it; empty when none did
	RuleAt  string   // where that stands: layer, file and line
}
