package workspace

import (
	"errors"
	"os"
	"time"
)

// renameBetween can't be done here; what is moved is copied.
func renameBetween(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }

// changedAt is when a path was last written; more is not known here.
func changedAt(real string) (time.Time, error) {
	info, err := os.Lstat(real)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
