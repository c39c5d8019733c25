package main

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// noticeUpgrade says once that the data was written under older defaults, naming the
// servers for which that makes a difference (docs/design/approval.md section 8). A
// new data directory says nothing; the doctor goes on saying it.
func (d *daemon) noticeUpgrade(ctx context.Context) error {
	was, err := d.store.DataVersion(ctx)
	if err != nil {
		return err
	}
	if was < store.DefaultsVersion {
		now := time.Now().UTC()
		if err := d.store.SetDataVersion(ctx, store.DefaultsVersion, now); err != nil {
			return err
		}
		var names []string
		for _, s := range admin.Unset(d.intake.Catalogue(), now) {
			names = append(names, s.Name)
		}
		if len(names) > 0 {
			d.log.Warn("this data directory is from an older Holdfast, whose trust mode scan approved nothing by itself: now it approves changes "+
				"that ask for nothing more and that a scan finds clean; give each of these servers a trust_mode (`holdfast doctor` says how)",
				"servers", strings.Join(names, ", "))
		}
	}
	d.defaultsSince, err = d.store.DefaultsSince(ctx)
	return err
}
