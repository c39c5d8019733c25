package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// client is one MCP session of the driver, safe for concurrent calls. It parses
// next to nothing, so that the driver takes little of what is measured.
type client interface {
	// call sends a request, or a notification when id is 0, and gives the whole answer.
	call(ctx context.Context, id int64, message []byte) ([]byte, error)
	close() error
}

// session is an initialized client.
type session struct {
	client
	last atomic.Int64 // id
}

// open initializes c.
func open(ctx context.Context, c client) (*session, error) {
	s := &session{client: c}
	b, err := s.request(ctx, "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}`)
	if err == nil && !bytes.Contains(b, []byte(`"protocolVersion"`)) {
		err = fmt.Errorf("initialize was answered with %.300s", b)
	}
	if err == nil {
		_, err = c.call(ctx, 0, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return s, nil
}

func (s *session) request(ctx context.Context, method, params string) ([]byte, error) {
	id := s.last.Add(1)
	b := make([]byte, 0, len(params)+96)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":"`...)
	b = append(b, method...)
	b = append(b, `","params":`...)
	b = append(b, params...)
	b = append(b, '}')
	return s.call(ctx, id, b)
}

// tool calls a tool and checks that the text comes back.
func (s *session) tool(ctx context.Context, name, text string) ([]byte, error) {
	b, err := s.request(ctx, "tools/call", `{"name":"`+name+`","arguments":{"text":"`+text+`"}}`)
	switch {
	case err != nil:
		return nil, err
	case bytes.Contains(b, []byte(`"isError":true`)), !bytes.Contains(b, []byte(`"result"`)):
		return nil, fmt.Errorf("%s was answered with %.300s", name, b)
	case !bytes.Contains(b, []byte(text)):
		return nil, fmt.Errorf("%s did not give the text back: %.300s", name, b)
	}
	return b, nil
}

// httpSession speaks streamable HTTP.
type httpSession struct {
	url    string
	client *http.Client
	header http.Header
}

func newHTTP(url, token string) *httpSession {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return &httpSession{url, httpClient(), h}
}

func (h *httpSession) call(ctx context.Context, id int64, message []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header = h.header
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := readBody(resp.Body, resp.ContentLength)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("HTTP %d: %.300s", resp.StatusCode, b)
	}
	if v := resp.Header.Get("Mcp-Session-Id"); v != "" && h.header.Get("Mcp-Session-Id") == "" {
		h.header = h.header.Clone() // the request in flight has the old one
		h.header.Set("Mcp-Session-Id", v)
		h.header.Set("Mcp-Protocol-Version", version)
	}
	if id == 0 || resp.Header.Get("Content-Type") == "application/json" {
		return b, nil
	}
	return lastEvent(b)
}

// lastEvent gives the data of the last server-sent event: the answer, which comes
// after whatever belongs to the call.
func lastEvent(b []byte) ([]byte, error) {
	_, after, ok := cutLast(b, []byte("data:"))
	if !ok {
		return nil, fmt.Errorf("an event stream without data: %.300s", b)
	}
	return bytes.TrimSpace(after), nil
}

func cutLast(b, sep []byte) (before, after []byte, ok bool) {
	i := bytes.LastIndex(b, sep)
	if i < 0 {
		return b, nil, false
	}
	return b[:i], b[i+len(sep):], true
}

func (h *httpSession) close() error {
	h.client.CloseIdleConnections()
	return nil
}

// stdioSession speaks to a child process.
type stdioSession struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	writing sync.Mutex
	waiting sync.Map // id to chan []byte
	ended   chan struct{}
}

// maxStop is how long a child may take to end after its input did.
const maxStop = 10 * time.Second

func newStdio(ctx context.Context, command ...string) (*stdioSession, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = maxStop
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &stdioSession{cmd: cmd, in: in, ended: make(chan struct{})}
	go s.read(out)
	return s, nil
}

func (s *stdioSession) read(out io.Reader) {
	defer close(s.ended)
	lines := bufio.NewReaderSize(out, lineBuffer)
	for {
		line, err := readLine(lines)
		if err != nil {
			return
		}
		if c, ok := s.waiting.LoadAndDelete(answerID(line)); ok {
			c.(chan []byte) <- bytes.Clone(line)
		}
	}
}

// answerID is the id of an answer, 0 when it has none. It stands near the start
// or the end in everything that is measured here; else the message is read.
func answerID(line []byte) int64 {
	const near = 80
	if len(line) > 2*near {
		for _, part := range [][]byte{line[:near], line[len(line)-near:]} {
			if id := answerID(part); id != 0 {
				return id
			}
		}
		var m struct {
			ID int64 `json:"id"`
		}
		_ = json.Unmarshal(line, &m) // a message of another kind has no number
		return m.ID
	}
	_, after, ok := bytes.Cut(line, []byte(`"id":`))
	if !ok {
		return 0
	}
	var id int64
	for _, c := range bytes.TrimLeft(after, " ") {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + int64(c-'0')
	}
	return id
}

func (s *stdioSession) call(ctx context.Context, id int64, message []byte) ([]byte, error) {
	answer := make(chan []byte, 1)
	if id != 0 {
		s.waiting.Store(id, answer)
	}
	s.writing.Lock()
	_, err := s.in.Write(append(message, '\n'))
	s.writing.Unlock()
	if err != nil || id == 0 {
		return nil, err
	}
	select {
	case b := <-answer:
		return b, nil
	case <-s.ended:
		return nil, errors.New("the process ended")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *stdioSession) close() error {
	_ = s.in.Close() // its sign to end
	select {
	case <-s.ended:
	case <-time.After(maxStop):
		_ = s.cmd.Process.Kill()
	}
	return s.cmd.Wait()
}
