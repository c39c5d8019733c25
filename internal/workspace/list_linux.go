package workspace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lister lists folders without looking at what is in them, as os.File.ReadDir would in a
// Root: of most entries of a large tree nothing is asked but the name and the kind.
type lister struct{ buf [32 << 10]byte }

// list gives what is in an open folder; of one that can't be listed to its end, also
// what was seen.
func (l *lister) list(f *os.File) (all []dirent, err error) {
	fd := int(f.Fd())
	all = make([]dirent, 0, 32)
	for {
		n, err := unix.Getdents(fd, l.buf[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return all, &fs.PathError{Op: "readdirent", Path: f.Name(), Err: err}
		}
		if n == 0 {
			return all, nil
		}
		// A record: an inode (8 bytes), an offset (8), its own length (2), a type (1), and a
		// name that ends with NUL.
		for rest := l.buf[:n]; len(rest) > 0; {
			size := int(binary.NativeEndian.Uint16(rest[16:]))
			name, _, _ := bytes.Cut(rest[19:size], []byte{0})
			if string(name) != "." && string(name) != ".." {
				all = append(all, dirent{string(name), kindBy(rest[18])})
			}
			rest = rest[size:]
		}
	}
}

// kindBy is the kind of an entry by its DT_ number, which file systems may leave out.
func kindBy(dt byte) fs.FileMode {
	switch dt {
	case unix.DT_REG:
		return 0
	case unix.DT_DIR:
		return fs.ModeDir
	case unix.DT_LNK:
		return fs.ModeSymlink
	case unix.DT_FIFO:
		return fs.ModeNamedPipe
	case unix.DT_SOCK:
		return fs.ModeSocket
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.DT_BLK:
		return fs.ModeDevice
	}
	return unknownKind
}

// look looks at the entry.
func (e *entry) look() (stat, error) {
	if e.folder == 0 {
		return e.lstat()
	}
	var st unix.Stat_t
	err := unix.Fstatat(e.folder, e.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fstatat(e.folder, e.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return stat{}, &fs.PathError{Op: "lstat", Path: e.real, Err: err}
	}
	return stat{
		mode: modeOf(st.Mode), size: st.Size, time: st.Mtim.Nano(), changed: st.Ctim.Nano(),
		device: st.Dev, inode: st.Ino,
	}, nil
}

// statOf is what is known of a file.
func statOf(info fs.FileInfo) stat {
	now := stat{mode: info.Mode(), size: info.Size(), time: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		now.changed, now.device, now.inode = st.Ctim.Nano(), st.Dev, st.Ino
	}
	return now
}

// modeOf gives the mode by the system's number for it.
func modeOf(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits&0o777) | kindBy(byte(bits&unix.S_IFMT>>12)) // DT_ numbers are these bits
	if bits&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if bits&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if bits&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
