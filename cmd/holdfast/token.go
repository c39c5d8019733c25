package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
)

func (a *app) tokenCommand() *cobra.Command {
	return group("token", "Create, list and revoke the tokens of agents",
		a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
}

func (a *app) tokenCreateCommand() *cobra.Command {
	var servers, tools, permissions []string
	var expires string
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a token for an agent; it is shown once", Args: takes("a name for the token"),
		Long: `Create a token for an agent. The secret is printed once and can't be shown again.

Permissions are read, write and destructive, each named: a token that holds only
read sees and calls only tools that say they only read. A tool without any hint
counts as destructive.`,
		Example: `  holdfast token create editor --servers memory,files --permissions read,write --expires 30d`,
		RunE: func(c *cobra.Command, args []string) error {
			r := admin.CreateToken{Name: args[0], Servers: servers, Tools: tools, Permissions: permissions}
			if expires != "" {
				d, err := parseSpan(expires)
				if err != nil {
					return err
				}
				at := time.Now().Add(d).UTC()
				r.Expires = &at
			}
			cl, err := a.client()
			if err != nil {
				return err
			}
			var t admin.NewToken
			if err := cl.do(c.Context(), http.MethodPost, "/api/v1/tokens", r, &t); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(t)
			}
			a.printf("%s\n", t.Secret)
			a.notef("Token %s: %s on %s; expires %s. It is not shown again.\n", t.Token.Name, strings.Join(t.Token.Permissions, ", "),
				strings.Join(t.Token.Servers, ", "), maybeClock(t.Token.Expires, "never"))
			return nil
		},
	}
	f := c.Flags()
	f.StringSliceVar(&servers, "servers", []string{"*"}, "servers it may use, by name")
	f.StringSliceVar(&tools, "tools", nil, "tools it may use, as patterns such as memory__* (default all)")
	f.StringSliceVar(&permissions, "permissions", []string{"read"}, "read, write, destructive")
	f.StringVar(&expires, "expires", "", "after this time, as 12h or 30d (default never)")
	return c
}

// parseSpan reads a time span; days beside what time.ParseDuration knows.
func parseSpan(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(n) * 24 * time.Hour
		if n > 36500 {
			d = 0
		}
	}
	if err != nil || d <= 0 {
		return 0, usage(fmt.Sprintf("%q is no time span", s), "write it as 12h or 30d")
	}
	return d, nil
}

func (a *app) tokenListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the tokens, without their secrets", Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			tokens, err := all[admin.Token](c.Context(), cl, "/api/v1/tokens", nil)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(list[admin.Token]{tokens})
			}
			if len(tokens) == 0 {
				a.printf("There is no token yet. Create one with\n\n  holdfast token create NAME --permissions read,write\n")
				return nil
			}
			var rows [][]string
			for _, t := range tokens {
				rows = append(rows, []string{
					t.Name, t.State, strings.Join(t.Servers, ","), visible(strings.Join(t.Tools, ",")),
					strings.Join(t.Permissions, ","), maybeClock(t.Expires, "never"), maybeClock(t.LastUsed, "never"),
				})
			}
			a.table([]string{"TOKEN", "STATE", "SERVERS", "TOOLS", "PERMISSIONS", "EXPIRES", "LAST USED"}, rows)
			return nil
		},
	}
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "Revoke a token at once", Args: takes("the name or id of a token"),
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			var t admin.Token
			if err := cl.do(c.Context(), http.MethodPost, "/api/v1/tokens/"+segment(args[0])+"/revoke", nil, &t); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(t)
			}
			a.printf("%s: revoked.\n", t.Name)
			return nil
		},
	}
}
