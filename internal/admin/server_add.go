package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// AddServer is what is said when a server is added.
type AddServer struct {
	Name        string      `json:"name" maxLength:"32" pattern:"^[a-z0-9][a-z0-9-]{0,31}$" patternDescription:"lower-case letters, digits and dashes"`
	Program     Program     `json:"program"`
	Options     Preferences `json:"options,omitempty"`
	Quarantined *bool       `json:"quarantined,omitempty" doc:"Absent: by the trust mode. false releases it at once, which is audited"`
	Via         string      `json:"via,omitempty" enum:"rest,cli,import" default:"rest" doc:"The way in, for the audit"`
}

func (a *api) addServer(ctx context.Context, in *struct{ Body AddServer }) (*body[Server], error) {
	r := in.Body
	program := approval.Program(r.Program)
	if err := checkProgram(&program); err != nil {
		return nil, err
	}
	options, err := optionsOf(r.Options)
	if err != nil {
		return nil, err
	}
	add := approval.AddRequest{
		Name: r.Name, Way: approval.Way(r.Via), Actor: actorOf(ctx), Program: program, Options: options,
		Incarnation: rand.Text(), Mask: a.Mask,
	}
	if r.Quarantined != nil {
		add.Quarantine = approval.AskLess
		if *r.Quarantined {
			add.Quarantine = approval.AskMore
		}
	}
	if _, err := a.apply(ctx, r.Name, func(s approval.State) (approval.Change, error) {
		return approval.Add(s, add)
	}); err != nil {
		return nil, err
	}
	return a.answerServer(r.Name)
}

// checkProgram fills in the type and refuses what can't be run or connected to.
func checkProgram(p *approval.Program) error {
	if p.Type == "" {
		p.Type = "stdio"
		if p.URL != "" {
			p.Type = "http"
		}
	}
	switch {
	case p.Type == "stdio" && p.Command == "":
		return fault.New(fault.BadInput, "a stdio server needs a command", "give the command that starts it, or a URL")
	case p.Type == "stdio" && (p.URL != "" || len(p.Headers) > 0):
		return fault.New(fault.BadInput, "a stdio server has no URL and no headers", "give either a command or a URL")
	case p.Type == "http" && (p.Command != "" || len(p.Args) > 0 || len(p.Env) > 0 || p.Cwd != ""):
		return fault.New(fault.BadInput, "a server that is connected to over HTTP has no command, arguments, environment or directory", "give either a command or a URL")
	case p.Type == "http":
		if u, err := url.Parse(p.URL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return fault.New(fault.BadInput, "the URL of the server is not an http or https address", "write it as https://host/path")
		}
	}
	return nil
}

func optionsOf(p Preferences) (approval.Options, error) {
	o := approval.Options{
		TrustMode: p.TrustMode, OnHold: p.OnHold, EnabledTools: p.EnabledTools, DisabledTools: p.DisabledTools,
		MaxConcurrent: p.MaxConcurrent,
	}
	if p.TrustMode != "" {
		if _, err := approval.ParseMode(p.TrustMode); err != nil {
			return o, err
		}
	}
	if p.OnHold != "" && p.OnHold != "block" && p.OnHold != "keep" {
		return o, fault.New(fault.BadInput, fmt.Sprintf("on_hold is %q, which is neither block nor keep", p.OnHold), "give block or keep, or leave it out")
	}
	if p.Timeout != "" {
		d, err := time.ParseDuration(p.Timeout)
		if err != nil || d <= 0 || d > 24*time.Hour {
			return o, fault.New(fault.BadInput, fmt.Sprintf("the timeout %q is no time between 1ms and 24h", p.Timeout), "write it as 30s or 2m")
		}
		o.Timeout = d
	}
	return o, nil
}
