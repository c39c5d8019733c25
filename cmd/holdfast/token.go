package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
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
			if err := a.checkToken(c.Context(), cl, &r); err != nil {
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
			return a.noteCallable(c.Context(), cl, t.Token)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&servers, "servers", []string{"*"}, "servers it may use, by name")
	f.StringSliceVar(&tools, "tools", nil, "tools it may use, as patterns such as memory__* (default all)")
	f.StringSliceVar(&permissions, "permissions", []string{"read"}, "read, write, destructive")
	f.StringVar(&expires, "expires", "", "after this time, as 12h or 30d (default never)")
	return c
}

var tokenName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`) })

// checkToken refuses what would be a token for nothing, in the words of the command,
// and reads SERVER/TOOL as server__tool.
func (a *app) checkToken(ctx context.Context, cl *client, r *admin.CreateToken) error {
	if !tokenName().MatchString(r.Name) {
		return usage(fmt.Sprintf("%q can't be the name of a token", visible(cut(r.Name, 80))), "use letters, digits, dot, dash and underscore, at most 64, with a letter or digit first")
	}
	for _, p := range r.Permissions {
		if p != "read" && p != "write" && p != "destructive" {
			return usage(fmt.Sprintf("--permissions: there is no permission %q", visible(cut(p, 80))), "give read, write and destructive, as many as are wanted")
		}
	}
	servers, err := all[admin.Server](ctx, cl, "/api/v1/servers", nil)
	if err != nil {
		return err
	}
	for _, s := range r.Servers {
		if s != "*" && !slices.ContainsFunc(servers, func(have admin.Server) bool { return have.Name == s }) {
			return fail(exitFailed, fault.NotFound, fmt.Sprintf("--servers: there is no server %q", visible(cut(s, 80))), "see the servers with: "+a.command("server", "list"))
		}
	}
	for i, t := range r.Tools {
		if server, tool, ok := strings.Cut(t, "/"); ok && approval.ValidName(server) {
			r.Tools[i] = server + "__" + tool
		}
		if _, err := path.Match(r.Tools[i], ""); err != nil || t == "" {
			return usage(fmt.Sprintf("--tools: %q is no pattern for tools", visible(cut(t, 80))), "give SERVER/TOOL, or a pattern such as memory__* or read_*")
		}
	}
	return nil
}

// noteCallable says how many tools a token can call as things stand.
func (a *app) noteCallable(ctx context.Context, cl *client, t admin.Token) error {
	tools, err := all[admin.Tool](ctx, cl, "/api/v1/tools", url.Values{"status": {"ready"}, "kind": {"tool"}})
	if err != nil {
		return err
	}
	n := 0
	for _, tool := range tools {
		named := slices.ContainsFunc(t.Tools, func(g string) bool {
			own, _ := path.Match(g, tool.Name)
			full, _ := path.Match(g, tool.Server+"__"+tool.Name)
			return g == "*" || own || full
		})
		if named && slices.Contains(t.Permissions, tool.Class) && (slices.Contains(t.Servers, "*") || slices.Contains(t.Servers, tool.Server)) {
			n++
		}
	}
	if n > 0 {
		a.notef("It can call %s now.\n", plural(n, "tool"))
		return nil
	}
	a.notef("%s it can call no tool now: none that is ready is in its servers, tools and permissions. See the classes with: %s\n",
		a.styleErr(yellow, "WARNING:"), a.command("tool", "list"))
	return nil
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
