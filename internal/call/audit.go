package call

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
)

const (
	maxAsked  = 200  // bytes of the name of a tool that does not exist, in the audit
	maxRule   = 1000 // bytes of a rule in the audit
	maxLogged = 2000 // bytes of an error in the log: a server's words may be in it
)

// entryOf is what all audit entries of the call have in common. No argument and no
// result is written, only sizes and the digest of the arguments.
func (j *journey) entryOf(t record.Type, at time.Time) record.Entry {
	e := record.Entry{
		Time:       at.UTC().Truncate(time.Microsecond),
		Type:       t,
		Actor:      record.Actor{Kind: record.Agent, Name: j.r.Caller.Name},
		RequestID:  j.r.ID,
		SettingsID: j.catalogue.Settings().ID,
		Call: &record.Call{
			ID:     j.r.ID,
			Caller: j.r.Caller.Name,
			Face:   j.face(),
		},
	}
	if j.entry.Server.Name == "" {
		e.Name = asked(j.r.Name)
		return e
	}
	e.Server, e.Incarnation = j.entry.Server.Name, j.entry.Server.Incarnation
	e.Kind, e.Name = string(j.entry.Record.Key.Kind), j.entry.Record.Key.Name
	e.Call.Class = j.entry.Class.String()
	e.Call.Approved, e.Call.Live = j.entry.Record.Approved.Digest(), j.entry.Record.Live.Digest()
	e.Call.ArgsSHA256, e.Call.ArgsBytes = j.digest, len(j.args.raw)
	return e
}

func (j *journey) face() string {
	switch {
	case j.r.Variant != 0:
		return "search"
	case j.r.Face.Server != "":
		return "server"
	case j.r.Face.Direct:
		return "direct"
	default:
		return ""
	}
}

func (j *journey) intent() record.Entry { return j.entryOf(record.TypeIntent, j.begun) }

func (j *journey) writeOutcome(outcome string, size int) {
	now := j.desk.o.Now()
	e := j.entryOf(record.TypeOutcome, now)
	e.Call.Outcome, e.Call.ResultBytes, e.Call.Duration = outcome, size, now.Sub(j.begun)
	if !hasEffect(j.granted.Class) {
		j.desk.o.Journal.Enqueue(j.intent())
	}
	j.desk.o.Journal.Enqueue(e)
}

func (j *journey) writeRefusal(r *dispatch.Refusal) {
	now := j.desk.o.Now()
	e := j.entryOf(record.TypeRefusal, now)
	e.Call.Refused, e.Call.Duration = string(r.Class), now.Sub(j.begun)
	e.Call.Reasons = make([]string, len(r.Reasons))
	for i, reason := range r.Reasons {
		e.Call.Reasons[i] = string(reason)
	}
	// The owner's words: what the agent sent, and what a hook said of it, is not written.
	e.Call.Rule, e.Call.RuleAt = bounded(r.Rule, maxRule), bounded(r.RuleAt, maxRule)
	j.desk.o.Journal.Enqueue(e)
}

// asked is a name that resolves to nothing, cut and made valid for the audit.
func asked(name string) string { return bounded(name, maxAsked) }

// logged is an error as the log has it.
func logged(err error) string { return bounded(err.Error(), maxLogged) }

// bounded is at most so many bytes of a text, and valid UTF-8.
func bounded(s string, most int) string {
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "?")
}
