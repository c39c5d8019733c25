package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/record"
	"github.com/holdfast-mcp/holdfast/internal/config"
)

// apply puts a configuration in force: first what the file no longer names stops,
// then the settings, then what it names comes. A server that the law refuses is
// reported and left; the rest goes on.
func (d *daemon) apply(ctx context.Context, c *config.Config) error {
	d.applying.Lock()
	defer d.applying.Unlock()
	who := record.Actor{Kind: record.Operator, Name: c.Path}
	warnings := slices.Clone(c.Warnings)
	named := map[string]bool{}
	for _, s := range c.Servers {
		named[s.Name] = true
	}
	for _, s := range d.intake.Catalogue().Servers() {
		if !s.FromFile || !s.Named || named[s.Name] {
			continue
		}
		if _, err := d.intake.Apply(ctx, s.Name, func(st approval.State) (approval.Change, error) {
			return approval.Dropped(st, who)
		}); err != nil {
			return err // it would go on running although the file forbids it
		}
		d.log.Info("the configuration no longer names a server", "server", s.Name)
	}
	if d.intake.Catalogue().Settings().ID != c.Law.ID {
		if err := d.intake.SetSettings(ctx, c.Law, who); err != nil {
			return err
		}
	}
	for _, s := range c.Servers {
		r := approval.AddRequest{
			Name: s.Name, Way: approval.ByFile, Actor: who, Program: s.Program, Options: s.Options,
			Quarantine: s.Quarantine, FileSource: s.Source, Incarnation: rand.Text(), Mask: config.MaskProgram,
		}
		if _, err := d.intake.Apply(ctx, s.Name, func(st approval.State) (approval.Change, error) {
			return approval.Add(st, r)
		}); err != nil {
			f := failureOf(err)
			warnings = append(warnings, fmt.Sprintf("%s: the server %s was not taken from the file: %s", s.Source, s.Name, f.Detail))
		}
	}
	for _, w := range warnings {
		d.log.Warn(w)
	}
	if c != d.config { // at the start they are in force already
		d.takeSignatures(ctx, c.BundlePath)
	}
	d.inForce.Store(c)
	d.notes.Store(&notes{warnings: warnings})
	return nil
}

// settle is how long a file must be still before it is read: editors write in steps.
const settle = 150 * time.Millisecond

// watch reloads the configuration when its file changes, and the signatures when
// theirs does, until ctx ends. The directories are watched, because most editors put
// a new file in the place of the old.
func (d *daemon) watch(ctx context.Context) {
	path := filepath.Clean(d.config.Path)
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		err = w.Add(filepath.Dir(path))
	}
	if err != nil {
		d.log.Info("the configuration file is not watched: a change takes effect at the next start", "file", path, "reason", plain(err))
		return
	}
	d.watchSignatures(w)
	changed := map[string]bool{}
	still := time.NewTimer(0)
	<-still.C
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			name := filepath.Clean(e.Name)
			if (name == path || name == d.inForce.Load().BundlePath) && e.Op != fsnotify.Chmod {
				changed[name] = true
				still.Reset(settle)
			}
		case err := <-w.Errors:
			d.log.Warn("watching the configuration file failed", "file", path, "err", err)
		case <-still.C:
			if changed[path] {
				d.reload(ctx) // reads the signatures too
				d.watchSignatures(w)
			} else {
				d.reloadSignatures(ctx)
			}
			clear(changed)
		}
	}
}

// watchSignatures watches the directory of the file of signatures, if there is one.
func (d *daemon) watchSignatures(w *fsnotify.Watcher) {
	path := d.inForce.Load().BundlePath
	if path == "" {
		return
	}
	if err := w.Add(filepath.Dir(path)); err != nil {
		d.log.Warn("the file of signatures is not watched: a change takes effect at the next start", "file", path, "reason", plain(err))
	}
}

// reload reads the file again. A bad one keeps what is in force, and says so.
func (d *daemon) reload(ctx context.Context) {
	was := d.inForce.Load()
	c, err := config.Load(d.configPath, false)
	if err == nil {
		err = d.apply(ctx, c)
	}
	if err != nil {
		f := failureOf(err)
		d.log.Error("the changed configuration is not put in force, the one before stays", "problem", f.Detail, "hint", f.Hint)
		d.notes.Store(&notes{problem: f.Detail, warnings: d.notes.Load().warnings})
		return
	}
	d.log.Info("the changed configuration is in force", "file", c.Path)
	if late := needsRestart(was, c); len(late) > 0 {
		text := strings.Join(late, ", ") + " changed in the configuration and takes effect at the next start"
		d.log.Warn(text)
		n := *d.notes.Load()
		n.warnings = append(slices.Clone(n.warnings), text)
		d.notes.Store(&n)
	}
}

// needsRestart names what is read only at the start.
func needsRestart(was, now *config.Config) []string {
	var late []string
	a, b := was.Listen, now.Listen
	if a.Addr != b.Addr || a.AuthOff != b.AuthOff || !slices.Equal(a.Origins, b.Origins) || !slices.Equal(a.Hosts, b.Hosts) {
		late = append(late, "listen")
	}
	if a.Face != b.Face {
		late = append(late, "face")
	}
	if was.DataDir != now.DataDir {
		late = append(late, "data_dir")
	}
	if was.Limits != now.Limits {
		late = append(late, "limits")
	}
	return late
}
