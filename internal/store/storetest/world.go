package storetest

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// Changes as the law makes them, built by hand: the suite tests a store, and must
// not depend on what the law decides.

var noon = time.Date(2026, 5, 6, 12, 0, 0, 123456000, time.UTC)

var person = record.Actor{Kind: record.Person, Name: "anna"}

// odd is text that a store may trip over.
const odd = "o'dd \"name\" 100%_\\ \x00\n\u2028\u202e é 😀"

// tool is the definition of a tool in one of its versions.
func tool(name string, version int) contract.Contract {
	return contract.Parse(fmt.Appendf(nil, `{"name":%q, "description":"version %d of it", "inputSchema":{"type":"object","properties":{"to":{"type":"string"},"n":{"maximum":1e400}}}}`,
		strings.ToValidUTF8(strings.Map(printable, name), ""), version))
}

func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return -1
	}
	return r
}

func serverEntry(name, incarnation, what string) record.Entry {
	return record.Entry{
		Time: noon, Type: record.TypeServer, Actor: person, Server: name, Incarnation: incarnation, RequestID: "req-" + what,
		Act: &record.Act{What: what, Detail: map[string]string{"way": "cli"}},
	}
}

// adding adds a server that nobody has.
func adding(s approval.State, name, incarnation string) approval.Change {
	srv := approval.Server{
		Name: name, Incarnation: incarnation,
		Program: approval.Program{
			Type: "stdio", Command: "npx", Args: []string{"-y", "pkg@1", odd}, Cwd: "/srv", Env: map[string]string{"TOKEN": "${env:TOKEN}", odd: odd}, Headers: map[string]string{},
		},
		Options: approval.Options{TrustMode: "scan", EnabledTools: []string{}, DisabledTools: []string{"rm_*"}, Timeout: 1500 * time.Millisecond, MaxConcurrent: 3},
		Named:   true, Enabled: true, Quarantined: true, FirstScan: true, FileSource: "holdfast.json:7", Created: noon,
	}
	return approval.Change{
		SettingsID: s.Settings.ID, Name: name, Made: s.Server.Version, Server: &srv,
		Entries: []record.Entry{serverEntry(name, incarnation, "added")},
	}
}

func transition(r approval.Record, incarnation, from, reason string, old, live contract.Contract) record.Entry {
	return record.Entry{
		Time: noon, Type: record.TypeTransition, Actor: record.Actor{Kind: record.Holdfast}, Server: r.Key.Server, Incarnation: incarnation,
		Kind: string(r.Key.Kind), Name: r.Key.Name,
		Transition: &record.Transition{
			From: from, To: statusName(r.Status), Reason: reason, Old: record.Snapshot{Contract: old}, New: record.Snapshot{Contract: live},
			Signals: []string{"GATE-FIELD:description"}, Verdict: "review", Complete: true, Bundle: "b-1",
			Findings: []record.Finding{{Check: "hidden-text", Tier: "soft", Path: "/description", Evidence: odd, Start: 1, End: 5}},
		},
	}
}

func statusName(s approval.Status) string {
	return []string{"none", "pending", "approved", "changed"}[s]
}

var finding = scan.Finding{Check: "hidden-text", Tier: scan.Soft, Path: "/description", Start: 1, End: 5, Evidence: odd}

// seeing is a pass that lists new tools: each is pending.
func seeing(s approval.State, names ...string) approval.Change {
	c := approval.Change{SettingsID: s.Settings.ID, Name: s.Server.Name, Made: s.Server.Version}
	for _, name := range names {
		verdict := scan.Verdict{Outcome: scan.Review, Complete: true, Bundle: "b-1", Findings: []scan.Finding{finding}}
		r := approval.Record{
			Key: approval.Key{Server: s.Server.Name, Kind: approval.Tool, Name: name}, Status: approval.Pending,
			Live: tool(name, 1), LiveScan: verdict,
			Evidence: approval.Evidence{Reason: approval.HeldScanFindings, Signals: []string{"GATE-FIELD:description", odd}, Verdict: verdict},
		}
		c.Records = append(c.Records, r)
		c.Entries = append(c.Entries, transition(r, s.Server.Incarnation, "none", "first_seen", contract.Contract{}, r.Live))
	}
	return c
}

// approving approves what is live of the records.
func approving(s approval.State, records ...approval.Record) approval.Change {
	c := approval.Change{SettingsID: s.Settings.ID, Name: s.Server.Name, Made: s.Server.Version}
	for _, r := range records {
		from, old := statusName(r.Status), r.Approved
		if old.IsZero() {
			old = r.Live
		}
		r.Status, r.Approved, r.Anchor = approval.Approved, r.Live, r.Live
		r.ApprovedBy = approval.Grant{Reason: approval.UserApproved, Actor: person, Time: noon}
		r.AnchorBy, r.Accepted, r.Evidence, r.Declined = r.ApprovedBy, []scan.Finding{finding}, approval.Evidence{}, ""
		c.Records = append(c.Records, r)
		c.Entries = append(c.Entries, transition(r, s.Server.Incarnation, from, "user_approved", old, r.Live))
	}
	return c
}

// changing is a pass in which the records' tools are other ones: they are held.
func changing(s approval.State, version int, records ...approval.Record) approval.Change {
	c := approval.Change{SettingsID: s.Settings.ID, Name: s.Server.Name, Made: s.Server.Version}
	for _, r := range records {
		from, old := statusName(r.Status), r.Live
		r.Live = tool(r.Key.Name, version)
		r.Status = approval.Pending
		if !r.Approved.IsZero() {
			r.Status, old = approval.Changed, r.Approved
		}
		r.Evidence = approval.Evidence{Reason: approval.HeldStructural, Signals: []string{"GATE-FIELD:description"}}
		c.Records = append(c.Records, r)
		c.Entries = append(c.Entries, transition(r, s.Server.Incarnation, from, "held", old, r.Live))
	}
	return c
}

// blocking blocks the records; their status stays.
func blocking(s approval.State, records ...approval.Record) approval.Change {
	c := approval.Change{SettingsID: s.Settings.ID, Name: s.Server.Name, Made: s.Server.Version}
	for _, r := range records {
		r.Blocked = true
		c.Records = append(c.Records, r)
		c.Entries = append(c.Entries, transition(r, s.Server.Incarnation, statusName(r.Status), "blocked", r.Live, r.Live))
	}
	return c
}

// switching enables or disables the server; no record changes.
func switching(s approval.State) approval.Change {
	srv := s.Server
	srv.Enabled = !srv.Enabled
	return approval.Change{
		SettingsID: s.Settings.ID, Name: srv.Name, Made: srv.Version, Server: &srv,
		Entries: []record.Entry{serverEntry(srv.Name, srv.Incarnation, "switched")},
	}
}

func removing(s approval.State) approval.Change {
	return approval.Change{
		SettingsID: s.Settings.ID, Name: s.Server.Name, Made: s.Server.Version, Remove: true,
		Entries: []record.Entry{serverEntry(s.Server.Name, s.Server.Incarnation, "removed")},
	}
}

// calling is what a call leaves in the audit.
func calling(typ record.Type, id string) record.Entry {
	return record.Entry{
		Time: noon, Type: typ, Actor: record.Actor{Kind: record.Agent, Name: "ci"}, Server: "mail", Kind: "tool", Name: "send", RequestID: "req-" + id,
		Call: &record.Call{ID: id, Caller: "ci", Face: "direct", Class: "write", ArgsSHA256: "ab", ArgsBytes: 12, Duration: time.Second},
	}
}

func token(id, name string) dispatch.Token {
	return dispatch.Token{
		ID: id, Name: name, Hash: sha256.Sum256([]byte(id)), Created: noon, Expires: noon.Add(time.Hour),
		Scope:       dispatch.Scope{Servers: []string{"mail", "github"}, Tools: []string{"mail__send", "github__*", "*"}},
		Permissions: dispatch.Permissions{Read: true, Destructive: true},
	}
}

func tokenEntry(what, name string) record.Entry {
	return record.Entry{Time: noon, Type: record.TypeToken, Actor: person, Act: &record.Act{What: what, Detail: map[string]string{"token": name}}}
}

var settings = approval.Settings{
	ID: "s-1", GateOff: false, DefaultMode: "scan", OnHold: "keep", Unannotated: contract.Write,
	Lock: &approval.Lock{Source: "holdfast.lock", Pins: map[approval.Key]contract.Digest{
		{Server: "mail", Kind: approval.Tool, Name: odd}:    tool("a", 1).Digest(),
		{Server: "mail", Kind: approval.Prompt, Name: "a"}:  tool("b", 1).Digest(),
		{Server: "a", Kind: approval.Template, Name: "a/b"}: tool("c", 1).Digest(),
	}},
}

func settingsEntry(id string) record.Entry {
	return record.Entry{Time: noon, Type: record.TypeSettings, Actor: record.Actor{Kind: record.Operator, Name: "holdfast.json"}, SettingsID: id, Act: &record.Act{What: "changed"}}
}
