package record

import (
	"encoding/hex"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the JSON form of e, in which people and exports get it: the
// members that Encode gives, with "seq" before them and "contracts", "prev" and
// "hash" after them. Contracts are given in full where e has them: {"text": ...}
// where the bytes are UTF-8, else {"base64": ...}. One line; ParseJSON reads it.
func AppendJSON(b []byte, e Entry) ([]byte, error) {
	encoded, err := Encode(e)
	if err != nil {
		return b, err
	}
	w := writer{b: append(b, `{"seq":`...)}
	w.b = strconv.AppendInt(w.b, e.Seq, 10)
	w.b = append(append(w.b, ','), encoded[1:len(encoded)-1]...)
	if t := e.Transition; t != nil && len(t.Old.Contract.Raw())+len(t.New.Contract.Raw()) > 0 {
		w.object("contracts", func() {
			w.contract("old", t.Old)
			w.contract("new", t.New)
		})
	}
	w.text("prev", hex.EncodeToString(e.Prev[:]))
	w.text("hash", hex.EncodeToString(e.Hash[:]))
	return append(w.b, '}'), nil
}

func (w *writer) contract(name string, s Snapshot) {
	raw := string(s.Contract.Raw())
	if raw == "" {
		return
	}
	w.object(name, func() {
		if utf8.ValidString(raw) {
			w.text("text", raw)
		} else {
			w.base64(raw)
		}
	})
}

// MarshalJSON is AppendJSON.
func (e Entry) MarshalJSON() ([]byte, error) { return AppendJSON(nil, e) }

// UnmarshalJSON is ParseJSON.
func (e *Entry) UnmarshalJSON(b []byte) (err error) {
	*e, err = ParseJSON(b)
	return err
}

// ParseJSON reads the JSON form, however it is spelled, and restores the contracts
// that it holds. It does not check the hash: Check does.
func ParseJSON(b []byte) (Entry, error) {
	r := newReader(b)
	var e Entry
	var raw [2]string
	r.object(func(name string) bool {
		switch name {
		case "seq":
			e.Seq = r.number()
		case "prev":
			e.Prev = r.hash()
		case "hash":
			e.Hash = r.hash()
		case "contracts":
			raw = r.contracts()
		default:
			return r.entry(&e, name)
		}
		return true
	})
	if r.err != nil {
		return Entry{}, r.err
	}
	if t := e.Transition; t != nil {
		for i, s := range []*Snapshot{&t.Old, &t.New} {
			if raw[i] == "" && s.Ref.Bytes > 0 || s.Ref == (Ref{}) {
				continue // it was given without its bytes, or there was none
			}
			c, err := s.Ref.Restore([]byte(raw[i]))
			if err != nil {
				return Entry{}, err
			}
			s.Contract = c
		}
	}
	return e, nil
}

// contracts reads the raw bytes of the old and the new contract.
func (r *reader) contracts() (raw [2]string) {
	r.object(func(which string) bool {
		i := 0
		if which == "new" {
			i = 1
		}
		r.object(func(form string) bool {
			if form == "text" {
				raw[i] = r.text()
			} else {
				raw[i] = r.base64()
			}
			return form == "text" || form == "base64"
		})
		return which == "old" || which == "new"
	})
	return raw
}
