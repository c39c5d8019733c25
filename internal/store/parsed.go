package store

import (
	"sync"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// parsed holds the contracts that were read or written last, by the hash of their
// bytes: a pass over a server loads what the pass before it stored, and what was
// parsed once need not be parsed again. The bytes are read and hashed each time all
// the same. What it holds is for the most part what the catalogue of the intake
// holds, so it costs little memory of its own. A nil parsed holds nothing; safe for
// concurrent use.
type parsed struct {
	mu         sync.Mutex
	young, old map[[32]byte]held
	size       int // bytes that young holds
}

// held is a contract that parsed holds.
type held struct {
	contract.Contract
	stored bool // its bytes were read in the database, from which none are removed
}

// maxParsed bounds each of the two generations, in bytes of memory: a full one
// becomes the old one, and what is not asked for until the next is full is forgotten.
const maxParsed = 32 << 20

// find gives the contract that was parsed from the bytes with this hash.
func (p *parsed) find(hash [32]byte) held {
	if p == nil {
		return held{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h, ok := p.young[hash]
	if !ok {
		if h, ok = p.old[hash]; ok {
			p.add(hash, h)
		}
	}
	return h
}

// keep holds a contract whose bytes have this hash.
func (p *parsed) keep(hash [32]byte, c contract.Contract, stored bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if h, known := p.young[hash]; !known || stored && !h.stored {
		p.add(hash, held{c, stored})
	}
}

// add puts a contract into the young generation; mu is held.
func (p *parsed) add(hash [32]byte, h held) {
	size := sizeOf(h.Contract)
	if p.size += size; p.young == nil || p.size > maxParsed {
		p.old, p.young, p.size = p.young, make(map[[32]byte]held), size
	}
	p.young[hash] = h
}

// sizeOf is about what a contract takes in memory: see contract.Contract.Values.
func sizeOf(c contract.Contract) int { return 200 + 80*c.Values() + 2*len(c.Raw()) }
