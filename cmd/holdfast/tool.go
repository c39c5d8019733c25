package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
)

func (a *app) toolCommand() *cobra.Command {
	return group("tool", "Look at and decide about tools",
		a.toolListCommand(), a.toolShowCommand(), a.toolApproveCommand(), a.toolDismissCommand(),
		a.toolBlockCommand(), a.toolUnblockCommand(), a.toolHistoryCommand(),
	)
}

// toolName is one record as the command line names it.
type toolName struct{ server, kind, name string }

func (t toolName) String() string { return t.server + "/" + t.name }

// parseTool reads SERVER/TOOL or server__tool. A server's name has no underscore
// and no slash, so either can be read in one way only.
func parseTool(s, kind string) (toolName, error) {
	t := toolName{kind: kind}
	i, j := strings.Index(s, "/"), strings.Index(s, "__")
	switch {
	case i > 0 && (j < 0 || i < j):
		t.server, t.name = s[:i], s[i+1:]
	case j > 0:
		t.server, t.name = s[:j], s[j+2:]
	}
	if t.server == "" || (t.name == "" && kind != "instructions") {
		return t, usage(fmt.Sprintf("%q names no tool", visible(s)), "write SERVER/TOOL or server__tool")
	}
	return t, nil
}

// named lets a tool be named in two words, SERVER TOOL, which is how a refusal names
// it: a first word that is no full name is the server of all that follow.
func named(args []string) []string {
	if len(args) < 2 || strings.Contains(args[0], "/") || strings.Contains(args[0], "__") {
		return args
	}
	out := make([]string, 0, len(args)-1)
	for _, name := range args[1:] {
		out = append(out, args[0]+"/"+name)
	}
	return out
}

// takesTool requires one tool, in one word or two.
func takesTool(c *cobra.Command, args []string) error {
	return takes("a tool")(c, named(args))
}

const toolKinds = "tool, prompt, template or instructions"

var toolStatuses = []string{"pending", "approved", "changed", "ready", "waiting", "blocked", "absent", "review"}

func (a *app) toolListCommand() *cobra.Command {
	var server, status, query, kind string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tools, prompts, templates and instructions", Args: takes(),
		Example: `  holdfast tool list --status review      what waits for a person
  holdfast tool list --server memory --query graph`,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, f := range []struct {
				flag, given string
				words       []string
			}{{"--status", status, toolStatuses}, {"--kind", kind, []string{"tool", "prompt", "template", "instructions"}}} {
				if f.given != "" && !slices.Contains(f.words, f.given) {
					return usage(fmt.Sprintf("%s %q is none of its values", f.flag, visible(cut(f.given, 80))), "give one of "+strings.Join(f.words, ", "))
				}
			}
			cl, err := a.client()
			if err != nil {
				return err
			}
			q := url.Values{}
			for k, v := range map[string]string{"server": server, "status": status, "query": query, "kind": kind} {
				if v != "" {
					q.Set(k, v)
				}
			}
			tools, err := all[admin.Tool](c.Context(), cl, "/api/v1/tools", q)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(list[admin.Tool]{tools})
			}
			if len(tools) == 0 {
				a.printf("No tool is like that.\n")
			} else {
				a.printTools(tools)
			}
			return a.noteUnlisted(c.Context(), cl, server)
		},
	}
	f := c.Flags()
	f.StringVar(&server, "server", "", "of this server")
	f.StringVar(&status, "status", "", "pending, approved, changed, ready, waiting, blocked, absent or review")
	f.StringVar(&query, "query", "", "with this text in name, title or description")
	f.StringVar(&kind, "kind", "", toolKinds)
	return c
}

func (a *app) printTools(tools []admin.Tool) {
	var rows [][]string
	for _, t := range tools {
		rows = append(rows, []string{visible(t.Server + "/" + toolWord(t)), t.Status, t.Class, visible(cut(t.Summary, 60))})
	}
	a.table([]string{"TOOL", "STATUS", "CLASS", "WHY"}, rows)
}

// noteUnlisted says of which servers this is not all, because they could not be listed.
func (a *app) noteUnlisted(ctx context.Context, cl *client, server string) error {
	servers, err := all[admin.Server](ctx, cl, "/api/v1/servers", nil)
	if err != nil {
		return err
	}
	for _, s := range servers {
		if (server == "" || server == s.Name) && s.State.ListingError != "" {
			a.notef("%s what %s offers now could not be listed: %s\n", a.styleErr(yellow, "note:"), s.Name, visible(s.State.ListingError))
		}
	}
	return nil
}

func review(ctx context.Context, cl *client, t toolName) (admin.Review, error) {
	var r admin.Review
	err := cl.do(ctx, http.MethodGet, toolPath(t)+"/review?kind="+t.kind, nil, &r)
	return r, err
}

func (a *app) toolShowCommand() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use: "show SERVER/TOOL", Aliases: []string{"review", "diff"}, Short: "Show a tool as a person reviews it: why it is held, both contracts, the digest", Args: takesTool,
		RunE: func(c *cobra.Command, args []string) error {
			t, err := parseTool(named(args)[0], kind)
			if err != nil {
				return err
			}
			cl, err := a.client()
			if err != nil {
				return err
			}
			r, err := review(c.Context(), cl, t)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(r)
			}
			a.printReview(r)
			a.printNext(r)
			return nil
		},
	}
	c.Flags().StringVar(&kind, "kind", "tool", toolKinds)
	return c
}

// printNext says what a person can do about a tool as it stands.
func (a *app) printNext(r admin.Review) {
	if r.Tool.Blocked {
		a.printf("\nTo take the block away:\n\n  %s\n", a.decideLine("unblock", r))
	}
	if r.CanApprove && (r.Tool.Status != "approved" || r.Tool.Waiting) {
		a.printf("\nTo approve exactly this:\n\n  %s\n", a.approveLine(r))
	}
	if r.CanDismiss && r.Tool.InReview {
		a.printf("\nTo decline the update and go on as it was approved:\n\n  %s\n", a.decideLine("dismiss", r))
	}
	if !r.Tool.Blocked {
		words := []string{"tool", "block", r.Tool.Server + "/" + r.Tool.Name}
		if r.Tool.Kind != "tool" {
			words = append(words, "--kind", r.Tool.Kind)
		}
		a.printf("\nTo set it aside, whatever it becomes:\n\n  %s\n", a.command(words...))
	}
}

// approveLine is the command that approves what a review showed, and nothing else.
func (a *app) approveLine(r admin.Review) string { return a.decideLine("approve", r) }

func (a *app) decideLine(verb string, r admin.Review) string {
	words := []string{"tool", verb, r.Tool.Server + "/" + r.Tool.Name}
	if r.Tool.Kind != "tool" {
		words = append(words, "--kind", r.Tool.Kind)
	}
	return a.command(append(words, "--digest", r.Live.Digest)...)
}

func (a *app) toolHistoryCommand() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use: "history SERVER/TOOL", Short: "Show every transition of a tool: what, why, who", Args: takesTool,
		RunE: func(c *cobra.Command, args []string) error {
			t, err := parseTool(named(args)[0], kind)
			if err != nil {
				return err
			}
			cl, err := a.client()
			if err != nil {
				return err
			}
			entries, err := all[admin.AuditEntry](c.Context(), cl, toolPath(t)+"/history", url.Values{"kind": {kind}})
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(list[admin.AuditEntry]{entries})
			}
			if len(entries) == 0 {
				a.printf("Nothing is written about %s.\n", visible(t.String()))
				return nil
			}
			var rows [][]string
			for _, e := range entries {
				tr, digest := e.Transition, ""
				if tr == nil {
					continue
				}
				if tr.New != nil {
					digest = shortDigest(tr.New.Digest)
				}
				rows = append(rows, []string{fmt.Sprint(e.Seq), clock(e.Time), tr.From + " → " + tr.To, tr.Reason, actorWord(e.Actor), digest, visible(strings.Join(tr.Signals, " "))})
			}
			a.table([]string{"SEQ", "TIME", "STATUS", "REASON", "BY", "CONTRACT", "SIGNALS"}, rows)
			return nil
		},
	}
	c.Flags().StringVar(&kind, "kind", "tool", toolKinds)
	return c
}

func actorWord(x admin.Actor) string {
	if x.Name == "" {
		return x.Kind
	}
	return visible(x.Kind + " " + x.Name)
}
