// Package dispatch is the one gate that every call passes. Admit is the only
// thing that can say yes, and nothing runs without the Permit it returns. Pure,
// but for a Permit being spent once. Specification: docs/design/dispatch.md.
package dispatch

import (
	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Request asks for one call.
type Request struct {
	CallID  string
	Caller  Caller
	Face    Face
	Kind    approval.Kind  // of what is asked for; empty is a tool
	Name    string         // as the agent wrote it
	Variant contract.Class // of call_tool_*; NoClass for a plain call
}

// Admit decides one call: resolution, scope, classification, class against
// permission. It is the only constructor of a Permit. Exactly one of the two is
// set: a refusal comes with the zero Permit.
func Admit(c *Catalogue, r Request) (Permit, *Refusal) {
	if r.Caller.Name == "" {
		return Permit{}, invalidToken()
	}
	kind := r.Kind
	if kind == "" {
		kind = approval.Tool
	}
	e, found := c.ResolveKind(r.Face, kind, r.Name)
	if !found || !r.Caller.Scope.contains(&e) {
		return Permit{}, Unknown(r.Name, "", ListAgain)
	}
	if e.Reason != Ready {
		return Permit{}, refuse(e, e.Reasons, "")
	}
	if failed := lacking(r, e.Class); len(failed) > 0 {
		return Permit{}, refuse(e, failed, "")
	}
	key := e.Record.Key
	return Permit{&permit{recall: e.recall, granted: Granted{
		CallID:      r.CallID,
		Caller:      r.Caller,
		Server:      key.Server,
		Incarnation: e.Server.Incarnation,
		Kind:        key.Kind,
		Tool:        key.Name,
		Approved:    e.Record.Approved.Digest(),
		Live:        e.Record.Live.Digest(),
		Class:       e.Class,
	}}}, nil
}

// lacking is what the caller's permissions and the variant used lack for a tool of
// this class.
func lacking(r Request, class contract.Class) []Reason {
	var failed []Reason
	if !r.Caller.Permissions.Has(class) {
		failed = append(failed, PermissionMissing)
	}
	if r.Variant != contract.NoClass && r.Variant < class {
		failed = append(failed, IntentMismatch)
	}
	return failed
}
