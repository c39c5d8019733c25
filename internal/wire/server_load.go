package wire

import (
	"io"
	"strconv"
	"sync"
)

// Limits of what agents may have in flight: requests whose answer is awaited, with
// their bodies. The bytes of a body live as long as its request, and a slow tool can
// make that minutes.
const (
	DefaultInFlight    = 64 << 20  // bytes of one owner's requests
	DefaultAllInFlight = 256 << 20 // bytes of everybody's
	perRequest         = 8 << 10   // bytes that a request counts for beside its body
)

// codeBusy is a server error of ours (JSON-RPC 2.0 section 5.1): too much is in flight.
const codeBusy = -32000

const (
	tooMuch    = "requests of this agent that are not answered yet hold as many bytes as they may; wait for some of them"
	tooMuchAll = "requests that are not answered yet hold as many bytes as they may; try again later"
)

// load counts the bytes in flight, by owner. The zero value is ready.
type load struct {
	mu     sync.Mutex
	owners map[any]int
	all    int
}

// share is what one request has of a load. One goroutine owns it.
type share struct {
	load      *load
	owner     any
	most, all int // limits
	taken     int
}

// take takes n more bytes, or says why not.
func (s *share) take(n int) (problem string) {
	l := s.load
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.owners[s.owner]+n > s.most:
		return tooMuch
	case l.all+n > s.all:
		return tooMuchAll
	}
	if l.owners == nil {
		l.owners = map[any]int{}
	}
	l.owners[s.owner] += n
	l.all += n
	s.taken += n
	return ""
}

// giveBack gives all of it back.
func (s *share) giveBack() {
	if s.taken == 0 {
		return
	}
	l := s.load
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all -= s.taken
	if l.owners[s.owner] -= s.taken; l.owners[s.owner] <= 0 {
		delete(l.owners, s.owner)
	}
	s.taken = 0
}

// busyError ends the reading of a body for which there is no room.
type busyError struct{ what string }

func (e *busyError) Error() string { return e.what }

// counted is a body that is counted as it comes, so that a length that is only
// announced holds nothing.
type counted struct {
	from  io.Reader
	share *share
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if n > 0 {
		if problem := c.share.take(n); problem != "" {
			return 0, &busyError{problem}
		}
	}
	return n, err
}

// share begins what one request of an owner has in flight.
func (s *HTTPServer) share(who any) *share {
	x := &share{load: &s.load, owner: s.ownerOf(who), most: s.InFlight, all: s.AllInFlight}
	if x.most <= 0 {
		x.most = DefaultInFlight
	}
	if x.all <= 0 {
		x.all = DefaultAllInFlight
	}
	return x
}

func (s *HTTPServer) ownerOf(who any) any {
	if s.Owner != nil {
		return s.Owner(who)
	}
	return who
}

// tooManyFlights says that a session has too many requests in flight.
func tooManyFlights() string {
	return "over " + strconv.Itoa(maxFlights) + " requests of this session are being answered; wait for some"
}
