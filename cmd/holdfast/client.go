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
	"strings"

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
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://holdfast"+path, body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
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
