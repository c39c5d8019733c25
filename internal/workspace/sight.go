package workspace

import (
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

// sight is a guarded path as it was seen: by more than other files, which are many.
type sight struct {
	stat
	is    ledger.Mark
	ours  bool   // this account's, so that a command can set its mode
	names uint64 // of a file: how many it has
	aimed bool   // guarded only for what leads to it
}

// loss is a folder that could not be looked through.
type loss struct {
	sight
	deep bool // as it lies too deep, not as it is shut
}

// sight looks at an entry closely.
func (t *tree) sight(e *entry) (sight, error) {
	now, err := e.closely()
	return t.settled(now), err
}

// settled leaves out of a sight what may change by itself where it lies.
func (t *tree) settled(now sight) sight {
	if !t.steady[now.device] {
		now.is.Device, now.is.Born = 0, 0
	}
	return now
}
