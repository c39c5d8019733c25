package wire

import (
	"errors"
	"strconv"
	"sync"
	"time"
)

// reportEvery is how often one kind of fault is told again.
const reportEvery = time.Minute

// faults counts what a peer did wrong, by what would be said of it. There are only
// as many kinds as this package has sentences.
type faults struct {
	mu     sync.Mutex
	counts map[string]*faultCount
}

type faultCount struct {
	told   time.Time
	untold int
}

// tell reports whether a fault is to be told now, and how many like it were not.
func (f *faults) tell(what string) (untold int, now bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts == nil {
		f.counts = map[string]*faultCount{}
	}
	c := f.counts[what]
	if c == nil {
		c = &faultCount{}
		f.counts[what] = c
	} else if time.Since(c.told) < reportEvery {
		c.untold++
		return 0, false
	}
	untold, c.untold, c.told = c.untold, 0, time.Now()
	return untold, true
}

// rest gives what was counted and not told, once.
func (f *faults) rest() (rest []error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for what, c := range f.counts {
		if c.untold > 0 {
			rest = append(rest, repeated(errors.New(what), c.untold))
			c.untold = 0
		}
	}
	return rest
}

// repeated is a fault with the number of those that were not told one by one.
func repeated(err error, untold int) error {
	if untold == 0 {
		return err
	}
	return errors.New(err.Error() + " (" + strconv.Itoa(untold) + " more like this since it was last said)")
}

// report tells what the peer did wrong: of each kind the first at once, then one
// a minute with the number of those between, and what is left when the session
// ends. A peer that does nothing else must not fill a log.
func (s *Session) report(err error) {
	if s.handlers.Report == nil {
		return
	}
	if n, now := s.faults.tell(err.Error()); now {
		s.handlers.Report(repeated(err, n))
	}
}

func (s *Session) reportRest() {
	if s.handlers.Report == nil {
		return
	}
	for _, err := range s.faults.rest() {
		s.handlers.Report(err)
	}
}
