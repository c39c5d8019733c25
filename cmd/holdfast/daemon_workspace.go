package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/upstream"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// builtinWorkspace serves a workspace to this Holdfast itself: its calls pass both
// gates, and its records are in the same audit.
func (d *daemon) builtinWorkspace(ctx context.Context, b upstream.BuiltinStart, c wire.Conn) error {
	var flags workspaceFlags
	f := pflag.NewFlagSet("workspace", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	flags.add(f)
	if err := f.Parse(b.Args); err != nil {
		return fault.Wrap(err, fault.BadInput, "its args are no flags of `holdfast workspace`: "+err.Error(), "see them with: holdfast workspace --help")
	}
	if f.NArg() > 0 {
		return fault.New(fault.BadInput, "its args hold a word that is no flag", "see the flags with: holdfast workspace --help")
	}
	if b.Dir != "" {
		flags.dir = from(b.Dir, flags.dir)
		for i := range flags.dirs {
			flags.dirs[i] = from(b.Dir, flags.dirs[i])
		}
	}
	a := &app{err: b.Stderr, dataDir: d.dir, configPath: d.configPath, getenv: os.Getenv}
	o, err := flags.options(a)
	if err != nil {
		return err
	}
	environ := os.Environ()
	for name, value := range b.Env {
		environ = append(environ, name+"="+value)
	}
	log := slog.New(slog.NewTextHandler(b.Stderr, nil))
	w, err := openWorkspace(ctx, o, b.Server, environ, log, func(string, string) (workspaceJournal, error) {
		return workspaceJournal{Journal: d.store, place: "that of Holdfast: holdfast audit list"}, nil
	})
	if err != nil {
		return err
	}
	defer w.close()
	defer a.announce(w)()
	return w.serve(ctx, c)
}

// from is a path that may be relative to a folder.
func from(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}
