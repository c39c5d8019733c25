package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/gateway"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

// A connection to the socket is handed over by one request (RFC 9110 section 7.8):
// from its answer on it carries one agent's messages as lines, both ways. The answer
// says how long a message may be.
const (
	agentPath     = "/agent" // ?server=NAME for the server's own face
	agentProtocol = "holdfast-lines"
	limitHeader   = "Holdfast-Message-Limit" // bytes
	joinTime      = 10 * time.Second         // for the daemon to answer
)

// joined are the agents on connections that were handed over.
type joined struct {
	gateway *gateway.Gateway
	limit   int // bytes of a message
	most    int // connections
	ctx     context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup

	mu       sync.Mutex
	conns    map[*net.UnixConn]struct{}
	draining bool
}

func newJoined(g *gateway.Gateway, limit int) *joined {
	if limit <= 0 {
		limit = wire.DefaultMaxMessage
	}
	j := &joined{gateway: g, limit: limit, most: connections(), conns: map[*net.UnixConn]struct{}{}}
	j.ctx, j.stop = context.WithCancel(context.Background())
	return j
}

// ServeHTTP takes the connection of a request over the socket, and serves the agent
// on it as the local user.
func (j *joined) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	server := r.URL.Query().Get("server")
	switch {
	case r.Method != http.MethodPost || !strings.EqualFold(r.Header.Get("Upgrade"), agentProtocol):
		w.Header().Set("Upgrade", agentProtocol)
		refuseAgent(w, http.StatusUpgradeRequired, fault.BadInput, "agents join here with POST and Upgrade: "+agentProtocol, "start one with: holdfast stdio")
		return
	case server != "" && !approval.ValidName(server):
		refuseAgent(w, http.StatusBadRequest, fault.BadInput, "that can't be the name of a server", "see the servers with: holdfast server list")
		return
	}
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuseAgent(w, http.StatusInternalServerError, fault.Internal, "the connection can't be handed over: "+plain(err), "")
		return
	}
	defer c.Close()
	conn := socketOf(c)
	if problem := j.enter(conn); problem != "" {
		fmt.Fprintf(c, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/problem+json\r\n\r\n%s", problemOf(http.StatusServiceUnavailable, fault.Unavailable, problem, "try again later"))
		return
	}
	defer j.leave(conn)
	if _, err := fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %d\r\n\r\n", agentProtocol, limitHeader, j.limit); err != nil {
		return
	}
	lines := wire.NewAgentConn(rest(buffered.Reader, conn), conn, conn, j.limit, func(error) error { return nil })
	_ = j.gateway.ServeConn(j.ctx, lines, server, j.linger) // how an agent left is no news
}

// socketOf gives the connection itself: what stands around it hides what it can do.
func socketOf(c net.Conn) *net.UnixConn {
	if k, ok := c.(*knownConn); ok {
		c = k.Conn
	}
	u, _ := c.(*net.UnixConn)
	return u
}

// rest reads what was read ahead of the connection, and then the connection.
func rest(ahead *bufio.Reader, c io.Reader) io.Reader {
	if n := ahead.Buffered(); n > 0 {
		return io.MultiReader(io.LimitReader(ahead, int64(n)), c)
	}
	return c
}

func (j *joined) enter(c *net.UnixConn) (problem string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case c == nil:
		return "agents join over the socket alone"
	case j.draining:
		return "Holdfast is ending"
	case len(j.conns) >= j.most:
		return "as many agents are joined as there may be"
	}
	j.conns[c] = struct{}{}
	j.work.Add(1)
	return ""
}

func (j *joined) leave(c *net.UnixConn) {
	j.mu.Lock()
	delete(j.conns, c)
	j.mu.Unlock()
	_ = c.Close() // who waits for the end of all waits for this too
	j.work.Done()
}

// linger is how long the calls of an agent may go on whose connection gives no more.
// The other side ends it when all is answered or nobody waits any more; while
// Holdfast ends it is we who read no more.
func (j *joined) linger() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.draining {
		return grace
	}
	return 0
}

// drain takes no more agents and no more requests of those that are there. What they
// asked is answered.
func (j *joined) drain() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.draining = true
	for c := range j.conns {
		_ = c.CloseRead()
	}
}

// end waits for the last answers as long as ctx, and then ends what is left.
func (j *joined) end(ctx context.Context) {
	within(ctx, j.work.Wait)
	j.stop()
	brief, enough := context.WithTimeout(context.Background(), time.Second)
	defer enough()
	within(brief, j.work.Wait)
}

func refuseAgent(w http.ResponseWriter, status int, kind fault.Kind, what, hint string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(problemOf(status, kind, what, hint))
}

func problemOf(status int, kind fault.Kind, what, hint string) []byte {
	b, _ := json.Marshal(admin.Problem{
		Type: "urn:holdfast:" + string(kind), Title: http.StatusText(status), Status: status, Code: string(kind), Detail: what, Hint: hint,
	})
	return b
}

// joint is a connection that the daemon took over.
type joint struct {
	conn  wire.Conn
	limit int // bytes of a message that it takes
}

// join has the daemon on a socket take one connection over.
func join(ctx context.Context, socket, server string) (*joint, error) {
	away := func() error {
		return fail(exitFailed, fault.Unavailable, "the daemon went away before it answered, or refused this user",
			"`holdfast status` shows whether it runs; its log says more")
	}
	c, err := (&net.Dialer{Timeout: joinTime}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, away()
	}
	_ = c.SetDeadline(time.Now().Add(joinTime))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+agentPath+"?server="+url.QueryEscape(server), nil)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", agentProtocol)
	ahead := bufio.NewReader(c)
	err = req.Write(c)
	var res *http.Response
	if err == nil {
		res, err = http.ReadResponse(ahead, req)
	}
	if err != nil {
		_ = c.Close()
		return nil, away()
	}
	limit, err := strconv.Atoi(res.Header.Get(limitHeader))
	if res.StatusCode != http.StatusSwitchingProtocols || err != nil {
		defer c.Close()
		return nil, notJoined(res)
	}
	_ = c.SetDeadline(time.Time{})
	// What the daemon sends was measured where it came in.
	return &joint{wire.NewLineConn(rest(ahead, c), c, c, maxAnswer, nil), limit}, nil
}

// maxAnswer is more than any message has that the daemon passes on; bytes.
const maxAnswer = 1 << 30

// notJoined says why the daemon took no agent.
func notJoined(res *http.Response) error {
	defer res.Body.Close()
	f := &failure{exit: exitFailed}
	err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&f.Problem)
	if res.StatusCode != http.StatusServiceUnavailable || err != nil || f.Detail == "" {
		return fail(exitFailed, fault.Unavailable, "the Holdfast that runs on this data directory takes no agents from this one: it is of another version", "end it and start it again")
	}
	return f
}
