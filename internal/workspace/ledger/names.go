package ledger

import (
	"encoding/json"
	"unicode/utf8"
)

// Names of files are bytes, and need not be UTF-8, which JSON is. Such a name stands
// beside its readable form once more, in base64.
type (
	plainState  State
	plainChange Change
	wireState   struct {
		plainState
		Raw []byte `json:"target_b64,omitempty"`
	}
	wireChange struct {
		plainChange
		Raw []byte `json:"path_b64,omitempty"`
	}
)

// MarshalJSON keeps every byte of a link's target.
func (s State) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireState{plainState(s), raw(s.Target)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *State) UnmarshalJSON(b []byte) error {
	var w wireState
	err := json.Unmarshal(b, &w)
	if w.Raw != nil {
		w.Target = string(w.Raw)
	}
	*s = State(w.plainState)
	return err
}

// MarshalJSON keeps every byte of the path.
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireChange{plainChange(c), raw(c.Path)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Change) UnmarshalJSON(b []byte) error {
	var w wireChange
	err := json.Unmarshal(b, &w)
	if w.Raw != nil {
		w.Path = string(w.Raw)
	}
	*c = Change(w.plainChange)
	return err
}

// raw gives the bytes of a name that JSON can't hold; nil of others.
func raw(name string) []byte {
	if utf8.ValidString(name) {
		return nil
	}
	return []byte(name)
}
