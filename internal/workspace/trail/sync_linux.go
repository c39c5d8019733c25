package trail

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync makes what was written durable, but not when.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
