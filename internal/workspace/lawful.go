package workspace

import (
	"io/fs"
	"path/filepath"
	"slices"
)

// stays reports whether a guarded path is what was there when no command ran. A mount
// holds files and folders for a command, but where another program puts something in
// their place, the mount is gone. No mount holds a link, nor anything where there is no
// sandbox.
func (s *Server) stays(p string, now sight) bool {
	was, ok := s.guards.legit[p]
	if ok && was.is.Kind&fs.ModeSymlink == 0 && !s.o.Shell.mounts() {
		return true
	}
	return ok && was.is.Is(now.is)
}

// unlawful gives what commands made where they may not, of a folder and what is in it
// only the folder; and what may be theirs or not.
func (s *Server) unlawful(v *survey) (bad, unsure []string) {
	g := &s.guards
	all, maybe := map[string]bool{}, map[string]bool{}
	for p, now := range v.guarded {
		suspect, asked := g.suspects[p]
		switch {
		case s.stays(p, now) || g.dark[p] || below(p, g.dark):
		case asked && suspect.is.Is(now.is):
			_, maybe[p] = g.doubted(p) // or another session's, which deals with it
		case s.wasThere(p, now):
			maybe[p] = true
		default:
			all[p] = true
		}
	}
	for p, l := range v.lost {
		_, doubted := g.doubted(p)
		switch {
		case g.dark[p] && doubted:
			maybe[p] = true
		case g.dark[p] || below(p, g.dark) || !l.ours: // what is not this account's, no command made or shut
		case l.deep && s.isNew(l):
			all[p] = true
		default:
			maybe[p] = true
		}
	}
	s.spare(v, all, maybe)
	for p := range all {
		if !below(p, all) {
			bad = append(bad, p)
		}
	}
	for p, told := range maybe {
		if told && !below(p, all) {
			unsure = append(unsure, p)
		}
	}
	slices.Sort(bad)
	slices.Sort(unsure)
	return bad, unsure
}

// spare takes out of what is to be moved the folders that hold something of the owner's.
func (s *Server) spare(v *survey, all, maybe map[string]bool) {
	if len(all) == 0 {
		return
	}
	up := func(p string) {
		for dir := filepath.Dir(p); dir != p; p, dir = dir, filepath.Dir(dir) {
			if all[dir] {
				delete(all, dir)
				maybe[dir] = true
			}
		}
	}
	for p, now := range v.guarded {
		if s.stays(p, now) {
			up(p)
		}
	}
	for p := range s.guards.dark {
		up(p)
	}
}

// isNew reports whether a folder surely was not there when no command ran.
func (s *Server) isNew(l loss) bool {
	g := &s.guards
	if l.is.Born != 0 {
		return l.is.Born > g.since
	}
	for _, x := range g.quiet {
		if x.inode == l.inode && x.device == l.device {
			return false
		}
	}
	return true
}

// wasThere reports whether what is at a path may be the owner's though it was not there
// when the command began: commands of another session, or the owner, can have moved it
// away and back.
func (s *Server) wasThere(p string, now sight) bool {
	g := &s.guards
	was, ok := g.past[p]
	return ok && was.is.Is(now.is)
}

// doubted reports whether a path lies in what is in doubt, and until when commands could
// reach it.
func (g *guards) doubted(p string) (end int64, ok bool) {
	for len(g.doubt) > 0 {
		if end, ok = g.doubt[p]; ok || p == filepath.Dir(p) {
			return end, ok
		}
		p = filepath.Dir(p)
	}
	return 0, false
}

// cameBefore reports whether a path that was not there before a command surely was there
// at a time while one ran: it, and each folder above that was not there either, were not
// changed since.
func (s *Server) cameBefore(v *survey, p string, end int64) bool {
	g := &s.guards
	for at := p; !slices.Contains(s.o.Roots, at); at = filepath.Dir(at) {
		x, ok := v.guarded[at]
		now := x.stat
		if folder := v.files[at]; !ok && folder != nil {
			now = folder.stat
		}
		if was := g.quiet[at]; at != p && was != nil && was.inode == now.inode && was.device == now.device {
			return true
		}
		if was, known := g.legit[at]; at != p && known && was.is.Is(x.is) {
			return true
		}
		if now.changed == 0 || now.changed >= end {
			return false
		}
	}
	return true
}

// seen is a path as it was seen.
func (v *survey) seen(p string) sight {
	if now, ok := v.guarded[p]; ok {
		return now
	}
	return v.lost[p].sight
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
