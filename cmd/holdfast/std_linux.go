package main

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// withoutBlocking gives another opening of a standard stream that is a pipe, one in
// which no thread waits: a thread that does has to be woken for every message, and
// another to go on with what it left. The stream itself, which whoever started us may
// share, stays as it is.
func withoutBlocking[T any](stream T) T {
	f, ok := any(stream).(*os.File)
	if !ok {
		return stream
	}
	i, err := f.Stat()
	if err != nil || i.Mode().Type() != fs.ModeNamedPipe {
		return stream
	}
	mode := os.O_RDONLY
	if f != os.Stdin {
		mode = os.O_WRONLY
	}
	again, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), mode|syscall.O_NONBLOCK, 0)
	if err != nil { // of another user, say
		return stream
	}
	if t, ok := any(again).(T); ok {
		return t
	}
	return stream
}
