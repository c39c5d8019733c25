package main

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

func (a *app) trustCommand() *cobra.Command {
	var at place
	var list, remove, yes bool
	c := &cobra.Command{
		Use: "trust", Short: "Let a project's own settings count",
		Long: `Trusts one project directory, just as its settings, contract and hook scripts are
now: what changes there later is not trusted until you look again. Without trust its
deny and ask rules and its contract count, and nothing that loosens.

Shows what would count, and asks.`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			if list && (remove || yes) || remove && yes {
				return usage("--list, --remove and --yes exclude each other", "`holdfast trust --help` says what they do")
			}
			o, err := a.options(at)
			switch {
			case err != nil:
				return err
			case list:
				return a.listTrusted(o)
			case remove:
				if err := settings.Distrust(o.State, o.Dir); err != nil {
					return err
				}
				if full, err := filepath.Abs(o.Dir); err == nil {
					o.Dir = full
				}
				return a.doneTrust("Not trusted any more: "+visible(o.Dir)+"\n", trustAnswer{Dir: o.Dir})
			}
			return a.trust(o, yes)
		},
	}
	at.at(c.Flags())
	c.Flags().BoolVar(&list, "list", false, "list what is trusted")
	c.Flags().BoolVar(&remove, "remove", false, "take the trust back")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// trustAnswer is the answer with --json.
type trustAnswer struct {
	Dir     string       `json:"dir"`
	Trusted bool         `json:"trusted"`
	Grants  []trustGrant `json:"grants,omitempty"`
}

// trustGrant is one thing that counts from now on.
type trustGrant struct {
	Kind string `json:"kind"`
	What string `json:"what"`
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
}

// trust shows what a project asks for and, when the owner says yes, trusts it as it was
// shown.
func (a *app) trust(o settings.Options, yes bool) error {
	r, err := settings.ReadReview(o)
	if err != nil {
		return err
	}
	answer := trustAnswer{Dir: r.Dir, Trusted: true}
	for _, g := range r.Grants {
		answer.Grants = append(answer.Grants, trustGrant{g.Kind, g.What, g.At.File, g.At.Line})
	}
	if r.Trusted {
		return a.doneTrust("Trusted already, just as it is: "+visible(r.Dir)+"\n", answer)
	}
	if !a.json {
		a.showGrants(r)
		a.noteOuter(o.Dir, o.Home)
	}
	if !yes {
		if a.json || !isTerminal(a.in) {
			return fail(exitUsage, fault.BadInput, "nobody is here to be asked whether to trust "+r.Dir, "read what it asks for, then give --yes")
		}
		if err := a.ask("Let it count?"); err != nil {
			return err
		}
	}
	if err := r.Trust(time.Now()); err != nil {
		return err
	}
	return a.doneTrust("Trusted: "+visible(r.Dir)+"\n", answer)
}

func (a *app) showGrants(r *settings.Review) {
	a.printf("The project %s\n", visible(r.Dir))
	if len(r.Grants) == 0 {
		a.printf("asks for nothing now. Trusted, it may be given --mode bypassPermissions.\n")
		return
	}
	a.printf("asks for:\n\n")
	var rows [][]string
	for _, g := range r.Grants {
		rows = append(rows, []string{g.Kind, visible(g.What), visible(placeText(g.At))})
	}
	a.table([]string{"WHAT", "", "IN"}, rows)
	a.printf("\n")
}

func (a *app) doneTrust(text string, answer trustAnswer) error {
	if a.json {
		return a.printJSON(answer)
	}
	a.printf("%s", text)
	return nil
}

func (a *app) listTrusted(o settings.Options) error {
	all, err := settings.ListTrusted(o.State)
	if err != nil {
		return err
	}
	if a.json {
		if all == nil {
			all = []settings.TrustedProject{}
		}
		return a.printJSON(all)
	}
	if len(all) == 0 {
		a.printf("No project is trusted.\n")
		return nil
	}
	var rows [][]string
	for _, p := range all {
		rows = append(rows, []string{visible(p.Path), clock(p.At)})
	}
	a.table([]string{"PROJECT", "SINCE"}, rows)
	return nil
}
