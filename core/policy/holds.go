package policy

// HoldsFiles reports whether anything denies the use of files: a contract, or a deny
// rule on reading or changing them. A command without a sandbox could not be held to it.
// The nil Policy denies everything.
func (p *Policy) HoldsFiles() bool {
	if p == nil {
		return true
	}
	deny := &p.paths[Deny]
	return len(p.contracts) > 0 || deny.reading.any != none || deny.editing.any != none || len(deny.bare) > 0
}
