package workspace

import (
	"errors"
	"os"
	"time"
)

// renameBetween can't be done here; what is moved is copied.
func renameBetween(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }

// renameNew can't be done here either.
func renameNew(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }

// otherDisk reports whether a rename failed because it can't be done.
func otherDisk(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

// changedAt is when a path was last written; more is not known here.
func changedAt(real string) (time.Time, error) {
	info, err := os.Lstat(real)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
