//go:build !windows

package store

import "os"

// syncDir makes a new file's name durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		_ = d.Close() // the first error says more
		return err
	}
	return d.Close()
}
