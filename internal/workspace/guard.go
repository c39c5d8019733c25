package workspace

import (
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

const clearings = 3 // attempts to move away what other commands move about

// guards knows which denied and protected paths are the owner's: those that were there
// when no command of the session ran. What comes to be while one runs is never among
// them, whichever command made it and whichever ends first.
type guards struct {
	// Held while the roots are surveyed for a command: when it begins until it counts, and
	// when it ends until it does not any more. So no survey without a command sees the work
	// of one.
	mu    sync.Mutex
	legit map[string]stat
	doubt map[string]bool // what the last clearing could not look through, or not move away
	held  *ledger.Hold    // legit, written down while commands run
}

// enlist counts a command that begins, and surveys the roots for it.
func (s *Server) enlist(c *command) error {
	g := &s.guards
	g.mu.Lock()
	defer g.mu.Unlock()
	c.others, c.epoch = s.shells.enter()
	c.before = s.look(true, nil)
	if err := c.before.blind; err != nil {
		s.shells.leave(c.epoch)
		return fault.New(fault.Unavailable, "the workspace can't be looked through, so that a command can't be held to the rules: "+err.Error(),
			"Give its folder's owner the rights to list and to enter it.")
	}
	if c.others {
		s.renounce(c.before)
		return nil
	}
	err := s.elsewhere(c.before)
	if err == nil {
		g.admit(c.before)
		err = s.hold()
	}
	if err != nil {
		s.shells.leave(c.epoch)
	}
	return err
}

// doubted notes a path that is not the owner's for certain.
func (g *guards) doubted(p string) {
	if g.doubt == nil {
		g.doubt = map[string]bool{}
	}
	g.doubt[p] = true
}

// release takes back what is held when no command runs any more, and nothing is left to
// move away. guards.mu is held.
func (s *Server) release() {
	if g := &s.guards; g.held != nil && len(g.doubt) == 0 && s.shells.quiet() {
		g.held.Release()
		g.held = nil
	}
}

// dismiss counts a command that was not run after all. Where that is not certain, the roots
// are cleared as after one that ended.
func (s *Server) dismiss(c *command, certain bool) {
	if !certain {
		if s.settle(c); len(c.moved) > 0 {
			s.o.Log.Error("a command that could not be started made what it may not", "moved_away", c.moved)
		}
		return
	}
	s.guards.mu.Lock()
	defer s.guards.mu.Unlock()
	s.shells.leave(c.epoch)
	s.release()
}

// settle clears the roots after a command that ended, which counts no more then. shared
// says that others ran meanwhile.
func (s *Server) settle(c *command) (after *survey, shared bool) {
	s.guards.mu.Lock()
	defer s.guards.mu.Unlock()
	after, moved, left := s.clear()
	shared = s.shells.leave(c.epoch) || c.others
	s.release()
	blind := slices.Clone(after.doubt)
	if after.blind != nil {
		blind = append(blind, s.o.Roots...)
	}
	c.moved, c.left, c.blind = s.shownAll(moved), s.shownAll(left), s.shownAll(blind)
	if len(left) > 0 {
		s.o.Log.Error("what a command made where it may not is still there", "paths", left)
	}
	return after, shared
}

func (s *Server) shownAll(paths []string) []string {
	shown := make([]string, 0, len(paths))
	for _, p := range paths {
		shown = append(shown, s.shown(p))
	}
	return shown
}

// admit takes over what is there while no command runs.
func (g *guards) admit(v *survey) {
	legit := map[string]stat{}
	for p, now := range v.guarded {
		if was, known := g.legit[p]; known && was.inode == now.inode || !g.doubt[p] && !below(p, g.doubt) {
			legit[p] = now
		}
	}
	hidden := setOf(v.hidden)
	for p, was := range g.legit {
		if below(p, hidden) {
			legit[p] = was // not seen, and not reached by the command either
		}
	}
	g.legit = legit
}

// renounce drops what the owner removed or replaced while a command ran: the next
// command is not kept from making it.
func (s *Server) renounce(v *survey) {
	hidden := setOf(v.hidden)
	for p := range s.guards.legit {
		now, there := v.guarded[p]
		if (!there || !s.stays(p, now)) && !below(p, hidden) {
			delete(s.guards.legit, p)
		}
	}
}

// stays reports whether a guarded path is what was there when no command ran. A mount
// holds files and folders for a command, but where another program puts something in
// their place, the mount is gone. No mount holds a link, nor anything where there is no
// sandbox.
func (s *Server) stays(p string, now stat) bool {
	was, ok := s.guards.legit[p]
	switch {
	case !ok:
		return false
	case was.mode&fs.ModeSymlink != 0:
		was.changed = now.changed // of what it is, nothing is told by that
		return was == now
	case !s.o.Shell.mounts():
		return true
	}
	return was.inode == now.inode && was.mode.Type() == now.mode.Type()
}

// clear moves away what commands made, or put in the place of something else, where
// they may not. It gives the roots as they are then, what was moved, and what could not
// be. guards.mu is held.
func (s *Server) clear() (after *survey, moved, left []string) {
	opened := func(real string) bool {
		_, ok := s.guards.legit[real]
		return !ok
	}
	for try := 0; ; try++ {
		after = s.look(true, opened)
		bad := s.unlawful(after)
		if len(bad) == 0 || try == clearings {
			left = bad
			break
		}
		for _, p := range bad {
			if s.moveAway(p, after.guarded[p]) && !slices.Contains(moved, p) {
				moved = append(moved, p)
			}
		}
	}
	s.guards.doubt = setOf(append(slices.Clone(left), after.doubt...))
	if after.blind != nil {
		s.guards.doubt = setOf(s.o.Roots)
	}
	return after, moved, left
}

// unlawful gives the guarded paths that must not be there, of a folder and what is in it
// only the folder.
func (s *Server) unlawful(v *survey) (bad []string) {
	all := map[string]bool{}
	for p, now := range v.guarded {
		if !s.stays(p, now) {
			all[p] = true
		}
	}
	for p := range all {
		if !below(p, all) {
			bad = append(bad, p)
		}
	}
	slices.Sort(bad)
	return bad
}

func setOf(paths []string) map[string]bool {
	set := make(map[string]bool, len(paths))
	for _, p := range paths {
		set[p] = true
	}
	return set
}

// below reports whether a folder above a path is in a set.
func below(p string, set map[string]bool) bool {
	for dir := filepath.Dir(p); len(set) > 0 && dir != p; p, dir = dir, filepath.Dir(dir) {
		if set[dir] {
			return true
		}
	}
	return false
}
