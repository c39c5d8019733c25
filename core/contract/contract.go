// Package contract reads the definition of one offered thing (a tool, a prompt,
// a resource template or a server's instructions) exactly as its server sent it,
// and says when two of them mean the same.
//
// Reading is strict and total: any bytes give a Contract. One that can't be read
// in exactly one way is Unparsable, says why, and is never equal to one that can.
// Source of the rules: docs/design/contract.md.
package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Limits of reading. A definition that exceeds one is unparsable.
const (
	MaxBytes = 1 << 20 // bytes of the raw definition, and of its canonical form
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
	values  int // in root
}

// unparsableDomain separates the digests of unparsable contracts from those of
// readable ones: a canonical form begins with a brace, this does not.
const unparsableDomain = "holdfast unparsable contract\n"

// Parse reads raw, of which it keeps a copy. It never fails: what can't be read
// strictly gives a Contract whose Problem says why. The digest of an unparsable
// contract is of its raw bytes in a domain of its own, so that it equals no
// readable one. A definition over MaxBytes keeps no bytes, only its digest.
//
// The time is linear in len(raw).
func Parse(raw []byte) Contract {
	if len(raw) > MaxBytes {
		return Contract{
			digest:  digestUnparsable(raw),
			problem: fmt.Sprintf("%s: %d bytes, and %d is the limit", tooLarge, len(raw), MaxBytes),
		}
	}
	c := Contract{raw: bytes.Clone(raw)}
	root, values, problem := read(c.raw)
	var annot annotations
	if problem == "" {
		annot, problem = readAnnotations(root)
	}
	var canonical []byte
	if problem == "" {
		canonical = root.AppendCanonical(make([]byte, 0, len(raw)+len(raw)/8))
		if len(canonical) > MaxBytes {
			problem = fmt.Sprintf("its canonical form has %d bytes, and %d is the limit", len(canonical), MaxBytes)
		}
	}
	if problem != "" {
		c.digest, c.problem = digestUnparsable(raw), problem
		return c
	}
	c.root, c.values, c.annot, c.digest = root, values, annot, digestOf(sha256.Sum256(canonical))
	return c
}

// tooLarge begins the Problem of a definition that kept no bytes.
const tooLarge = "it is too large"

// Restore gives back a stored contract. An unparsable one (problem not empty)
// stays unparsable whatever its bytes are. It fails when raw does not have the
// digest it was stored under. Without bytes, digest and problem it is the zero
// Contract. One that was over MaxBytes has no bytes that its digest could be
// checked against.
func Restore(raw []byte, digest Digest, problem string) (Contract, error) {
	switch {
	case len(raw) == 0 && digest == "" && problem == "":
		return Contract{}, nil
	case !digest.valid():
		return Contract{}, fmt.Errorf("the stored digest %q is none: it has to be sha256: and 64 hexadecimal digits", cut(string(digest)))
	case problem == "":
		c := Parse(raw)
		if c.problem != "" {
			return Contract{}, fmt.Errorf("the stored contract %s can't be read: %s", digest, c.problem)
		}
		return c, matches(c.digest, digest)
	case len(raw) == 0 && strings.HasPrefix(problem, tooLarge):
		return Contract{digest: digest, problem: problem}, nil
	}
	c := Contract{raw: bytes.Clone(raw), digest: digestUnparsable(raw), problem: problem}
	return c, matches(c.digest, digest)
}

// matches fails when the bytes of a stored contract are not those it was stored with.
func matches(have, stored Digest) error {
	if have != stored {
		return fmt.Errorf("the stored contract has the digest %s and was stored under %s: its bytes were changed", have, stored)
	}
	return nil
}

func digestOf(sum [sha256.Size]byte) Digest { return Digest("sha256:" + hex.EncodeToString(sum[:])) }

func digestUnparsable(raw []byte) Digest {
	h := sha256.New()
	h.Write([]byte(unparsableDomain))
	h.Write(raw)
	return digestOf([sha256.Size]byte(h.Sum(nil)))
}

// valid reports whether d is spelled as a digest is.
func (d Digest) valid() bool {
	hexa, ok := strings.CutPrefix(string(d), "sha256:")
	return ok && len(hexa) == 2*sha256.Size && strings.Trim(hexa, "0123456789abcdef") == ""
}

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

// Values is how many JSON values the definition consists of, arrays, objects and
// what is in them counted alike; 0 when unparsable. It is what a contract costs in
// memory: up to some 80 bytes for each value, beside twice its bytes. It was
// counted while reading.
func (c Contract) Values() int { return c.values }

// Canonical is the canonical form, valid JSON, nil when unparsable:
// Parse(c.Canonical()) equals c.
func (c Contract) Canonical() []byte {
	if !c.Parsable() {
		return nil
	}
	return c.root.AppendCanonical(make([]byte, 0, len(c.raw)+len(c.raw)/8))
}

// Parsable reports whether the definition could be read.
func (c Contract) Parsable() bool { return c.digest != "" && c.problem == "" }

// Problem says, in a sentence part, why the definition can't be read; empty when it can.
func (c Contract) Problem() string { return c.problem }

// Name is the name of the thing; empty when there is none, or it is no string.
func (c Contract) Name() string { return c.text("name") }

// Title is the title of the thing itself, not that of its annotations.
func (c Contract) Title() string { return c.text("title") }

// Description is the description of the thing.
func (c Contract) Description() string { return c.text("description") }

// InputSchema is the inputSchema as it was sent, of any kind; false when there
// is none. That a tool needs one, and a good one, is the structural gate's to say.
func (c Contract) InputSchema() (Value, bool) { return c.root.Get("inputSchema") }

// OutputSchema is the outputSchema; false when it is absent or null.
func (c Contract) OutputSchema() (Value, bool) { return c.present("outputSchema") }

// Annotations is the annotations object; false when it is absent or null.
func (c Contract) Annotations() (Value, bool) { return c.present("annotations") }

// text is a top-level string, empty when the field holds none.
func (c Contract) text(field string) string {
	v, _ := c.root.Get(field)
	if v.kind != String {
		return ""
	}
	return v.text
}

// present is a top-level field for which null means absent.
func (c Contract) present(field string) (Value, bool) {
	v, ok := c.root.Get(field)
	return v, ok && v.kind != Null
}
