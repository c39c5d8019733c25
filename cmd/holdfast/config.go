package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/config"
)

func (a *app) configCommand() *cobra.Command {
	return group("config", "Check and show the configuration", a.configCheckCommand(), a.configShowCommand())
}

func (a *app) configCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check [FILE]", Short: "Check a configuration file; no daemon is needed",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("`holdfast config check` takes one file", "usage: "+c.UseLine())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			path := a.configFile()
			if len(args) == 1 {
				path = args[0]
			}
			c, err := config.Load(path, true)
			if err != nil {
				return err
			}
			if a.json {
				v := viewConfig(c)
				if dir, err := a.dataDirectory(); err == nil && len(args) == 0 {
					v.DataDir = dir // --data-dir and HOLDFAST_DATA_DIR go before the file
				}
				return a.printJSON(v)
			}
			if _, err := os.Stat(c.Path); err != nil {
				a.printf("There is no configuration file (%s): the defaults hold.\n", visible(c.Path))
				return nil
			}
			a.printf("%s is right: %s, default trust mode %s.\n", visible(c.Path), plural(len(c.Servers), "server"), c.Law.DefaultMode)
			return nil
		},
	}
}

func (a *app) configShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the configuration in force; secrets masked", Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			var v admin.Config
			if err := cl.do(c.Context(), http.MethodGet, "/api/v1/config", nil, &v); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(v)
			}
			auth := "by token"
			if v.AuthOff {
				auth = a.style(red, "OFF")
			}
			a.fields("file", visible(v.Path), "data", v.DataDir, "listen", v.Listen, "auth", auth, "face", v.Face,
				"gate", onOff(v.QuarantineEnabled), "trust", v.DefaultTrustMode, "on hold", v.OnHold, "unannotated", v.Unannotated,
				"verify", v.VerifyInterval, "signatures", visible(v.BundlePath),
				"limits", fmt.Sprintf("message %d, arguments %d, result %d bytes; %d sessions a token, idle %s",
					v.Limits.Message, v.Limits.Arguments, v.Limits.Result, v.Limits.Sessions, v.Limits.Idle),
				"settings", v.SettingsID)
			if v.Problem != "" {
				a.printf("%s %s\n", a.style(yellow, "not in force:"), paragraph(v.Problem))
			}
			for _, w := range v.Warnings {
				a.printf("%s %s\n", a.style(yellow, "warning:"), paragraph(w))
			}
			var rows [][]string
			for _, s := range v.Servers {
				rows = append(rows, []string{s.Name, visible(s.Source), visible(commandLine(s.Program))})
			}
			if len(rows) > 0 {
				a.printf("\n")
				a.table([]string{"SERVER", "NAMED IN", "RUNS"}, rows)
			}
			return nil
		},
	}
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "OFF"
}
