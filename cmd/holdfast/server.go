package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
)

func (a *app) serverCommand() *cobra.Command {
	return group("server", "Add, look at and switch servers",
		a.serverAddCommand(), a.serverListCommand(), a.serverShowCommand(), a.serverRemoveCommand(),
		a.serverEnableCommand(),
		a.serverSwitch("disable", "Stop a server and cancel its calls", "disabled"),
		a.serverSwitch("quarantine", "Hide a server's tools from agents at once", "quarantined"),
		a.serverSwitch("restart", "Stop and start a server now", "restarted"),
		a.serverSwitch("discover", "List what a server offers now", "listed"),
		a.serverReleaseCommand(), a.serverTrustCommand(), a.serverLogsCommand(),
	)
}

func (a *app) serverListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the servers", Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			servers, err := all[admin.Server](c.Context(), cl, "/api/v1/servers", nil)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(list[admin.Server]{servers})
			}
			if len(servers) == 0 {
				a.printf("There is no server yet. Add one with\n\n  holdfast server add NAME -- COMMAND ARGS...\n")
				return nil
			}
			a.printServers(servers)
			return nil
		},
	}
}

func (a *app) printServers(servers []admin.Server) {
	if len(servers) == 0 {
		return
	}
	var rows [][]string
	for _, s := range servers {
		rows = append(rows, []string{s.Name, s.TrustMode, fmt.Sprint(s.Tools.Total), visible(cut(s.Summary, 110))})
	}
	a.table([]string{"SERVER", "TRUST", "TOOLS", "STATE"}, rows)
}

func (a *app) serverShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show one server: what is run, how it stands, what it offers", Args: takes("the name of a server"),
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			var s admin.Server
			if err := cl.do(c.Context(), http.MethodGet, serverPath(args[0]), nil, &s); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(s)
			}
			a.printServer(s)
			if s.Proposal {
				a.printf("\nAn agent proposed it. To let exactly this run:\n\n  %s\n", a.command("server", "enable", s.Name, "--program", s.Digest))
			}
			tools, err := all[admin.Tool](c.Context(), cl, "/api/v1/tools", url.Values{"server": {s.Name}})
			if err != nil || len(tools) == 0 {
				return err
			}
			a.printf("\n")
			a.printTools(tools)
			return nil
		},
	}
}

func (a *app) printServer(s admin.Server) {
	pid := ""
	if s.State.PID > 0 {
		pid = fmt.Sprint(s.State.PID)
	}
	rows := []string{
		"server", s.Name, "state", visible(s.Summary), "trust", s.TrustMode, "quarantined", quarantineWord(s),
	}
	if s.Proposal {
		rows = append(rows, programRows(s)...)
	} else {
		rows = append(rows, "runs", visible(commandLine(s.Program)), "directory", visible(s.Program.Cwd),
			"environment", visible(pairs(s.Program.Env)), "headers", visible(pairs(s.Program.Headers)), "program", s.Digest)
	}
	a.fields(append(rows,
		"says it is", visible(strings.TrimSpace(s.State.ServerName+" "+s.State.ServerVersion)),
		"protocol", s.State.ProtocolVersion, "pid", pid, "since", maybeClock(s.State.Since, ""),
		"not listed", visible(s.State.ListingError),
		"enabled tools", visible(strings.Join(s.Options.EnabledTools, ", ")), "disabled tools", visible(strings.Join(s.Options.DisabledTools, ", ")),
		"added", clock(s.Created), "incarnation", s.Incarnation,
	)...)
}

func quarantineWord(s admin.Server) string {
	if s.Quarantined && s.Source != "" {
		return "yes, by " + visible(s.Source)
	}
	return yesNo(s.Quarantined)
}

func commandLine(p admin.Program) string {
	if p.Type == "http" {
		return p.URL
	}
	words := []string{shellWord(p.Command)}
	for _, w := range p.Args {
		words = append(words, shellWord(w))
	}
	return strings.Join(words, " ")
}

func pairs(m map[string]string) string {
	var out []string
	for _, k := range sortedKeys(m) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, " ")
}

// serverSwitch is an act on one server that needs nothing but its name. It names
// the incarnation it found, so that it never meets a server put there in between.
func (a *app) serverSwitch(verb, short, done string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Args: takes("the name of a server"),
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			s, err := actOnServer(c.Context(), cl, args[0], verb)
			if err != nil {
				return err
			}
			if verb == "restart" {
				s = a.settled(c.Context(), cl, s)
			}
			if a.json {
				return a.printJSON(s)
			}
			a.printDone(s, done)
			return nil
		},
	}
}

// printDone says what was done, and how the server stands if that says more.
func (a *app) printDone(s admin.Server, done string) {
	if s.Summary == done {
		a.printf("%s: %s.\n", s.Name, done)
		return
	}
	a.printf("%s: %s. %s\n", s.Name, done, visible(s.Summary))
}

func actOnServer(ctx context.Context, cl *client, name, verb string) (admin.Server, error) {
	var s admin.Server
	if err := cl.do(ctx, http.MethodGet, serverPath(name), nil, &s); err != nil {
		return s, err
	}
	path := serverPath(name) + "/" + verb
	if verb != "discover" {
		path += "?expected_incarnation=" + url.QueryEscape(s.Incarnation)
	}
	err := cl.do(ctx, http.MethodPost, path, nil, &s)
	return s, err
}

// startTime is how long a server that was just started is waited for.
const startTime = 30 * time.Second

// settled waits until a server that was just started was listed, so that the next
// command finds its tools. That it does not start is no failure of this command:
// its state says so.
func (a *app) settled(ctx context.Context, cl *client, s admin.Server) admin.Server {
	brief, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if isTerminal(a.err) {
		a.notef("%s", a.styleErr(dim, "waiting for its tools ...\r"))
		defer a.notef("                         \r")
	}
	var now admin.Server
	if err := cl.do(brief, http.MethodPost, serverPath(s.Name)+"/discover", nil, &now); err == nil {
		return now
	}
	if err := cl.do(ctx, http.MethodGet, serverPath(s.Name), nil, &now); err == nil {
		return now
	}
	return s
}

func (a *app) serverRemoveCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Forget a server: its records and the tokens' grants on it", Args: takes("the name of a server"),
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			var s admin.Server
			if err := cl.do(c.Context(), http.MethodGet, serverPath(args[0]), nil, &s); err != nil {
				return err
			}
			if !yes {
				t, leave, ok := a.terminal()
				if !ok {
					return usage("removing a server forgets what was approved, and nobody is there to confirm it", "add --yes")
				}
				defer leave()
				if err := t.ask(fmt.Sprintf("Remove %s with %s and every approval of them?", s.Name, plural(s.Tools.Total, "record"))); err != nil {
					return err
				}
			}
			if err := cl.do(c.Context(), http.MethodDelete, serverPath(s.Name)+"?expected_incarnation="+url.QueryEscape(s.Incarnation), nil, nil); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"removed": s.Name})
			}
			a.printf("%s: removed. The audit keeps what happened.\n", s.Name)
			if s.FromFile && s.Configured {
				a.notef("%s the configuration file still names %s, and adds it again at the next start or change: take it out there too.\n", a.styleErr(yellow, "warning:"), s.Name)
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) serverLogsCommand() *cobra.Command {
	var n int
	c := &cobra.Command{
		Use: "logs NAME", Short: "Show the last lines of a server's standard error", Args: takes("the name of a server"),
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			var l admin.Logs
			if err := cl.do(c.Context(), http.MethodGet, fmt.Sprintf("%s/logs?lines=%d", serverPath(args[0]), n), nil, &l); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(l)
			}
			for _, line := range l.Lines {
				a.printf("%s\n", visible(line))
			}
			return nil
		},
	}
	c.Flags().IntVarP(&n, "lines", "n", 100, "how many lines")
	return c
}
