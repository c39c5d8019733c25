package intake

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Bounds of what is written down about a listing.
const (
	maxLeftOut = 10  // entries named
	maxWhy     = 200 // characters of each
)

// passDone remembers and reports a pass that was taken in.
func (i *Intake) passDone(ctx context.Context, server string, l approval.Listing, change approval.Change, verified time.Time) {
	i.passes.Lock()
	i.passed[server] = verified
	i.passes.Unlock()
	i.ended(server, nil)

	if !change.Empty() {
		i.o.Log.Info("pass taken in", "server", server, "listed", len(l.Offers), "changed", len(change.Records))
	}
	if len(l.LeftOut) == 0 {
		i.firstTime(server, "")
		return
	}
	i.leftOut(ctx, server, l.LeftOut, change)
}

// leftOut reports entries that can't be held because they have no readable name.
func (i *Intake) leftOut(ctx context.Context, server string, entries []string, change approval.Change) {
	named := make([]string, 0, maxLeftOut)
	for _, e := range entries[:min(len(entries), maxLeftOut)] {
		named = append(named, shorten(e))
	}
	text := strings.Join(named, "; ")
	if !i.firstTime(server, text) {
		return
	}
	i.o.Log.Warn("entries of a listing were left out", "server", server, "count", len(entries), "entries", text)
	for _, e := range change.Entries {
		if e.Type == record.TypePass { // the law wrote it down itself
			return
		}
	}
	i.write(ctx, server, "left_out", map[string]string{"count": strconv.Itoa(len(entries)), "entries": text})
}

// weather is what is wrong without the server having done anything wrong.
var weather = []fault.Kind{
	fault.Internal, fault.NotFound, fault.Unavailable, fault.Timeout, fault.Cancelled, fault.Upstream,
	fault.Storage, fault.Conflict, fault.ServerReplaced, fault.Forbidden,
}

// listingFailed reports a pass that changed nothing. What the server did wrong is
// written into the audit, once until it is another failure or a success; that it
// is not there or slow is in its state and the log.
func (i *Intake) listingFailed(ctx context.Context, server string, err error) {
	if ctx.Err() != nil {
		return // nobody waits any more
	}
	i.ended(server, err)
	kind := fault.KindOf(err)
	i.o.Log.Warn("a listing could not be taken", "server", server, "kind", string(kind), "error", err)
	if slices.Contains(weather, kind) {
		return
	}
	why := shorten(err.Error())
	if i.firstTime(server, string(kind)+" "+why) {
		i.write(ctx, server, "listing_failed", map[string]string{"kind": string(kind), "why": why})
	}
}

func (i *Intake) ended(server string, err error) {
	if i.o.Listed != nil {
		i.o.Listed(server, err)
	}
}

// firstTime reports whether this is another report on the server than the last.
func (i *Intake) firstTime(server, report string) bool {
	i.passes.Lock()
	defer i.passes.Unlock()
	if i.reported[server] == report {
		return false
	}
	i.reported[server] = report
	if report == "" {
		delete(i.reported, server)
	}
	return true
}

// write puts an entry about a pass into the audit.
func (i *Intake) write(ctx context.Context, server, what string, detail map[string]string) {
	catalogue := i.Catalogue()
	srv, _ := catalogue.Server(server)
	err := i.o.Store.Append(context.WithoutCancel(ctx), record.Entry{
		Time:        i.now(),
		Type:        record.TypePass,
		Actor:       record.Actor{Kind: record.Holdfast},
		Server:      server,
		Incarnation: srv.Incarnation,
		SettingsID:  catalogue.Settings().ID,
		Act:         &record.Act{What: what, Detail: detail},
	})
	if err != nil {
		i.o.Log.Error("a failed pass could not be written down", "server", server, "error", err)
	}
}

// shorten cuts a text that may come from a server, and shows what is invisible in it.
func shorten(s string) string {
	q := fmt.Sprintf("%+q", s)
	q = q[1 : len(q)-1]
	if len(q) > maxWhy {
		q = q[:maxWhy] + "..."
	}
	return q
}
