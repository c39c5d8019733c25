package main

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
)

func (a *app) serverTrustCommand() *cobra.Command {
	return &cobra.Command{
		Use: "trust NAME MODE", Short: "Set the trust mode of a server: manual, scan or auto", Args: takes("the name of a server", "manual, scan or auto"),
		Long: `Set the trust mode of a server: what may happen without a person.

  manual   nothing
  scan     a change that asks for nothing more, and that the scan finds clean
  auto     everything

It changes no record by itself; the next pass, which begins at once, goes by it. A
server that the configuration file names gets its mode there.`,
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			var s admin.Server
			if err := cl.do(c.Context(), http.MethodGet, serverPath(args[0]), nil, &s); err != nil {
				return err
			}
			if s.FromFile {
				return usage("the configuration file names "+s.Name+", so its trust mode stands there", "write \"trust_mode\" into its entry")
			}
			r := admin.PatchServer{ExpectedIncarnation: s.Incarnation, Options: &admin.PatchOptions{TrustMode: &args[1]}}
			if err := cl.do(c.Context(), http.MethodPatch, serverPath(s.Name), r, &s); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(s)
			}
			a.printf("%s: trust mode %s. %s\n", s.Name, s.TrustMode, visible(s.Summary))
			return nil
		},
	}
}
