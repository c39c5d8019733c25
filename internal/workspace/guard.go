package workspace

import (
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

const (
	clearings = 3                     // attempts to move away what other commands move about
	coarse    = 20 * time.Millisecond // by which the times of files may be behind
)

// guards knows which denied and protected paths are the owner's: those that were there
// when no command of the session ran. What comes to be while one runs is never among
// them, whichever command made it and whichever ends first. Of what is neither surely
// the owner's nor surely a command's nothing is moved: no further command reaches it,
// and it is told.
type guards struct {
	// Held while the roots are surveyed for a command: when it begins until it counts, and
	// when it ends until it does not any more. So no survey without a command sees the work
	// of one.
	mu    sync.Mutex
	legit map[string]sight
	held  *ledger.Hold // legit, written down while commands run

	// What could not be looked through when no command ran. What is in it is never taken
	// for a command's: none of this session reaches it.
	dark  map[string]bool
	quiet map[string]*subject // what was there when no command ran
	modes []fs.FileMode       // of the roots, then
	since int64               // when that was
	first int64               // when it first was
	past  map[string]sight    // what once was the owner's, by its birth

	doubt    map[string]int64 // what could not be looked through, or not judged, after a command; until when one could reach it
	left     map[string]sight // what commands made, and could not be moved away
	suspects map[string]sight // what came to be when this session was blind there, or by another one

	aims   map[string]aim // what guarded paths are elsewhere, at the last look
	traced time.Time
	shared map[fileID]*shared
	dealt  map[string]bool // what dead sessions left, and this one looked at
}

// enlist counts a command that begins, and surveys the roots for it.
func (s *Server) enlist(c *command) (err error) {
	g := &s.guards
	g.mu.Lock()
	defer g.mu.Unlock()
	c.others, c.epoch = s.shells.enter()
	if c.others {
		c.before = s.look(true, nil)
		s.trace(c.before, s.stays)
		s.renounce(c.before)
	} else {
		c.before, err = s.takeOver()
	}
	if blind := c.before.blind; err == nil && blind != nil {
		err = fault.New(fault.Unavailable, "the workspace can't be looked through, so that a command can't be held to the rules: "+blind.Error(),
			"Give its folder's owner the rights to list and to enter it.")
	}
	if err == nil && !c.others {
		err = s.hold()
	}
	if err != nil {
		s.shells.leave(c.epoch)
	}
	g.hide(c.before, s.o.Roots)
	return err
}

// takeOver surveys the roots when no command of this session runs, and takes over what
// is there. What sessions left that died with their commands is dealt with before.
func (s *Server) takeOver() (*survey, error) {
	for try := 0; ; try++ {
		v := s.look(true, nil)
		s.trace(v, func(string, sight) bool { return true })
		if v.blind != nil {
			return v, nil
		}
		others, err := s.o.Ledger.Left() // after the look: what they made before it, they tell of
		if err != nil {
			return v, err
		}
		if dead := s.dead(others); len(dead) > 0 && try < clearings {
			s.inherit(dead)
			continue
		}
		s.admit(v, s.elsewhere(v, others))
		return v, nil
	}
}

// hide keeps a command from all of which it is not known whose it is. A link can't be
// kept from it, and what it leads to must not be.
func (g *guards) hide(v *survey, roots []string) {
	hide := func(p string) {
		if v.guarded[p].is.Kind&fs.ModeSymlink == 0 && !slices.Contains(roots, p) {
			v.hidden = append(v.hidden, p)
		}
	}
	for p := range g.dark {
		hide(p)
	}
	for p := range g.doubt {
		hide(p)
	}
	for _, set := range []map[string]sight{g.left, g.suspects} {
		for p := range set {
			hide(p)
		}
	}
	slices.Sort(v.hidden)
	v.hidden = slices.Compact(v.hidden)
}

// release takes back what is held when no command runs any more, and nothing is left to
// move away. guards.mu is held.
func (s *Server) release() {
	if g := &s.guards; g.held != nil && len(g.doubt)+len(g.left)+len(g.suspects) == 0 && s.shells.quiet() {
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
	if len(blind) > 0 {
		s.o.Log.Error("of these it is not known whether a command made or changed them; look at them before any program uses them", "paths", blind)
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

// admit takes over what is there while no command runs. foreign came to be while
// another session's commands run.
func (s *Server) admit(v *survey, foreign map[string]bool) {
	g := &s.guards
	legit, suspects, left := map[string]sight{}, map[string]sight{}, map[string]sight{}
	for p, now := range v.guarded {
		was, known := g.legit[p]
		mine, made := g.left[p]
		asked, suspect := g.suspects[p]
		end, doubted := g.doubted(p)
		switch {
		case known && was.is.Is(now.is):
			legit[p] = now
		case made && mine.is.Is(now.is):
			left[p] = now
		case made || foreign[p] || suspect && doubted && asked.is.Is(now.is):
			suspects[p] = now
		case doubted && s.cameBefore(v, p, end):
			left[p] = now
		case doubted:
			suspects[p] = now
		default:
			legit[p] = now
		}
	}
	quiet := v.files
	g.dark = setOf(v.doubt)
	for p, now := range v.lost {
		g.dark[p] = true
		if mine, made := g.left[p]; made && mine.is.Is(now.is) {
			left[p] = now.sight
		}
	}
	for p, was := range g.legit {
		if below(p, g.dark) {
			legit[p] = was // not seen, and not reached by the command either
		}
	}
	if len(g.dark) > 0 {
		quiet = maps.Clone(v.files)
		for p, x := range g.quiet {
			if below(p, g.dark) {
				quiet[p] = x
			}
		}
	}
	g.legit, g.suspects, g.left = legit, suspects, left
	g.quiet, g.modes, g.since = quiet, v.modes, v.begun
	if g.past == nil {
		g.past, g.first = map[string]sight{}, v.begun
	}
	for p, x := range legit {
		if x.is.Born != 0 {
			g.past[p] = x
		}
	}
}

// renounce drops what the owner removed or replaced while a command ran: another thing
// could come to look like it. Where a file is known by its birth, none can.
func (s *Server) renounce(v *survey) {
	hidden := setOf(v.hidden)
	for p, was := range s.guards.legit {
		now, there := v.guarded[p]
		if was.is.Born == 0 && (!there || !s.stays(p, now)) && !below(p, hidden) {
			delete(s.guards.legit, p)
		}
	}
}

// clear moves away what commands made, or put in the place of something else, where
// they may not. It gives the roots as they are then, what was moved, and what could not
// be. guards.mu is held.
func (s *Server) clear() (after *survey, moved, left []string) {
	g := &s.guards
	opened := func(real string) bool { return !g.dark[real] }
	stuck := map[string]bool{}
	begun := time.Now().Add(-coarse).UnixNano()
	for try := 0; ; try++ {
		after = s.look(true, opened)
		s.trace(after, s.stays)
		bad, unsure := s.unlawful(after)
		left = bad
		bad = slices.DeleteFunc(slices.Clone(bad), func(p string) bool { return stuck[p] })
		if len(bad) == 0 || try == clearings {
			after.doubt = append(after.doubt, unsure...)
			break
		}
		for _, p := range bad {
			gone, final := s.moveAway(p, after.seen(p))
			stuck[p] = final
			if gone && !slices.Contains(moved, p) {
				moved = append(moved, p)
			}
		}
	}
	g.left = map[string]sight{}
	for _, p := range left {
		g.left[p] = after.seen(p)
	}
	doubt := map[string]int64{}
	for _, p := range after.doubt {
		doubt[p] = begun
	}
	if after.blind != nil {
		for _, root := range s.o.Roots {
			doubt[root] = begun
		}
	}
	for p, end := range g.doubt {
		if g.dark[p] || below(p, g.dark) {
			doubt[p] = end // no command reached it since
		}
	}
	g.doubt = doubt
	return after, moved, left
}
