package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

type addFlags struct {
	trustMode, onHold, url, cwd, timeout string
	env, headers                         []string
	enabled, disabled                    []string
	concurrent                           int
	quarantined, trusted                 bool
}

func (a *app) serverAddCommand() *cobra.Command {
	var f addFlags
	c := &cobra.Command{
		Use:   "add NAME [flags] -- COMMAND ARGS...\n  holdfast server add NAME [flags] --url URL",
		Short: "Add a server",
		Long: `Add a server. By default it is quarantined: it is started and listed, and none
of its tools reaches an agent until a person releases it.

Secrets are best given as references, which are resolved when the server is
started: --env TOKEN='${env:TOKEN}', '${file:PATH}' or '${keyring:NAME}'.`,
		Example: `  holdfast server add memory -- npx -y @modelcontextprotocol/server-memory
  holdfast server add notes --url https://notes.example/mcp --header 'Authorization=Bearer ${env:NOTES}'`,
		RunE: func(c *cobra.Command, args []string) error {
			r, err := f.request(args, c.ArgsLenAtDash())
			if err != nil {
				return err
			}
			cl, err := a.client()
			if err != nil {
				return err
			}
			var s admin.Server
			if err := cl.do(c.Context(), http.MethodPost, "/api/v1/servers", r, &s); err != nil {
				return err
			}
			s = a.settled(c.Context(), cl, s)
			if a.json {
				return a.printJSON(s)
			}
			a.printf("%s: added. %s\n", s.Name, visible(s.Summary))
			if s.State.Phase == "backing_off" && s.State.Error != "" {
				return fail(exitFailed, fault.Upstream, "the server "+s.Name+" is added, but does not start: "+s.State.Error,
					"what it printed: "+a.command("server", "logs", s.Name)+"\nit is tried again by itself; to take it away: "+a.command("server", "remove", s.Name))
			}
			if s.Quarantined {
				a.printf("It is quarantined. Look at what it offers, then release it:\n\n  %s\n  %s\n",
					a.command("server", "show", s.Name), a.command("server", "release", s.Name))
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.trustMode, "trust-mode", "", "manual, scan or auto (default: as configured)")
	fl.StringVar(&f.onHold, "on-hold", "", "block or keep (default: as configured)")
	fl.BoolVar(&f.quarantined, "quarantined", false, "quarantine it, whatever the trust mode says")
	fl.BoolVar(&f.trusted, "trusted", false, "do not quarantine it: its first tools are trusted with it")
	fl.StringArrayVar(&f.env, "env", nil, "NAME=VALUE for its environment (repeatable)")
	fl.StringVar(&f.url, "url", "", "connect over HTTP instead of starting a command")
	fl.StringArrayVar(&f.headers, "header", nil, "NAME=VALUE to send with every request (repeatable)")
	fl.StringVar(&f.cwd, "cwd", "", "directory to start the command in")
	fl.StringVar(&f.timeout, "timeout", "", "of one call, as 30s or 2m")
	fl.IntVar(&f.concurrent, "max-concurrent", 0, "calls at once")
	fl.StringSliceVar(&f.enabled, "enable-tools", nil, "only these tools")
	fl.StringSliceVar(&f.disabled, "disable-tools", nil, "all but these tools")
	return c
}

// request reads the arguments; dash is how many stand before --, -1 without one.
func (f *addFlags) request(args []string, dash int) (admin.AddServer, error) {
	var r admin.AddServer
	if dash < 0 {
		dash = len(args)
	}
	if dash != 1 {
		return r, usage("`holdfast server add` needs the name of the server, and -- before its command",
			"usage: holdfast server add NAME -- COMMAND ARGS...")
	}
	if !approval.ValidName(args[0]) {
		hint := "a name has lower-case letters, digits and hyphens, at most 32"
		if name := mappedName(args[0]); name != "" {
			hint += "; take: " + name
		}
		return r, usage(fmt.Sprintf("%q can't be the name of a server", visible(cut(args[0], 80))), hint)
	}
	if f.quarantined && f.trusted {
		return r, usage("a server can't be both --quarantined and --trusted", "give one of them, or neither")
	}
	command := args[dash:]
	if (f.url == "") == (len(command) == 0) {
		return r, usage("a server has either a command or --url", "usage: holdfast server add NAME -- COMMAND ARGS...")
	}
	r = admin.AddServer{
		Name: args[0], Via: "cli",
		Program: admin.Program{URL: f.url, Cwd: f.cwd},
		Options: admin.Preferences{
			TrustMode: f.trustMode, OnHold: f.onHold, EnabledTools: f.enabled, DisabledTools: f.disabled,
			Timeout: f.timeout, MaxConcurrent: f.concurrent,
		},
	}
	if len(command) > 0 {
		r.Program.Command, r.Program.Args = command[0], command[1:]
	}
	var err error
	if r.Program.Env, err = assignments("--env", f.env); err != nil {
		return r, err
	}
	if r.Program.Headers, err = assignments("--header", f.headers); err != nil {
		return r, err
	}
	if f.quarantined || f.trusted {
		r.Quarantined = &f.quarantined
	}
	return r, nil
}

// mappedName is the nearest name that a server can have; empty where there is none.
func mappedName(s string) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(s)), "-")
	return strings.TrimRight(name[:min(len(name), 32)], "-")
}

// assignments reads NAME=VALUE; an error never repeats the value.
func assignments(flag string, given []string) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for i, s := range given {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, usage(fmt.Sprintf("%s number %d is not NAME=VALUE", flag, i+1), "write "+flag+" NAME=VALUE")
		}
		if _, twice := m[name]; twice {
			return nil, usage(fmt.Sprintf("%s names %s twice", flag, name), "give it once")
		}
		m[name] = value
	}
	return m, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
