package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// act is a decision that names what a person saw.
type act struct{ verb, done, short, long string }

func (a *app) toolApproveCommand() *cobra.Command {
	return a.decideCommand(act{
		verb: "approve", done: "approved", short: "Approve a tool's live contract",
		long: `Approve the contract that a tool has now. It is shown first, and the approval names
its digest: what the server lists in the meantime is not approved by it. On a
terminal you are asked (with --yes you are not); without one, --digest is required.`,
	})
}

func (a *app) toolDismissCommand() *cobra.Command {
	return a.decideCommand(act{
		verb: "dismiss", done: "dismissed", short: "Decline an update that waits",
		long: `Decline the update that waits beside the approved contract. The tool stays as it
was approved; this very update leaves the queue and no scan approves it.`,
	})
}

func (a *app) toolUnblockCommand() *cobra.Command {
	return a.decideCommand(act{
		verb: "unblock", done: "unblocked", short: "Take a block away",
		long: `Take a block away. It approves nothing: what was pending or changed is back in
the review queue.`,
	})
}

func (a *app) decideCommand(x act) *cobra.Command {
	var digest, kind string
	var yes bool
	c := &cobra.Command{
		Use: x.verb + " SERVER/TOOL...", Short: x.short, Long: x.long, Args: takesSome("a tool"),
		RunE: func(c *cobra.Command, args []string) error {
			args = named(args)
			if digest != "" && len(args) > 1 {
				return usage("--digest names one contract, and several tools are given", "run the command for each tool")
			}
			cl, err := a.client()
			if err != nil {
				return err
			}
			reviews, err := reviewAll(c.Context(), cl, args, kind)
			if err != nil {
				return err
			}
			if err := a.decidable(x, reviews); err != nil {
				return err
			}
			if x.verb == "approve" && digest == "" && approvedAlready(reviews) {
				for _, r := range reviews {
					a.notef("%s: already approved, as it is.\n", visible(r.Tool.Server+"/"+toolWord(r.Tool)))
				}
			} else if digest != "" {
				full, ok := wholeDigest(digest, reviews[0].Live.Digest)
				if !ok && !isDigest(digest) {
					return notADigest(digest, a.command("tool", "show", reviews[0].Tool.Server+"/"+reviews[0].Tool.Name))
				}
				reviews[0].Live.Digest = full // the daemon refuses when it is not the live one
			} else if err := a.seeAndConfirm(x, reviews, yes); err != nil {
				return err
			}
			return a.sendDecision(c.Context(), cl, x, reviews)
		},
	}
	c.Flags().StringVar(&digest, "digest", "", "the digest that you saw; nothing is shown or asked then")
	c.Flags().StringVar(&kind, "kind", "tool", toolKinds)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "show, but do not ask (on a terminal)")
	return c
}

// decidable refuses, before anything is shown or asked, what the daemon would.
func (a *app) decidable(x act, reviews []admin.Review) error {
	for _, r := range reviews {
		name := r.Tool.Server + "/" + r.Tool.Name
		if x.verb == "dismiss" && !r.CanDismiss {
			return fail(exitFailed, fault.NothingWaits, "no update waits beside what is approved of "+visible(name)+", so there is nothing to dismiss",
				"a tool that is held stays held until you approve it; to set it aside: "+a.command("tool", "block", name))
		}
		if x.verb == "approve" && r.Tool.Blocked {
			a.notef("note: %s is blocked, and stays so when it is approved; to take the block away: %s\n", visible(name), a.command("tool", "unblock", name))
		}
	}
	return nil
}

// approvedAlready reports whether a person approved all of it as it is now.
func approvedAlready(reviews []admin.Review) bool {
	for _, r := range reviews {
		if g := r.Tool.ApprovedBy; r.Tool.Status != "approved" || r.Tool.Waiting || g == nil || (g.Reason != "user_approved" && g.Reason != "released") {
			return false
		}
	}
	return true
}

var digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })

func isDigest(s string) bool { return digestForm().MatchString(s) }

// wholeDigest takes the beginning of a digest, as tables show it, for the one it is
// compared with: "sha256:" and 12 characters at least.
func wholeDigest(given, have string) (string, bool) {
	given = strings.ToLower(strings.TrimRight(strings.TrimSpace(given), "…"))
	if len(given) >= len("sha256:")+12 && strings.HasPrefix(have, given) {
		return have, true
	}
	return given, false
}

func notADigest(given, where string) error {
	return usage(fmt.Sprintf("%q is not the digest of what stands there now", visible(cut(given, 80))),
		"a digest is sha256: and 64 characters, of which 12 will do; it stands in: "+where)
}

// reviewAll looks at every tool; they must be of one server, for a decision is one
// transaction.
func reviewAll(ctx context.Context, cl *client, args []string, kind string) ([]admin.Review, error) {
	var out []admin.Review
	for _, arg := range args {
		t, err := parseTool(arg, kind)
		if err != nil {
			return nil, err
		}
		r, err := review(ctx, cl, t)
		if err != nil {
			return nil, err
		}
		if len(out) > 0 && out[0].Tool.Server != r.Tool.Server {
			return nil, usage("the tools are of different servers, and a decision is about one", "run the command for each server")
		}
		out = append(out, r)
	}
	return out, nil
}

// seeAndConfirm shows what is decided and asks. Nothing is ever decided unseen:
// without a terminal it fails and says the command that names the digest.
func (a *app) seeAndConfirm(x act, reviews []admin.Review, yes bool) error {
	var look, decide []string
	for _, r := range reviews {
		look = append(look, a.command("tool", "show", r.Tool.Server+"/"+r.Tool.Name))
		decide = append(decide, a.decideLine(x.verb, r))
	}
	blind := usage(
		fmt.Sprintf("there is no terminal to show %s on, so it needs the digest of what you saw", visible(reviews[0].Tool.Server+"/"+reviews[0].Tool.Name)),
		"look first:\n  "+strings.Join(look, "\n  ")+"\nand "+x.verb+" what you saw:\n  "+strings.Join(decide, "\n  "))
	t, leave, ok := a.terminal()
	if !ok {
		return blind
	}
	defer leave()
	show := a.looking(t)
	for i, r := range reviews {
		if i > 0 {
			show.printf("\n")
		}
		show.printReview(r)
	}
	if yes {
		return nil
	}
	return t.ask(fmt.Sprintf("\n%s %s as shown?", capital(x.verb), plural(len(reviews), "contract")))
}

func capital(s string) string { return string(s[0]-'a'+'A') + s[1:] }

func (a *app) sendDecision(ctx context.Context, cl *client, x act, reviews []admin.Review) error {
	d := admin.Decision{ExpectedIncarnation: reviews[0].Tool.Incarnation}
	for _, r := range reviews {
		d.Tools = append(d.Tools, admin.SeenTool{Kind: r.Tool.Kind, Name: r.Tool.Name, Digest: r.Live.Digest})
	}
	return a.postDecision(ctx, cl, reviews[0].Tool.Server, x, d)
}

func (a *app) postDecision(ctx context.Context, cl *client, server string, x act, body any) error {
	var done admin.Decided
	if err := cl.do(ctx, http.MethodPost, serverPath(server)+"/tools/"+x.verb, body, &done); err != nil {
		if f := failureOf(err); f.Code == string(fault.ReviewOutOfDate) && f.Hint == "" {
			f.Hint = "look at it again with: holdfast tool show"
			return f
		}
		return err
	}
	if a.json {
		return a.printJSON(done)
	}
	for _, t := range done.Items {
		a.printf("%s: %s. Now: %s\n", visible(t.Server+"/"+toolWord(t)), x.done, visible(t.Summary))
	}
	return nil
}

func (a *app) toolBlockCommand() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use: "block SERVER/TOOL...", Short: "Block tools, whatever their contract is", Args: takesSome("a tool"),
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := a.client()
			if err != nil {
				return err
			}
			reviews, err := reviewAll(c.Context(), cl, named(args), kind)
			if err != nil {
				return err
			}
			b := admin.Block{ExpectedIncarnation: reviews[0].Tool.Incarnation}
			for _, r := range reviews {
				b.Tools = append(b.Tools, admin.NamedTool{Kind: r.Tool.Kind, Name: r.Tool.Name})
			}
			return a.postDecision(c.Context(), cl, reviews[0].Tool.Server, act{verb: "block", done: "blocked"}, b)
		},
	}
	c.Flags().StringVar(&kind, "kind", "tool", toolKinds)
	return c
}
