package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/offline"
)

func (a *app) scanCommand() *cobra.Command {
	var sarif bool
	c := &cobra.Command{
		Use: "scan FILE", Short: "Scan the texts of the tools in a listing for poison",
		Long: `Reads every text of every tool as the daemon does before anything is approved by a
scan, and shows what it finds and where. No daemon is needed, and no network.

` + formsHelp + `
Several servers in one listing are neighbours: a tool that poses as another server's,
or says how it is to be used, is found too.

Exit codes:
  0  every tool is clean
  1  something was found or not looked at; or it can't be scanned: then standard error says why
  2  the command was not understood, or the file is not there`,
		Args: takes("a file with a tool listing"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.oneForm(sarif); err != nil {
				return err
			}
			if missing(args[0]) {
				return fail(exitUsage, fault.NotFound, fmt.Sprintf("there is no file %q, and servers that run are scanned by the daemon", visible(args[0])),
					"`holdfast server show NAME` and `holdfast tool show SERVER/TOOL` say what it found; or give a file with a listing")
			}
			l, err := a.openListing(args[0])
			if err != nil {
				return err
			}
			defer l.Close()
			return a.scan(scan.Embedded(), l, sarif)
		},
	}
	a.formFlags(c, &sarif)
	return c
}

// scan prints the verdicts in the form that is wanted.
func (a *app) scan(bundle *scan.Bundle, l *offline.Listing, sarif bool) error {
	out, flush := a.buffered()
	f := findings[offline.Scanned]{flush: flush, found: func(s offline.Scanned) bool { return !s.Clean() }}
	switch {
	case sarif:
		s := offline.NewSARIF(out.out)
		f.each, f.end = s.Scanned, func() error { return s.End(version) }
	case a.json:
		j := offline.NewScanJSON(out.out)
		f.each, f.end = j.Add, j.End
	default:
		p := &scanPrinter{app: out, bundle: bundle.Version()}
		f.each, f.end = p.add, p.end
	}
	return f.report(func(each func(offline.Scanned) error) error { return offline.Scan(bundle, l, each) })
}

// scanPrinter prints verdicts for a person.
type scanPrinter struct {
	*app
	bundle                            string
	dangerous, review, partial, clean int
}

func (p *scanPrinter) add(s offline.Scanned) error {
	word, code := "review", yellow
	switch {
	case s.Clean():
		p.clean++
		return nil
	case s.Verdict.Outcome == scan.Dangerous:
		p.dangerous++
		word, code = "dangerous", red
	case s.Verdict.Outcome == scan.Clean:
		p.partial++
		word = "partial"
	default:
		p.review++
	}
	p.printf("%s  %s\n", p.style(code, fmt.Sprintf("%-9s", word)), p.style(bold, shownTool(s.Server, s.Name)))
	for _, f := range s.Verdict.Findings {
		code := red
		if f.Tier == scan.Soft {
			code = yellow
		}
		where := ""
		if f.Path != "" {
			where = "  " + p.style(dim, visible(f.Path))
		}
		p.printf("           %s (%s)%s\n", p.style(code, visible(f.Check)), offline.TierWord(f.Tier), where)
		p.printf("             %s\n", visible(f.Evidence))
	}
	if !s.Verdict.Complete {
		p.printf("           Not everything could be looked at, so nobody can tell that it is clean.\n")
	}
	return nil
}

// end sums up.
func (p *scanPrinter) end() error {
	all := p.dangerous + p.review + p.partial + p.clean
	found := all - p.clean
	switch {
	case all == 0:
		p.printf("No tools in the listing.\n")
		return nil
	case found == 0:
		p.printf("%s: nothing was found (signatures %s)\n", plural(all, "tool"), visible(p.bundle))
		return nil
	}
	p.printf("\n%s: %d dangerous, %d to review, %d not completely scanned, %d clean (signatures %s)\n",
		plural(all, "tool"), p.dangerous, p.review, p.partial, p.clean, visible(p.bundle))
	return nil
}
