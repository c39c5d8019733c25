package wire

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"time"
)

// Event is one server-sent event (WHATWG HTML, section 9.2). An event without
// data is given too when it has an id or a retry time: MCP 2025-11-25 begins
// streams with one.
type Event struct {
	Name     string // "message" is written as no name and read as empty
	ID       string // the last event id of the stream once this event was read
	HasID    bool   // the event itself has one
	Data     []byte // lines joined by \n; of the reader's own, not reused
	Retry    time.Duration
	HasRetry bool
}

// AppendEvent appends an event as it stands in a stream. A line break in Data (CR,
// LF or both) begins another data line and is read as \n; in JSON it is white
// space. Line breaks in ID and Name would end the field and must not be there.
func AppendEvent(b []byte, e Event) []byte {
	if e.Name != "" && e.Name != "message" {
		b = append(append(append(b, "event: "...), e.Name...), '\n')
	}
	if e.HasID {
		b = append(append(append(b, "id: "...), e.ID...), '\n')
	}
	if e.HasRetry {
		b = append(strconv.AppendInt(append(b, "retry: "...), e.Retry.Milliseconds(), 10), '\n')
	}
	data := e.Data
	for {
		i := lineEnd(data)
		if i == len(data) {
			break
		}
		b = append(append(append(b, "data: "...), data[:i]...), '\n')
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		data = data[i+1:]
	}
	return append(append(append(b, "data: "...), data...), '\n', '\n')
}

// EventReader reads a stream of server-sent events. Not for concurrent use.
type EventReader struct {
	r      *bufio.Reader
	limit  int // bytes of data
	lastID string
	start  bool // nothing was read yet: a byte order mark may stand there
	skipLF bool // the last line ended with CR: an LF would belong to it
}

// NewEventReader reads events of up to limit bytes of data (0: DefaultMaxMessage).
func NewEventReader(r io.Reader, limit int) *EventReader {
	if limit <= 0 {
		limit = DefaultMaxMessage
	}
	return &EventReader{r: bufio.NewReaderSize(r, 16<<10), limit: limit, start: true}
}

// LastID is the last event id of the stream so far.
func (r *EventReader) LastID() string { return r.lastID }

// Next gives the next event. An event over the limit is read past and given as a
// *TooLongError; the reader can go on. What the stream's end cuts short is no
// event: then the error is that of the stream, io.EOF at its orderly end.
func (r *EventReader) Next() (Event, error) {
	b := eventBuilder{limit: r.limit, id: r.lastID}
	for {
		line, cut, err := r.line(r.limit + len("data: ") - len(b.Data))
		switch {
		case err != nil:
			return Event{}, err
		case len(line) > 0:
			b.add(line, cut)
			continue
		}
		r.lastID, b.ID = b.id, b.id
		if b.long {
			return Event{}, &TooLongError{r.limit}
		}
		if b.hasData || b.HasID || b.HasRetry {
			return b.Event, nil
		}
		b = eventBuilder{limit: r.limit, id: r.lastID}
	}
}

// eventBuilder takes the lines of one event.
type eventBuilder struct {
	Event
	limit   int
	id      string
	hasData bool
	long    bool // over the limit: data is no longer kept
}

// add takes one line; cut says that only its start was kept.
func (b *eventBuilder) add(line []byte, cut bool) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case string(field) == "data":
		switch b.long = b.long || cut || len(b.Data)+len(value) > b.limit; {
		case b.long:
			b.Data = nil
		case b.hasData:
			b.Data = append(append(b.Data, '\n'), value...)
		default:
			b.Data, b.hasData = value, true
		}
	case cut: // of no use
	case string(field) == "event":
		if b.Name = string(value); b.Name == "message" {
			b.Name = ""
		}
	case string(field) == "id":
		if bytes.IndexByte(value, 0) < 0 {
			b.id, b.HasID = string(value), true
		}
	case string(field) == "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil && value[0] != '+' {
			b.Retry, b.HasRetry = time.Duration(ms)*time.Millisecond, true
		}
	}
}

// line gives the next line in bytes of its own, without its end (CR, LF or CRLF).
// Of a line over limit bytes only the start is kept. A line that the stream's end
// cuts short is not given.
func (r *EventReader) line(limit int) (line []byte, cut bool, err error) {
	limit = max(limit, 64) // fields beside data have some room too
	for {
		first, err := r.r.Peek(1)
		if err != nil {
			return nil, false, err
		}
		if r.skipLF && first[0] == '\n' {
			_, _ = r.r.Discard(1)
			r.skipLF = false
			continue
		}
		r.skipLF = false
		if r.start && first[0] == 0xef {
			if bom, _ := r.r.Peek(3); string(bom) == "\ufeff" {
				_, _ = r.r.Discard(3)
				r.start = false
				continue
			}
		}
		r.start = false
		chunk, _ := r.r.Peek(r.r.Buffered())
		end := lineEnd(chunk)
		part := chunk[:end]
		if room := limit - len(line); len(part) > room {
			cut, part = true, part[:room]
		}
		line = append(line, part...)
		if end == len(chunk) {
			_, _ = r.r.Discard(end)
			continue
		}
		r.skipLF = chunk[end] == '\r'
		_, _ = r.r.Discard(end + 1)
		return line, cut, nil
	}
}

// lineEnd is the offset of the first CR or LF in b, or its length.
func lineEnd(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	if i := bytes.IndexByte(b, '\r'); i >= 0 {
		b = b[:i]
	}
	return len(b)
}
