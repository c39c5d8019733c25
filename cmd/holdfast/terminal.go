package main

import (
	"bufio"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// isTerminal reports whether a stream is one that a person looks at.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminal is this program with the terminal that it was started from for its
// streams, wherever standard output goes. A program without one (a service, most
// agents) gets none: nobody is there who could look or answer.
func (a *app) terminal() (t *app, leave func(), ok bool) {
	reads, writes := "/dev/tty", "/dev/tty"
	if runtime.GOOS == "windows" {
		reads, writes = "CONIN$", "CONOUT$"
	}
	in, err := os.OpenFile(reads, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, false
	}
	out, err := os.OpenFile(writes, os.O_RDWR, 0)
	if err != nil {
		in.Close()
		return nil, nil, false
	}
	on := *a
	on.in, on.out, on.err, on.json = in, out, out, false
	return &on, func() { in.Close(); out.Close() }, true
}

// looking is where a person sees what this program shows: standard output where
// that is a terminal, else the terminal t.
func (a *app) looking(t *app) *app {
	if isTerminal(a.out) && !a.json {
		return a
	}
	return t
}

// ask asks on the terminal; anything but yes is no.
func (a *app) ask(question string) error {
	a.printf("%s [y/N] ", question)
	line, _ := bufio.NewReader(a.in).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return fail(exitFailed, fault.Cancelled, "nothing was changed: you did not say yes", "")
}
