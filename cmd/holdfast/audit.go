package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func (a *app) auditCommand() *cobra.Command {
	return group("audit", "Read, verify and export what was written down",
		a.auditListCommand(), a.auditShowCommand(), a.auditVerifyCommand(), a.auditExportCommand())
}

func (a *app) auditListCommand() *cobra.Command {
	var server, tool, query, since string
	var types []string
	var n int
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the audit, newest first", Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(n)}}
			for k, v := range map[string]string{"server": server, "name": tool, "query": query, "type": strings.Join(types, ",")} {
				if v != "" {
					q.Set(k, v)
				}
			}
			if since != "" {
				d, err := parseSpan(since)
				if err != nil {
					return err
				}
				q.Set("since", time.Now().Add(-d).UTC().Format(time.RFC3339))
			}
			cl, err := a.client()
			if err != nil {
				return err
			}
			var p admin.Page[admin.AuditEntry]
			if err := cl.do(c.Context(), http.MethodGet, "/api/v1/audit?"+q.Encode(), nil, &p); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(list[admin.AuditEntry]{p.Items})
			}
			if len(p.Items) == 0 {
				a.printf("Nothing like that is written down.\n")
				return nil
			}
			var rows [][]string
			for _, e := range p.Items {
				rows = append(rows, []string{fmt.Sprint(e.Seq), clock(e.Time), e.Type, visible(cut(subject(e), 48)), cut(actorWord(e.Actor), 32), visible(cut(gist(e), 60))})
			}
			a.table([]string{"SEQ", "TIME", "TYPE", "ABOUT", "BY", "WHAT"}, rows)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&server, "server", "", "about this server")
	f.StringVar(&tool, "tool", "", "about tools of this name")
	f.StringSliceVar(&types, "type", nil, "transition, server, settings, token, call.intent, call.outcome, call.refused, pass")
	f.StringVar(&query, "query", "", "with this text anywhere")
	f.StringVar(&since, "since", "", "of the last time span, as 2h or 7d")
	f.IntVarP(&n, "lines", "n", 50, "how many entries (500 at most)")
	return c
}

func subject(e admin.AuditEntry) string {
	if e.Name == "" {
		return e.Server
	}
	return e.Server + "/" + e.Name
}

// gist is an entry in a few words.
func gist(e admin.AuditEntry) string {
	switch {
	case e.Transition != nil:
		s := e.Transition.From + " → " + e.Transition.To + ", " + e.Transition.Reason
		if len(e.Transition.Signals) > 0 {
			s += ": " + strings.Join(e.Transition.Signals, " ")
		}
		return s
	case e.Act != nil:
		rest := maps.Clone(e.Act.Detail)
		delete(rest, "program") // long: it comes last
		said := strings.TrimSpace(e.Act.What + " " + pairs(rest))
		if program, ok := e.Act.Detail["program"]; ok {
			said += " program=" + program
		}
		return said
	case e.Call == nil:
		return ""
	case e.Call.Refused != "":
		return strings.Join(slices.DeleteFunc([]string{e.Call.Caller + ": " + strings.Join(e.Call.Reasons, " "), e.Call.Rule, e.Call.RuleAt}, func(s string) bool { return s == "" }), ", ")
	case e.Call.Outcome != "":
		return fmt.Sprintf("%s: %s in %.1f ms, %s", e.Call.Caller, e.Call.Outcome, e.Call.Duration, plural(e.Call.ResultBytes, "byte"))
	}
	return fmt.Sprintf("%s: %s, %s", e.Call.Caller, e.Call.Class, plural(e.Call.ArgsBytes, "byte"))
}

func (a *app) auditShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show SEQ", Short: "Show one entry in full, contracts included", Args: takes("the number of an entry"),
		RunE: func(c *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || n < 1 {
				return usage(fmt.Sprintf("%q is no number of an entry", visible(args[0])), "`holdfast audit list` shows the numbers")
			}
			cl, err := a.client()
			if err != nil {
				return err
			}
			var e admin.AuditEntry
			if err := cl.do(c.Context(), http.MethodGet, fmt.Sprintf("/api/v1/audit/entries/%d", n), nil, &e); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(e)
			}
			a.printEntry(e)
			return nil
		},
	}
}

func (a *app) printEntry(e admin.AuditEntry) {
	a.fields("entry", fmt.Sprint(e.Seq), "time", clock(e.Time), "type", e.Type, "by", actorWord(e.Actor),
		"server", e.Server, "incarnation", e.Incarnation, e.Kind, visible(e.Name), "what", visible(gist(e)),
		"request", e.RequestID, "settings", e.SettingsID, "hash", e.Hash, "previous", e.Prev)
	t := e.Transition
	if t == nil {
		return
	}
	if t.Reason != "" {
		a.fields("scan", scanWords(t))
	}
	a.printFindings(t.Findings)
	if len(t.Lines) > 0 {
		a.printf("\n%s\n\n", a.style(bold, "What changed:"))
		a.printReviewLines("", t.Lines)
	}
	for _, side := range []struct {
		word string
		c    *admin.Contract
	}{{"before", t.Old}, {"after", t.New}} {
		if side.c != nil && (side.word == "after" || t.New == nil || t.Old.Digest != t.New.Digest) {
			a.printf("\n%s %s\n\n", a.style(bold, side.word), side.c.Digest)
			a.printLines(pretty(*side.c))
		}
	}
}

// scanWords says what the scan found when it happened.
func scanWords(t *admin.AuditTransition) string {
	switch {
	case t.Verdict == "" || t.Verdict == "not_scanned":
		return ""
	case !t.Complete:
		return t.Verdict + ", not complete"
	}
	return t.Verdict + ", signatures " + visible(t.Bundle)
}

func (a *app) auditVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Recompute the hash chain over the whole audit", Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			var v admin.Verified
			if err := cl.do(c.Context(), http.MethodGet, "/api/v1/audit/verify", nil, &v); err != nil {
				return err
			}
			if a.json {
				if err := a.printJSON(v); err != nil {
					return err
				}
			}
			if !v.OK {
				return fail(exitFailed, fault.Corrupt, fmt.Sprintf("the audit does not verify at entry %d: %s", v.BadSeq, v.Problem),
					"keep a copy of the data directory before anything else")
			}
			if !a.json {
				a.printf("The chain verifies: %s, head %s\n", plural(int(v.Entries), "entry"), v.Head)
			}
			return nil
		},
	}
}

func (a *app) auditExportCommand() *cobra.Command {
	var from int64
	c := &cobra.Command{
		Use: "export", Short: "Print the whole audit, oldest first, one JSON object a line", Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			res, err := cl.send(c.Context(), http.MethodGet, fmt.Sprintf("/api/v1/audit/export?from=%d", from), nil)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if _, err := io.Copy(a.out, res.Body); err != nil {
				return fail(exitFailed, fault.Internal, "the export broke off: what was printed is not all", "the daemon's log says why")
			}
			return nil
		},
	}
	c.Flags().Int64Var(&from, "from", 1, "first entry")
	return c
}
