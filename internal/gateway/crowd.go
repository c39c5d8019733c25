package gateway

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	settle    = 50 * time.Millisecond // catalogue swaps that come together are told as one
	tellEvery = time.Second           // between two list_changed of one session
)

// mark names a visible list: two lists that an agent could tell apart have two.
type mark uint64

var markSeed = maphash.MakeSeed()

// mark is of what tools/list would give: names and approved contracts, in order.
func (v view) mark(at place) mark {
	var h maphash.Hash
	h.SetSeed(markSeed)
	if v.search {
		h.WriteString("search")
	}
	for i := range v.tools {
		e := &v.tools[i]
		name := e.Direct
		if at.kind == faceServer {
			name = e.Own
		}
		h.WriteString(name)
		h.WriteByte(0)
		h.WriteString(string(e.Record.Approved.Digest()))
		h.WriteByte(0)
	}
	return mark(h.Sum64())
}

// told is what a session knows of its list. It belongs to the crowd.
type told struct {
	list mark      // that it was last given, or told of
	at   time.Time // of the last list_changed
}

// crowd is all open sessions. After a swap of the catalogue one timer looks at
// them; no goroutine waits for one.
type crowd struct {
	mu       sync.Mutex
	sessions map[*session]struct{}
	timer    *time.Timer // set while a look is due
	closed   bool
}

func (c *crowd) enter(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil {
		c.sessions = map[*session]struct{}{}
	}
	c.sessions[s] = struct{}{}
}

func (c *crowd) leave(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, s)
}

// listed notes which list a session was given.
func (c *crowd) listed(s *session, list mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.told.list = list
}

// stir has the sessions looked at soon.
func (c *crowd) stir(g *Gateway) { c.look(g, settle) }

func (c *crowd) look(g *Gateway, in time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil && !c.closed && len(c.sessions) > 0 {
		c.timer = time.AfterFunc(in, func() { c.tell(g) })
	}
}

// tell sends list_changed to the sessions whose list is another now. Whoever was
// told less than a second ago is looked at again.
func (c *crowd) tell(g *Gateway) {
	c.mu.Lock()
	c.timer = nil // a swap from here on is seen by another look
	all := make([]*session, 0, len(c.sessions))
	for s := range c.sessions {
		all = append(all, s)
	}
	c.mu.Unlock()

	catalogue := g.o.Tools.Catalogue()
	lists := map[visitor]mark{} // sessions of one agent at one place see one list
	now := time.Now()
	var again time.Duration
	for _, s := range all {
		list, ok := lists[s.visitor]
		if !ok {
			list = g.viewOf(catalogue, s.at, s.agent.now()).mark(s.at)
			lists[s.visitor] = list
		}
		wait, tell := c.due(s, list, now)
		if tell {
			s.peer.Notify("notifications/tools/list_changed", nil)
		}
		if wait > 0 && (again == 0 || wait < again) {
			again = wait
		}
	}
	if again > 0 {
		c.look(g, again)
	}
}

// due decides whether a session is told now, or how long it has to wait.
func (c *crowd) due(s *session, list mark, now time.Time) (wait time.Duration, tell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.told.list == list {
		return 0, false
	}
	if since := now.Sub(s.told.at); since < tellEvery {
		return tellEvery - since, false
	}
	s.told = told{list, now}
	return 0, true
}

func (c *crowd) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
