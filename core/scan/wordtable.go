package scan

// wordTable finds entries by their hash. The slots that a look-up walks are apart from
// the entries and small, for nearly every word of an honest text is looked up in
// vain: those look-ups stay in the nearest memory. The zero value is empty, and
// nothing can be looked up in it before the first note.
type wordTable struct {
	slots   []uint32 // open addressing; 0 is free, else see slotOf
	entries []entry
}

// indexBits are how many bits of a slot say which entry, counted from 1. The words
// are part of the program, and far fewer than a million.
const indexBits = 20

// slotOf is the slot of entry i: which one, and the highest bits of its hash.
func slotOf(h uint64, i int) uint32 { return uint32(h>>(32+indexBits))<<indexBits | uint32(i+1) }

func (t *wordTable) find(h uint64) *entry {
	last := uint64(len(t.slots) - 1)
	for i := mix(h) & last; ; i = (i + 1) & last {
		s := t.slots[i]
		if s == 0 {
			return nil
		}
		if uint64(s>>indexBits) == h>>(32+indexBits) {
			if e := &t.entries[s&(1<<indexBits-1)-1]; e.hash == h {
				return e
			}
		}
	}
}

func mix(h uint64) uint64 { return h ^ h>>29 }

// note adds meanings to a hash.
func (t *wordTable) note(h uint64, m mask, kind entryKind) {
	if 3*(len(t.entries)+1) > len(t.slots) {
		t.slots = make([]uint32, max(1024, 2*len(t.slots)))
		for i, e := range t.entries {
			t.put(e.hash, i)
		}
	}
	if e := t.find(h); e != nil {
		e.means, e.kind = e.means.or(m), e.kind|kind
		return
	}
	t.put(h, len(t.entries))
	t.entries = append(t.entries, entry{hash: h, means: m, kind: kind})
}

func (t *wordTable) put(h uint64, index int) {
	i := mix(h) & uint64(len(t.slots)-1)
	for t.slots[i] != 0 {
		i = (i + 1) & uint64(len(t.slots)-1)
	}
	t.slots[i] = slotOf(h, index)
}
