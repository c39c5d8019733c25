package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"sync"
	"sync/atomic"
)

const (
	lineBuffer = 64 << 10 // bytes read at once; the size of a pipe on Linux
	keepBuffer = 1 << 20  // bytes of write buffer that are kept between messages
	headLength = 256      // bytes kept of the start and the end of a bad line
)

// lineConn has a goroutine that reads and one that writes, so that neither a peer
// that does not read nor one that does not write holds anybody longer than their
// context allows, and no message is written in part because a caller went away.
type lineConn struct {
	lines  lineReader
	w      io.Writer
	closer io.Closer
	bad    func(error) error

	in     chan Message
	out    chan *lineWrite
	lost   atomic.Pointer[func(id []byte, err error)]
	reread atomic.Pointer[func(raw, id []byte) bool]

	ending  sync.Once
	ended   chan struct{}
	err     error // why; set before ended is closed
	closing sync.Once
	closed  error
}

type lineWrite struct {
	raw  []byte
	done chan error
}

// NewLineConn frames messages as lines (stdio). A line over limit bytes (0:
// DefaultMaxMessage) or not a message is reported to bad, as a *LineError, and
// skipped when bad returns nil; else Receive fails with its error. A nil bad
// tolerates nothing. bad is called by the goroutine that reads. c may be nil; when
// closing it does not end a Read of r, that goroutine stays until the Read ends.
func NewLineConn(r io.Reader, w io.Writer, c io.Closer, limit int, bad func(error) error) Conn {
	if limit <= 0 {
		limit = DefaultMaxMessage
	}
	if bad == nil {
		bad = func(err error) error { return err }
	}
	l := &lineConn{
		lines: lineReader{bufio.NewReaderSize(r, lineBuffer), limit}, w: w, closer: c, bad: bad,
		in: make(chan Message), out: make(chan *lineWrite), ended: make(chan struct{}),
	}
	go l.read()
	go l.write()
	return l
}

func (l *lineConn) end(err error) {
	l.ending.Do(func() {
		l.err = err
		close(l.ended)
	})
}

func (l *lineConn) Close() error {
	l.end(ErrClosed)
	l.closing.Do(func() {
		if l.closer != nil {
			l.closed = l.closer.Close()
		}
	})
	return l.closed
}

func (l *lineConn) watch(lost func(id []byte, err error), reread func(raw, id []byte) bool, _ func()) {
	l.lost.Store(&lost)
	l.reread.Store(&reread)
}

func (l *lineConn) abandon([]byte)                             {}
func (l *lineConn) send(ctx context.Context, o outgoing) error { return l.Send(ctx, o.raw) }

// Send waits until the message is written, or ctx ends; a message that is being
// written then is still written whole.
func (l *lineConn) Send(ctx context.Context, message []byte) error {
	w := &lineWrite{message, make(chan error, 1)}
	select {
	case l.out <- w:
	case <-ctx.Done():
		return &notSent{ctx.Err()}
	case <-l.ended:
		return &notSent{l.err}
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ended:
		return l.err
	}
}

func (l *lineConn) write() {
	var line []byte
	for {
		select {
		case w := <-l.out:
			line = appendLine(line[:0], w.raw)
			_, err := l.w.Write(line)
			w.done <- err
			if err != nil {
				// What the peer still had to say may be in the pipe: reading goes on.
				l.refuseWrites(err)
				return
			}
			if cap(line) > keepBuffer {
				line = nil
			}
		case <-l.ended:
			return
		}
	}
}

func (l *lineConn) refuseWrites(err error) {
	for {
		select {
		case w := <-l.out:
			w.done <- &notSent{err}
		case <-l.ended:
			return
		}
	}
}

// appendLine frames a message. A line break in a message can only be white space
// between its tokens; a space is as good.
func appendLine(line, message []byte) []byte {
	line = append(line, message...)
	for _, c := range []byte("\n\r") {
		for at := 0; ; {
			i := bytes.IndexByte(line[at:], c)
			if i < 0 {
				break
			}
			at += i
			line[at] = ' '
		}
	}
	return append(line, '\n')
}

func (l *lineConn) Receive(ctx context.Context) (Message, error) {
	select {
	case m := <-l.in:
		return m, nil
	case <-ctx.Done():
		return Message{}, ctx.Err()
	case <-l.ended:
		return Message{}, l.err
	}
}

func (l *lineConn) read() {
	for {
		line, err := l.lines.next()
		var m Message
		if err == nil {
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			if m, err = Parse(line); err != nil {
				if again := l.reread.Load(); again != nil && (*again)(line, nil) {
					continue
				}
				err = l.garbled(line, nil, err)
			}
		} else if long, ok := errors.AsType[*tooLongLine](err); ok {
			err = l.garbled(long.head, long.tail, &TooLongError{l.lines.limit})
		}
		switch {
		case err != nil:
			l.end(err)
			return
		case m.Kind == Invalid:
			continue // tolerated
		}
		select {
		case l.in <- m:
		case <-l.ended:
			return
		}
	}
}

// garbled reports a line that is no message, and which of our requests it was to answer.
func (l *lineConn) garbled(head, tail []byte, err error) error {
	if tail == nil {
		tail = head
	}
	if lost := l.lost.Load(); lost != nil {
		if id := answered(head, tail); id != nil {
			(*lost)(id, err)
		}
	}
	return l.bad(&LineError{Head: bytes.Clone(head[:min(len(head), headLength)]), Err: err})
}

// A response that can't be read should end the call it was for, not leave it to
// its time limit. These find its id as implementations write it: before or after
// the result. The id is only looked up among our own requests.
var (
	idFirst = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,19})\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"`)
	})
	idLast = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`"id"\s*:\s*(\d{1,19})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
	})
	response = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"`)
	})
)

func answered(head, tail []byte) []byte {
	head, tail = head[:min(len(head), headLength)], tail[max(0, len(tail)-headLength):]
	if m := idFirst().FindSubmatch(head); m != nil {
		return m[1]
	}
	if m := idLast().FindSubmatch(tail); m != nil && response().Match(head) {
		return m[1]
	}
	return nil
}

// lineReader reads lines of limited length.
type lineReader struct {
	r     *bufio.Reader
	limit int // bytes of a line
}

type tooLongLine struct{ head, tail []byte }

func (*tooLongLine) Error() string { return "line too long" }

// next gives the next line, without its end, in bytes of its own. The last line
// need not be ended. A line over the limit is read past and given as a *tooLongLine.
func (l lineReader) next() ([]byte, error) {
	var line []byte
	for {
		chunk, err := l.r.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if size := len(line) + len(bytes.TrimRight(chunk, "\r\n")); size > l.limit {
			return nil, l.skip(append(line, chunk...), more)
		}
		switch {
		case more:
			line = append(line, chunk...)
		case err != nil && len(line)+len(chunk) == 0:
			return nil, err
		default: // the end of the input after a line is found again by the next call
			return append(line, chunk...), nil
		}
	}
}

func (l lineReader) skip(line []byte, more bool) error {
	long := &tooLongLine{head: bytes.Clone(line[:min(len(line), headLength)])}
	long.tail = lastBytes(nil, line)
	for more {
		chunk, err := l.r.ReadSlice('\n')
		more = errors.Is(err, bufio.ErrBufferFull)
		long.tail = lastBytes(long.tail, chunk)
	}
	return long
}

func lastBytes(tail, chunk []byte) []byte {
	tail = append(tail, chunk[max(0, len(chunk)-headLength):]...)
	return bytes.Clone(tail[max(0, len(tail)-headLength):])
}
