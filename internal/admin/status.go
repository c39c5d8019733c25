package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Status is the running Holdfast at a glance.
type Status struct {
	Version   string    `json:"version"`
	PID       int       `json:"pid"`
	Started   time.Time `json:"started"`
	DataDir   string    `json:"data_dir"`
	Config    string    `json:"config" doc:"Path of the configuration file"`
	MCP       string    `json:"mcp_url,omitempty" doc:"Where agents connect; empty when there is no TCP listener"`
	AuthOff   bool      `json:"auth_off" doc:"Every program on this machine is the local user"`
	GateOn    bool      `json:"gate_on"`
	TrustMode string    `json:"default_trust_mode"`

	Signatures Signatures `json:"signatures" doc:"What the scan uses"`

	Servers  ServerCounts `json:"servers"`
	Tools    Counts       `json:"tools"`
	Warnings []string     `json:"warnings" nullable:"false" doc:"What a person should know: one sentence each"`
}

// ServerCounts are the servers by how they stand; one may count in several.
type ServerCounts struct {
	Total       int `json:"total"`
	Connected   int `json:"connected"`
	Quarantined int `json:"quarantined"`
	Disabled    int `json:"disabled"`
	Failing     int `json:"failing" doc:"Enabled, but with an error"`
}

// Signatures are the bundle that the scan uses.
type Signatures struct {
	Version string `json:"version"`
	Rules   int    `json:"rules" doc:"How many of them run"`
	Source  string `json:"source,omitempty" doc:"The file they are from; empty for those that are part of the program"`
	Problem string `json:"problem,omitempty" doc:"Why the configured file as it is now is not in force"`
}

// Daemon is what only the running process knows.
type Daemon struct {
	PID      int
	Started  time.Time
	DataDir  string
	MCP      string
	AuthOff  bool
	Warnings []string

	Signatures Signatures
	// DefaultsSince is when the data came under newer defaults; zero when it never did.
	DefaultsSince time.Time
}

// Config is the configuration in force, with secrets masked.
type Config struct {
	Path              string         `json:"path"`
	DataDir           string         `json:"data_dir"`
	Listen            string         `json:"listen"`
	AuthOff           bool           `json:"auth_off"`
	Face              string         `json:"face" enum:"auto,direct,search"`
	Origins           []string       `json:"origins,omitempty"`
	Hosts             []string       `json:"hosts,omitempty"`
	QuarantineEnabled bool           `json:"quarantine_enabled"`
	DefaultTrustMode  string         `json:"default_trust_mode"`
	OnHold            string         `json:"on_hold"`
	Unannotated       string         `json:"unannotated"`
	VerifyInterval    string         `json:"verify_interval"`
	BundlePath        string         `json:"bundle_path,omitempty" doc:"File of signatures for the scan; empty: those of the program"`
	Limits            Limits         `json:"limits"`
	Servers           []ConfigServer `json:"servers" nullable:"false" doc:"As the file names them"`
	SettingsID        string         `json:"settings_id" doc:"Names the settings in the audit"`
	Warnings          []string       `json:"warnings" nullable:"false"`
	Problem           string         `json:"problem,omitempty" doc:"Why the file as it is now is not in force; the one before is"`
}

// Limits in bytes, counts and time.
type Limits struct {
	Message   int    `json:"message"`
	Arguments int    `json:"arguments"`
	Result    int    `json:"result"`
	Sessions  int    `json:"sessions"`
	Idle      string `json:"idle"`
}

// ConfigServer is one server as the file names it.
type ConfigServer struct {
	Name        string      `json:"name"`
	Source      string      `json:"source" doc:"File and line"`
	Quarantined *bool       `json:"quarantined,omitempty"`
	Program     Program     `json:"program"`
	Options     Preferences `json:"options"`
}

func (a *api) stateRoutes() {
	route(a, "status", http.MethodGet, "/api/v1/status", "The running Holdfast at a glance", a.status)
	route(a, "vocabulary", http.MethodGet, "/api/v1/vocabulary", "Every word for why something is held, approved or refused", a.vocabulary)
	route(a, "doctor", http.MethodGet, "/api/v1/doctor", "What a person should look at, and what to do about it", a.doctor)
	route(a, "config", http.MethodGet, "/api/v1/config", "The configuration in force; secrets masked", a.config)
}

// unwritable is the warning about a store that nothing can be written to.
func unwritable(err error) string {
	what := "the store takes nothing any more"
	if f, ok := errors.AsType[*fault.Error](err); ok {
		what = f.What
	}
	return "nothing can be written down, so that nothing is decided and no call is made: " + what
}

// tagOf groups an operation by the first part of its path.
func tagOf(path string) string {
	tag, _, _ := strings.Cut(strings.TrimPrefix(path, "/api/v1/"), "/")
	if strings.Contains(path, "/tools") || tag == "review" {
		return "tools"
	}
	return tag
}

func (a *api) status(context.Context, *struct{}) (*body[Status], error) {
	c, d, cfg := a.Trust.Catalogue(), a.Daemon(), a.Config()
	v := Status{
		Version: a.Version, PID: d.PID, Started: d.Started.UTC(), DataDir: d.DataDir, Config: cfg.Path, MCP: d.MCP,
		AuthOff: d.AuthOff, GateOn: !c.Settings().GateOff, TrustMode: cfg.DefaultTrustMode,
		Warnings: append([]string{}, d.Warnings...), Signatures: d.Signatures,
	}
	if err := a.AuditHealth(); err != nil {
		v.Warnings = append(v.Warnings, unwritable(err))
	}
	for _, s := range c.Servers() {
		one := a.serverView(c, s)
		v.Servers.Total++
		v.Tools.sum(one.Tools)
		if one.State.Phase == "connected" {
			v.Servers.Connected++
		}
		if one.State.Phase == "connected" && one.State.ListingError != "" {
			v.Warnings = append(v.Warnings, "what the server "+s.Name+" offers could not be listed, and nothing new of it is seen: "+one.State.ListingError)
		}
		if one.Quarantined && one.Configured {
			v.Servers.Quarantined++
		}
		if !one.Enabled {
			v.Servers.Disabled++
		} else if one.State.Error != "" && one.State.Phase != "connected" {
			v.Servers.Failing++
		}
	}
	return &body[Status]{v}, nil
}

func (a *api) config(context.Context, *struct{}) (*body[Config], error) {
	c := a.Config()
	return &body[Config]{c}, nil
}

// healthRoutes answer everybody: they reveal nothing but whether work can be done.
func (a *api) healthRoutes(mux *http.ServeMux) {
	h := Health(a.Ready, a.AuditHealth)
	mux.Handle("GET /healthz", h)
	mux.Handle("GET /readyz", h)
}

// Health serves /healthz (the process answers) and /readyz (it can do its work),
// with no detail: it may also be mounted where agents connect. audit is as in Options.
func Health(ready func(context.Context) error, audit func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			if audit != nil && audit() != nil {
				writeProblem(w, r, fault.New(fault.Unavailable, "Holdfast is not ready: it can't write the audit, and without that it decides and calls nothing",
					"see why with: holdfast status"))
				return
			}
			if err := ready(r.Context()); err != nil {
				writeProblem(w, r, fault.New(fault.Unavailable, "Holdfast is not ready", "see why with: holdfast status"))
				return
			}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
}
