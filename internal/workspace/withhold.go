package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-mcp/holdfast/core/policy"
)

const maxWithheld = 64 << 20 // bytes of one thing that is moved away

// errUnkept says that what is to be moved away can't be kept whole.
var errUnkept = errors.New("it is too large to be kept on another disk")

// moveAway moves a path to the session's folder, which no tool reaches, and reports
// whether it is gone, and if not, whether that is final. was is what was seen there; when
// something else is there by now, or the way to it changed, nothing is done. What can't
// be kept whole stays where it is.
func (s *Server) moveAway(real string, was sight) (gone, final bool) {
	p, ok := s.tree.resolved(real)
	if !ok {
		return false, true
	}
	at, err := s.tree.find(p, false)
	if err != nil {
		return false, false
	}
	defer at.Close()
	now, err := s.tree.sight(&entry{spot: at, real: real})
	if err != nil || !now.is.Is(was.is) {
		return false, false
	}
	err = s.carry(at, now)
	if errors.Is(err, fs.ErrPermission) {
		defer s.open(at, filepath.Dir(real))()
		if now.mode.IsDir() {
			at.allow(now.stat, 0o700) // a folder that is moved is written to
		}
		err = s.carry(at, now)
	}
	if err != nil {
		s.o.Log.Error("what a command made where it may not could not be moved away", "path", real, "error", plain(err))
		return false, errors.Is(err, errUnkept)
	}
	return true, false
}

// open gives this account all rights on the folder of a spot. What it gives back takes
// them away again, if the folder lacked them when no command ran.
func (s *Server) open(at spot, real string) (restore func()) {
	restore = func() {}
	dir, err := at.Open(".")
	if err != nil {
		return restore
	}
	info, err := dir.Stat()
	if err != nil || info.Mode().Perm()&0o700 == 0o700 || dir.Chmod(info.Mode()|0o700) != nil {
		_ = dir.Close()
		return restore
	}
	return func() {
		if mode, ok := s.ownersMode(real); ok && mode.Perm()&0o700 != 0o700 {
			_ = dir.Chmod(info.Mode())
		}
		_ = dir.Close()
	}
}

// ownersMode is the mode that a folder had when no command ran.
func (s *Server) ownersMode(real string) (fs.FileMode, bool) {
	g := &s.guards
	for i, root := range s.o.Roots {
		if root == real && i < len(g.modes) {
			return g.modes[i], true
		}
	}
	if x := g.quiet[real]; x != nil {
		return x.mode, true
	}
	x, ok := g.legit[real]
	return x.mode, ok
}

// carry moves what is at a spot to the session's folder: by the folders that are held
// open, never by a path, for a command may put a link in its way at any time.
func (s *Server) carry(at spot, was sight) error {
	away := filepath.Join(s.o.Folder, "withheld")
	if err := privateFolder(away); err != nil {
		return err
	}
	to, err := os.OpenRoot(away)
	if err != nil {
		return err
	}
	defer to.Close()
	folder, err := to.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	from, err := at.Open(".")
	if err != nil {
		return err
	}
	defer from.Close()
	as := fmt.Sprintf("%d-%s", s.counted(), at.name[:min(len(at.name), maxKeptName)])
	err = renameBetween(from, at.name, folder, as)
	if err != nil && !otherDisk(err) {
		return err
	}
	if err != nil { // it is on another disk
		left := int64(maxWithheld)
		kept := map[string]stat{}
		err := copyAway(at, filepath.Join(away, as), "", kept, &left)
		if err == nil && kept[""].inode != was.inode {
			err = errSwapped
		}
		if err != nil {
			_ = to.RemoveAll(as)
			return err
		}
		return removeKept(at, "", kept)
	}
	if now, err := s.tree.sight(&entry{spot: spot{Root: to, name: as}}); err == nil && now.is.Inode != was.is.Inode {
		// Another thing was put there at the last moment.
		if renameNew(folder, as, from, at.name) == nil {
			return errSwapped
		}
		s.o.Log.Error("WARNING: a command put another thing in the place of what was moved away, and that was moved away too", "to", filepath.Join(away, as))
	}
	return nil
}

const maxKeptName = 200 // bytes of a name, of the name under which a thing is kept

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

// copyAway copies what is at a spot, and notes what it copied by its way from there.
func copyAway(from spot, to, way string, kept map[string]stat, left *int64) error {
	now, err := from.lstat()
	if err != nil {
		return err
	}
	kept[way] = now
	switch {
	case now.mode.IsRegular():
		return copyFile(from, to, left)
	case now.mode&fs.ModeSymlink != 0:
		target, err := from.Readlink(from.name)
		if err != nil {
			return err
		}
		return os.WriteFile(to+".link", []byte(target), 0o600)
	case !now.mode.IsDir():
		return os.WriteFile(to+".special", []byte(kindOf(now.mode)), 0o600)
	}
	if now.mode.Perm()&0o700 != 0o700 {
		from.allow(now, 0o700)
		if now, err = from.lstat(); err != nil {
			return err
		}
		kept[way] = now
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
		if err != nil {
			return err
		}
		err = copyAway(spot{Root: sub, name: d.Name()}, filepath.Join(to, d.Name()), filepath.Join(way, d.Name()), kept, left)
	}
	return err
}

// removeKept removes what was copied, and nothing else: neither what came since, nor
// what was changed.
func removeKept(at spot, way string, kept map[string]stat) error {
	now, err := at.lstat()
	if err != nil {
		return err
	}
	was, ok := kept[way]
	same := ok && was.inode == now.inode && was.device == now.device
	if !same || !now.mode.IsDir() && (was.size != now.size || was.time != now.time) {
		return errSwapped
	}
	if now.mode.IsDir() {
		sub, err := enterSame(at, now)
		if err != nil {
			return err
		}
		list, err := fs.ReadDir(sub.FS(), ".")
		for _, d := range list {
			err = errors.Join(err, removeKept(spot{Root: sub, name: d.Name()}, filepath.Join(way, d.Name()), kept))
		}
		_ = sub.Close()
		if err != nil {
			return err
		}
	}
	return at.Remove(at.name)
}

func enterSame(at spot, was stat) (*os.Root, error) {
	sub, err := into(at.Root, at.name)
	if err != nil {
		return nil, err
	}
	if now, err := (spot{Root: sub, name: "."}).lstat(); err != nil || now.inode != was.inode {
		_ = sub.Close()
		return nil, errSwapped
	}
	return sub, nil
}

func copyFile(from spot, to string, left *int64) error {
	f, info, err := from.openRegular()
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > *left {
		return errUnkept
	}
	*left -= info.Size()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(f, info.Size()))
	if err == nil && n != info.Size() {
		err = errSwapped
	}
	return errors.Join(err, out.Close())
}
