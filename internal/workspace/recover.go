package workspace

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

// afterDeath is how long after its last sign of life a session may have had commands.
const afterDeath = time.Minute

// lastBreath is how long after the end of a session's process its commands may live:
// what watches over them ends them within that time.
const lastBreath = 250 * time.Millisecond

// recover deals with what commands made of sessions whose processes died with them, and
// which nobody looked at since. It costs nothing where no session died.
func (s *Server) recover() {
	s.guards.mu.Lock()
	defer s.guards.mu.Unlock()
	all, err := s.o.Ledger.Left()
	if err != nil {
		s.o.Log.Error("what earlier sessions left behind is not known", "error", plain(err))
		return
	}
	if dead := s.dead(all); len(dead) > 0 {
		s.inherit(dead)
	}
}

// dead gives what is left of sessions that died and that this one did not look at yet.
func (s *Server) dead(all []ledger.Left) (dead []ledger.Left) {
	for _, x := range all {
		if !x.Alive && !s.guards.dealt[x.Name] && s.concerns(x.Held) {
			dead = append(dead, x)
		}
	}
	return dead
}

// inherit moves away what commands of dead sessions may have made, as at the end of a
// command. What was changed later is the owner's, or he worked on it: it stays, and is
// told. guards.mu is held, and no command of this session runs.
func (s *Server) inherit(dead []ledger.Left) {
	time.Sleep(lastBreath) // when they died is not known
	g := &s.guards
	mine, doubt, suspects := g.legit, g.doubt, g.suspects
	g.legit, g.dark, g.suspects, g.since, g.quiet = map[string]sight{}, setOf(slices.Collect(maps.Keys(g.dark))), nil, 0, nil
	for _, x := range dead {
		maps.Copy(g.dark, setOf(x.Dark))
	}
	v := s.look(false, func(real string) bool { return !g.dark[real] })
	later, older := s.allot(v, dead, mine)
	unsure := slices.Clone(v.doubt)
	for p, l := range v.lost {
		made, _ := s.madeBy(dead, p, l.sight)
		if made && l.ours && !l.deep && !g.dark[p] {
			unsure = append(unsure, p)
		}
		if !made || !l.deep {
			g.dark[p] = true // what is in it was not held against what was there
		}
	}
	for _, x := range dead {
		for _, p := range x.Suspects { // not known then, nor now
			if _, there := v.guarded[p]; there {
				unsure = append(unsure, p)
			}
		}
	}
	maps.Copy(g.dark, setOf(v.doubt))
	after, moved, left := v, []string(nil), []string(nil)
	g.doubt = map[string]int64{}
	if v.blind == nil {
		after, moved, left = s.clear()
	}
	unsure = append(unsure, after.doubt...)
	slices.Sort(unsure)
	unsure = slices.Compact(unsure)
	g.legit, g.suspects = mine, suspects // the next command takes over what is there
	for _, p := range unsure {
		g.doubt[p] = 0 // when the commands of others ended is not known
	}
	maps.Copy(g.doubt, doubt)
	for _, p := range older {
		g.doubt[p] = 0
	}
	if len(moved)+len(left)+len(later)+len(unsure)+len(older) > 0 {
		s.o.Log.Error("WARNING: a session died while its commands ran, and they may have made what may not be made here; look at what is still there before any program uses it",
			"moved_away", moved, "to", filepath.Join(s.o.Folder, "withheld"), "still_there", left, "changed_since", later, "not_known", slices.Concat(unsure, older))
	}
	if after.blind != nil {
		return // it is tried again
	}
	if g.dealt == nil {
		g.dealt = map[string]bool{}
	}
	for _, x := range dead {
		g.dealt[x.Name] = true
		// Otherwise the next session tries again.
		if len(left)+len(unsure) == 0 && s.covers(x.Held) {
			s.o.Ledger.Forget(x)
		}
	}
}

// allot takes as the owner's what no command of dead sessions can have made, or what he
// changed since, which it gives. So it does with what a link leads to that is older than
// those sessions: it may have been out of their sight, and is given too. mine is what was
// known in this session before.
func (s *Server) allot(v *survey, dead []ledger.Left, mine map[string]sight) (later, older []string) {
	g := &s.guards
	late, old := map[string]bool{}, map[string]bool{}
	all := func() {
		for p, now := range v.guarded {
			if x, left := g.left[p]; left && x.is.Is(now.is) {
				continue
			}
			was, ok := mine[p]
			made, touched := s.madeBy(dead, p, now)
			if ok && was.is.Is(now.is) {
				made, touched = false, false
			}
			if made && now.aimed && now.is.Born != 0 && !slices.ContainsFunc(dead, func(x ledger.Left) bool { return now.is.Born > x.Since }) {
				made, old[p] = false, true
			}
			if !made {
				g.legit[p] = now
				late[p] = touched
			}
		}
	}
	all()
	// What the links that were there lead to was there too, or noted as missing. Of links
	// that came later nothing was noted.
	s.trace(v, func(p string, now sight) bool { return s.stays(p, now) && !late[p] })
	all()
	held := maps.Clone(v.guarded)
	s.trace(v, s.stays)
	for p, now := range v.guarded {
		if _, before := held[p]; !before {
			g.legit[p] = now
		}
	}
	for p, is := range late {
		if is {
			later = append(later, p)
		}
	}
	slices.Sort(later)
	return later, slices.Sorted(maps.Keys(old))
}

// madeBy reports whether commands of dead sessions may have made what is at a path, and
// whether it was changed after they ended for certain.
func (s *Server) madeBy(dead []ledger.Left, p string, now sight) (made, touched bool) {
	for _, x := range dead {
		if _, inside := rootOf(x.Roots, p); !inside || known(x.Held, p, now) {
			continue
		}
		at, err := changedAt(p)
		late := err == nil && at.After(x.Last.Add(afterDeath))
		made, touched = made || !late, touched || late
	}
	return made, touched
}

// known reports whether a session knew of a path before its commands began, or could not
// know: then they did not reach it.
func known(h ledger.Held, p string, now sight) bool {
	was, ok := h.Paths[p]
	in := func(dark string) bool { _, in := rootOf([]string{dark}, p); return in }
	return ok && was.Is(now.is) || slices.ContainsFunc(h.Dark, in) || slices.ContainsFunc(h.Suspects, in)
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

// elsewhere gives what came to be while another session's commands run, which is theirs
// to move away. guards.mu is held.
func (s *Server) elsewhere(v *survey, all []ledger.Left) map[string]bool {
	foreign := map[string]bool{}
	for _, x := range all {
		if !x.Alive || x.Session == s.o.Session || !s.concerns(x.Held) {
			continue
		}
		for p, now := range v.guarded {
			if _, inside := rootOf(x.Roots, p); inside && !known(x.Held, p, now) {
				foreign[p] = true
			}
		}
		s.adopt(v, x.Held)
	}
	return foreign
}

// adopt holds what another session holds and this one does not see that it is guarded:
// its commands may keep from sight what leads there.
func (s *Server) adopt(v *survey, h ledger.Held) {
	for p, was := range h.Paths {
		if _, ok := v.guarded[p]; ok {
			continue
		}
		if _, inside := rootOf(s.o.Roots, p); !inside {
			continue
		}
		if now, err := s.tree.sightOf(p); err == nil && was.Is(now.is) {
			now.aimed = true
			v.guarded[p] = now
			v.aim(p, aim{p, false, true})
		}
	}
}

// hold writes down what is there while no command runs, before one begins.
func (s *Server) hold() error {
	g := &s.guards
	h := ledger.Held{Session: s.o.Session, Roots: s.o.Roots, Since: g.first, Paths: map[string]ledger.Mark{}, Dark: slices.Sorted(maps.Keys(g.dark))}
	for p, x := range g.legit {
		x.is.Device = 0 // its number may be another when the machine has started again
		h.Paths[p] = x.is
	}
	h.Suspects = slices.Sorted(maps.Keys(g.suspects))
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
