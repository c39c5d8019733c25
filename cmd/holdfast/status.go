package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Say how the running Holdfast stands", Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			var s admin.Status
			if err := cl.do(c.Context(), http.MethodGet, "/api/v1/status", nil, &s); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(s)
			}
			a.printStatus(s)
			servers, err := all[admin.Server](c.Context(), cl, "/api/v1/servers", nil)
			if err != nil {
				return err
			}
			if len(servers) > 0 {
				a.printf("\n")
			}
			a.printServers(servers)
			return nil
		},
	}
}

func (a *app) printStatus(s admin.Status) {
	mcp := s.MCP
	if mcp == "" {
		mcp = "over the socket only"
	}
	gate := "on"
	if !s.GateOn {
		gate = a.style(red, "OFF: every change is approved by itself")
	}
	a.fields(
		"holdfast", fmt.Sprintf("%s, pid %d, since %s", s.Version, s.PID, clock(s.Started)),
		"data", s.DataDir,
		"config", s.Config,
		"agents", mcp,
		"gate", fmt.Sprintf("%s, default trust mode %s", gate, s.TrustMode),
		"servers", fmt.Sprintf("%d, %d connected, %d quarantined, %d failing", s.Servers.Total, s.Servers.Connected, s.Servers.Quarantined, s.Servers.Failing),
		"tools", fmt.Sprintf("%d, %d ready, %d to review, %d blocked", s.Tools.Total, s.Tools.Ready, s.Tools.InReview, s.Tools.Blocked),
	)
	for _, w := range s.Warnings {
		a.printf("%s %s\n", a.style(yellow, "warning:"), paragraph(w))
	}
}
