package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/offline"
)

func (a *app) replayCommand() *cobra.Command {
	var class string
	c := &cobra.Command{
		Use: "replay DIR", Short: "Show how often each rule would have held, over versions of servers",
		Long: `Takes servers through their published versions as if a person approved each before the
next, and counts what the gate holds: by server, and by rule, how often it holds and
how often it is the only reason. The scan is not counted. No daemon is needed.

DIR has a folder for each server, and in it a listing for each version, named as the
version is: DIR/SERVER/1.2.3.json, in the order of semantic versioning, pre-releases
before their release. Other files are skipped and counted, as VERSION.init.json,
VERSION.prompts.json and VERSION.resources.json are.

Held is what waits for a person. Blocked is what even on_hold keep would not let wait
beside the approved contract, so that the tool is refused meanwhile.`,
		Args: takes("a folder of listings"),
		RunE: func(_ *cobra.Command, args []string) error {
			unannotated, err := parseClass(class)
			if err != nil {
				return err
			}
			r, err := offline.Replay(args[0], unannotated)
			if err != nil {
				return asUsage(err)
			}
			if a.json {
				return a.printJSON(r)
			}
			a.printReplay(r)
			return nil
		},
	}
	classFlag(c, &class)
	return c
}

func (a *app) printReplay(r offline.Replayed) {
	row := func(name string, c offline.Counts) []string {
		return []string{name, fmt.Sprint(c.Steps), fmt.Sprint(c.Pairs), fmt.Sprint(c.Changed), fmt.Sprint(c.Texts), fmt.Sprint(c.Quiet), fmt.Sprint(c.Held), fmt.Sprint(c.Blocked)}
	}
	var rows [][]string
	for _, s := range r.Servers {
		rows = append(rows, row(visible(s.Name), s.Counts))
	}
	a.table([]string{"SERVER", "STEPS", "TOOLS", "CHANGED", "TEXTS", "OTHER", "HELD", "BLOCKED"}, append(rows, row("all", r.Total)))
	a.printf("\n")
	rows = nil
	for _, u := range r.Rules {
		rows = append(rows, []string{visible(u.Rule), fmt.Sprint(u.Holds), percent(u.Holds, r.Total.Changed), fmt.Sprint(u.Only)})
	}
	a.table([]string{"RULE", "HOLDS", "OF CHANGED", "ALONE"}, rows)
	t := r.Total
	a.printf("\n")
	a.fields(
		"changed", fmt.Sprintf("%s, of %d that stand in two versions", plural(t.Changed, "tool"), t.Pairs),
		"passed", share(t.Texts+t.Quiet, t.Changed)+fmt.Sprintf(": %d in texts alone, %d in something else that asks for nothing more", t.Texts, t.Quiet),
		"held", share(t.Held, t.Changed)+" by the gate",
		"blocked", share(t.Blocked, t.Changed)+" even with on_hold keep",
	)
	if r.Skipped > 0 {
		a.printf("%s\n", a.style(dim, plural(r.Skipped, "other file")+" skipped."))
	}
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

func share(n, of int) string { return fmt.Sprintf("%d (%s)", n, percent(n, of)) }
