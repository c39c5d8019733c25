//go:build unix

package wire

import (
	"errors"
	"io"
	"syscall"
	"time"
)

// writesNow gives a function that writes to w as much as can be written without
// waiting. It is nil for a writer of which that is not known: a file that blocks,
// or one that is no file or socket at all.
func writesNow(w io.Writer) func([]byte) (int, error) {
	c, ok := w.(interface {
		syscall.Conn
		SetWriteDeadline(t time.Time) error
	})
	if !ok || c.SetWriteDeadline(time.Time{}) != nil { // only what does not block takes one
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return func(b []byte) (n int, err error) {
		failed := raw.Write(func(fd uintptr) bool {
			for {
				if n, err = syscall.Write(int(fd), b); !errors.Is(err, syscall.EINTR) {
					return true
				}
			}
		})
		n = max(n, 0)
		switch {
		case failed != nil:
			return n, failed
		case errors.Is(err, syscall.EAGAIN):
			return n, nil
		}
		return n, err
	}
}
