package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

func (a *app) serverReleaseCommand() *cobra.Command {
	var yes bool
	var accept []string
	c := &cobra.Command{
		Use: "release NAME", Short: "Release a server from quarantine and approve what waits on it", Args: takes("the name of a server"),
		Long: `Release a server from quarantine. What it would approve and what it would leave is
shown first; the release names exactly the contracts that were shown, so that what
the server lists in the meantime is not approved by it.`,
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			p, err := previewRelease(c.Context(), cl, args[0])
			if err != nil {
				return err
			}
			r, err := releaseRequest(p, accept)
			if err != nil {
				return err
			}
			if !p.Quarantined {
				return fail(exitFailed, fault.NotQuarantined, "the server "+p.Server+" is not quarantined", "see what waits of it with: "+a.command("tool", "list", "--server", p.Server, "--status", "review"))
			}
			if !a.json {
				a.printPreview(p)
			}
			if !yes {
				if err := a.confirmRelease(p, r); err != nil {
					return err
				}
			}
			var s admin.Server
			if err := cl.do(c.Context(), http.MethodPost, serverPath(p.Server)+"/release", r, &s); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(s)
			}
			a.printf("%s: released. %s\n", s.Name, visible(s.Summary))
			return nil
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().StringArrayVar(&accept, "accept-findings", nil, "TOOL=DIGEST: approve it in spite of its hard findings (repeatable)")
	return c
}

func (a *app) confirmRelease(p admin.ReleasePreview, r admin.Release) error {
	t, leave, ok := a.terminal()
	if !ok {
		return usage("a release approves what was shown, and nobody is there to confirm it", "look at the tools, then add --yes")
	}
	defer leave()
	if a.looking(t) == t {
		t.printPreview(p)
	}
	return t.ask(fmt.Sprintf("Release %s and approve %s?", p.Server, plural(len(r.Tools), "contract")))
}

func previewRelease(ctx context.Context, cl *client, name string) (admin.ReleasePreview, error) {
	var p admin.ReleasePreview
	err := cl.do(ctx, http.MethodGet, serverPath(name)+"/release", nil, &p)
	return p, err
}

// releaseRequest names what the preview showed.
func releaseRequest(p admin.ReleasePreview, accept []string) (admin.Release, error) {
	r := admin.Release{ExpectedIncarnation: p.Incarnation, Tools: []admin.SeenTool{}}
	for _, t := range p.Approves {
		r.Tools = append(r.Tools, admin.SeenTool{Kind: t.Kind, Name: t.Name, Digest: t.Digest})
	}
	for _, s := range accept {
		i := strings.LastIndex(s, "=")
		if i < 1 {
			return r, usage(fmt.Sprintf("--accept-findings %s is not TOOL=DIGEST", visible(s)), "the digest stands in `holdfast tool show`")
		}
		seen := admin.SeenTool{Kind: "tool", Name: s[:i], Digest: s[i+1:]}
		for _, t := range p.Findings {
			if t.Name == seen.Name {
				seen.Kind = t.Kind
				if full, ok := wholeDigest(seen.Digest, t.Digest); ok {
					seen.Digest = full
				}
			}
		}
		if !isDigest(seen.Digest) {
			return r, notADigest(seen.Digest, "holdfast server release "+p.Server)
		}
		r.Tools, r.AcceptFindings = append(r.Tools, seen), append(r.AcceptFindings, seen)
	}
	return r, nil
}

func (a *app) printPreview(p admin.ReleasePreview) {
	a.printf("A release of %s approves\n\n", p.Server)
	a.printOffers(p.Approves, "nothing: no contract waits")
	if len(p.Findings) > 0 {
		a.printf("\nand leaves for their hard findings, unless --accept-findings names them\n\n")
		a.printOffers(p.Findings, "")
		for _, t := range p.Findings {
			a.printf("\n  --accept-findings %s\n", shellWord(t.Name+"="+t.Digest))
			if t.Held != nil {
				a.printFindings(t.Held.Verdict.Findings)
			}
		}
	}
	if len(p.Approved) > 0 {
		a.printf("\nand lets agents see what is approved already\n\n")
		a.printOffers(p.Approved, "")
	}
	if len(p.Leaves) > 0 {
		a.printf("\nand leaves as they are\n\n")
		a.printOffers(p.Leaves, "")
	}
	a.printf("\n")
}

func (a *app) printOffers(tools []admin.Tool, none string) {
	if len(tools) == 0 {
		a.printf("  %s\n", none)
		return
	}
	var rows [][]string
	for _, t := range tools {
		what := t.Text
		if t.Problem != "" || !t.InReview && t.Status != "approved" {
			what = t.Summary
		}
		rows = append(rows, []string{"  " + visible(toolWord(t)), t.Class, shortDigest(t.Digest), visible(cut(firstLine(what), 44))})
	}
	a.table([]string{"  NAME", "CLASS", "DIGEST", "WHAT IT SAYS"}, rows)
}

// toolWord is a name with its kind, where that is not tool.
func toolWord(t admin.Tool) string {
	if t.Kind == "tool" {
		return t.Name
	}
	return strings.TrimSpace(t.Kind + " " + t.Name)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// shortDigest is a digest for a column, in a form that --digest takes.
func shortDigest(d string) string {
	if len(d) > 19 {
		return d[:19]
	}
	return d
}
