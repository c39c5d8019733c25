package approval

import (
	"strconv"

	"github.com/holdfast-mcp/holdfast/core/record"
)

// Codes of Refused. Stable, append-only; each is a kind of internal/fault too.
const (
	CodeBadInput          = "bad_input"
	CodeBadTrustMode      = "bad_trust_mode"
	CodeForbidden         = "forbidden" // the act needs a person, the operator or a pass, and this is none of them
	CodeHardFindings      = "hard_findings"
	CodeNoScanReport      = "no_scan_report"
	CodeNotForAgents      = "not_for_agents"
	CodeNotFound          = "not_found"
	CodeNotQuarantined    = "not_quarantined"
	CodeNothingWaits      = "nothing_waits"
	CodeProtocol          = "protocol" // a listing that can't be taken: a name twice
	CodeQuarantinedByFile = "quarantined_by_file"
	CodeReviewOutOfDate   = "review_out_of_date"
	CodeServerExists      = "server_exists"
	CodeServerReplaced    = "server_replaced"
	CodeTooLarge          = "too_large"
	CodeUnparsable        = "unparsable"
)

// Refused is the law's refusal of an act: nothing is written. Code is stable
// (review_out_of_date, ...).
type Refused struct {
	Code string
	What string // one sentence, written as errors are: what was refused and why
	Hint string // what to do next
}

func (r *Refused) Error() string { return r.What }

func refuse(code, what, hint string) error { return &Refused{Code: code, What: what, Hint: hint} }

// quote shows a foreign text so that it can't pass for ours: what does not print is
// escaped, and it is cut at 120 characters.
func quote(s string) string {
	if r := []rune(s); len(r) > 120 {
		s = string(r[:120]) + "..."
	}
	return strconv.Quote(s)
}

// may lets the kinds of actor that are named do what verb says, and nobody else.
func may(actor record.Actor, verb string, kinds ...record.ActorKind) error {
	for _, k := range kinds {
		if actor.Kind == k && k != record.Nobody {
			return nil
		}
	}
	if actor.Kind == record.Agent {
		return refuse(CodeNotForAgents, "an agent can't "+verb,
			"A person can, with the command line or the page; nothing was changed.")
	}
	return refuse(CodeForbidden, "nobody who may "+verb+" asked for it",
		"Ask as a person, with the command line, the admin API or the page.")
}

// stored refuses acts on a server that is not there.
func stored(s State, name string) error {
	if s.Server.Version > 0 && s.Server.Name != "" {
		return nil
	}
	return refuse(CodeNotFound, "there is no server "+quote(name), "See the servers with: holdfast server list")
}

// expect refuses an act on a server that is not there, or not the one meant.
func expect(s State, incarnation string) error {
	if err := stored(s, s.Server.Name); err != nil {
		return err
	}
	if incarnation == s.Server.Incarnation && incarnation != "" {
		return nil
	}
	return refuse(CodeServerReplaced,
		"server "+quote(s.Server.Name)+" was replaced, or what it runs was changed, after this was looked at",
		"Look at it again with: holdfast server show "+s.Server.Name)
}

func thing(k Kind) string {
	switch k {
	case Prompt, Instructions:
		return string(k)
	case Template:
		return "resource template"
	case Tool:
	}
	return string(Tool)
}

// describe names one record in a sentence.
func describe(server string, k Kind, name string) string {
	return "the " + thing(k) + " " + quote(name) + " of server " + quote(server)
}
