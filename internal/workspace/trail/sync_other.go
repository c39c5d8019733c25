//go:build !linux

package trail

import "os"

func datasync(f *os.File) error { return f.Sync() }
