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

// lineConn reads in the goroutine of whoever takes the messages, or in one of its
// own for Receive, and writes in the goroutine of whoever sends, as far as that does
// not wait. What does not fit into the pipe now a goroutine writes, so that a peer
// that does not read holds nobody longer than their context allows, and no message is
// written in part because a caller went away.
type lineConn struct {
	lines  lineReader
	w      io.Writer
	now    func([]byte) (int, error) // writes what can be written without waiting; nil: nothing can
	closer io.Closer
	bad    func(error) error
	serves bool // an agent's: it is answered what it can't know to be no message, also after it ended its side

	turn   chan struct{} // has room for one: whoever may write, and what is theirs
	line   []byte
	broken error // why nothing more is written

	in       chan Message
	reading  sync.Once
	readOver chan struct{}
	readErr  error // why; set before readOver is closed
	lost     atomic.Pointer[func(id []byte, err error)]
	reread   atomic.Pointer[func(raw, id []byte) bool]

	ending  sync.Once
	ended   chan struct{}
	err     error // why; set before ended is closed
	closing sync.Once
	closed  error
}

// NewLineConn frames messages as lines (stdio). A line over limit bytes (0:
// DefaultMaxMessage) or not a message is reported to bad, as a *LineError, and
// skipped when bad returns nil; else Receive fails with its error. A nil bad
// tolerates nothing. bad is called by the goroutine that reads. c may be nil; when
// closing it does not end a Read of r, that goroutine stays until the Read ends.
func NewLineConn(r io.Reader, w io.Writer, c io.Closer, limit int, bad func(error) error) Conn {
	return newLineConn(r, w, c, limit, bad)
}

// NewAgentConn is NewLineConn for the side that serves: the agent is answered a line
// that is no message, for it waits, and the end of r does not end writing.
func NewAgentConn(r io.Reader, w io.Writer, c io.Closer, limit int, bad func(error) error) Conn {
	l := newLineConn(r, w, c, limit, bad)
	l.serves = true
	return l
}

func newLineConn(r io.Reader, w io.Writer, c io.Closer, limit int, bad func(error) error) *lineConn {
	if limit <= 0 {
		limit = DefaultMaxMessage
	}
	if bad == nil {
		bad = func(err error) error { return err }
	}
	return &lineConn{
		lines: lineReader{bufio.NewReaderSize(r, lineBuffer), limit}, w: w, now: writesNow(w), closer: c, bad: bad,
		turn: make(chan struct{}, 1), in: make(chan Message), readOver: make(chan struct{}), ended: make(chan struct{}),
	}
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
	if err := l.take(ctx); err != nil {
		return err
	}
	rest, err := l.begin(message)
	if err != nil || len(rest) == 0 {
		l.give()
		return err
	}
	done := make(chan error, 1)
	go func() { done <- l.finish(rest) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ended:
		return l.err
	}
}

// sendNow sends a message without waiting, or gives false and sends nothing of it.
func (l *lineConn) sendNow(message []byte) bool {
	if l.now == nil {
		return false
	}
	select {
	case l.turn <- struct{}{}:
	default:
		return false
	}
	rest, err := l.begin(message)
	if err != nil || len(rest) == len(message)+1 {
		l.give()
		return false
	}
	if len(rest) == 0 {
		l.give()
	} else {
		go func() { _ = l.finish(rest) }() // who writes next is told of an error
	}
	return true
}

// flush waits until what was begun is written, or ctx ends.
func (l *lineConn) flush(ctx context.Context) {
	if l.take(ctx) == nil {
		l.give()
	}
}

// take waits for the turn to write.
func (l *lineConn) take(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return &notSent{ctx.Err()}
	case <-l.ended:
		return &notSent{l.err}
	}
	var err error
	select {
	case <-l.ended: // both were ready
		err = l.err
	default:
		err = l.broken
	}
	if err != nil {
		l.give()
		return &notSent{err}
	}
	return nil
}

// give gives the turn back.
func (l *lineConn) give() {
	if cap(l.line) > keepBuffer {
		l.line = nil
	}
	<-l.turn
}

// begin frames a message, writes what can be written now, and gives the rest.
func (l *lineConn) begin(message []byte) (rest []byte, err error) {
	l.line = appendLine(l.line[:0], message)
	if l.broken != nil {
		return nil, &notSent{l.broken}
	}
	if l.now == nil {
		return l.line, nil
	}
	n, err := l.now(l.line)
	l.broken = err
	return l.line[n:], err
}

// finish writes the rest of a message and gives the turn back. After an error
// nothing is written any more, but what the peer still had to say may be in the
// pipe: reading goes on.
func (l *lineConn) finish(rest []byte) error {
	defer l.give()
	_, err := l.w.Write(rest)
	l.broken = err
	return err
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
	l.reading.Do(func() {
		go l.read(func(m Message) bool {
			select {
			case l.in <- m:
				return true
			case <-l.ended:
				return false
			}
		})
	})
	select {
	case m := <-l.in:
		return m, nil
	case <-ctx.Done():
		return Message{}, ctx.Err()
	case <-l.ended:
		return Message{}, l.err
	case <-l.readOver:
		return Message{}, l.readErr
	}
}

func (l *lineConn) each(ctx context.Context, take func(Message) error) error {
	var mu sync.Mutex // held while take runs
	var failed error
	over := false
	l.reading.Do(func() {
		go l.read(func(m Message) bool {
			mu.Lock()
			defer mu.Unlock()
			if over {
				return false
			}
			failed = take(m)
			over = failed != nil
			return !over
		})
	})
	var err error
	select {
	case <-l.readOver:
		err = l.readErr
	case <-ctx.Done():
		err = ctx.Err()
	case <-l.ended:
		err = l.err
	}
	mu.Lock()
	defer mu.Unlock()
	over = true
	if failed != nil {
		return failed
	}
	return err
}

// read gives every message to take, until one of the two ends.
func (l *lineConn) read(take func(Message) bool) {
	l.readErr = l.readAll(take)
	close(l.readOver)
	if !l.serves {
		l.end(l.readErr)
	}
}

func (l *lineConn) readAll(take func(Message) bool) error {
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
			return err
		case m.Kind == Invalid:
			continue // tolerated
		case !take(m):
			return ErrClosed
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
	if l.serves {
		_ = l.Send(context.Background(), AnswerTo(err)) // who sent it waits for an answer
	}
	return l.bad(&LineError{Head: bytes.Clone(head[:min(len(head), headLength)]), Err: err})
}

// A response that can't be read should end the call it was for, not leave it to
// its time limit. These find its id as implementations write it: before or after
// the result. The id is only looked up among our own requests.
var (
	idFirst  = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,19})\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"`)
	idLast   = regexp.MustCompile(`"id"\s*:\s*(\d{1,19})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
	response = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"`)
)

func answered(head, tail []byte) []byte {
	head, tail = head[:min(len(head), headLength)], tail[max(0, len(tail)-headLength):]
	if m := idFirst.FindSubmatch(head); m != nil {
		return m[1]
	}
	if m := idLast.FindSubmatch(tail); m != nil && response.Match(head) {
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
