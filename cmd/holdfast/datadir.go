package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// Names in a data directory.
const (
	socketName   = "holdfast.sock"
	databaseName = "holdfast.db"
	lockName     = "lock"
	logsName     = "logs"
	usedName     = "used"
	demoName     = "demo"
)

// maxSocketPath is the shortest limit of the systems we run on, macOS's.
const maxSocketPath = 103

func socketPath(dir string) string { return filepath.Join(dir, socketName) }

// dataDirectory is --data-dir, HOLDFAST_DATA_DIR, what the configuration says, or
// the place for state of this system, in this order.
func (a *app) dataDirectory() (string, error) {
	dir := a.dataDir
	if dir == "" {
		dir = a.getenv("HOLDFAST_DATA_DIR")
	}
	if dir == "" {
		// A configuration that can't be read must not keep a person from the daemon
		// that runs on the one before: then only the default is known.
		if c, err := config.Load(a.configFile(), false); err == nil {
			dir = c.DataDir
		}
	}
	if dir == "" {
		return a.defaultDataDirectory()
	}
	return filepath.Abs(dir)
}

func (a *app) defaultDataDirectory() (string, error) {
	if dir := a.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "holdfast"), nil
	}
	if runtime.GOOS == "windows" {
		if dir := a.getenv("LOCALAPPDATA"); dir != "" {
			return filepath.Join(dir, "holdfast"), nil
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fail(exitUsage, fault.BadInput, "there is no home directory to keep the data in", "give --data-dir")
	}
	return filepath.Join(home, ".local", "state", "holdfast"), nil
}

// configFile is --config, HOLDFAST_CONFIG, or empty: the default place.
func (a *app) configFile() string {
	if a.configPath != "" {
		return a.configPath
	}
	return a.getenv("HOLDFAST_CONFIG")
}

// prepareDataDirectory makes the directory and sees to it that it is private. A
// directory that is there already and holds other things is not touched: closing it
// could lock out who else needs it.
func prepareDataDirectory(dir string) error {
	if n := len(socketPath(dir)); n > maxSocketPath {
		return fault.New(fault.BadInput, fmt.Sprintf("the path of the data directory is %s too long for a socket in it", plural(n-maxSocketPath, "character")), "give a shorter --data-dir")
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fault.Wrap(err, fault.Storage, "the data directory can't be read: "+plain(err), "it must be a directory of the user who runs Holdfast")
	}
	if len(entries) > 0 && !isDataDirectory(entries) {
		return fault.New(fault.BadInput, "the directory "+dir+" holds other things and was never a data directory of Holdfast",
			"give an empty or a new one with --data-dir")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(err, fault.Storage, "the data directory can't be made: "+plain(err), "choose another with --data-dir")
	}
	if err := makePrivate(dir); err != nil {
		return fault.Wrap(err, fault.Storage, "the data directory can't be made private: "+plain(err), "it must belong to the user who runs Holdfast")
	}
	if err := os.MkdirAll(filepath.Join(dir, logsName), 0o700); err != nil {
		return fault.Wrap(err, fault.Storage, "the directory for logs can't be made: "+plain(err), "is the disk full?")
	}
	return nil
}

// checkDatabase refuses to begin anew in a directory that was used before: with the
// database every approval would be gone, and every block, and nobody would be told.
func checkDatabase(dir string, used bool) error {
	path := filepath.Join(dir, databaseName)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Size() > 0, !used:
		return nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fault.Wrap(err, fault.Storage, "the database can't be looked at: "+plain(err), "")
	}
	what := "is gone"
	if err == nil {
		what = "is empty"
	}
	return fault.New(fault.Corrupt, "this data directory was used before, but its database "+what+": "+path+"; every approval, block, token and the audit stood in it",
		"put a copy of it back; or, to begin anew and give all of that up, remove the file "+filepath.Join(dir, usedName))
}

// markUsed notes that the directory has a database from now on.
func markUsed(dir string) error {
	text := "Holdfast keeps its approvals in " + databaseName + " beside this file. While this file is here, it does not begin without them.\n"
	if err := os.WriteFile(filepath.Join(dir, usedName), []byte(text), 0o600); err != nil {
		return fault.Wrap(err, fault.Storage, "the data directory can't be written: "+plain(err), "is the disk full?")
	}
	return nil
}

func wasUsed(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, usedName))
	return err == nil
}

// isDataDirectory reports whether Holdfast was here: the lock is the first file
// that it makes, and it stays. What the demonstration writes before is known too, and
// the trust store with its lock, and the workspaces.
func isDataDirectory(entries []os.DirEntry) bool {
	for _, e := range entries {
		switch e.Name() {
		case lockName, databaseName, demoName, settings.TrustLock, workspacesName:
			return true
		}
	}
	return false
}
