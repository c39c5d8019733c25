package offline

import (
	"strconv"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Findings that are none of the scan's checks: what is no tool that could be read
// must not pass for a clean one.
const (
	Unreadable = "contract.unparsable"
	Nameless   = "contract.nameless"
)

// Scanned is the scan's verdict on one tool of a listing.
type Scanned struct {
	Server     string
	Name       string
	Verdict    scan.Verdict // what can't be read is Review, and incomplete
	In         *Listing
	Start, End int64 // bytes into In
}

// Clean reports whether nothing was found and everything was looked at.
func (s Scanned) Clean() bool { return s.Verdict.Outcome == scan.Clean && s.Verdict.Complete }

// Scan gives each the verdict on each tool of a listing, in order. Where the input
// names several servers, the tools of the others are the neighbours of each; they
// are held in memory, and over 64 MiB of them the scan fails with too_large. A nil
// bundle makes no verdict complete.
func Scan(bundle *scan.Bundle, l *Listing, each func(Scanned) error) error {
	neighbours, err := gather(l, maxNeighbours)
	if err != nil {
		return err
	}
	scanners := make(map[int]*scan.Reader, 1)
	for i, p := range l.entries {
		s, ready := scanners[p.server]
		if !ready {
			clear(scanners) // the tools of a server stand together
			s = scan.New(bundle, others(neighbours, l.servers[p.server])).Reader()
			scanners[p.server] = s
		}
		e, err := l.Entry(i)
		if err != nil {
			return err
		}
		if err := each(Scanned{e.Server, e.Name, verdict(s, e), l, e.Start, e.End}); err != nil {
			return err
		}
	}
	return nil
}

// maxNeighbours is how many bytes of definitions may be neighbours of each other.
const maxNeighbours = 64 << 20

// gather reads the tools that are neighbours of others; none where there is one server.
func gather(l *Listing, most int64) ([]scan.Neighbour, error) {
	if len(l.Servers()) < 2 {
		return nil, nil
	}
	var all []scan.Neighbour
	size := int64(0)
	for i, p := range l.entries {
		if size += p.end - p.start; size > most {
			return nil, fault.New(fault.TooLarge, strconv.Quote(l.Name())+" has more than 64 MiB of tools of several servers, which are looked at together",
				"Scan fewer servers at once, or each alone.")
		}
		e, err := l.Entry(i)
		if err != nil {
			return nil, err
		}
		if e.Contract.Parsable() && e.Name != "" {
			all = append(all, scan.Neighbour{Server: e.Server, Name: e.Name, Contract: e.Contract})
		}
	}
	return all, nil
}

func others(all []scan.Neighbour, server string) []scan.Neighbour {
	var rest []scan.Neighbour
	for _, n := range all {
		if n.Server != server {
			rest = append(rest, n)
		}
	}
	return rest
}

// verdict is the scan's, but for what it can't say anything about.
func verdict(s *scan.Reader, e Entry) scan.Verdict {
	v := s.Scan(e.Contract)
	switch {
	case !e.Contract.Parsable():
		v.Complete = false
		v.Findings = append(v.Findings, scan.Finding{Check: Unreadable, Tier: scan.Soft, Evidence: evidence(e.Contract)})
	case e.Name == "":
		v.Findings = append(v.Findings, scan.Finding{Check: Nameless, Tier: scan.Soft, Evidence: "no name can be read, so that this is no tool that an agent could call"})
	default:
		return v
	}
	if v.Outcome != scan.Dangerous {
		v.Outcome = scan.Review
	}
	return v
}

func evidence(c contract.Contract) string {
	if p := c.Problem(); p != "" {
		return p
	}
	return "there is nothing to read"
}

// VerdictWord is "clean", "review" or "dangerous".
func VerdictWord(o scan.Outcome) string {
	switch o {
	case scan.Clean:
		return "clean"
	case scan.Dangerous:
		return "dangerous"
	case scan.Review, scan.NotScanned:
	}
	return "review"
}

// TierWord is "hard" or "soft".
func TierWord(t scan.Tier) string {
	if t == scan.Soft {
		return "soft"
	}
	return "hard"
}

// CoverageWord is "complete" or "incomplete".
func CoverageWord(complete bool) string {
	if complete {
		return "complete"
	}
	return "incomplete"
}
