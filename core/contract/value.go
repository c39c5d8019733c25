package contract

// Kind is the JSON type of a Value. The zero Kind is Null.
type Kind byte

const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is one JSON value, immutable. Numbers keep every digit: there is no
// float64 anywhere.
type Value struct {
	kind    Kind
	boolean bool
	text    string // a string's content; a number's canonical spelling
	items   []Value
	members []Member // in the order that was sent
}

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value Value
}

func (v Value) Kind() Kind        { return v.kind }
func (v Value) Bool() bool        { return v.boolean }
func (v Value) Text() string      { return v.text }    // of a String; the canonical spelling of a Number
func (v Value) Items() []Value    { return v.items }   // of an Array; not to be changed
func (v Value) Members() []Member { return v.members } // of an Object, as sent; not to be changed

// Get finds a member of an object by name.
func (v Value) Get(name string) (Value, bool) { panic("unwritten") }

// Equal reports whether both mean the same: member order and the spelling of
// numbers and strings do not count.
func (v Value) Equal(w Value) bool { panic("unwritten") }

// AppendCanonical appends the canonical form to b.
func (v Value) AppendCanonical(b []byte) []byte { panic("unwritten") }
