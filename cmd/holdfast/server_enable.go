package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
)

func (a *app) serverEnableCommand() *cobra.Command {
	var program string
	c := &cobra.Command{
		Use: "enable NAME", Short: "Let a server run", Args: takes("the name of a server"),
		Long: `Let a server run. Of a server that an agent proposed, the whole program is shown
first, with nothing hidden, and you are asked whether it may run; without a terminal
--program is required: the digest that "holdfast server show" gives.`,
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			s, err := a.enable(c.Context(), cl, args[0], program)
			if err != nil {
				return err
			}
			s = a.settled(c.Context(), cl, s)
			if a.json {
				return a.printJSON(s)
			}
			a.printDone(s, "enabled")
			return nil
		},
	}
	c.Flags().StringVar(&program, "program", "", "the digest of the program that you saw; nothing is shown or asked then")
	return c
}

func (a *app) enable(ctx context.Context, cl *client, name, program string) (admin.Server, error) {
	var s admin.Server
	if err := cl.do(ctx, http.MethodGet, serverPath(name), nil, &s); err != nil {
		return s, err
	}
	if s.Proposal && program == "" {
		if err := a.confirmProposal(s); err != nil {
			return s, err
		}
		program = s.Digest
	}
	q := url.Values{"expected_incarnation": {s.Incarnation}}
	if program != "" {
		q.Set("expected_program", program)
	}
	err := cl.do(ctx, http.MethodPost, serverPath(name)+"/enable?"+q.Encode(), nil, &s)
	return s, err
}

// confirmProposal shows on the terminal what an agent wants to run, and asks.
func (a *app) confirmProposal(s admin.Server) error {
	t, leave, ok := a.terminal()
	if !ok {
		return usage("an agent proposed the server "+s.Name+", and there is no terminal to show on what it would run: its digest is needed, with --program",
			"look at it, and at its digest, with: "+a.command("server", "show", s.Name))
	}
	defer leave()
	show := a.looking(t)
	show.printf("An agent proposed the server %s. It would run, with your rights:\n\n", s.Name)
	show.fields(programRows(s)...)
	return t.ask("\nLet it run exactly this?")
}

// programRows are all of a program, each text quoted, so that it is seen where one
// ends and what can't be seen in it.
func programRows(s admin.Server) []string {
	p := s.Program
	rows := []string{"type", quoted(p.Type), "command", quoted(p.Command)}
	for i, arg := range p.Args {
		rows = append(rows, fmt.Sprintf("argument %d", i+1), always(arg))
	}
	rows = append(rows, "directory", quoted(p.Cwd), "url", quoted(p.URL), "isolation", quoted(p.Isolation))
	for _, k := range sortedKeys(p.Env) {
		rows = append(rows, "environment", always(k)+" = "+always(p.Env[k]))
	}
	for _, k := range sortedKeys(p.Headers) {
		rows = append(rows, "header", always(k)+" = "+always(p.Headers[k]))
	}
	return append(rows, "program", s.Digest)
}

// always quotes a foreign text, an empty one too.
func always(s string) string { return visible(strconv.Quote(s)) }

// quoted is always, but nothing for nothing, which a list of fields leaves out.
func quoted(s string) string {
	if s == "" {
		return ""
	}
	return always(s)
}
