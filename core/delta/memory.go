package delta

import "github.com/holdfast-mcp/holdfast/core/contract"

// Comparer compares one change after the other, as its Gate does, with memory that it
// keeps from one to the next: allocating is much of what a comparison costs. It is not
// safe for concurrent use.
type Comparer struct {
	gate   Gate
	memory memory
}

// Comparer gives a Comparer of the gate.
func (g Gate) Comparer() *Comparer { return &Comparer{gate: g} }

// Compare gives what Gate.Compare gives.
func (c *Comparer) Compare(approved, live contract.Contract) []Signal {
	c.memory.places.used, c.memory.words.used, c.memory.parts.used = 0, 0, 0
	return signalsOf(c.gate.facts(&c.memory, approved, live))
}

// memory is what one comparison needs, of which nothing is left in its facts. The zero
// memory is ready.
type memory struct {
	places block[place]
	words  block[word]
	parts  block[part]

	wordStack []word // of the place that is being read, and those around it
	partStack []part

	empty, nowhere place
	known          map[string]int32
	inside, silent map[frameKey]int
	frames         []frame
	ended          []ending
	buf            []byte
}

// mostKept is how many of a thing a memory keeps for the next comparison.
const mostKept = 256

// block hands out memory. When it is used up there is another one, twice as large.
type block[T any] struct {
	room []T
	used int
}

// expect says that about n will be needed, if not said before.
func (b *block[T]) expect(n int) {
	if b.room == nil {
		b.room = make([]T, min(n, mostKept))
	}
}

// take gives n, whatever they were used for before.
func (b *block[T]) take(n int) []T {
	if b.used+n > len(b.room) {
		b.room, b.used = make([]T, max(n, 4, min(2*len(b.room), mostKept))), 0
	}
	b.used += n
	return b.room[b.used-n : b.used : b.used]
}

// cut gives a copy of what.
func (b *block[T]) cut(what []T) []T {
	if len(what) == 0 {
		return nil
	}
	out := b.take(len(what))
	copy(out, what)
	return out
}

// emptied gives an empty map, the same one if it is not too large to be emptied.
func emptied[K comparable, V any](m map[K]V) map[K]V {
	if m == nil || len(m) > mostKept {
		return map[K]V{}
	}
	clear(m)
	return m
}
