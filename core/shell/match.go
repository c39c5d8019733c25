package shell

import "strings"

// matcher holds a pattern against parts: as a machine whose states are the places in the
// pattern, all followed at once, so that time grows with the part's length alone.
type matcher struct {
	known   string // the literal text that it begins with
	program string // the literal word that it begins with; empty when that is none
	size    int    // words of a set of states
	index   [256]uint8
	takes   [][]uint64 // by index: states that take a byte; the first is for no byte
	stars   []uint64   // states that may stay: a star
	inner   []uint64   // the same within a word
	ends    []uint64   // states in which it may end
	breaks  []uint64   // states that take a separator
	names   []uint64   // states that take the mark of a name
	last    string     // the literal text that it ends with
}

// newMatcher compiles a pattern's form.
func newMatcher(form string) *matcher {
	n := len(form) + 2
	m := &matcher{size: (n + 64) / 64}
	m.stars, m.inner, m.ends = m.set(), m.set(), m.set()
	m.takes = [][]uint64{m.set()}
	for i := range len(form) {
		switch c := form[i]; c {
		case star:
			put(m.stars, i)
		case starIn:
			put(m.inner, i)
		case tail:
			put(m.ends, i)
			m.take(sep, i)
			m.take(gap, i)
			put(m.stars, i+1)
			put(m.ends, i+1)
		default:
			m.take(c, i)
		}
	}
	if !strings.HasSuffix(form, string(rune(tail))) {
		put(m.ends, len(form))
	}
	m.breaks, m.names = m.takes[m.index[sep]], m.takes[m.index[name]]
	if m.program = unmarked(form); m.program != form && form[len(m.program)] != sep && form[len(m.program)] != tail {
		m.program = ""
	}
	m.known = form
	if k := strings.IndexFunc(form, func(c rune) bool { return c == star || c == starIn || c == tail }); k >= 0 {
		m.known = strings.TrimSuffix(form[:k], string(rune(sep))) // a gap may stand for that
		m.last = form[strings.LastIndexFunc(form, func(c rune) bool { return c == star || c == starIn || c == tail })+1:]
	}
	return m
}

func (m *matcher) set() []uint64 { return make([]uint64, m.size) }

func put(set []uint64, i int) { set[i/64] |= 1 << (i % 64) }

// take records that a state takes a byte.
func (m *matcher) take(c byte, i int) {
	if m.index[c] == 0 {
		m.index[c] = uint8(len(m.takes)) //nolint:gosec // there are fewer than 256 bytes
		m.takes = append(m.takes, m.set())
	}
	put(m.takes[m.index[c]], i)
}

// states is a set of them: now, and next.
type states struct {
	m         *matcher
	now, next []uint64
	room      [8]uint64 // for most patterns
}

// begin makes the set of one state.
func (s *states) begin(m *matcher, at int) {
	s.m = m
	room := s.room[:]
	if 2*m.size > len(room) {
		room = make([]uint64, 2*m.size)
	}
	s.now, s.next = room[:m.size], room[m.size:2*m.size]
	put(s.now, at)
}

// covers reports whether every command that a form stands for is meant.
func (m *matcher) covers(form string) bool {
	if !strings.HasPrefix(form, m.known) || !strings.HasSuffix(form, m.last) {
		return false
	}
	if m.narrow() {
		return m.coversNarrow(form[len(m.known):], 1<<len(m.known))
	}
	return m.coversWide(form)
}

// coversWide is covers for patterns of any length.
func (m *matcher) coversWide(form string) bool {
	var s states
	s.begin(m, 0)
	s.close(false)
	for i := range len(form) {
		switch c := form[i]; c {
		case anyText:
			s.move(s.m.takes[0], true, true)
		case anyWord:
			s.move(s.m.takes[0], true, false)
		case gap, sep:
			s.step(c, true, false)
		case globGap:
			s.step(sep, true, false)
			s.move(s.m.takes[0], true, false)
		case name:
			s.step(c, false, false)
		default:
			s.step(c, true, true)
		}
		if s.close(false); s.empty() {
			return false
		}
	}
	return s.ended()
}

// may reports whether some command that a part stands for is meant.
func (m *matcher) may(part *shape) bool {
	form := part.form
	if !part.vague && !strings.HasSuffix(form, m.last) {
		return false
	}
	if part.free {
		if !part.vague && !strings.Contains(form, m.known) {
			return false
		}
		if m.narrow() {
			return m.mayNarrow(form, 1, true)
		}
		var s states
		s.begin(m, 0)
		return s.run(form, true)
	}
	if m.mayFrom(form, 0) {
		return true
	}
	for _, at := range part.starts {
		if m.mayFrom(form, at) {
			return true
		}
	}
	return false
}

// mayFrom holds the pattern against a part from a place on.
func (m *matcher) mayFrom(form string, at int) bool {
	i := 0
	for ; i < len(m.known); i++ {
		if at+i == len(form) {
			return false
		}
		a, b := m.known[i], form[at+i]
		if a == b {
			continue
		}
		if a == name || b != sep && mark(b) {
			break
		}
		return false
	}
	if m.narrow() {
		return m.mayNarrow(form[at+i:], 1<<i, false)
	}
	var s states
	s.begin(m, i)
	return s.run(form[at+i:], false)
}

// run reads a form to its end. Free says that the pattern may begin with any word.
func (s *states) run(form string, free bool) bool {
	s.close(true)
	for i := range len(form) {
		switch c := form[i]; c {
		case anyText:
			s.spread(true)
		case anyWord:
			s.spread(false)
		case gap, globGap:
			s.also(func() {
				s.step(sep, true, true)
				s.close(true)
				s.spread(false)
			})
		case name:
			s.also(func() { s.step(name, true, true) })
		default:
			s.step(c, true, true)
			if free && (c == sep || c == '/') {
				put(s.now, 0)
			}
		}
		if free && (form[i] == gap || form[i] == globGap) {
			put(s.now, 0)
		}
		if s.close(true); !free && s.empty() {
			return false
		}
	}
	return s.ended()
}

// also keeps the states of now beside those that a step leads to.
func (s *states) also(step func()) {
	before := append([]uint64(nil), s.now...)
	step()
	for k := range before {
		s.now[k] |= before[k]
	}
}

// step reads a byte; a star takes it, or one within a word.
func (s *states) step(c byte, stars, inner bool) {
	s.move(s.m.takes[s.m.index[c]], stars, inner)
}

// move takes the states that read something, and those that stay.
func (s *states) move(take []uint64, stars, inner bool) {
	carry := uint64(0)
	for k := range s.m.size {
		moved := s.now[k] & take[k]
		stay := uint64(0)
		if stars {
			stay = s.m.stars[k]
		}
		if inner {
			stay |= s.m.inner[k]
		}
		s.next[k] = s.now[k]&stay | moved<<1 | carry
		carry = moved >> 63
	}
	s.now, s.next = s.next, s.now
}

// close adds the states that are reached without reading: after a star, and, for deny and
// ask, after the mark of a name.
func (s *states) close(names bool) {
	for changed := true; changed; {
		changed = false
		carry := uint64(0)
		for k := range s.m.size {
			pass := s.m.stars[k] | s.m.inner[k]
			if names {
				pass |= s.m.names[k]
			}
			moved := s.now[k] & pass
			next := s.now[k] | moved<<1 | carry
			carry = moved >> 63
			changed = changed || next != s.now[k]
			s.now[k] = next
		}
	}
}

// spread reads any text: all later states, within the word or not.
func (s *states) spread(within bool) {
	on := false
	for i := range 64 * s.m.size {
		k, bit := i/64, uint64(1)<<(i%64)
		on = on || s.now[k]&bit != 0
		if on {
			s.now[k] |= bit
		}
		if within && s.m.breaks[k]&bit != 0 {
			on = false
		}
	}
}

func (s *states) empty() bool {
	for k := range s.m.size {
		if s.now[k] != 0 {
			return false
		}
	}
	return true
}

func (s *states) ended() bool {
	for k := range s.m.size {
		if s.now[k]&s.m.ends[k] != 0 {
			return true
		}
	}
	return false
}
