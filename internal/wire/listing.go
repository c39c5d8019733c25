package wire

import (
	"bytes"
	"io"
)

// parseListing reads an answer to tools/list that Parse refused a second time, more
// loosely: what stands inside an entry of result.tools only has to end where one
// can see it end. So one definition that can't be read (a name that stands twice,
// invalid UTF-8, a lone surrogate, nesting without end, NaN) does not cost the
// others: whoever takes the entries reads each of them strictly, by itself. All
// else stays strict: the envelope, the members of the result, and each of their
// values but the list. Nothing but the Session's own tools/list is read so
// (docs/design/wire.md).
func parseListing(raw []byte) (Message, bool) {
	at := skipSpace(raw, 0)
	e := envelope{start: at}
	found := false
	end, ok := strictMembers(raw, at, func(quoted []byte, at int) (end int, ok bool) {
		if named(quoted, "result") {
			end, found, ok = looseResult(raw, at)
		} else {
			end, ok = strictValue(raw, at)
		}
		if member := e.member(quoted); ok && member != nil {
			*member = Span{at, end}
		}
		return end, ok
	})
	if !ok || !found || skipSpace(raw, end) != len(raw) {
		return Message{}, false
	}
	m, err := e.message(raw)
	if err != nil || m.Kind != Response || m.Result == nil || m.Error != nil {
		return Message{}, false
	}
	m.Loose = true
	return m, true
}

// looseResult reads the object of a result; found says that it has a list of tools.
func looseResult(b []byte, at int) (end int, found, ok bool) {
	end, ok = strictMembers(b, at, func(quoted []byte, at int) (int, bool) {
		if at < len(b) && b[at] == '[' && named(quoted, "tools") {
			found = true
			return looseList(b, at)
		}
		return strictValue(b, at)
	})
	return end, found, ok
}

// strictMembers reads the object at offset at: its names strictly and each once,
// its values as value does, which gives the offset behind one.
func strictMembers(b []byte, at int, value func(quoted []byte, at int) (end int, ok bool)) (end int, ok bool) {
	if at >= len(b) || b[at] != '{' {
		return 0, false
	}
	if at = skipSpace(b, at+1); at < len(b) && b[at] == '}' {
		return at + 1, true
	}
	for seen := map[string]bool{}; at < len(b) && b[at] == '"'; at = skipSpace(b, at+1) {
		end := skipString(b, at)
		if end > len(b) || !strictly(b[at:end]) {
			return 0, false
		}
		quoted := b[at:end]
		name, ok := text(quoted)
		if at = skipSpace(b, end); !ok || seen[name] || at >= len(b) || b[at] != ':' {
			return 0, false
		}
		seen[name] = true
		if at, ok = value(quoted, skipSpace(b, at+1)); !ok {
			return 0, false
		}
		switch at = skipSpace(b, at); {
		case at < len(b) && b[at] == '}':
			return at + 1, true
		case at >= len(b) || b[at] != ',':
			return 0, false
		}
	}
	return 0, false
}

// strictValue gives the offset behind a value that is strict JSON.
func strictValue(b []byte, at int) (end int, ok bool) {
	end = skipValue(b, at)
	return end, end > at && strictly(b[at:end])
}

// strictly reports whether v is one value as Parse wants them.
func strictly(v []byte) bool {
	if tooDeep(v) >= 0 {
		return false
	}
	d := newDecoder(v)
	defer d.free()
	if _, err := d.span(); err != nil {
		return false
	}
	_, err := d.ReadToken()
	return err == io.EOF
}

// looseList gives the offset behind the array at offset at, of which only the
// bounds of the elements count.
func looseList(b []byte, at int) (end int, ok bool) {
	if at = skipSpace(b, at+1); at < len(b) && b[at] == ']' {
		return at + 1, true
	}
	for at < len(b) {
		if at, ok = looseElement(b, at); !ok {
			return 0, false
		}
		if at = skipSpace(b, at); at >= len(b) {
			return 0, false
		}
		switch b[at] {
		case ']':
			return at + 1, true
		case ',':
			at = skipSpace(b, at+1)
		default:
			return 0, false
		}
	}
	return 0, false
}

// looseElement gives the offset behind an element: a string, what stands between
// brackets that match, or a word without any of these.
func looseElement(b []byte, at int) (end int, ok bool) {
	switch b[at] {
	case '"':
		end = skipString(b, at)
		return end, end <= len(b)
	case '{', '[':
		return matched(b, at)
	}
	end = at
	for end < len(b) && bytes.IndexByte([]byte(",:\"[]{} \n\t\r"), b[end]) < 0 {
		end++
	}
	return end, end > at
}

// matched gives the offset behind the bracket that closes the one at offset at.
// Each bracket is closed by one of its kind, so that no other reading of the
// bounds is possible.
func matched(b []byte, at int) (end int, ok bool) {
	var open []byte
	for ; at < len(b); at++ {
		switch c := b[at]; c {
		case '"':
			if at = skipString(b, at) - 1; at >= len(b) {
				return 0, false
			}
		case '{', '[':
			open = append(open, c+2) // in ASCII the closing one is two further
		case '}', ']':
			if open[len(open)-1] != c {
				return 0, false
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return at + 1, true
			}
		}
	}
	return 0, false
}

// reread gives an answer that Parse refused to the tools/list that waits for it, if
// it is that and can be read as one. With an id it must be the answer to that request.
func (s *Session) reread(raw, id []byte) bool {
	s.mu.Lock()
	waits := false
	for _, p := range s.pending {
		waits = waits || p.listing
	}
	s.mu.Unlock()
	if !waits {
		return false
	}
	m, ok := parseListing(raw)
	if !ok || id != nil && !bytes.Equal(m.ID, id) {
		return false
	}
	n, ok := ownID(m.ID)
	if !ok {
		return false
	}
	s.mu.Lock()
	p := s.pending[n]
	if p == nil || !p.listing {
		s.mu.Unlock()
		return false
	}
	delete(s.pending, n)
	s.mu.Unlock()
	p.answer <- answer{m: m}
	return true
}
