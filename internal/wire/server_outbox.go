package wire

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	boxLimit   = 256              // notifications that wait for one reader
	heartbeat  = 15 * time.Second // between signs of life on a quiet stream
	writeLimit = 30 * time.Second // for an agent to take what is written to it
)

// outbox is what waits to be written to one reader, in order. Putting never waits.
type outbox struct {
	wake   chan struct{}         // has room for one; a token means that there is something to see
	most   int                   // bytes that may wait and are never dropped; 0: any
	over   func()                // called when more do
	direct func(raw []byte) bool // sends what nothing waits before, without waiting; nil: nothing does

	mu     sync.Mutex
	items  []parcel
	notes  int  // items that may be dropped
	bytes  int  // of the others
	unread bool // nobody reads now: only what has no params is kept
	taken  bool // what was taken last is being sent
	closed bool
}

type parcel struct {
	method string // of a notification
	raw    []byte
	note   bool // a notification, which may be dropped
	bare   bool // one without params
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// note adds a notification; where too many wait, the oldest is dropped. One
// without params is not added again while it waits.
func (b *outbox) note(method string, params []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := parcel{method: method, note: true, bare: params == nil}
	same := func(q parcel) bool { return q.bare && q.method == method }
	if b.closed || b.unread && !p.bare || p.bare && slices.ContainsFunc(b.items, same) {
		return
	}
	if b.notes >= boxLimit {
		i := slices.IndexFunc(b.items, func(p parcel) bool { return p.note })
		b.items = slices.Delete(b.items, i, i+1)
		b.notes--
	}
	p.raw = NewNotification(method, params)
	if b.sent(p.raw) {
		return
	}
	b.items = append(b.items, p)
	b.notes++
	b.ring()
}

// read says whether somebody reads.
func (b *outbox) read(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unread = !on; b.unread {
		b.items = slices.DeleteFunc(b.items, func(p parcel) bool { return p.note && !p.bare })
		b.notes = len(b.items)
	}
	b.ring()
}

// put adds what is never dropped.
func (b *outbox) put(raw []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && !b.sent(raw) {
		b.items = append(b.items, parcel{raw: raw})
		if b.bytes += len(raw); b.most > 0 && b.bytes > b.most {
			b.over()
		}
		b.ring()
	}
}

// sent sends a message at once, which is a hand-over less, unless something waits
// before it or the reader is slow. mu is held.
func (b *outbox) sent(raw []byte) bool {
	return b.direct != nil && len(b.items) == 0 && !b.taken && b.direct(raw)
}

// close says that nothing more comes; what waits can still be taken.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.ring()
}

func (b *outbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take gives all that waits, and whether more may come. What was taken before was sent.
func (b *outbox) take() (items []parcel, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	items, b.items, b.notes, b.bytes = b.items, nil, 0, 0
	b.taken = len(items) > 0
	return items, !b.closed
}

// waiting is how much waits that is never dropped.
func (b *outbox) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.items) - b.notes
}

// eventWriter writes an event stream to one agent.
type eventWriter struct {
	w  http.ResponseWriter
	rc *http.ResponseController
	b  []byte
}

var (
	typeEvents = []string{"text/event-stream"}
	noCache    = []string{"no-cache, no-transform"}
)

// openEvents begins the stream.
func openEvents(w http.ResponseWriter) (*eventWriter, error) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = typeEvents, noCache
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	e := &eventWriter{w: w, rc: http.NewResponseController(w)}
	return e, e.flush()
}

func (e *eventWriter) add(ev Event) { e.b = AppendEvent(e.b, ev) }

// beat writes a comment, which readers ignore.
func (e *eventWriter) beat() error {
	e.b = append(e.b, ":\n\n"...)
	return e.flush()
}

// flush writes what was added, within writeLimit.
func (e *eventWriter) flush() error {
	// The writers of some tests and middlewares know no deadlines: then there is none.
	_ = e.rc.SetWriteDeadline(time.Now().Add(writeLimit))
	_, err := e.w.Write(e.b)
	if e.b = e.b[:0]; cap(e.b) > keepBuffer {
		e.b = nil
	}
	if err == nil {
		err = e.rc.Flush()
	}
	return err
}
