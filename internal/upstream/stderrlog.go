package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Limits of what is kept of a program's stderr.
const (
	maxLogFile = 1 << 20   // bytes of a file; there are two for each server
	maxLogLine = 4 << 10   // bytes of a line
	maxLogRate = 256 << 10 // bytes written in a second; what is more is counted and dropped
)

// stderrLog takes what a program writes to stderr, whatever and however much: it
// never makes the program wait for a disk that is full or slow to rotate, and never
// takes more than two files of room. Lines are stored with their time, without
// secrets and control characters. Safe for concurrent use.
type stderrLog struct {
	path    string
	secrets *scrubber

	mu      sync.Mutex
	file    *os.File // nil when it can't be written
	size    int64
	last    string    // the last line that says something, as it came
	second  time.Time // begin of the second that budget is of
	budget  int
	dropped int // bytes, since the last line that was written
}

var logName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`) })

// logPath gives the file of a server's log; a name can't lead elsewhere.
func logPath(dir, server string) (string, error) {
	if !logName().MatchString(server) || len(server) > 200 {
		return "", fault.New(fault.BadInput, "that is no name of a server", "")
	}
	return filepath.Join(dir, server+".log"), nil
}

func openLog(dir, server string, secrets *scrubber) (*stderrLog, error) {
	path, err := logPath(dir, server)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := &stderrLog{path: path, secrets: secrets}
	return l, l.open()
}

func (l *stderrLog) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return nil
}

// drain reads r to its end.
func (l *stderrLog) drain(r io.Reader) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		limit := maxLogLine + l.secrets.longest()
		line, err := readLine(in, limit)
		if len(line) > 0 {
			l.add(string(line), len(line) >= limit)
		}
		if err != nil {
			return
		}
	}
}

// readLine gives the next line, or its first limit bytes; the rest is read past.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		chunk, err := in.ReadSlice('\n')
		if room := limit - len(line); room > 0 {
			line = append(line, chunk[:min(len(chunk), room)]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// add writes a line; cut says that it may have gone on, in the middle of a secret.
func (l *stderrLog) add(line string, cut bool) {
	if strings.TrimSpace(line) == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if cut {
		line = l.secrets.withoutEnd(line)
	}
	l.last = line
	now := time.Now()
	if now.Sub(l.second) >= time.Second {
		l.second, l.budget = now, maxLogRate
	}
	if l.budget -= len(line); l.budget < 0 {
		l.dropped += len(line)
		return
	}
	l.write(now, l.secrets.visible(line, maxLogLine))
}

// say writes a line of Holdfast's own.
func (l *stderrLog) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(time.Now(), "holdfast: "+text)
}

// write appends a line, in a new file when this one is full. A disk that fails
// costs the log, not the server.
func (l *stderrLog) write(now time.Time, line string) {
	if n := l.dropped; n > 0 {
		l.dropped = 0
		l.write(now, fmt.Sprintf("holdfast: %d bytes were not kept: more than %d in a second", n, maxLogRate))
	}
	entry := now.UTC().Format("2006-01-02T15:04:05.000Z") + " " + line + "\n"
	if l.size+int64(len(entry)) > maxLogFile && l.file != nil {
		l.file.Close()
		l.file = nil
		_ = os.Rename(l.path, l.path+".1")
		if l.open() != nil {
			return
		}
		if l.size > maxLogFile { // it could not be moved away
			_ = l.file.Truncate(0)
			l.size = 0
		}
	}
	if l.file != nil {
		n, _ := l.file.WriteString(entry)
		l.size += int64(n)
	}
}

// lastWords is the last line of the program, cut for an error.
func (l *stderrLog) lastWords() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.secrets.oneLine(l.last, maxWords)
}

func (l *stderrLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// tail gives the last n lines of a server's log, over both files.
func tail(dir, server string, n int) ([]string, error) {
	path, err := logPath(dir, server)
	if err != nil {
		return nil, err
	}
	var lines []string
	found := false
	for _, p := range []string{path + ".1", path} {
		text, err := os.ReadFile(p)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.Storage, fmt.Sprintf("the log of %s can't be read", server), "Check the permissions of the data directory.")
		}
		found = true
		lines = append(lines, strings.Split(strings.TrimRight(string(text), "\n"), "\n")...)
	}
	if !found {
		return nil, fault.New(fault.NotFound, fmt.Sprintf("there is no log of %s", server), "Only programs that Holdfast starts have one, from their first start on.")
	}
	return lines[max(0, len(lines)-max(n, 0)):], nil
}
