package wire

import (
	"net/http"
	"strconv"
	"time"
)

// stand answers GET with the session's standing stream: what belongs to no
// request (list_changed) goes there. A session has one; a newer one takes over,
// since an agent that comes again may have lost the older without our knowing.
//
// Events have ids, so that what an agent may have missed is sent again: of the
// notifications without params the last of each method, which is all that one of
// them says. To agents of 2025-11-25 the stream begins with an event that has an id
// and no data, as that revision asks.
func (s *HTTPServer) stand(w http.ResponseWriter, r *http.Request, who any) {
	if _, stream := accepted(r.Header); !stream {
		reject(w, http.StatusNotAcceptable, "the header Accept must name text/event-stream")
		return
	}
	if !spoken(w, r, nil) {
		return
	}
	x := s.find(w, r, who, nil)
	if x == nil {
		return
	}
	defer x.release()
	over := x.takeOver(r.Header.Get("Last-Event-Id"))
	defer x.letGo(over)
	ev, err := openEvents(w)
	if v := r.Header["Mcp-Protocol-Version"]; err == nil && len(v) == 1 && v[0] == "2025-11-25" {
		ev.add(Event{HasID: true, ID: x.next("")})
		err = ev.flush()
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for err == nil {
		select {
		case <-x.box.wake:
			err = x.writeWaiting(ev, over)
		case <-beat.C:
			if again, ok := s.authenticate(r); !ok || again != who {
				return // revoked or expired since
			}
			err = ev.beat()
		case <-over:
			return
		case <-x.done:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// takeOver makes the caller's stream the session's; the channel is closed when
// another takes over. What was sent after the event that the agent saw last is put
// into the box again.
func (x *httpSession) takeOver(last string) chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream != nil {
		close(x.stream)
	}
	x.stream = make(chan struct{})
	x.box.read(true)
	seen, _ := strconv.ParseUint(last, 10, 64) // 0 without one: then nothing was seen for certain
	for method, at := range x.bare {
		if at > seen {
			x.box.note(method, nil)
		}
	}
	return x.stream
}

func (x *httpSession) letGo(stream chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream == stream {
		x.stream = nil
		x.box.read(false)
	}
}

// next gives the id of the next event, which carries a notification without
// params of that method, if it is not empty.
func (x *httpSession) next(bare string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seq++
	if bare != "" {
		if x.bare == nil {
			x.bare = map[string]uint64{}
		}
		x.bare[bare] = x.seq
	}
	return strconv.FormatUint(x.seq, 10)
}

// writeWaiting writes what waits, if the stream is still the session's.
func (x *httpSession) writeWaiting(ev *eventWriter, over chan struct{}) error {
	x.mu.Lock()
	mine := x.stream == over
	x.mu.Unlock()
	if !mine {
		x.box.ring() // whoever took over has to see it
		return nil
	}
	items, _ := x.box.take()
	for _, p := range items {
		bare := ""
		if p.bare {
			bare = p.method
		}
		ev.add(Event{Name: "message", HasID: true, ID: x.next(bare), Data: p.raw})
	}
	if len(items) == 0 {
		return nil
	}
	return ev.flush()
}
