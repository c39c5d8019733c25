package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

const (
	maxJunk      = 1000                   // lines of a program that are no messages, before it answered initialize
	lastMessages = 300 * time.Millisecond // to read what a program wrote before it ended
)

// connection is one session with a server, and its process if it has one.
type connection struct {
	server  *server
	state   State // but for the phase
	secrets *scrubber
	process *process // nil over HTTP, and for a builtin server
	builtin *builtin // nil for any other
	session *wire.Session
	tools   bool          // the server says that it has tools
	gone    chan struct{} // closed when the session ended
	listing chan struct{} // one place: listings of one connection follow each other

	mu       sync.Mutex
	cause    error     // why it is gone
	changes  uint64    // that the server announced
	verified time.Time // of the last complete listing; zero once a change was announced
	held     map[held]contract.Digest
	junk     int
}

// held names one thing of the last complete listing.
type held struct {
	kind approval.Kind
	name string
}

// connect starts the program or dials the server, and initializes the session.
func (s *server) connect(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, s.pool.timing.initialize)
	defer cancel()
	c := &connection{
		server: s, secrets: &scrubber{}, gone: make(chan struct{}), listing: make(chan struct{}, 1),
		held: map[held]contract.Digest{},
	}
	s.mu.Lock()
	program := s.spec.Program
	s.mu.Unlock()
	conn, err := c.dial(program)
	if err != nil {
		return nil, err
	}
	session, info, err := wire.Connect(ctx, conn, wire.ClientInfo{Name: "holdfast", Version: s.pool.o.Version}, wire.Handlers{
		Notify: c.notified,
		Gap:    c.announced,
		Report: func(err error) { s.pool.o.Log.Warn("server breaks the protocol", "server", s.name, "error", err) },
		Closed: c.closed,
	})
	if err != nil {
		err = c.explainStart(ctx, err)
		c.stop()
		return nil, err
	}
	c.session = session
	c.describe(info)
	return c, nil
}

// dial gives the connection of a program that it starts, or to a URL.
func (c *connection) dial(program approval.Program) (wire.Conn, error) {
	p, err := expand(program, c.server.pool.o.Expand, c.secrets)
	if err != nil {
		return nil, err
	}
	if p.Isolation != "" && p.Isolation != "none" {
		return nil, fault.New(fault.BadInput, fmt.Sprintf("%s asks for the isolation %q, which this version can't give", c.server.name, p.Isolation), "")
	}
	if name, args, ok := c.builtinOf(p); ok {
		return c.startBuiltin(name, args, p)
	}
	switch p.Type {
	case "stdio":
		if c.process, err = c.start(p); err != nil {
			return nil, err
		}
		c.state.PID = c.process.pid
		conn := wire.NewLineConn(c.process.stdout, c.process.stdin, c.process.stdin, 0, c.junkLine)
		c.process.reading.Go(func() { c.endWithProgram(conn) })
		return conn, nil
	case "http":
		conn, err := wire.HTTPClient{URL: p.URL, Header: headers(p.Headers)}.Dial(context.Background())
		if err != nil {
			return nil, fault.Wrap(err, fault.BadInput, fmt.Sprintf("%s can't be connected to: %v", c.server.name, err), "Check the server's url.")
		}
		return conn, nil
	}
	return nil, fault.New(fault.BadInput, fmt.Sprintf("%s has the type %q, which is neither \"stdio\" nor \"http\"", c.server.name, p.Type), "")
}

// endWithProgram ends the session when the program has ended, also when something
// that it left behind holds its stdout open.
func (c *connection) endWithProgram(conn wire.Conn) {
	<-c.process.exited
	select {
	case <-c.gone:
	case <-time.After(lastMessages):
		conn.Close()
	}
}

// describe takes what the server says of itself. It may be what we said to it: a
// server that echoes its key as its name must not have it shown. The protocol version
// is one of those that we know.
func (c *connection) describe(info wire.ServerInfo) {
	c.state.ProtocolVersion = info.ProtocolVersion
	c.state.ServerName = c.secrets.oneLine(textAt(info.Result, "serverInfo", "name"), maxName)
	c.state.ServerVersion = c.secrets.oneLine(textAt(info.Result, "serverInfo", "version"), maxName)
	_, c.tools = wire.Find(info.Result, "capabilities", "tools")
}

func textAt(obj []byte, path ...string) string {
	s, ok := wire.Find(obj, path...)
	if !ok {
		return ""
	}
	text, _ := wire.Text(obj[s.Start:s.End])
	return text
}

// junkLine is told of a line on stdout that is no message. Programs print
// greetings there: that is tolerated and said once. One that prints a thousand
// lines and no answer to initialize is no MCP server.
func (c *connection) junkLine(err error) error {
	c.mu.Lock()
	c.junk++
	n := c.junk
	c.mu.Unlock()
	if line, ok := errors.AsType[*wire.LineError](err); ok {
		c.process.log.add("stdout: "+string(line.Head), true)
	}
	if n == 1 {
		c.server.pool.o.Log.Warn("server writes to stdout what is no MCP message; it is skipped, and said once", "server", c.server.name, "error", err)
	}
	if n > maxJunk && c.server.now() != c {
		return err
	}
	return nil
}

func (c *connection) notified(m wire.Message) {
	if m.Method == "notifications/tools/list_changed" {
		c.announced()
	}
}

// announced marks the tools as unverified: the server changed them, or may have
// said so unheard.
func (c *connection) announced() {
	c.mu.Lock()
	c.changes++
	c.verified = time.Time{}
	c.mu.Unlock()
	c.server.unverified()
}

func (c *connection) verifiedAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.verified
}

// closed is told by the session that it ended.
func (c *connection) closed(err error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = err
	}
	c.mu.Unlock()
	close(c.gone)
}

// drop ends a connection that is of no use any more; the server then makes another.
func (c *connection) drop(err error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = err
	}
	c.mu.Unlock()
	go c.session.Close() // it waits for handlers, of which one may be the caller
}

// why says why the connection ended.
func (c *connection) why() error {
	c.mu.Lock()
	err := c.cause
	c.mu.Unlock()
	name := c.server.name
	if c.process != nil && (errors.Is(err, io.EOF) || errors.Is(err, wire.ErrClosed)) {
		if how, ok := c.process.ended(); ok {
			return fault.Wrap(c.lastWords(err), fault.Upstream, fmt.Sprintf("the program of %s ended (%s)", name, how), "See the server's log for what it wrote.")
		}
		return fault.Wrap(c.lastWords(err), fault.Upstream, name+" closed its standard output", "See the server's log for what it wrote.")
	}
	if c.builtin != nil {
		if why := c.builtin.why(); why != nil {
			return why
		}
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	reason, err := c.secrets.cause(err)
	return fault.Wrap(err, fault.Upstream, fmt.Sprintf("the connection to %s ended%s", name, reason), "")
}

// stop ends the session and the process group, and waits for it.
func (c *connection) stop() {
	if c.session != nil {
		c.session.Close()
	}
	if c.process != nil {
		c.process.stop()
	}
	if c.builtin != nil {
		c.builtin.stop()
	}
}
