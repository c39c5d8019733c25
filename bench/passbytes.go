package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// envelope reads one JSON-RPC message in one strict pass: what a gateway that
// looks at its traffic has to do at the least.
func envelope(message []byte) (method string, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(message))
	if d.PeekKind() != '{' {
		return "", errors.New("a message is one JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return "", err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return "", err
		}
		if name.String() != "method" {
			if err := d.SkipValue(); err != nil {
				return "", err
			}
			continue
		}
		v, err := d.ReadToken()
		if err != nil {
			return "", err
		}
		method = v.String()
	}
	_, err = d.ReadToken()
	return method, err
}

// passBytes is the floor of every gateway that reads what it forwards: it reads
// each envelope once and passes on the bytes that came.
func passBytes(ctx context.Context, f partFlags) error {
	switch {
	case f.http != "" && f.url != "":
		return serve(ctx, f.http, passHTTP{f.url, httpClient()})
	case f.http == "" && f.url == "":
		return passStdio(ctx, f.command)
	}
	return errors.New("bytes passes HTTP on to HTTP, and stdio to stdio")
}

type passHTTP struct {
	url    string
	client *http.Client
}

// passed are the headers that MCP's streamable HTTP needs to come through.
var passed = []string{"Content-Type", "Accept", "Mcp-Session-Id", "Mcp-Protocol-Version"}

func (p passHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := p.pass(w, r); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

func (p passHTTP) pass(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(r.Body, r.ContentLength)
	if err != nil {
		return err
	}
	if r.Method == http.MethodPost {
		if _, err := envelope(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	copyHeader(req.Header, r.Header)
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := readBody(resp.Body, resp.ContentLength)
	if err != nil {
		return err
	}
	if len(answer) > 0 && resp.Header.Get("Content-Type") == "application/json" {
		if _, err := envelope(answer); err != nil {
			return err
		}
	}
	copyHeader(w.Header(), resp.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer) // the caller is gone: nobody is left to tell
	return nil
}

func copyHeader(to, from http.Header) {
	for _, name := range passed {
		if v := from.Get(name); v != "" {
			to.Set(name, v)
		}
	}
}

// readBody reads all of it, into one buffer when its size is known.
func readBody(r io.Reader, size int64) ([]byte, error) {
	if size < 0 {
		return io.ReadAll(r)
	}
	b := make([]byte, size)
	_, err := io.ReadFull(r, b)
	return b, err
}

// passStdio stands between its own standard streams and those of a command.
func passStdio(ctx context.Context, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	here, there := stdio()
	done := make(chan error, 1)
	go func() { done <- passLines(there, out) }()
	err = passLines(in, here)
	_ = in.Close() // the command's sign to end
	if e := <-done; err == nil {
		err = e
	}
	if e := cmd.Wait(); err == nil {
		err = e
	}
	return err
}

func passLines(to io.Writer, from io.Reader) error {
	lines := bufio.NewReaderSize(from, lineBuffer)
	for {
		line, err := readLine(lines)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := envelope(line); err != nil {
			return err
		}
		if _, err := to.Write(line); err != nil {
			return err
		}
	}
}

// lineBuffer holds the longest message of a run, so that it is read in one piece.
const lineBuffer = 256 << 10

// readLine gives the next line with its end; it is valid until the next one.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	long := bytes.Clone(line)
	rest, err := r.ReadBytes('\n')
	return append(long, rest...), err
}
