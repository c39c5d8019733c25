// Package dispatch is the one gate that every call passes. Admit is the only
// thing that can say yes, and nothing runs without the Permit it returns. Pure,
// but for a Permit being spent once. Specification: docs/design/dispatch.md.
package dispatch

import (
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
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

// Classify gives the first failure (or Ready) and all failures in order.
func Classify(s Situation) (Reason, []Reason) { panic("unwritten") }

// Face is where a call came from: it decides how a name is resolved.
type Face struct {
	Server string // of the server face; empty otherwise
	Direct bool   // names are server__tool (direct and search faces)
}

// Permissions is a set of dispatch classes, each named. The zero set permits nothing.
type Permissions struct{ Read, Write, Destructive bool }

// Has reports whether the set names c.
func (p Permissions) Has(c contract.Class) bool { panic("unwritten") }

// Scope is what a token may touch. The zero Scope contains nothing.
type Scope struct {
	Servers []string // names, or "*"
	Tools   []string // globs over server__tool or the tool's own name, or "*"
}

// Token is a stored agent token. Hash is the SHA-256 of its secret.
type Token struct {
	ID          string
	Name        string
	Hash        [32]byte
	Scope       Scope
	Permissions Permissions
	Created     time.Time
	Expires     time.Time // zero: never
	LastUsed    time.Time
	Revoked     time.Time // zero: not revoked
}

// Caller is who calls, after the token was checked. The zero Caller is refused.
type Caller struct {
	Name        string // token name, or "local"
	TokenID     string // empty for the local user
	Scope       Scope
	Permissions Permissions
}

// Caller gives the caller that t stands for now; the zero Caller when it is
// expired or revoked.
func (t Token) Caller(now time.Time) Caller { panic("unwritten") }

// Local is the local user over the unix socket or stdio.
func Local() Caller { panic("unwritten") }

// Request asks for one call.
type Request struct {
	CallID  string
	Caller  Caller
	Face    Face
	Name    string         // as the agent wrote it
	Variant contract.Class // of call_tool_*; NoClass for a plain call
}

// Refusal says no: what an agent and the audit are told. Remedy is for a person.
type Refusal struct {
	Class   Reason
	Reasons []Reason
	Server  string // empty when the name is outside the scope or does not exist
	Tool    string
	Text    string // one sentence: what was refused and why
	Remedy  string
}

func (r *Refusal) Error() string { return r.Text }

// Admit decides one call: resolution, scope, classification, class against
// permission. It is the only constructor of a Permit.
func Admit(c *Catalogue, r Request) (Permit, *Refusal) { panic("unwritten") }

// Refuse makes a refusal of one of the reasons that only the journey of a call
// can find (InvalidArguments, Unverified, TooLarge, ...); detail echoes no value.
func Refuse(e Entry, why Reason, detail string) *Refusal { panic("unwritten") }

// Permit allows one call, once. The zero Permit allows nothing. Copies share the
// one use. Safe for concurrent use.
type Permit struct{ p *permit }

type permit struct{} // H: server, incarnation, kind, tool, digests, class, caller, call id, spent

// Granted is what a permit was given for.
type Granted struct {
	CallID      string
	Caller      Caller
	Server      string
	Incarnation string
	Kind        approval.Kind
	Tool        string
	Approved    contract.Digest
	Live        contract.Digest
	Class       contract.Class
}

// Granted tells what the permit is for, without spending it; ok is false for the
// zero Permit.
func (p Permit) Granted() (g Granted, ok bool) { panic("unwritten") }

// Spend uses the permit up for a server of this incarnation that now holds the
// live contract held(tool). It fails, and nothing may run, when the permit is zero,
// was used, is of another server or incarnation (foreign), or when the held digest
// is not the one that was judged (stale: tool_changed). A failed Spend uses it up.
func (p Permit) Spend(server, incarnation string, held func(approval.Kind, string) contract.Digest) (Granted, *Refusal) {
	panic("unwritten")
}

// Outgoing is what goes out under a permit: the params of tools/call as they
// came. The upstream puts the permit's tool in the place of params.name.
type Outgoing struct {
	Params   []byte
	Progress func(params []byte) // nil when the caller asked for none; params as the server sent them but for the caller's progress token
}

// Reply is what came back, as bytes of the server: exactly one of the two is set.
type Reply struct {
	Result []byte // result of the JSON-RPC response
	Error  []byte // error object of the JSON-RPC response
}
