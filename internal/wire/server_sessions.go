package wire

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

// evictable is how long a session must have been unused before another of its
// owner's may take its place.
const evictable = time.Minute

const tooManySessions = "too many sessions are open; end one with DELETE, or wait until unused ones expire"

// httpSession is one session of an agent. The box, and what was sent of it, belong
// to the standing stream.
type httpSession struct {
	id      string
	who     any
	owner   any
	state   any // of the face
	flights flights
	box     *outbox
	done    chan struct{} // closed when the session ended

	mu     sync.Mutex
	used   time.Time
	inUse  int           // requests and streams
	stream chan struct{} // closed when another standing stream takes over; nil: none
	seq    uint64        // of the last event sent on a standing stream
	bare   map[string]uint64
}

func (x *httpSession) ID() string                          { return x.id }
func (x *httpSession) Notify(method string, params []byte) { x.box.note(method, params) }

// hold marks the session as used until release.
func (x *httpSession) hold() {
	x.mu.Lock()
	x.inUse++
	x.mu.Unlock()
}

func (x *httpSession) release() {
	x.mu.Lock()
	x.inUse--
	x.used = time.Now()
	x.mu.Unlock()
}

// idleSince gives when the session was last used; ok is false while it is.
func (x *httpSession) idleSince() (t time.Time, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.used, x.inUse == 0
}

// sessionTable owns the sessions of a server: which there are, and when they end.
// No goroutine waits for a session; one timer runs while there are any.
type sessionTable struct {
	mu     sync.Mutex
	byID   map[string]*httpSession
	owners map[any]int
	timer  *time.Timer
	closed bool
}

// newSession makes a session that is in no table yet.
func (s *HTTPServer) newSession(who any) *httpSession {
	var random [32]byte
	rand.Read(random[:]) // never fails
	x := &httpSession{
		id: base64.RawURLEncoding.EncodeToString(random[:]), who: who, owner: s.ownerOf(who),
		box: newOutbox(), done: make(chan struct{}), used: time.Now(),
	}
	x.box.read(false)
	return x
}

// find gives the session that a request names, held; or answers it. An id of
// somebody else's session is one that does not exist.
func (s *HTTPServer) find(w http.ResponseWriter, r *http.Request, who any, id []byte) *httpSession {
	name := r.Header["Mcp-Session-Id"]
	if len(name) != 1 {
		refuse(w, http.StatusBadRequest, id, CodeInvalidRequest, "the header Mcp-Session-Id is missing: begin with initialize, and send the id that it is answered with")
		return nil
	}
	x := s.table.hold(name[0], who)
	if x == nil {
		reject(w, http.StatusNotFound, noSession)
	}
	return x
}

const noSession = "there is no such session; begin a new one with initialize"

// hold finds a session of who's and holds it, both under the lock, so that one
// that expires now is not found.
func (t *sessionTable) hold(id string, who any) *httpSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.byID[id]
	if x == nil || x.who != who {
		return nil
	}
	x.hold()
	return x
}

// room makes sure that a session of the owner has a place, and takes it. Where all
// are taken, the one that was unused for longest makes room: many agents leave
// without a word.
func (s *HTTPServer) room(owner any) (ok bool) {
	t := &s.table
	most := s.MaxSessions
	if most <= 0 {
		most = DefaultMaxSessions
	}
	t.mu.Lock()
	var oldest *httpSession
	if t.owners[owner] >= most && !t.closed {
		if oldest = t.oldest(owner); oldest != nil {
			t.drop(oldest)
		}
	}
	if ok = !t.closed && t.owners[owner] < most; ok {
		if t.owners == nil {
			t.owners = map[any]int{}
		}
		t.owners[owner]++
	}
	t.mu.Unlock()
	if oldest != nil {
		s.end(oldest)
	}
	return ok
}

// oldest gives the owner's session that was unused for longest.
func (t *sessionTable) oldest(owner any) (oldest *httpSession) {
	var since time.Time
	for _, x := range t.byID {
		used, unused := x.idleSince()
		if unused && x.owner == owner && time.Since(used) >= evictable && (oldest == nil || used.Before(since)) {
			oldest, since = x, used
		}
	}
	return oldest
}

// leave gives a place back that room took.
func (t *sessionTable) leave(owner any) {
	if t.owners[owner]--; t.owners[owner] <= 0 {
		delete(t.owners, owner)
	}
}

// enter puts a session into the table, on the place that room took; false when the
// server closed meanwhile.
func (s *HTTPServer) enter(x *httpSession) bool {
	t := &s.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		t.leave(x.owner)
		return false
	}
	if t.byID == nil {
		t.byID = map[string]*httpSession{}
	}
	t.byID[x.id] = x
	if t.timer == nil {
		t.timer = time.AfterFunc(s.idle(), s.sweep)
	}
	return true
}

// drop takes a session out of the table; false when it was not in it.
func (t *sessionTable) drop(x *httpSession) bool {
	if t.byID[x.id] != x {
		return false
	}
	delete(t.byID, x.id)
	t.leave(x.owner)
	return true
}

func (s *HTTPServer) idle() time.Duration {
	if s.Idle > 0 {
		return s.Idle
	}
	return DefaultIdle
}

// sweep ends what was unused for too long, and comes again when the next is due.
func (s *HTTPServer) sweep() {
	t, idle := &s.table, s.idle()
	now := time.Now()
	var over []*httpSession
	next := idle
	t.mu.Lock()
	for _, x := range t.byID {
		switch used, unused := x.idleSince(); {
		case !unused:
		case now.Sub(used) >= idle:
			t.drop(x)
			over = append(over, x)
		default:
			next = min(next, idle-now.Sub(used))
		}
	}
	if t.timer = nil; len(t.byID) > 0 {
		t.timer = time.AfterFunc(max(next, idle/16), s.sweep) // not for each of many
	}
	t.mu.Unlock()
	for _, x := range over {
		s.end(x)
	}
}

// end ends a session that is in no table any more: its requests are cancelled, its
// stream ends, the face is told.
func (s *HTTPServer) end(x *httpSession) {
	if x.flights.end(errEnded) {
		close(x.done)
		s.Face.Closed(x.state)
	}
}

func (t *sessionTable) take() []*httpSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	all := make([]*httpSession, 0, len(t.byID))
	for _, x := range t.byID {
		all = append(all, x)
		t.drop(x)
	}
	return all
}

// remove answers DELETE.
func (s *HTTPServer) remove(w http.ResponseWriter, r *http.Request, who any) {
	x := s.find(w, r, who, nil)
	if x == nil {
		return
	}
	defer x.release()
	s.table.mu.Lock()
	was := s.table.drop(x)
	s.table.mu.Unlock()
	if was {
		s.end(x)
	}
	w.WriteHeader(http.StatusNoContent)
}
