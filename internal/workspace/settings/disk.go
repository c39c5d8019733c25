package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Disk resolves paths on the disk: it is the policy.Files of the server and of check.
type Disk struct{}

// maxLinks bounds how many links a path may lead through.
const maxLinks = 64

var (
	errLoop    = errors.New("too many links")
	errRelPath = errors.New("the path is not absolute")
	separator  = string(filepath.Separator)
)

// Real gives an absolute path with every link resolved, also of what does not exist:
// the rest, from the first name that is not there, stays as written but for "." and
// "..". It fails for a loop, a relative path, and where it can't look.
func (Disk) Real(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", errRelPath
	}
	volume := filepath.VolumeName(path)
	real, rest := volume+separator, strings.Split(filepath.ToSlash(path[len(volume):]), "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, name)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			real = next
			continue
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			real = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "resolve", Path: path, Err: errLoop}
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			real = filepath.VolumeName(target) + separator
			target = target[len(filepath.VolumeName(target)):]
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	return real, nil
}
