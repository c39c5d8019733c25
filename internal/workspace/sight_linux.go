package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// steadySystems are file systems where a file keeps its device and its time of birth for
// as long as it lives. Under an overlay both change when a file is first written.
var steadySystems = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true, unix.F2FS_SUPER_MAGIC: true,
}

// steady gives the device of a folder if it keeps what tells files apart.
func steady(f *os.File) (device uint64, ok bool) {
	var system unix.Statfs_t
	var st unix.Stat_t
	fd := int(f.Fd())
	if unix.Fstatfs(fd, &system) != nil || unix.Fstat(fd, &st) != nil {
		return 0, false
	}
	return st.Dev, steadySystems[int64(system.Type)] //nolint:unconvert // its size differs by machine
}

// closely looks at an entry by a descriptor: what is told of it is of one thing.
func (e *entry) closely() (sight, error) {
	if e.folder == 0 {
		f, err := e.OpenFile(e.name, unix.O_PATH, 0)
		if err != nil {
			return sight{}, err
		}
		defer f.Close()
		return closely(int(f.Fd()), e.real)
	}
	fd, err := unix.Openat(e.folder, e.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return sight{}, &fs.PathError{Op: "open", Path: e.real, Err: err}
	}
	defer unix.Close(fd)
	return closely(fd, e.real)
}

// sightOf looks at a path closely. A link at its end is not followed.
func (t *tree) sightOf(real string) (sight, error) {
	fd, err := unix.Open(real, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return sight{}, &fs.PathError{Op: "open", Path: real, Err: err}
	}
	defer unix.Close(fd)
	now, err := closely(fd, real)
	return t.settled(now), err
}

// closely looks at what a descriptor is of.
func closely(fd int, real string) (now sight, err error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st); err != nil {
		return sight{}, &fs.PathError{Op: "statx", Path: real, Err: err}
	}
	now.stat = stat{
		mode: modeOf(uint32(st.Mode)), size: int64(st.Size), time: nanos(st.Mtime), changed: nanos(st.Ctime),
		device: unix.Mkdev(st.Dev_major, st.Dev_minor), inode: st.Ino,
	}
	now.is.Kind, now.is.Device, now.is.Inode = now.mode.Type(), now.device, now.inode
	if st.Mask&unix.STATX_BTIME != 0 {
		now.is.Born = nanos(st.Btime)
	}
	now.ours, now.names = int(st.Uid) == os.Geteuid(), uint64(st.Nlink)
	if now.mode&fs.ModeSymlink != 0 {
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(fd, "", target)
		if err != nil {
			return sight{}, &fs.PathError{Op: "readlink", Path: real, Err: err}
		}
		now.is.Target = string(target[:n])
	}
	return now, nil
}

func nanos(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

// allow gives the owner of a folder further rights on it, and reports whether it has
// them. The folder must be the one that was seen: whatever is put in its place meanwhile
// keeps its mode.
func (s spot) allow(was stat, rights uint32) bool {
	f, err := s.OpenFile(s.name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var st unix.Stat_t
	fd := int(f.Fd())
	if err := unix.Fstat(fd, &st); err != nil || st.Dev != was.device || st.Ino != was.inode {
		return false
	}
	err = unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), st.Mode&0o7777|rights)
	for errors.Is(err, unix.EINTR) {
		err = unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), st.Mode&0o7777|rights)
	}
	return err == nil
}

// names tells how many names an entry's file has.
func (e *entry) names() uint64 {
	var st unix.Stat_t
	if unix.Fstatat(e.folder, e.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return 0
	}
	return uint64(st.Nlink) //nolint:unconvert // its size differs by machine
}

// renameNew renames as renameBetween does, if nothing has the new name.
func renameNew(from *os.File, name string, to *os.File, as string) error {
	return unix.Renameat2(int(from.Fd()), name, int(to.Fd()), as, unix.RENAME_NOREPLACE)
}
