package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bubblewrap reads the whole table of mounts after each mount that it makes, and takes
// 9,000 arguments at most: the time grows with the square of the masks. So from a number
// on they are made by an inner stage, which is this program run again in the place of
// the command, with the one capability that it takes; it makes them by descriptors, sets
// the filter, gives up the capability and becomes the command.
const (
	maskedByStage = 150
	innerPath     = "/run/" + stageName
	innerVeil     = "/run/.veil"
)

// masking is what the inner stage does.
type masking struct {
	Places  []mask
	Seccomp []byte
}

// mask is a place as it is told to the inner stage.
type mask struct {
	Path     string
	Kind     kind
	Folder   bool
	Dev, Ino uint64
}

// inner splits the plan when there are many masks: those that bubblewrap makes, and the
// order for the stage, or nil.
func inner(places []place, c Command, env []string, seccomp []byte) ([]place, *order) {
	if len(places) < maskedByStage {
		return places, nil
	}
	var outer []place
	m := masking{Seccomp: seccomp}
	for _, p := range places {
		switch p.kind {
		case pinned, locked, veiled:
			m.Places = append(m.Places, mask{p.path, p.kind, p.dir, p.dev, p.ino})
		case fresh, readable, writable:
			outer = append(outer, p)
		}
	}
	return outer, &order{Args: c.Args, Env: env, Dir: c.Dir, Mask: &m}
}

// become makes the masks and turns into the command. It returns only when it failed.
func (o order) become() error {
	runtime.LockOSThread() // rights are those of a thread, and exec keeps the calling one's
	if o.Mask != nil {
		if err := o.Mask.apply(); err != nil {
			return err
		}
	}
	if o.Confine != nil {
		if err := o.Confine.apply(); err != nil {
			return err
		}
	}
	if err := os.Chdir(o.Dir); err != nil {
		return err
	}
	program, err := lookIn(o.Args[0], o.Env)
	if err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("its capabilities can't be given up: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	keepDescriptors()
	args, err := syscall.SlicePtrFromStrings(o.Args)
	if err != nil {
		return err
	}
	env, err := syscall.SlicePtrFromStrings(o.Env)
	if err != nil {
		return err
	}
	name, err := syscall.BytePtrFromString(program)
	if err != nil {
		return err
	}
	if err := loadFilter(o.filter()); err != nil {
		return err
	}
	_, _, failed := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&args[0])), uintptr(unsafe.Pointer(&env[0])))
	return os.NewSyscallError("execve", failed)
}

func (o order) filter() []byte {
	if o.Mask != nil {
		return o.Mask.Seccomp
	}
	return o.Confine.Seccomp
}

// apply mounts parents first, each by a descriptor of the very thing that was planned.
//
// The namespace of mounts that bubblewrap leaves may belong to a user namespace outside
// of the one that this stage has its capability in, so it takes one of its own. Mounts
// that came from outside can't be taken away in there.
func (m *masking) apply() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	if err := os.Mkdir(innerVeil, 0o700); err != nil {
		return err
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("tmpfs", innerVeil, "tmpfs", flags, "size=64k,mode=0700"); err != nil {
		return os.NewSyscallError("mount", err)
	}
	v := &veil{dir: innerVeil}
	if err := v.fill(); err != nil {
		return err
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for _, p := range m.Places {
		if err := p.mount(root, v); errors.Is(err, errMoved) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			return fmt.Errorf("the workspace changed while it was being confined, try again: %w", err)
		} else if err != nil {
			return fmt.Errorf("a part of the workspace can't be masked: %w", err)
		}
	}
	// The first process of the namespace is bubblewrap's. It is not filtered, and its
	// mounts may be others: nobody may reach it by its files.
	first, err := openWithin(root, "/proc/1")
	if err == nil {
		err = attach(first, mask{Kind: veiled, Folder: true}, v)
	}
	if err != nil {
		return fmt.Errorf("the first process can't be hidden: %w", err)
	}
	// What was mounted from there stays.
	return errors.Join(os.NewSyscallError("umount", unix.Unmount(innerVeil, unix.MNT_DETACH)), os.Remove(innerVeil), unix.Close(first), unix.Close(root))
}

func (p mask) mount(root int, v *veil) error {
	at, err := openWithin(root, p.Path)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	var stat unix.Statx_t
	if err := unix.Statx(at, "", unix.AT_EMPTY_PATH, unix.STATX_INO, &stat); err != nil {
		return err
	}
	if stat.Ino != p.Ino || unix.Mkdev(stat.Dev_major, stat.Dev_minor) != p.Dev {
		return errMoved
	}
	return attach(at, p, v)
}

// attach mounts over what a descriptor is of.
func attach(at int, p mask, v *veil) error {
	from, path, how := at, "", uint(unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if p.Kind == veiled {
		from, path, how = unix.AT_FDCWD, v.over(place{dir: p.Folder}), 0
	}
	tree, err := unix.OpenTree(from, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|how)
	if err != nil {
		return os.NewSyscallError("open_tree", err)
	}
	defer unix.Close(tree)
	if p.Kind != pinned {
		only := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
		if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &only); err != nil {
			return os.NewSyscallError("mount_setattr", err)
		}
	}
	return os.NewSyscallError("move_mount", unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH))
}

// openWithin opens an absolute path below a root, without following any link.
func openWithin(root int, path string) (int, error) {
	return unix.Openat2(root, strings.TrimPrefix(path, "/"), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
}

// dropCapabilities gives up all of them, and the way for root to get them back by exec.
func dropCapabilities() error {
	for c := range unix.CAP_LAST_CAP + 1 {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// loadFilter sets a seccomp filter for the calling thread.
func loadFilter(program []byte) error {
	const size = int(unsafe.Sizeof(unix.SockFilter{}))
	if len(program) == 0 || len(program)%size != 0 {
		return errors.New("there is no seccomp filter")
	}
	aligned := make([]unix.SockFilter, len(program)/size)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&aligned[0])), len(program)), program)
	prog := unix.SockFprog{Len: uint16(len(aligned)), Filter: &aligned[0]}
	if _, _, err := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); err != 0 {
		return os.NewSyscallError("seccomp", err)
	}
	runtime.KeepAlive(aligned)
	return nil
}
