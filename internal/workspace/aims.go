package workspace

import (
	"path/filepath"
	"time"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

// aimed gives the guarded path that is written where a real path is: a link there leads
// to it, or it is another name of the same file.
func (s *Server) aimed(real string) (a aim, ok bool) {
	g := &s.guards
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.traced) > aimsLast {
		quiet := s.shells.quiet()
		s.trace(s.look(false, nil), func(p string, now sight) bool { return quiet || s.stays(p, now) })
	}
	for p := real; ; p = filepath.Dir(p) {
		if a, ok := g.aims[p]; ok {
			return a, true
		}
		if p == filepath.Dir(p) {
			return aim{}, false
		}
	}
}

// aimsLast is for how long it is taken as known what protected links lead to: only the
// owner makes any.
const aimsLast = 2 * time.Second

// aside refuses to write what a protected path is elsewhere, and to read what a denied one
// is. Commands find it read-only, or not at all.
func (s *Server) aside(d policy.Decision, write bool) (policy.Decision, bool) {
	for _, p := range d.Paths {
		a, ok := s.aimed(p.Real)
		what, verb := a.what, "read"
		if write {
			verb = "written"
		}
		if ok && (write || a.hide) {
			return policy.Decision{
				Outcome: policy.Refused, Stage: policy.StageRules, Rule: "protected:" + filepath.Base(what),
				Reason: s.shown(p.Real) + " is what " + s.shown(what) + " leads to, or another name of it, and that may not be " + verb,
				Remedy: "Leave it to the owner.",
			}, true
		}
	}
	return policy.Decision{}, false
}
