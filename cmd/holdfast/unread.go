package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// untilNobodyReads ends ctx when what is printed is read by nobody any more, as
// after "| head": a process that is killed by that cleans nothing up.
func (a *app) untilNobodyReads(ctx context.Context) (context.Context, func()) {
	broken := make(chan os.Signal, 1) // asked for, it does not kill; the write fails instead
	signal.Notify(broken, syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(ctx)
	a.out = &readOut{a.out, cancel}
	return ctx, func() { signal.Stop(broken); cancel() }
}

type readOut struct {
	io.Writer
	gone func()
}

func (w *readOut) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if err != nil {
		w.gone()
	}
	return n, err
}
