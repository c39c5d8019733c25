// Package fault is the only vocabulary of errors that crosses rooms. A fault
// says what happened, why, and what to do next; faces render it, nobody parses it.
package fault

import "errors"

// Kind is a stable code. The list is append-only: it stands in REST problems,
// exit codes and docs.
type Kind string

const (
	Internal          Kind = "internal"
	BadInput          Kind = "bad_input"
	TooLarge          Kind = "too_large"
	NotFound          Kind = "not_found"
	Unauthorized      Kind = "unauthorized"
	Forbidden         Kind = "forbidden"
	Conflict          Kind = "conflict" // lost a compare-and-swap: start again
	Exists            Kind = "exists"
	Unavailable       Kind = "unavailable" // try again later
	Timeout           Kind = "timeout"
	Cancelled         Kind = "cancelled"
	Storage           Kind = "storage"    // the store can't be read or written
	Corrupt           Kind = "corrupt"    // stored data does not verify
	Protocol          Kind = "protocol"   // a peer broke MCP or JSON-RPC
	Upstream          Kind = "upstream"   // an upstream failed
	Unverified        Kind = "unverified" // a server's tools could not be listed again
	ServerExists      Kind = "server_exists"
	ServerReplaced    Kind = "server_replaced"
	ReviewOutOfDate   Kind = "review_out_of_date"
	QuarantinedByFile Kind = "quarantined_by_file"
	NotQuarantined    Kind = "not_quarantined"
	NothingWaits      Kind = "nothing_waits"
	NoScanReport      Kind = "no_scan_report"
	HardFindings      Kind = "hard_findings"
	BadTrustMode      Kind = "bad_trust_mode"
	Unparsable        Kind = "unparsable"
	NotForAgents      Kind = "not_for_agents"
)

// Error is a fault. What is one sentence without a secret, a token or an argument
// value; Hint is one sentence saying what to do next, and may be empty.
type Error struct {
	Kind Kind
	What string
	Hint string
	Err  error // the cause, for errors.Is and logs; not shown to agents
}

func (e *Error) Error() string { return e.What }
func (e *Error) Unwrap() error { return e.Err }

// New makes a fault.
func New(kind Kind, what, hint string) *Error { return &Error{Kind: kind, What: what, Hint: hint} }

// Wrap makes a fault with a cause.
func Wrap(err error, kind Kind, what, hint string) *Error {
	return &Error{Kind: kind, What: what, Hint: hint, Err: err}
}

// KindOf gives the kind of the first fault in err's chain; Internal when there is none.
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Kind
	}
	return Internal
}

// HintOf gives the hint of the first fault in err's chain.
func HintOf(err error) string {
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Hint
	}
	return ""
}
