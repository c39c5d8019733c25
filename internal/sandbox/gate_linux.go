package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// gatePath is where bubblewrap copies what comes through the gate: in the private /run,
// where it is of no use to anyone.
const gatePath = "/run/.sandbox"

// gate is where bubblewrap waits when all its mounts are made. It is a pipe that is full
// when bubblewrap gets it: when it reads from it, and that is seen here, the pipe has room
// again. It goes on when the pipe ends; but then it needs the sign, and that is made by this
// program alone, when all is seen to hold. So a pipe that ends because this program gave up,
// or was killed, ends bubblewrap, and nothing is run.
type gate struct {
	r, w *os.File
	// sign is a folder whose mode bubblewrap is told to change, which fails where there is
	// none. Nobody can guess its name.
	sign string
}

func newGate() (*gate, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	g := &gate{os.NewFile(uintptr(ends[0]), "gate"), os.NewFile(uintptr(ends[1]), "gate"), gatePath + "-" + rand.Text()}
	size, err := unix.FcntlInt(g.w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err == nil {
		_, err = g.w.Write(make([]byte, size))
	}
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// reached waits until bubblewrap stands at the gate. It fails when it ended.
func (g *gate) reached() error {
	for {
		ready := []unix.PollFd{{Fd: int32(g.w.Fd()), Events: unix.POLLOUT}}
		_, err := unix.Poll(ready, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case ready[0].Revents&unix.POLLERR != 0:
			return errors.New("it ended")
		}
		return nil
	}
}

// open lets bubblewrap pass, given the folder that will be the command's root. When it
// fails, nothing can run.
func (g *gate) open(root int) error {
	if err := unix.Mkdirat(root, strings.TrimPrefix(g.sign, "/"), 0o700); err != nil {
		return os.NewSyscallError("mkdirat", err)
	}
	g.w.Close()
	return nil
}

func (g *gate) close() {
	g.r.Close()
	g.w.Close()
}

// veil is what is mounted over what is hidden: an empty file and an empty folder that
// nobody may open. They need a place on a disk until the command has ended.
type veil struct {
	dir          string
	lock         *os.File // of dir: it is in use
	file, folder uint64   // inodes
}

func newVeil() (*veil, error) {
	base, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil, err
	}
	sweeping.Do(func() { sweep(base, time.Now().Add(-veilAge)) })
	dir, err := os.MkdirTemp(base, veilPrefix)
	if err != nil {
		return nil, err
	}
	v := &veil{dir: dir}
	if v.lock, err = lockFolder(dir, unix.LOCK_SH); err == nil {
		err = v.fill()
	}
	if err != nil {
		v.remove()
		return nil, err
	}
	return v, nil
}

// fill makes the file and the folder.
func (v *veil) fill() error {
	err := errors.Join(os.WriteFile(v.of(false), nil, 0o000), os.Mkdir(v.of(true), 0o000))
	if err == nil {
		v.file, err = inode(v.of(false))
	}
	if err == nil {
		v.folder, err = inode(v.of(true))
	}
	return err
}

func (v *veil) of(dir bool) string {
	if dir {
		return filepath.Join(v.dir, "folder")
	}
	return filepath.Join(v.dir, "file")
}

// over is what is mounted over a place.
func (v *veil) over(p place) string { return v.of(p.dir) }

func (v *veil) inode(p place) uint64 {
	if p.dir {
		return v.folder
	}
	return v.file
}

// remove leaves nothing behind; the mounts of a child that is left hold on to what they
// have.
func (v *veil) remove() {
	for _, path := range []string{v.of(true), v.of(false), v.dir} {
		_ = os.Remove(path) // an empty folder in the temporary directory is the worst that can be left
	}
	if v.lock != nil {
		_ = v.lock.Close()
	}
}

func inode(path string) (uint64, error) {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return 0, err
	}
	return stat.Ino, nil
}

// mounted opens what will be the root of a command that stands at the gate.
func mounted(pid int) (int, error) {
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root/newroot", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("what was mounted can't be looked at: %w", err)
	}
	return root, nil
}

// verify looks at what bubblewrap mounted, before anything runs in it. Another command
// of the same peer may have swapped a folder of the workspace for a link between the
// plan and the mount: then the mount would be of another thing, or at another place.
func verify(root int, places []place, v *veil) error {
	for _, p := range places {
		if err := verifyPlace(root, p, v); err != nil {
			return fmt.Errorf("a mount is not as planned: %w", err)
		}
	}
	return nil
}

func verifyPlace(root int, p place, v *veil) error {
	fd, err := openWithin(root, p.path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO, &stat); err != nil {
		return err
	}
	if stat.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return errMoved
	}
	dev := unix.Mkdev(stat.Dev_major, stat.Dev_minor)
	switch p.kind {
	case fresh:
		return nil // made by bubblewrap, empty
	case veiled:
		if stat.Ino != v.inode(p) {
			return errMoved
		}
	case pinned, readable, writable, locked:
		if stat.Ino != p.ino || dev != p.dev {
			return errMoved
		}
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return err
	}
	if readOnly := fs.Flags&unix.ST_RDONLY != 0; !readOnly && p.kind != pinned && p.kind != writable {
		return errMoved
	}
	return nil
}
