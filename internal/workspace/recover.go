package workspace

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

// afterDeath is how long after its last sign of life a session may have had commands.
const afterDeath = time.Minute

// recover deals with what commands made of a session whose process died with them, and
// which nobody looked at since. What they may have made is moved away as at the end of
// a command. What was changed later is the owner's, or he worked on it: it stays, and is
// told. It costs nothing where no session died.
func (s *Server) recover() {
	g := &s.guards
	g.mu.Lock()
	defer g.mu.Unlock()
	all, err := s.o.Ledger.Left()
	if err != nil {
		s.o.Log.Error("what earlier sessions left behind is not known", "error", plain(err))
		return
	}
	dead := slices.DeleteFunc(all, func(x ledger.Left) bool { return x.Alive || !s.concerns(x.Held) })
	if len(dead) == 0 {
		return
	}
	g.legit = map[string]stat{}
	var later []string
	shut := func(real string) bool { // by a command
		return !slices.ContainsFunc(dead, func(x ledger.Left) bool { _, ok := x.Paths[real]; return ok })
	}
	for p, now := range s.look(false, shut).guarded {
		made, touched := false, false
		for _, x := range dead {
			if _, inside := rootOf(x.Roots, p); !inside {
				continue
			}
			if inode, ok := x.Paths[p]; ok && inode == now.inode {
				continue
			}
			at, err := changedAt(p)
			late := err == nil && at.After(x.Last.Add(afterDeath))
			made, touched = made || !late, touched || late
		}
		if !made {
			g.legit[p] = now
			if touched {
				later = append(later, p)
			}
		}
	}
	after, moved, left := s.clear()
	g.legit = nil // the first command takes over what is there
	slices.Sort(later)
	if len(moved)+len(left)+len(later) > 0 {
		s.o.Log.Error("WARNING: a session died while its commands ran, and they may have made what may not be made here; look at what is still there before any program uses it",
			"moved_away", moved, "to", filepath.Join(s.o.Folder, "withheld"), "still_there", left, "changed_since", later)
	}
	if after.blind != nil || len(left)+len(after.doubt) > 0 {
		return // the next session tries again
	}
	for _, x := range dead {
		if s.covers(x.Held) {
			s.o.Ledger.Forget(x)
		}
	}
}

// concerns reports whether a session had a folder with something of a root in it.
func (s *Server) concerns(h ledger.Held) bool {
	return slices.ContainsFunc(s.o.Roots, func(root string) bool {
		_, inside := rootOf(h.Roots, root)
		return inside || slices.ContainsFunc(h.Roots, func(r string) bool { _, in := rootOf([]string{root}, r); return in })
	})
}

// covers reports whether all folders of a session lie in the roots.
func (s *Server) covers(h ledger.Held) bool {
	return !slices.ContainsFunc(h.Roots, func(r string) bool { _, in := rootOf(s.o.Roots, r); return !in })
}

func rootOf(roots []string, real string) (string, bool) {
	for _, root := range roots {
		if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) {
			return root, true
		}
	}
	return "", false
}

// elsewhere doubts what came to be while another session's commands run, which is theirs to
// move away. guards.mu is held.
func (s *Server) elsewhere(v *survey) error {
	all, err := s.o.Ledger.Left()
	if err != nil {
		return err
	}
	for _, x := range all {
		if !x.Alive || x.Session == s.o.Session || !s.concerns(x.Held) {
			continue
		}
		for p, now := range v.guarded {
			if inode, ok := x.Paths[p]; !ok || inode != now.inode {
				if _, inside := rootOf(x.Roots, p); inside {
					s.guards.doubted(p)
				}
			}
		}
	}
	return nil
}

// hold writes down what is there while no command runs, before one begins.
func (s *Server) hold() error {
	h := ledger.Held{Session: s.o.Session, Roots: s.o.Roots, Paths: map[string]uint64{}}
	for p, x := range s.guards.legit {
		h.Paths[p] = x.inode
	}
	now, err := s.o.Ledger.Hold(h)
	if err != nil {
		return err
	}
	if s.guards.held != nil {
		s.guards.held.Release()
	}
	s.guards.held = now
	return nil
}

// bequeath leaves to the next session what this one could not move away.
func (s *Server) bequeath() {
	s.guards.mu.Lock()
	defer s.guards.mu.Unlock()
	if s.guards.held != nil {
		s.guards.held.Leave()
	}
}
