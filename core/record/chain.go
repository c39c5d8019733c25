package record

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// chainDomain keeps a hash of this chain from being one of anything else.
const chainDomain = "holdfast audit chain v1"

// Link is the hash of one entry: of the entry before it (zero before the first),
// its place, and the bytes that Encode gave. Every part has a fixed length or its
// length before it, so that no two inputs are one text.
func Link(prev [32]byte, seq int64, encoded []byte) [32]byte {
	var head [1 + len(chainDomain) + 32 + 8 + 8]byte
	b := append(head[:0], byte(len(chainDomain)))
	b = append(b, chainDomain...)
	b = append(b, prev[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(seq))
	b = binary.BigEndian.AppendUint64(b, uint64(len(encoded)))
	h := sha256.New()
	h.Write(b)
	h.Write(encoded)
	return [32]byte(h.Sum(nil))
}

// Check says whether e is what was once committed as e.Seq after e.Prev: it fails
// when anything that the chain covers is not as it was.
func Check(e Entry) error {
	b, err := Encode(e)
	if err != nil {
		return err
	}
	if e.Seq < 1 || Link(e.Prev, e.Seq, b) != e.Hash {
		return errors.New("the entry does not have the hash that it was committed with")
	}
	return nil
}

func refOf(c contract.Contract) Ref {
	r := Ref{Digest: c.Digest(), Problem: c.Problem(), Bytes: len(c.Raw())}
	if r.Bytes > 0 {
		r.Raw = sha256.Sum256(c.Raw())
	}
	return r
}

// Restore gives the contract that r names from its stored bytes. It fails when
// they are not the bytes that r names.
func (r Ref) Restore(raw []byte) (contract.Contract, error) {
	c, err := contract.Restore(raw, r.Digest, r.Problem)
	if err == nil && !c.IsZero() && refOf(c) != r {
		err = errors.New("the stored contract has not the bytes that it was stored with")
	}
	if err != nil {
		return contract.Contract{}, err
	}
	return c, nil
}
