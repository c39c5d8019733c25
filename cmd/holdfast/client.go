package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/admin"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// client talks to the daemon of one data directory over its socket.
type client struct {
	socket string
	hint   string // how to start the daemon
	http   *http.Client
}

func newClient(socket, hint string) *client {
	return &client{socket: socket, hint: hint, http: &http.Client{Transport: socketTransport(socket)}}
}

func socketTransport(socket string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
		DisableCompression: true,
	}
}

// client gives the client for the data directory in force.
func (a *app) client() (*client, error) {
	dir, err := a.dataDirectory()
	if err != nil {
		return nil, err
	}
	return newClient(socketPath(dir), a.startHint()), nil
}

// do sends one request. in is the JSON body, or nil; out takes the answer, or nil.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	res, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return c.broken(ctx, err)
	}
	return nil
}

func (c *client) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
	}
	res, err := c.attempt(ctx, method, path, body)
	for began := time.Now(); notThere(err) && c.starting(began); {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		res, err = c.attempt(ctx, method, path, body)
	}
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	if res.StatusCode < 400 {
		return res, nil
	}
	defer res.Body.Close()
	f := &failure{exit: exitFailed}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&f.Problem); err != nil || f.Detail == "" {
		return nil, fail(exitFailed, fault.Internal, fmt.Sprintf("the daemon answered with HTTP status %d and no explanation", res.StatusCode), "")
	}
	f.Problem = inOwnWords(f.Problem)
	return nil, f
}

func (c *client) attempt(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://holdfast"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.http.Do(req)
}

// notThere reports whether nobody listened, so that nothing was asked yet.
func notThere(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && !errors.Is(err, os.ErrPermission)
}

// How long a daemon that does not listen is waited for.
const (
	startGrace = 500 * time.Millisecond // one that may have been started just now
	startWait  = 5 * time.Second        // one that runs, and opens its store
)

// starting reports whether it is worth to go on waiting: a command after
// "holdfast serve &" is to find the daemon.
func (c *client) starting(began time.Time) bool {
	waited := time.Since(began)
	if waited < startGrace {
		return true
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(c.socket), lockName))
	if err != nil || waited > startWait {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	return err == nil && alive(pid)
}

// alive reports whether a process has the id; it may be another one by now.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission) || runtime.GOOS == "windows" && !errors.Is(err, os.ErrProcessDone)
}

// inOwnWords takes places in a request out of what the daemon says about one: who
// typed a command did not write the request.
func inOwnWords(p admin.Problem) admin.Problem {
	if len(p.Errors) == 0 {
		return p
	}
	first := p.Errors[0]
	name := strings.TrimRight(strings.ReplaceAll(first.Location[strings.LastIndex(first.Location, ".")+1:], "_", " "), "[]0123456789")
	p.Detail = "the daemon does not take this: " + strings.TrimPrefix(name+": ", ": ") + first.Message
	p.Hint = "the command with --help says what it takes"
	p.Errors = nil
	return p
}

// broken says why there is no answer: no daemon, somebody else's, or a lost one.
func (c *client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		if errors.Is(err, os.ErrPermission) {
			return fail(exitFailed, fault.Forbidden, "the Holdfast on this data directory belongs to another user", "run the command as its user, or as root")
		}
		return fail(exitNoDaemon, fault.Unavailable, "no Holdfast is running on "+strings.TrimSuffix(c.socket, "/"+socketName), c.hint)
	}
	return fail(exitFailed, fault.Unavailable, "the daemon went away before it answered, or refused this user",
		"`holdfast status` shows whether it runs; its log says more")
}

// all reads every page of a list.
func all[T any](ctx context.Context, c *client, path string, q url.Values) ([]T, error) {
	items := []T{}
	if q == nil {
		q = url.Values{}
	}
	q.Set("limit", "500")
	for {
		var p admin.Page[T]
		if err := c.do(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &p); err != nil {
			return nil, err
		}
		items = append(items, p.Items...)
		if p.NextCursor == "" {
			return items, nil
		}
		q.Set("cursor", p.NextCursor)
	}
}

// list is the shape of every list with --json.
type list[T any] struct {
	Items []T `json:"items"`
}

// segment encodes a name so that it stays one part of a path, dots included.
func segment(name string) string { return strings.ReplaceAll(url.PathEscape(name), ".", "%2E") }

func serverPath(name string) string { return "/api/v1/servers/" + segment(name) }

func toolPath(t toolName) string {
	return serverPath(t.server) + "/tools/" + segment(t.name)
}
