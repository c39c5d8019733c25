package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	veilPrefix = "holdfast-veil-"
	veilAge    = time.Hour // what is younger may not be locked yet
)

// sweeping is done once by each process: what others left was left before.
var sweeping sync.Once

// sweep removes the veils that programs left when they were killed: those of this account
// that are old, and that no process holds. A lock tells, for a process may not be seen
// from here.
func sweep(base string, before time.Time) {
	list, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, d := range list {
		if !d.IsDir() || !strings.HasPrefix(d.Name(), veilPrefix) {
			continue
		}
		info, err := d.Info()
		if err != nil || info.ModTime().After(before) {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
			continue
		}
		dir := filepath.Join(base, d.Name())
		if lock, err := lockFolder(dir, unix.LOCK_EX); err == nil {
			(&veil{dir: dir, lock: lock}).remove()
		}
	}
}

// lockFolder locks a folder until the file is closed or this process ends. It fails at
// once when another holds it.
func lockFolder(dir string, how int) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, os.NewSyscallError("flock", err)
	}
	return f, nil
}
