package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

const maxWithheld = 64 << 20 // bytes of one thing that is moved away

// withhold takes away what a command made, or put in the place of something else, where
// it may not: denied and protected paths. They are moved to the session's folder, which
// no tool reaches. It gives what was taken.
func (s *Server) withhold(before, after *survey) []string {
	var taken []string
	for p, now := range after.guarded {
		// What was there and is no link was held by a mount: whoever changed it was not
		// the command.
		was, ok := before.guarded[p]
		if ok && (was.mode&fs.ModeSymlink == 0 || was == now) {
			continue
		}
		taken = append(taken, p)
	}
	slices.Sort(taken) // a folder before what is in it
	var gone []string
	for _, p := range taken {
		if !slices.ContainsFunc(gone, func(g string) bool { return strings.HasPrefix(p, g+string(filepath.Separator)) }) {
			s.moveAway(p)
			gone = append(gone, p)
		}
	}
	return gone
}

// moveAway moves a path to the session's folder. What can't be kept is removed all the
// same: it must not stay.
func (s *Server) moveAway(real string) {
	p, ok := s.tree.resolved(real)
	if !ok {
		return
	}
	at, err := s.tree.find(p, false)
	if err != nil {
		return
	}
	defer at.Close()
	away := filepath.Join(s.o.Folder, "withheld")
	err = privateFolder(away)
	to := filepath.Join(away, fmt.Sprintf("%d-%s", s.counted(), filepath.Base(real)))
	// While other commands run, a name may lead elsewhere by the time it is renamed.
	if err == nil && s.shells.quiet() && os.Rename(real, to) == nil {
		return
	}
	if err == nil {
		left := int64(maxWithheld)
		err = copyAway(at, to, &left)
	}
	if err != nil {
		s.o.Log.Warn("what a command made where it may not could not be kept", "path", real, "error", plain(err))
	}
	if err := at.RemoveAll(at.name); err != nil {
		s.o.Log.Error("what a command made where it may not could not be removed", "path", real, "error", plain(err))
	}
}

func (s *Server) counted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved++
	return s.moved
}

// resolved gives a real path as a judged one.
func (t *tree) resolved(real string) (policy.Resolved, bool) {
	for i, root := range t.paths {
		if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) && rel != "." {
			return policy.Resolved{Given: real, Real: real, Root: i}, true
		}
	}
	return policy.Resolved{}, false
}

func copyAway(from spot, to string, left *int64) error {
	info, err := from.Lstat(from.name)
	if err != nil {
		return err
	}
	switch {
	case info.Mode().IsRegular():
		return copyFile(from, to, left)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(from.name)
		if err != nil {
			return err
		}
		return os.WriteFile(to+".link", []byte(target), 0o600)
	case !info.IsDir():
		return nil
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	sub, err := into(from.Root, from.name)
	if err != nil {
		return err
	}
	defer sub.Close()
	list, err := fs.ReadDir(sub.FS(), ".")
	for _, d := range list {
		err = errors.Join(err, copyAway(spot{Root: sub, name: d.Name()}, filepath.Join(to, d.Name()), left))
	}
	return err
}

func copyFile(from spot, to string, left *int64) error {
	f, info, err := from.openRegular()
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > *left {
		return errors.New("it is too large to be kept")
	}
	*left -= info.Size()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(f, info.Size()))
	return errors.Join(err, out.Close())
}
