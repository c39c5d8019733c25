//go:build !windows && !linux

package workspace

import (
	"errors"
	"os"
)

// renameNew can't be done here.
func renameNew(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
