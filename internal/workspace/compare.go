package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/workspace/ledger"
)

// changes compares two surveys: what was made, changed and removed in between. It keeps
// earlier contents in the ledger.
func (s *Server) changes(before, after *survey) (changes []ledger.Change, missed int) {
	var paths []string
	for p, x := range before.files {
		if y := after.files[p]; y != x && (y == nil || differs(x, y)) {
			paths = append(paths, p)
		}
	}
	missed = max(before.more, after.more)
	for p := range after.files {
		switch {
		case before.files[p] != nil || before.ignores(p):
		case before.more > 0:
			missed++ // it may have been among those
		default:
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	names, room := 0, int64(maxDigesting)
	for _, p := range paths {
		if names += len(p); len(changes) == maxChanges || names > maxChanged {
			missed++
			continue
		}
		if c, changed := s.compare(p, before.files[p], after.files[p], &room); changed {
			changes = append(changes, c)
		}
	}
	return changes, missed
}

// compare gives the states of a path before and after. Nothing is changed that was
// touched, or written with what it held; of the rest the earlier content is kept.
func (s *Server) compare(path string, before, after *subject, room *int64) (c ledger.Change, changed bool) {
	was, raw, err := before.state()
	is, _, _ := after.state()
	if is.Kind == ledger.File && is.SHA256 == "" && is.Size <= min(ledger.MaxDigest, *room) {
		*room -= is.Size
		is.SHA256 = s.digestOf(path, after)
	}
	c = ledger.Change{Path: path, Before: was, After: is}
	same := was.Kind == is.Kind && was.Mode == is.Mode && was.Target == is.Target && was.SHA256 == is.SHA256
	if same && (is.Kind == ledger.Link || is.Kind == ledger.File && is.SHA256 != "") {
		return c, false
	}
	if was.Kind != ledger.File {
		return c, true
	}
	if err == nil {
		var kept ledger.State
		if kept, err = s.o.Ledger.Keep(raw, before.mode, true); err == nil {
			c.Before = kept
			return c, true
		}
	}
	c.Before.Why = plain(err)
	return c, true
}

// ignores reports whether git ignored a path, or the folder that it lies in: of what it
// held then nothing is known.
func (v *survey) ignores(path string) bool {
	for {
		if _, ok := v.ignored[path]; ok {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

// differs reports whether a path may have been changed. A folder's size and time change
// with what is in it, which is compared itself.
func differs(x, y *subject) bool {
	if x.mode.IsDir() && y.mode.IsDir() {
		return x.mode != y.mode
	}
	if x.stat != y.stat || x.target != y.target {
		return true
	}
	return x.copy != y.copy && x.copy != nil && y.copy != nil && x.copy.sum != y.copy.sum
}

func kind(m fs.FileMode) ledger.Kind {
	switch {
	case m.IsRegular():
		return ledger.File
	case m.IsDir():
		return ledger.Folder
	case m&fs.ModeSymlink != 0:
		return ledger.Link
	}
	return ledger.Other
}

// state is what was at a path in a survey, with the content of a file. An error says
// why it is not known.
func (x *subject) state() (st ledger.State, raw []byte, err error) {
	if x == nil {
		return ledger.State{Kind: ledger.Absent}, nil, nil
	}
	st = ledger.State{Kind: kind(x.mode), Mode: x.mode.Perm(), Target: x.target}
	if st.Kind != ledger.File {
		return st, nil, nil
	}
	st.Size = x.size
	if raw, err = x.copy.content(); err == nil {
		st = ledger.Describe(raw, x.mode)
	}
	return st, raw, err
}

// digestOf is that of a file that no copy was made of; empty when it is not what was seen.
func (s *Server) digestOf(path string, x *subject) string {
	p, ok := s.tree.resolved(path)
	if !ok {
		return ""
	}
	at, err := s.tree.find(p, false)
	if err != nil {
		return ""
	}
	defer at.Close()
	sum, info, err := at.digest()
	if err != nil || statOf(info) != x.stat {
		return ""
	}
	return sum
}

// digest reads a regular file for its digest alone, and looks at it again then.
func (s spot) digest() (sum string, after fs.FileInfo, err error) {
	f, _, err := s.openRegular()
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, ledger.MaxDigest+1))
	if err == nil && n > ledger.MaxDigest {
		err = errors.New("it has more bytes than are read for a digest")
	}
	if err == nil {
		after, err = f.Stat()
	}
	return hex.EncodeToString(h.Sum(nil)), after, err
}

// newlyIgnored names what git ignores and changed, and counts what is not named.
func newlyIgnored(before, after *survey, shown func(string) string) (names []string, more int) {
	for p, x := range after.ignored {
		// What was known before is compared, but for what is in a folder.
		if known := before.files[p]; known != nil && (!x.mode.IsDir() || known.stat == x) {
			continue
		}
		if before.ignored[p] != x {
			names = append(names, shown(p))
		}
	}
	for p, x := range before.ignored {
		if _, ok := after.ignored[p]; ok || before.files[p] != nil {
			continue
		}
		if now := after.files[p]; now == nil || now.stat != x {
			names = append(names, shown(p))
		}
	}
	slices.SortFunc(names, strings.Compare)
	listed := min(len(names), maxIgnored)
	return names[:listed], len(names) - listed
}
