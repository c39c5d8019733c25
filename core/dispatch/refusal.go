package dispatch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/approval"
)

// Refusal says no: what an agent and the audit are told. Remedy is for a person.
// Neither has a word of a contract in it: things are called by their served names,
// which are made of letters, digits, '_' and '-'.
type Refusal struct {
	Class   Reason
	Reasons []Reason
	Server  string // empty when the name is outside the scope or does not exist
	Tool    string
	Text    string // one sentence: what was refused and why
	Remedy  string

	// For the audit alone: the rule that decided, as its owner wrote it, and where it stands.
	Rule, RuleAt string
}

func (r *Refusal) Error() string { return r.Text }

// Refuse makes a refusal of one of the reasons that only the journey of a call
// can find (InvalidArguments, Unverified, TooLarge, ...). detail is a sentence part
// that says what exactly; it echoes no value.
func Refuse(e Entry, why Reason, detail string) *Refusal {
	return refuse(e, []Reason{why}, detail)
}

// Objection is why rules refuse a call. The zero Objection gives no reason, and
// refuses all the same.
type Objection struct {
	Stage  Reason // ByArguments and so on; empty when none of them decided
	Reason string // a sentence
	Remedy string // what a person can do; empty when nothing

	Rule, RuleAt string // the rule that decided, and where it stands; empty when none did
}

// Object makes the refusal of a call that rules refused. Unlike Refuse it says the
// objection's own words: they are the owner's, not a server's.
func Object(e Entry, o Objection) *Refusal {
	r := refuse(e, []Reason{RefusedByRules}, "")
	if o.Stage != "" {
		r.Reasons = append(r.Reasons, o.Stage)
	}
	if o.Reason != "" {
		r.Text = "Refused: " + o.Reason
	}
	r.Remedy, r.Rule, r.RuleAt = o.Remedy, o.Rule, o.RuleAt
	return r
}

// refuse names the first reason and reports all.
func refuse(e Entry, reasons []Reason, detail string) *Refusal {
	r := &Refusal{Class: reasons[0], Reasons: reasons, Server: e.Record.Key.Server, Tool: e.Record.Key.Name}
	say := phrase{server: r.Server, what: thing(e.Record.Key.Kind), tool: e.Own, class: e.Class.String()}
	if r.Tool == e.Own {
		say.typed = " " + r.Server + "/" + e.Own
	}
	why, remedy := say.reason(r.Class)
	if detail != "" {
		why += ": " + detail
	}
	r.Text = "Refused: " + say.subject() + " was not called, because " + why + "."
	r.Remedy = remedy
	return r
}

// phrase is what the sentences of a refusal are made of.
type phrase struct {
	server, what, tool, class string
	typed                     string // " server/tool" for a command; empty when the name is better not typed
}

func thing(k approval.Kind) string {
	switch k {
	case approval.Prompt:
		return "prompt"
	case approval.Template:
		return "resource template"
	case approval.Instructions:
		return "instructions"
	case approval.Tool:
	}
	return "tool"
}

func (p phrase) subject() string {
	return fmt.Sprintf("the %s %q of server %q", p.what, p.tool, p.server)
}

// reason explains one class: why, and what a person can do.
func (p phrase) reason(class Reason) (why, remedy string) {
	if why, remedy := p.trust(class); why != "" {
		return why, remedy
	}
	switch class {
	case PermissionMissing:
		return "it is of class " + p.class + ", which this token is not permitted to call",
			"A person can create a token with the permission " + p.class + ": holdfast token create"
	case IntentMismatch:
		return "it is of class " + p.class + ", and the variant that was used is for milder tools",
			"Call it with call_tool_" + p.class + "."
	case InvalidArguments:
		return "its arguments do not fit the approved input schema", "Correct the arguments and call again."
	case Unverified:
		return "the server's tools could not be listed again, so nobody knows whether it is still what was approved",
			"Try again when the server answers; a person can look at it with: holdfast server show " + p.server
	case TooLarge:
		return "it is over a limit of size", "Ask for less in one call; a person can raise the limits in the configuration."
	case AuditUnavailable:
		return "the call could not be written down first, and what is not written down does not run",
			"A person can find out why with: holdfast status"
	case RefusedByRules:
		return "the rules for it do not allow it", ""
	case UpstreamFailed:
		return "the server can't be reached", "A person can look at it with: holdfast server show " + p.server
	default:
		return "it was refused as " + string(class), "A person can find out why with: holdfast status"
	}
}

// trust explains the classes of classification; empty for any other.
func (p phrase) trust(class Reason) (why, remedy string) {
	switch class {
	case ServerNotConfigured:
		return "the server is not configured any more",
			"A person can name it in the configuration again, or remove it with: holdfast server remove " + p.server
	case ServerQuarantined:
		return "the server is quarantined until a person releases it",
			"A person can look at its tools and release it with: holdfast server release " + p.server
	case ServerDisabled:
		return "the server is disabled", "A person can enable it with: holdfast server enable " + p.server
	case ToolDeniedByConfig:
		return "the configuration excludes it",
			"A person can change enabled_tools or disabled_tools of the server in the configuration."
	case ToolUnknown:
		return "the server does not offer it now", "List the tools again."
	case ToolBlocked:
		return "a person blocked it", "A person can unblock it with: " + p.command("unblock", "blocked")
	case ToolChanged:
		return "its definition is not the one that was approved, and the change is held for a person",
			"A person can look at the change with: " + p.command("show", "review")
	case ToolPending:
		return "nobody approved it yet", "A person can look at it and approve it with: " + p.command("approve", "review")
	default:
		return "", ""
	}
}

// command is what a person types about the tool, or where its name can't be typed,
// what shows those of the status.
func (p phrase) command(verb, status string) string {
	if p.typed == "" {
		return "holdfast tool list --status " + status
	}
	return "holdfast tool " + verb + p.typed
}

// invalidToken refuses the zero Caller.
func invalidToken() *Refusal {
	return &Refusal{
		Class: TokenInvalid, Reasons: []Reason{TokenInvalid},
		Text:   "Refused: the token is unknown, expired or revoked.",
		Remedy: "A person can create another one with: holdfast token create",
	}
}

// longestEcho is how much of an unknown name is given back, in characters.
const longestEcho = 128

// ListAgain is what to do about a name that does not exist where tools come from
// servers.
const ListAgain = "List the tools again; a person can show them with: holdfast tool list"

// Unknown refuses a name that does not exist. It is also the whole answer for what
// is outside the caller's scope, byte for byte, so that nobody learns what exists: near,
// the name that was probably meant, and remedy say nothing but what the caller may see.
func Unknown(name, near, remedy string) *Refusal {
	if runes := []rune(name); len(runes) > longestEcho {
		name = string(runes[:longestEcho]) + "..."
	}
	end := "."
	if near != "" {
		end = "; did you mean " + strconv.Quote(near) + "?"
	}
	return &Refusal{
		Class: ToolUnknown, Reasons: []Reason{ToolUnknown},
		Text:   "Refused: there is no " + strconv.Quote(strings.ToValidUTF8(name, "?")) + " here" + end,
		Remedy: remedy,
	}
}

// badPermit refuses what a permit does not allow.
func badPermit(g Granted, why string) *Refusal {
	return &Refusal{
		Class: PermitInvalid, Reasons: []Reason{PermitInvalid}, Server: g.Server, Tool: g.Tool,
		Text:   "Refused: nothing was sent, because " + why + ".",
		Remedy: "Call again.",
	}
}

// stale refuses a call whose tool is not what was judged any more.
func stale(g Granted) *Refusal {
	return &Refusal{
		Class: ToolChanged, Reasons: []Reason{ToolChanged}, Server: g.Server, Tool: g.Tool,
		Text:   "Refused: nothing was sent, because the tool's definition changed while the call was on its way.",
		Remedy: "List the tools and call again; if the change is held, a person can look at it with: holdfast tool list --status review",
	}
}
