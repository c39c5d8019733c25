package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/core/scan"
	"github.com/holdfast-mcp/holdfast/internal/admin"
)

// signatures are what the scan uses, and how the file that it should use stands.
type signatures struct {
	bundle  *scan.Bundle
	source  string // the file in force; empty: part of the program
	problem string // why security.bundle_path is not in force as it is now
}

// embedded reads the bundle that is part of the program, once.
var embedded = sync.OnceValue(scan.Embedded)

// takeSignatures puts the file of security.bundle_path in force, or without one
// what is part of the program. A bad file is refused whole and what was in force
// stays. The caller holds applying, but for the start.
func (d *daemon) takeSignatures(ctx context.Context, path string) {
	was := d.signatures.Load()
	now := &signatures{source: path}
	var err error
	if path == "" {
		now.bundle = embedded()
	} else {
		now.bundle, err = readBundle(path)
	}
	if err != nil {
		kept := signatures{bundle: embedded()}
		if was != nil {
			kept = *was
		}
		kept.problem = path + ": " + err.Error()
		d.log.Error("the file of signatures is not put in force, those before stay", "problem", kept.problem, "in_force", kept.bundle.Version())
		d.signatures.Store(&kept)
		return
	}
	d.signatures.Store(now)
	if was == nil || was.source == now.source && was.bundle.Version() == now.bundle.Version() {
		return
	}
	d.log.Info("other signatures are in force", "version", now.bundle.Version(), "rules", now.bundle.Rules(), "file", path)
	err = d.store.Append(ctx, record.Entry{
		Time: time.Now().UTC().Truncate(time.Microsecond), Type: record.TypeSettings,
		Actor:      record.Actor{Kind: record.Operator, Name: d.config.Path},
		SettingsID: d.intake.Catalogue().Settings().ID,
		Act: &record.Act{What: approval.ActBundleChanged, Detail: map[string]string{
			"from": was.bundle.Version(), "to": now.bundle.Version(), "rules": strconv.Itoa(now.bundle.Rules()), "file": path,
		}},
	})
	if err != nil {
		d.log.Error("the change of signatures could not be written down", "err", err)
	}
	d.intake.BundleChanged()
}

// readBundle reads a file that is not larger than a bundle may be.
func readBundle(path string) (*scan.Bundle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.New(plain(err))
	}
	defer f.Close()
	if i, err := f.Stat(); err == nil && !i.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	raw, err := io.ReadAll(io.LimitReader(f, scan.MaxBundleBytes+1))
	if err != nil {
		return nil, errors.New(plain(err))
	}
	return scan.ParseBundle(raw)
}

// reloadSignatures reads the file again that the configuration in force names.
func (d *daemon) reloadSignatures(ctx context.Context) {
	d.applying.Lock()
	defer d.applying.Unlock()
	d.takeSignatures(ctx, d.inForce.Load().BundlePath)
}

// signaturesView is what people are told of it.
func (d *daemon) signaturesView() admin.Signatures {
	s := d.signatures.Load()
	return admin.Signatures{Version: s.bundle.Version(), Rules: s.bundle.Rules(), Source: s.source, Problem: s.problem}
}
