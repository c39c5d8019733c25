package workspace

import (
	"path/filepath"
	"time"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// aimed gives the guarded path that is written where a real path is: a link there leads
// to it, or it is another name of the same file.
func (s *Server) aimed(real string) (what string, ok bool) {
	g := &s.guards
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.traced) > aimsLast {
		quiet := s.shells.quiet()
		s.trace(s.look(false, nil), func(p string, now sight) bool { return quiet || s.stays(p, now) }, !quiet)
	}
	for p := real; ; p = filepath.Dir(p) {
		if a, ok := g.aims[p]; ok {
			return a.what, true
		}
		if p == filepath.Dir(p) {
			return "", false
		}
	}
}

// aimsLast is for how long it is taken as known what protected links lead to: only the
// owner makes any.
const aimsLast = 2 * time.Second

// aside refuses to write what a protected path is elsewhere. Commands find it read-only.
func (s *Server) aside(d policy.Decision) (policy.Decision, bool) {
	for _, p := range d.Paths {
		if what, ok := s.aimed(p.Real); ok {
			return policy.Decision{
				Outcome: policy.Refused, Stage: policy.StageRules, Rule: "protected:" + filepath.Base(what),
				Reason: s.shown(p.Real) + " is what " + s.shown(what) + " leads to, or another name of it, and that may not be written",
				Remedy: "Leave it to the owner, or write to another file.",
			}, true
		}
	}
	return policy.Decision{}, false
}
