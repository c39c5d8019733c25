package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// errLocked is what lockFile gives when another process holds the lock.
var errLocked = errors.New("locked by another process")

// lockDirectory makes this process the only Holdfast on a data directory. The lock
// goes with the process, however it ends.
func lockDirectory(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.Wrap(err, fault.Storage, "the lock of the data directory can't be opened: "+plain(err), "it must belong to the user who runs Holdfast")
	}
	if err := lockFile(f); err != nil {
		defer f.Close()
		if !errors.Is(err, errLocked) {
			return nil, fault.Wrap(err, fault.Storage, "the data directory can't be locked: "+plain(err), "it must be on a local disk")
		}
		b, _ := io.ReadAll(io.LimitReader(f, 32))
		by := ""
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			by = fmt.Sprintf(" (pid %d)", pid)
		}
		return nil, fault.Wrap(errLocked, fault.Exists, "another Holdfast"+by+" runs on the data directory "+dir,
			"stop it first, or give this one another --data-dir")
	}
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		if err == nil {
			return f, nil
		}
	}
	f.Close()
	return nil, fault.New(fault.Storage, "the lock of the data directory can't be written", "is the disk full?")
}
