package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/sandbox"
)

// survey is the roots as they were at one time: what a command must not reach, and what
// it may change.
type survey struct {
	hidden, readOnly []string
	guarded          map[string]sight    // what nothing may create or replace: denied and protected paths
	lost             map[string]loss     // folders of which it shows that they can't be looked through
	spans            []string            // guarded folders whose inside is not guarded one by one
	aims             map[string]aim      // what guarded paths are elsewhere
	files            map[string]*subject // what the ledger compares, by real path
	folders          map[string]bool     // that are read-only as a whole
	ignored          map[string]stat     // what git ignores; of an ignored folder only the folder
	doubt            []string            // folders that could not be looked through this time
	blind            error               // a root could not be looked through
	more             int                 // paths that are not compared: there are too many
	names            int64               // bytes of the paths that were seen
	quiet            bool                // no other command runs meanwhile
	begun            int64               // when it began, in nanoseconds
	tree             *tree
	modes            []fs.FileMode // of the roots
}

// stat is what changes when a path does. Times are in nanoseconds.
type stat struct {
	mode          fs.FileMode
	size          int64
	time          int64 // of the content; any program can set it
	changed       int64 // of anything about the path; none can
	device, inode uint64
}

// subject is one path that the ledger compares. It does not change: what is the same in
// two surveys stands in both.
type subject struct {
	stat
	reach  policy.Reach
	whole  bool
	target string // of a link
	copy   *copied

	under   *ignores // what spoke of it, and said that it is
	ignored bool
	settled bool // while its times stay, so does the content
}

// recall tells an entry whether it is ignored, where the same files said so before.
func (x *subject) recall(e *entry) {
	if x != nil && !e.inside && x.under == e.above && x.mode.IsDir() == e.kind.IsDir() {
		e.asked, e.ignored = true, x.ignored
	}
}

// look surveys all roots. With contents, it keeps a copy of every file that a command
// could change, so that the ledger has what it held. mend says which folders, that this
// user may not list, are opened to it: those that a command shut; nil: none.
func (s *Server) look(contents bool, mend func(real string) bool) *survey {
	s.base.mu.Lock()
	defer s.base.mu.Unlock()
	s.base.repack()
	v := &survey{
		guarded: map[string]sight{}, lost: map[string]loss{}, aims: map[string]aim{}, files: make(map[string]*subject, len(s.base.now)),
		folders: map[string]bool{}, ignored: map[string]stat{}, tree: s.tree, modes: make([]fs.FileMode, len(s.o.Roots)),
		quiet: s.shells.running() <= 1, begun: time.Now().UnixNano(),
	}
	for i, root := range s.o.Roots {
		if info, err := s.tree.held[i].Stat(); err == nil {
			v.modes[i] = info.Mode()
			if mend != nil && shut(info.Mode()) {
				_ = s.tree.held[i].Chmod(info.Mode().Perm() | 0o700)
			}
		}
		err := s.tree.comb(policy.Resolved{Given: root, Real: root, Root: i}, func(e *entry) bool {
			return s.visit(v, e, contents, mend)
		}, care{lost: v.lose, mend: mend})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // when it is gone there is nothing in it
			v.blind = fmt.Errorf("%s: %s", root, plain(err))
		}
	}
	slices.Sort(v.hidden)
	slices.Sort(v.readOnly)
	s.base.now = v.files
	return v
}

func (s *Server) visit(v *survey, e *entry, contents bool, mend func(string) bool) (descend bool) {
	known := s.base.now[e.real]
	if !e.inside || known != nil {
		if _, ok := e.stat(); !ok {
			return false
		}
	}
	known.recall(e)
	folder := e.kind.IsDir()
	if strings.EqualFold(e.name, ".git") {
		v.readOnly = append(v.readOnly, e.real)
		v.guard(e)
		if folder {
			v.git(e, mend)
		}
		return false
	}
	reach, whole := s.reach(e.real, folder, known)
	if reach != policy.Writable && !v.folders[filepath.Dir(e.real)] {
		v.guard(e)
		if folder {
			v.spans = append(v.spans, e.real)
		}
		if reach == policy.Hidden {
			v.hidden = append(v.hidden, e.real)
			return false
		}
		v.readOnly = append(v.readOnly, e.real)
	} else if reach == policy.Hidden { // below what is read-only as a whole
		v.hidden = append(v.hidden, e.real)
		return false
	}
	if reach == policy.ReadOnly && folder {
		v.folders[e.real] = true
	}
	if known != nil || !e.isIgnored() { // a command may write a .gitignore
		s.base.take(v, e, known, reach, whole, contents)
	}
	if !e.inside && e.isIgnored() {
		v.ignored[e.real] = e.now
	}
	return reach == policy.Writable || !whole
}

// reach is what commands may do with a path: with the same policy always the same.
func (s *Server) reach(real string, folder bool, known *subject) (r policy.Reach, whole bool) {
	if known != nil && known.mode.IsDir() == folder {
		return known.reach, known.whole
	}
	return s.o.Policy.Reach(real, folder)
}

// guard notes a path that no command may create or replace.
func (v *survey) guard(e *entry) {
	if now, err := v.tree.sight(e); err == nil {
		v.guarded[e.real] = now
	} else if !errors.Is(err, fs.ErrNotExist) {
		v.doubt = append(v.doubt, e.real)
	}
}

// lose notes a folder whose inside is not known: anything may be in it, so that it is
// hidden whole. That it can't be looked through may be a trait of the folder; where the
// system failed, it tells nothing of the folder.
func (v *survey) lose(e *entry, err error) {
	v.hidden = append(v.hidden, e.real)
	deep := errors.Is(err, errDeep)
	if now, failed := v.tree.sight(e); failed == nil && (deep || errors.Is(err, fs.ErrPermission)) {
		v.lost[e.real] = loss{now, deep}
		return
	}
	v.doubt = append(v.doubt, e.real)
}

// git notes what runs programs in a repository: the rest of it changes with every commit.
func (v *survey) git(e *entry, mend func(real string) bool) {
	if now, ok := e.stat(); ok && shut(now.mode) && mend != nil && mend(e.real) {
		_ = e.allow(now, 0o700)
	}
	sub, err := into(e.Root, e.name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			v.lose(e, err)
		}
		return
	}
	defer sub.Close()
	w := walker{care: care{lost: v.lose, mend: mend}, visit: func(in *entry) bool {
		rel, err := filepath.Rel(e.real, in.real)
		if err != nil {
			return false
		}
		rel = filepath.ToSlash(rel)
		if sandbox.GitRuns(rel) {
			v.guard(in)
			return true
		}
		return sandbox.GitDescends(rel)
	}}
	if err := w.folder(sub, e.real, nil, false, 0); err != nil {
		v.lose(e, err)
	}
}

// leftOut counts the hidden paths at or below a folder.
func (v *survey) leftOut(below string) int {
	n := 0
	for _, p := range v.hidden {
		if rel, err := filepath.Rel(below, p); err == nil && filepath.IsLocal(rel) {
			n++
		}
	}
	return n
}
