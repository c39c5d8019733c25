package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/internal/offline"
)

func (a *app) diffCommand() *cobra.Command {
	var sarif bool
	var class string
	c := &cobra.Command{
		Use: "diff OLD NEW", Short: "Say which changes of tools would be held, from two listings",
		Long: `Compares two listings of tools as the daemon compares what is approved with what a
server lists now, and explains every change. No daemon is needed.

` + formsHelp + `
An added tool is not held, for there is nothing to compare it with: see
` + "`holdfast scan`" + `. What can't be read is held, in either listing.

Exit codes:
  0  nothing is held
  1  something is held; or the listings can't be compared: then standard error says why
  2  the command was not understood, or a file is not there`,
		Args: takes("the old listing", "the new listing"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.oneForm(sarif); err != nil {
				return err
			}
			unannotated, err := parseClass(class)
			if err != nil {
				return err
			}
			if args[0] == "-" && args[1] == "-" {
				return usage("both listings are to come from standard input", "give one of them as a file")
			}
			old, err := a.openListing(args[0])
			if err != nil {
				return err
			}
			defer old.Close()
			now, err := a.openListing(args[1])
			if err != nil {
				return err
			}
			defer now.Close()
			return a.diff(delta.Gate{Unannotated: unannotated}, old, now, sarif)
		},
	}
	a.formFlags(c, &sarif)
	classFlag(c, &class)
	return c
}

// diff prints the comparison in the form that is wanted.
func (a *app) diff(gate delta.Gate, old, now *offline.Listing, sarif bool) error {
	out, flush := a.buffered()
	f := findings[offline.Compared]{flush: flush, found: func(c offline.Compared) bool { return c.Held }}
	switch {
	case sarif:
		s := offline.NewSARIF(out.out)
		f.each, f.end = s.Compared, func() error { return s.End(version) }
	case a.json:
		j := offline.NewDiffJSON(out.out)
		f.each, f.end = j.Add, j.End
	default:
		p := &diffPrinter{app: out}
		f.each, f.end = p.add, p.end
	}
	return f.report(func(each func(offline.Compared) error) error { return offline.Diff(gate, old, now, each) })
}

// diffPrinter prints comparisons for a person.
type diffPrinter struct {
	*app
	held, passed, added, removed, unchanged int
}

// mostQuiet is how many lines of a change that passes are shown.
const mostQuiet = 8

func (p *diffPrinter) add(c offline.Compared) error {
	name := shownTool(c.Server, c.Name)
	word := ""
	switch {
	case c.Held:
		p.held++
		p.head(red, "held", name)
		p.lines(c.Lines)
		return nil
	case c.Change == offline.Unchanged:
		p.unchanged++
		return nil
	case c.Change == offline.Added:
		p.added++
		word = "added"
	case c.Change == offline.Removed:
		p.removed++
		word = "removed"
	default:
		p.passed++
		word = "passes"
	}
	p.head(green, word, name)
	shown := c.Lines[:min(len(c.Lines), mostQuiet)]
	p.lines(shown)
	if more := len(c.Lines) - len(shown); more > 0 {
		p.printf("           %s\n", p.style(dim, fmt.Sprintf("and %s, which pass; --json shows all", plural(more, "more change"))))
	}
	return nil
}

func (p *diffPrinter) head(code, word, name string) {
	p.printf("%s  %s\n", p.style(code, fmt.Sprintf("%-9s", word)), p.style(bold, name))
}

// lines prints a review: the sentence, then where, what it was and is, and the
// signals that it stands for.
func (p *diffPrinter) lines(lines []delta.Line) {
	for _, l := range lines {
		where := ""
		if l.Path != "" {
			where = "  " + p.style(dim, visible(l.Path))
		}
		p.printf("           %s%s\n", visible(l.Sentence), where)
		switch {
		case len(l.Runs) > 0:
			p.printf("             %s\n", p.runs(l.Runs))
		default:
			if l.Was != "" {
				p.printf("             %s\n", p.style(red, "- "+visible(l.Was)))
			}
			if l.Is != "" {
				p.printf("             %s\n", p.style(green, "+ "+visible(l.Is)))
			}
		}
		for _, s := range l.Signals {
			p.printf("             %s\n", p.style(yellow, visible(s.String())))
		}
	}
}

// runs shows a text that changed, word by word: in colour, or else in brackets.
func (p *diffPrinter) runs(runs []delta.Run) string {
	var b strings.Builder
	for _, r := range runs {
		s := visible(r.Text)
		switch r.Kind {
		case delta.Removed:
			b.WriteString(p.style(red, "[-"+s+"-]"))
		case delta.Added:
			b.WriteString(p.style(green, "{+"+s+"+}"))
		case delta.Kept:
			b.WriteString(s)
		}
	}
	return b.String()
}

// end sums up.
func (p *diffPrinter) end() error {
	if p.held+p.passed+p.added+p.removed > 0 {
		p.printf("\n")
	}
	all := p.held + p.passed + p.added + p.removed + p.unchanged
	parts := []string{}
	for _, c := range []struct {
		n    int
		what string
	}{{p.held, "held"}, {p.passed, "changed and passing"}, {p.added, "added"}, {p.removed, "removed"}, {p.unchanged, "unchanged"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if all == 0 {
		p.printf("No tools in either listing.\n")
		return nil
	}
	p.printf("%s: %s\n", plural(all, "tool"), strings.Join(parts, ", "))
	if p.added > 0 {
		p.printf("%s\n", p.style(dim, "Added tools have nothing to be compared with: scan them with `holdfast scan`."))
	}
	return nil
}
