package main

import (
	"context"
	"os"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/upstream"
)

func (d *daemon) adminOptions() admin.Options {
	return admin.Options{
		Trust: d.intake, Servers: running{d.pool}, Tokens: d.store, Audit: audit{d.store}, Mask: config.MaskProgram,
		Config: d.configView, Ready: d.ready, AuditHealth: d.auditHealth, Version: version, Now: time.Now, Log: d.log,
		Daemon: func() admin.Daemon {
			return admin.Daemon{
				PID: os.Getpid(), Started: d.started, DataDir: d.dir, MCP: d.mcp,
				AuthOff: d.tcp && d.config.Listen.AuthOff, Warnings: d.warnings(), Signatures: d.signaturesView(), DefaultsSince: d.defaultsSince,
			}
		},
	}
}

// running shows the pool to the administration API.
type running struct{ pool *upstream.Pool }

func (r running) State(name string) (admin.ServerState, bool) {
	for _, s := range r.pool.States() {
		if s.Server == name {
			return admin.ServerState{
				Phase: string(s.Phase), Since: s.Since, Error: s.Error, NextTry: s.NextTry, PID: s.PID,
				ProtocolVersion: s.ProtocolVersion, ServerName: s.ServerName, ServerVersion: s.ServerVersion, ListingError: s.ListingError,
			}, true
		}
	}
	return admin.ServerState{}, false
}

func (r running) Restart(name string) error                 { return r.pool.Restart(name) }
func (r running) Logs(name string, n int) ([]string, error) { return r.pool.Logs(name, n) }

// audit shows the store to the administration API.
type audit struct{ store *store.Store }

func (a audit) Audit(ctx context.Context, f admin.AuditFilter) ([]record.Entry, error) {
	return a.store.Audit(ctx, store.AuditFilter(f))
}

func (a audit) Entry(ctx context.Context, seq int64) (record.Entry, error) {
	return a.store.Entry(ctx, seq)
}

func (a audit) Walk(ctx context.Context, from int64, f func(record.Entry) error) error {
	return a.store.Walk(ctx, from, f)
}

func (a audit) Verify(ctx context.Context) (admin.Chain, error) {
	r, err := a.store.Verify(ctx)
	return admin.Chain{Entries: r.Entries, Head: r.Head, BadSeq: r.BadSeq, Problem: r.Problem}, err
}

func (a audit) Report(ctx context.Context, server string) (*approval.Report, error) {
	return a.store.Report(ctx, server)
}

func (d *daemon) configView() admin.Config {
	v := viewConfig(d.inForce.Load())
	v.DataDir = d.dir
	n := d.notes.Load()
	v.Warnings, v.Problem = append([]string{}, n.warnings...), n.problem
	return v
}

// viewConfig shows a configuration without its secrets.
func viewConfig(c *config.Config) admin.Config {
	v := admin.Config{
		Path: c.Path, DataDir: c.DataDir, Listen: c.Listen.Addr, AuthOff: c.Listen.AuthOff, Face: c.Listen.Face,
		Origins: c.Listen.Origins, Hosts: c.Listen.Hosts, QuarantineEnabled: !c.Law.GateOff,
		DefaultTrustMode: c.Law.DefaultMode, OnHold: c.Law.OnHold, Unannotated: c.Law.Unannotated.String(),
		VerifyInterval: c.Verify.String(), BundlePath: c.BundlePath, SettingsID: c.Law.ID, Servers: []admin.ConfigServer{}, Warnings: append([]string{}, c.Warnings...),
		Limits: admin.Limits{
			Message: c.Limits.Message, Arguments: c.Limits.Arguments, Result: c.Limits.Result,
			Sessions: c.Limits.Sessions, Idle: c.Limits.Idle.String(),
		},
	}
	if v.Face == "" {
		v.Face = "auto"
	}
	for _, s := range c.Servers {
		one := admin.ConfigServer{
			Name: s.Name, Source: s.Source, Options: admin.PreferencesOf(s.Options),
			Program: admin.Program(config.MaskProgram(s.Program)),
		}
		if s.Quarantine != approval.AskNothing {
			says := s.Quarantine == approval.AskMore
			one.Quarantined = &says
		}
		v.Servers = append(v.Servers, one)
	}
	return v
}
