package ledger

import (
	"io/fs"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// young is how long a content stays although no entry names it: its call may be running.
const young = time.Hour

// Prune removes entries that are too old, and then contents: those that no entry names
// any more, and the oldest where all have more bytes than MaxAll. It may run while calls
// do.
func (l *Ledger) Prune() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	used, err := l.prune(l.most)
	if err == nil {
		l.used = used
	}
	return err
}

// prune leaves at most so many bytes of contents, but for those whose calls may be
// running, and gives how many there are. mu is held.
func (l *Ledger) prune(most int64) (left int64, err error) {
	names, err := l.names()
	if err != nil {
		return 0, err
	}
	keep := l.named(names, most)
	list, err := fs.ReadDir(l.contents.FS(), ".")
	if err != nil {
		return 0, fault.Wrap(err, fault.Storage, "the change ledger can't be read: "+plain(err), "")
	}
	for _, d := range list {
		info, err := l.contents.Lstat(d.Name()) // now: it may have come into use meanwhile
		if err != nil {
			continue
		}
		if !keep[d.Name()] && l.now().Sub(info.ModTime()) >= young && l.contents.Remove(d.Name()) == nil {
			continue
		}
		left += info.Size()
	}
	return left, nil
}

// named gives the contents that entries name, of the newest as many as there is room
// for. Entries that are too old are removed.
func (l *Ledger) named(names []string, most int64) map[string]bool {
	keep := map[string]bool{}
	var sum int64
	for _, name := range names { // the newest first
		e, err := l.read(name)
		if err != nil {
			continue
		}
		if l.now().Sub(e.Begun) > MaxAge {
			_ = l.changes.Remove(name + ".json")
			continue
		}
		for _, c := range e.Changes {
			for _, s := range []State{c.Before, c.After} {
				if s.Kept && !keep[s.SHA256] && sum+s.Size <= most {
					keep[s.SHA256] = true
					sum += s.Size
				}
			}
		}
	}
	return keep
}
