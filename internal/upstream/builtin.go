package upstream

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// typeBuiltin is the type of a server that is part of this program.
const typeBuiltin = "builtin"

// builtin is such a server while it runs.
type builtin struct {
	end  context.CancelFunc
	done chan struct{} // closed when err is set
	err  error
}

// builtinOf tells which builtin server a program is, and its arguments.
func (c *connection) builtinOf(p approval.Program) (name string, args []string, ok bool) {
	switch p.Type {
	case typeBuiltin:
		return p.Command, p.Args, true
	case "stdio":
		if len(p.Args) > 0 && c.server.pool.o.Builtins[p.Args[0]] != nil && isThisProgram(p) {
			return p.Args[0], p.Args[1:], true
		}
	}
	return "", nil, false
}

// isThisProgram reports whether a command leads to the file of this very program.
func isThisProgram(p approval.Program) bool {
	path, err := find(p.Command, p.Cwd, environment(p.Env, os.Environ(), runtime.GOOS))
	if err != nil {
		return false
	}
	own, err := os.Executable()
	if err != nil {
		return false
	}
	a, err := os.Stat(path)
	if err != nil {
		return false
	}
	b, err := os.Stat(own)
	return err == nil && os.SameFile(a, b)
}

// startBuiltin starts the server in this process, with a connection in memory. What it
// says goes to the server's log.
func (c *connection) startBuiltin(name string, args []string, p approval.Program) (wire.Conn, error) {
	serve := c.server.pool.o.Builtins[name]
	if serve == nil {
		return nil, fault.New(fault.BadInput, fmt.Sprintf("%s is to be the builtin server %q, and there is none of that name", c.server.name, name), "")
	}
	log, err := openLog(c.server.pool.o.LogDir, c.server.name, c.secrets)
	if err != nil {
		return nil, fault.Wrap(err, fault.Storage, fmt.Sprintf("the log of %s can't be opened", c.server.name), "Check that the data directory can be written.")
	}
	ctx, end := context.WithCancel(context.Background())
	b := &builtin{end: end, done: make(chan struct{})}
	c.builtin = b
	theirsIn, oursOut := io.Pipe()
	oursIn, theirsOut := io.Pipe()
	saidIn, saidOut := io.Pipe()
	var heard sync.WaitGroup
	heard.Go(func() { log.drain(saidIn) })
	theirs := wire.NewLineConn(theirsIn, theirsOut, closers{theirsIn, theirsOut}, 0, nil)
	start := BuiltinStart{Server: c.server.name, Args: args, Dir: p.Cwd, Env: p.Env, Stderr: saidOut}
	go func() {
		defer close(b.done)
		b.err = serve(ctx, start, theirs)
		_ = theirs.Close()
		_ = saidOut.Close()
		heard.Wait()
		log.close()
	}()
	return wire.NewLineConn(oursIn, oursOut, closers{oursIn, oursOut}, 0, nil), nil
}

// stop ends the server, and returns when nothing of it is left.
func (b *builtin) stop() {
	b.end()
	<-b.done
}

// why gives the error that the server ended with, if it did.
func (b *builtin) why() error {
	select {
	case <-b.done:
		return b.err
	case <-time.After(moment):
		return nil
	}
}

// closers closes both ends that one side holds.
type closers struct {
	in  *io.PipeReader
	out *io.PipeWriter
}

func (c closers) Close() error {
	_ = c.out.Close()
	return c.in.Close()
}
