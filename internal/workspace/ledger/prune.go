package ledger

import (
	"io/fs"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// young is how long a content stays although no entry names it: its call may be running.
const young = time.Hour

// Prune removes entries that are too old, and then contents: those that no entry names
// any more, and the oldest where all have more bytes than MaxAll. It may run while calls
// do.
func (l *Ledger) Prune() error { return l.prune(MaxAll) }

func (l *Ledger) prune(most int64) error {
	names, err := l.names()
	if err != nil {
		return err
	}
	// Entries are the newest first: what is over the limit is of the oldest.
	keep := map[string]bool{}
	var sum int64
	for _, name := range names {
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
				if !s.Kept || keep[s.SHA256] || sum+s.Size > most {
					continue
				}
				keep[s.SHA256] = true
				sum += s.Size
			}
		}
	}
	list, err := fs.ReadDir(l.contents.FS(), ".")
	if err != nil {
		return fault.Wrap(err, fault.Storage, "the change ledger can't be read: "+plain(err), "")
	}
	for _, d := range list {
		info, err := d.Info()
		if err != nil || keep[d.Name()] || l.now().Sub(info.ModTime()) < young && (strings.HasPrefix(d.Name(), ".") || sum+info.Size() <= most) {
			continue
		}
		_ = l.contents.Remove(d.Name())
	}
	return nil
}
