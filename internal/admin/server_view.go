package admin

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Server is one server as a person sees it.
type Server struct {
	Name        string `json:"name"`
	Incarnation string `json:"incarnation" doc:"Another one after what is run has changed; acts name the one that was seen"`
	Summary     string `json:"summary" doc:"One sentence: how it stands, and why"`

	Configured  bool   `json:"configured" doc:"False when the configuration file no longer names it"`
	Enabled     bool   `json:"enabled"`
	Quarantined bool   `json:"quarantined"`
	Proposal    bool   `json:"proposal" doc:"An agent proposed it; nothing is started until a person enables it"`
	FromFile    bool   `json:"from_file"`
	Source      string `json:"source,omitempty" doc:"File and line that quarantine it"`
	TrustMode   string `json:"trust_mode" enum:"manual,scan,auto" doc:"In force"`

	Program Program     `json:"program" doc:"What is run or connected to; secrets masked, but for a proposal, in which nothing is yours"`
	Digest  string      `json:"program_digest" doc:"Of what is run, unmasked: who enables a proposal names it"`
	Options Preferences `json:"options"`
	State   Connection  `json:"state"`
	Tools   Counts      `json:"tools" doc:"Tools, prompts, templates and instructions together"`
	Created time.Time   `json:"created"`
}

// Program is what is run or connected to.
type Program struct {
	Type      string            `json:"type,omitempty" enum:"stdio,http"`
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Cwd       string            `json:"cwd,omitempty"`
	URL       string            `json:"url,omitempty"`
	Isolation string            `json:"isolation,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
}

// Preferences are the settings of a server that are no part of what is run. Empty
// means the configured default.
type Preferences struct {
	TrustMode     string   `json:"trust_mode,omitempty" doc:"manual, scan or auto"`
	OnHold        string   `json:"on_hold,omitempty" doc:"block or keep"`
	EnabledTools  []string `json:"enabled_tools,omitempty"`
	DisabledTools []string `json:"disabled_tools,omitempty"`
	Timeout       string   `json:"timeout,omitempty" doc:"Of one call, as 30s or 2m"`
	MaxConcurrent int      `json:"max_concurrent,omitempty" minimum:"0" maximum:"10000" doc:"Calls at once"`
}

// Connection is how the connection to a server stands.
type Connection struct {
	Phase           string     `json:"phase" enum:"stopped,connecting,connected,backing_off"`
	Since           *time.Time `json:"since,omitempty"`
	Error           string     `json:"error,omitempty"`
	NextTry         *time.Time `json:"next_try,omitempty"`
	PID             int        `json:"pid,omitempty"`
	ProtocolVersion string     `json:"protocol_version,omitempty"`
	ServerName      string     `json:"server_name,omitempty" doc:"As it calls itself"`
	ServerVersion   string     `json:"server_version,omitempty"`
	ListingError    string     `json:"listing_error,omitempty" doc:"Connected, but why what it offers could not be listed: what is shown of it is what was listed before"`
}

// Counts of records. Ready ones can be called; InReview wait for a person.
type Counts struct {
	Total    int `json:"total"`
	Ready    int `json:"ready"`
	Pending  int `json:"pending"`
	Changed  int `json:"changed"`
	Waiting  int `json:"waiting" doc:"Approved, with an update that waits"`
	Blocked  int `json:"blocked"`
	Absent   int `json:"absent"`
	InReview int `json:"in_review"`
}

func (n *Counts) add(e dispatch.Entry) {
	r := e.Record
	n.Total++
	for _, c := range []struct {
		holds bool
		count *int
	}{
		{e.Reason == dispatch.Ready, &n.Ready},
		{r.Status == approval.Pending && !r.Absent, &n.Pending},
		{r.Status == approval.Changed && !r.Absent, &n.Changed},
		{r.Waiting(), &n.Waiting},
		{r.Blocked, &n.Blocked},
		{r.Absent, &n.Absent},
		{r.InReview(), &n.InReview},
	} {
		if c.holds {
			*c.count++
		}
	}
}

func (n *Counts) sum(m Counts) {
	n.Total += m.Total
	n.Ready += m.Ready
	n.Pending += m.Pending
	n.Changed += m.Changed
	n.Waiting += m.Waiting
	n.Blocked += m.Blocked
	n.Absent += m.Absent
	n.InReview += m.InReview
}

func (a *api) serverView(c *dispatch.Catalogue, s approval.Server) Server {
	mode, _ := c.Settings().ModeOf(s)
	v := Server{
		Name: s.Name, Incarnation: s.Incarnation,
		Configured: s.Named, Enabled: s.Enabled, Quarantined: s.Quarantined, Proposal: s.Proposal,
		FromFile: s.FromFile, Source: s.FileSource, TrustMode: mode.String(),
		Program: Program(a.shown(s)), Digest: string(s.Program.Digest()), Options: PreferencesOf(s.Options), Created: s.Created,
		State: Connection{Phase: "stopped"},
	}
	if st, ok := a.Servers.State(s.Name); ok {
		v.State = connectionOf(st)
	}
	for _, e := range c.Entries(s.Name) {
		v.Tools.add(e)
	}
	v.Summary = summary(v, a.Now())
	return v
}

// shown is what is run as a person may see it. What an agent proposed holds no
// secret of the operator, and a mask over it could hide what it would do.
func (a *api) shown(s approval.Server) approval.Program {
	if s.Proposal {
		return s.Program
	}
	return a.Mask(s.Program)
}

func connectionOf(st ServerState) Connection {
	return Connection{
		Phase: st.Phase, Since: moment(st.Since), Error: st.Error, NextTry: moment(st.NextTry), PID: st.PID,
		ProtocolVersion: st.ProtocolVersion, ServerName: st.ServerName, ServerVersion: st.ServerVersion,
		ListingError: st.ListingError,
	}
}

// moment leaves the zero time out of an answer.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// PreferencesOf shows the options of a server.
func PreferencesOf(o approval.Options) Preferences {
	v := Preferences{
		TrustMode: o.TrustMode, OnHold: o.OnHold, EnabledTools: o.EnabledTools, DisabledTools: o.DisabledTools,
		MaxConcurrent: o.MaxConcurrent,
	}
	if o.Timeout > 0 {
		v.Timeout = o.Timeout.String()
	}
	return v
}

// summary says how a server stands: what keeps its tools from agents first, then
// its connection, then what waits.
func summary(v Server, now time.Time) string {
	switch {
	case !v.Configured:
		return "not configured: the configuration file no longer names it"
	case v.Proposal:
		return "proposed by an agent: nothing of it is started until a person enables it"
	case !v.Enabled:
		return "disabled"
	}
	parts := []string{phrase(v.State, now)}
	if v.Quarantined {
		parts = append(parts, "quarantined")
	}
	if n := v.Tools.Ready; n > 0 {
		parts = append(parts, fmt.Sprintf("%d ready", n))
	}
	if n := v.Tools.InReview; n > 0 {
		parts = append(parts, fmt.Sprintf("%d to review", n))
	}
	return strings.Join(parts, "; ")
}

func phrase(s Connection, now time.Time) string {
	text := strings.ReplaceAll(s.Phase, "_", " ")
	if s.Phase == "connected" {
		if s.ListingError != "" {
			text += ", but could not be listed: " + strings.TrimSuffix(s.ListingError, ".")
		}
		return text
	}
	if s.NextTry != nil {
		wait := max(s.NextTry.Sub(now).Round(time.Second), 0)
		text += fmt.Sprintf(" (next try in %s)", wait)
	}
	if s.Error != "" {
		text += ": " + s.Error
	}
	return text
}

// noServer names the nearest server, because a typing error is the usual reason.
func noServer(c *dispatch.Catalogue, name string) error {
	var names []string
	for _, s := range c.Servers() {
		names = append(names, s.Name)
	}
	hint := "`holdfast server list` shows the servers"
	if near := nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? `holdfast server list` shows the servers", near)
	}
	return fault.New(fault.NotFound, fmt.Sprintf("there is no server %q", name), hint)
}

// nearest gives the candidate that differs from s in the fewest letters, if in few.
func nearest(s string, candidates []string) string {
	sort.Strings(candidates)
	best, least := "", len(s)/3+2
	for _, c := range candidates {
		if d := fault.Distance(s, c); d < least {
			best, least = c, d
		}
	}
	return best
}
