package intake

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/core/delta"
	"github.com/holdfast-mcp/holdfast/core/dispatch"
	"github.com/holdfast-mcp/holdfast/core/scan"
)

// judge is the approval.Judge of one pass: the structural gate under the operator's
// class, and the scan under the bundle that was in force when the pass began.
type judge struct {
	gate   func(approved, live contract.Contract) []delta.Signal
	bundle *scan.Bundle        // may be nil: no scan is complete then
	reader func() *scan.Reader // prepared when it is first needed
	log    *slog.Logger
}

// Compare is the gate's. Should the gate itself have a fault, the one change is
// held for it, and the server's other tools and everybody's calls go on.
func (j judge) Compare(approved, live contract.Contract) (signals []delta.Signal) {
	defer func() {
		if fault := recover(); fault != nil {
			j.log.Error("the structural gate has a fault; the change is held",
				"approved", approved.Digest(), "live", live.Digest(), "fault", fault, "stack", string(debug.Stack()))
			signals = []delta.Signal{{Rule: delta.Unavailable}}
		}
	}()
	return j.gate(approved, live)
}

func (j judge) Scan(live contract.Contract) scan.Verdict { return j.reader().Scan(live) }

func (j judge) Bundle() string { return j.bundle.Version() }

// bundle gives the signatures in force, nil for none.
func (i *Intake) bundle() *scan.Bundle {
	if i.o.Bundle == nil {
		return nil
	}
	return i.o.Bundle()
}

// judge gives the judge of a pass of the server.
func (i *Intake) judge(server string, s approval.Settings) approval.Judge {
	bundle := i.bundle()
	prepared := i.scanners.of(i.Catalogue(), bundle, server)
	return judge{
		gate:   delta.Gate{Unannotated: s.Unannotated}.Comparer().Compare,
		bundle: bundle,
		reader: sync.OnceValue(func() *scan.Reader { return prepared().Reader() }),
		log:    i.o.Log,
	}
}

// scanners are the scans that were prepared for one catalogue and one bundle, by
// server: preparing reads all neighbours, so it is done once, and only when
// something has to be scanned. The zero value is ready.
type scanners struct {
	mu        sync.Mutex
	catalogue *dispatch.Catalogue
	bundle    *scan.Bundle
	by        map[string]func() *scan.Scanner
}

func (s *scanners) of(c *dispatch.Catalogue, b *scan.Bundle, server string) func() *scan.Scanner {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalogue != c || s.bundle != b || s.by == nil {
		s.catalogue, s.bundle, s.by = c, b, make(map[string]func() *scan.Scanner)
	}
	prepared := s.by[server]
	if prepared == nil {
		prepared = sync.OnceValue(func() *scan.Scanner { return scan.New(b, neighbours(c, server)) })
		s.by[server] = prepared
	}
	return prepared
}

// neighbours are the approved contracts of the other servers that are enabled and
// not quarantined, so that a quarantined newcomer can't hold anybody's update.
func neighbours(c *dispatch.Catalogue, server string) []scan.Neighbour {
	var found []scan.Neighbour
	for _, srv := range c.Servers() {
		if srv.Name == server || !srv.Runs() || srv.Quarantined {
			continue
		}
		for _, e := range c.Entries(srv.Name) {
			if r := e.Record; r.Key.Kind == approval.Tool && !r.Approved.IsZero() {
				found = append(found, scan.Neighbour{Server: srv.Name, Name: r.Key.Name, Contract: r.Approved})
			}
		}
	}
	return found
}

// BundleChanged takes a pass, in the background, of each server about which another
// bundle may decide: those in scan mode, and those with an update that waits. It
// changes no record by itself (docs/design/approval.md section 2).
func (i *Intake) BundleChanged() {
	c := i.Catalogue()
	s := c.Settings()
	for _, srv := range c.Servers() {
		mode, _ := s.ModeOf(srv)
		concerned := !s.GateOff && mode == approval.Scan
		for _, e := range c.Entries(srv.Name) {
			concerned = concerned || e.Record.Waiting()
		}
		if concerned && srv.Runs() {
			i.passSoon(srv.Name)
		}
	}
}

// Found is what the signatures in force find in an approved contract.
type Found struct {
	Key      approval.Key
	Findings []scan.Finding // but for those that a person accepted
}

// Findings scans the approved contracts of every server that is to run, and gives
// those that are not clean. An approval is never taken back for it, so it is told
// to people. It costs a scan of everything: it is for a person who asks.
func (i *Intake) Findings(ctx context.Context) []Found {
	c := i.Catalogue()
	bundle := i.bundle()
	var found []Found
	for _, srv := range c.Servers() {
		if !srv.Runs() {
			continue
		}
		scanner := i.scanners.of(c, bundle, srv.Name)().Reader()
		for _, e := range c.Entries(srv.Name) {
			r := e.Record
			if ctx.Err() != nil {
				return found
			}
			if r.Status != approval.Approved || r.Blocked || r.Absent {
				continue
			}
			f := Found{Key: r.Key}
			for _, finding := range scanner.Scan(r.Approved).Findings {
				if !slices.Contains(r.Accepted, finding) {
					f.Findings = append(f.Findings, finding)
				}
			}
			if len(f.Findings) > 0 {
				found = append(found, f)
			}
		}
	}
	return found
}
