package workspace

import (
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"
)

const (
	maxShown  = 30_000                 // characters of an output that are shown
	inMemory  = maxShown * utf8.UTFMax // bytes that are held before a file is made
	shownPart = maxShown / 2           // characters of the head, and of the tail
	partBytes = shownPart * utf8.UTFMax
)

// capture takes what a command prints: up to inMemory bytes in memory, then all of it in
// a file, up to maxOutput. It keeps reading whatever comes, so that a command never
// waits for it. Safe for concurrent use.
type capture struct {
	outputs *outputs

	mu    sync.Mutex
	head  []byte   // all of it while there is no file
	tail  []byte   // the last bytes that came, at most partBytes
	file  *os.File // nil: not made yet, or closed
	path  string   // of the file; empty: there is none
	ended bool     // nothing more is taken
	size  int64    // bytes that are kept
	total int64    // bytes that came
	fault error    // why the file has not all of it
}

// from reads r to its end.
func (c *capture) from(r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			c.add(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (c *capture) add(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.total += int64(len(b))
	c.tail = append(c.tail, b...)
	if over := len(c.tail) - partBytes; over > partBytes {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	if c.file == nil && c.fault == nil {
		if len(c.head)+len(b) <= inMemory {
			c.head = append(c.head, b...)
			c.size = int64(len(c.head))
			return
		}
		if c.file, c.path, c.fault = c.outputs.create(); c.fault == nil {
			_, c.fault = c.file.Write(c.head)
		}
	}
	if room := maxOutput - c.size; c.fault == nil && room > 0 {
		if int64(len(b)) > room {
			b = b[:room]
		}
		n, err := c.file.Write(b)
		c.size += int64(n)
		c.fault = err
	}
}

// shown is an output as it is shown.
type shown struct {
	text      string
	truncated bool
	file      string // with the whole output; empty when all of it is shown
}

// since shows what came after the first so many bytes, and gives how many came.
func (c *capture) since(from int64) (shown, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole := c.read(from, c.size-from)
	if c.fault == nil && c.size == c.total && utf8.RuneCount(whole) <= maxShown {
		return shown{text: string(whole)}, c.total
	}
	head := first(whole, shownPart)
	tail := last(c.tail[max(0, len(c.tail)-int(min(int64(len(c.tail)), c.total-from))):], shownPart)
	s := shown{truncated: true, file: c.path}
	left := max(0, c.total-from-int64(len(head)+len(tail)))
	where := "it was not kept"
	switch {
	case c.fault != nil:
		where = "it could not be kept: " + plain(c.fault)
		s.file = ""
	case c.path != "" && c.size < c.total:
		where = fmt.Sprintf("the first %d bytes of all are in %s", c.size, c.path)
	case c.path != "":
		where = "the whole is in " + c.path
	}
	s.text = fmt.Sprintf("%s\n\n... (%d bytes are left out here; %s) ...\n\n%s", head, left, where, tail)
	return s, c.total
}

// read gives what is kept from a place on; of much only the head. mu is held.
func (c *capture) read(from, size int64) []byte {
	if size <= 0 {
		return nil
	}
	if c.path == "" {
		return c.head[min(from, int64(len(c.head))):]
	}
	file := c.file
	if file == nil {
		at, err := c.outputs.find(c.path)
		if err != nil {
			return nil
		}
		defer at.Close()
		if file, _, err = at.openRegular(); err != nil {
			return nil
		}
		defer file.Close()
	}
	b := make([]byte, min(size, inMemory+utf8.UTFMax))
	n, _ := file.ReadAt(b, from)
	return b[:n]
}

// needed makes sure, when a command has ended, that there is a file with an output that
// is not shown whole. It closes the file: of what ended no descriptor is kept.
func (c *capture) needed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	defer func() {
		if c.file != nil {
			_ = c.file.Close()
			c.file = nil
		}
	}()
	if c.file != nil || c.fault != nil || utf8.RuneCount(c.head) <= maxShown {
		return
	}
	if c.file, c.path, c.fault = c.outputs.create(); c.fault == nil {
		_, c.fault = c.file.Write(c.head)
	}
}

// first gives the first n characters of b.
func first(b []byte, n int) []byte {
	end := 0
	for ; n > 0 && end < len(b); n-- {
		_, size := utf8.DecodeRune(b[end:])
		end += size
	}
	return b[:end]
}

// last gives the last n characters of b.
func last(b []byte, n int) []byte {
	start := len(b)
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRune(b[:start])
		start -= size
	}
	return b[start:]
}
