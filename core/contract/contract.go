// Package contract reads the definition of one offered thing (a tool, a prompt,
// a resource template or a server's instructions) exactly as its server sent it,
// and says when two of them mean the same.
//
// Reading is strict and total: any bytes give a Contract. One that can't be read
// in exactly one way is Unparsable, says why, and is never equal to one that can.
// Source of the rules: docs/design/contract.md.
package contract

// Limits of reading. A definition that exceeds one is unparsable.
const (
	MaxBytes = 1 << 20 // bytes of the raw definition
	MaxDepth = 128     // nested arrays and objects, the outermost counted
)

// Digest names a contract: "sha256:" and 64 lower-case hexadecimal digits.
// The zero Digest names none.
type Digest string

// Contract is the definition of one offered thing: immutable, comparable by
// Digest, safe for concurrent use. The zero Contract is no contract: it is not
// parsable and equals nothing but itself.
type Contract struct {
	raw     []byte
	root    Value
	digest  Digest
	problem string
	annot   annotations
}

// annotations are the hints as written; absent and null are nil.
type annotations struct{ readOnly, destructive, idempotent, openWorld *bool }

// Parse reads raw, of which it keeps a copy. It never fails: what can't be read
// strictly gives a Contract whose Problem says why. The digest of an unparsable
// contract is of its raw bytes in a domain of its own, so that it equals no
// readable one. A definition over MaxBytes keeps no bytes, only its digest.
func Parse(raw []byte) Contract { panic("unwritten") }

// Restore gives back a stored contract. An unparsable one (problem not empty)
// stays unparsable whatever its bytes are. It fails when raw does not have the
// digest it was stored under.
func Restore(raw []byte, digest Digest, problem string) (Contract, error) { panic("unwritten") }

// IsZero reports whether c is no contract at all.
func (c Contract) IsZero() bool { return c.digest == "" }

// Equal reports whether both are contracts and mean the same value.
func (c Contract) Equal(d Contract) bool { return c.digest != "" && c.digest == d.digest }

// Digest is SHA-256 of the canonical form of the whole definition.
func (c Contract) Digest() Digest { return c.digest }

// Raw is the definition byte for byte as it was sent. The caller must not change it.
func (c Contract) Raw() []byte { return c.raw }

// Root is the value read; the zero Value (null) when unparsable.
func (c Contract) Root() Value { return c.root }

// Canonical is the canonical form, valid JSON, nil when unparsable:
// Parse(c.Canonical()) equals c.
func (c Contract) Canonical() []byte { panic("unwritten") }

// Parsable reports whether the definition could be read.
func (c Contract) Parsable() bool { return c.digest != "" && c.problem == "" }

// Problem says, in a sentence part, why the definition can't be read; empty when it can.
func (c Contract) Problem() string { return c.problem }
