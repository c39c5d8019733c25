package workspace

// share notes a name of a file with several.
func (t *tracer) share(real string, now stat, names uint64, hide bool) {
	id := fileID{now.device, now.inode}
	x := t.shared[id]
	if x == nil {
		x = &shared{held: real, known: map[string]bool{}}
		t.shared[id] = x
	}
	x.names, x.changed, x.hide, x.known[real] = names, now.changed, x.hide || hide, true
}

// otherNames holds the other names of files in the roots. It goes through what git
// ignores only when a file changed since it last did: of most such files the other names
// lie outside, in the store of a package manager.
func (t *tracer) otherNames() {
	if len(t.shared) == 0 {
		t.s.guards.shared = nil
		return
	}
	if t.missing() {
		for p, x := range t.v.files {
			t.note(p, x.stat)
		}
		for p, now := range t.v.ignored {
			t.note(p, now)
		}
	}
	if t.missing() && !t.recall() {
		t.comb()
	}
	t.s.guards.shared = t.shared
}

// missing reports whether names of files are not known.
func (t *tracer) missing() bool {
	for _, x := range t.shared {
		if uint64(len(x.known)) < x.names {
			return true
		}
	}
	return false
}

// note holds a path if it is another name of a guarded file.
func (t *tracer) note(real string, now stat) {
	x := t.shared[fileID{now.device, now.inode}]
	if x == nil || x.known[real] {
		return
	}
	x.known[real] = true
	t.v.aim(real, aim{x.held, x.hide, true})
}

// recall takes the names over that were known before, and reports whether nothing can
// have changed among them.
func (t *tracer) recall() bool {
	for id, x := range t.shared {
		if uint64(len(x.known)) >= x.names {
			continue
		}
		was := t.s.guards.shared[id]
		if was == nil || was.changed != x.changed || was.names != x.names {
			return false
		}
		for p := range was.known {
			now, err := t.s.tree.sightOf(p)
			if err != nil || now.inode != id.inode || now.device != id.device {
				return false
			}
			t.note(p, now.stat)
		}
	}
	return true
}

// comb looks for names in folders that git ignores.
func (t *tracer) comb() {
	for p, now := range t.v.ignored {
		at, ok := t.s.tree.resolved(p)
		if !ok || !now.mode.IsDir() {
			continue
		}
		_ = t.s.tree.walk(at, func(e *entry) bool {
			if e.kind.IsRegular() {
				if now, ok := e.stat(); ok {
					t.note(e.real, now)
				}
			}
			return true
		})
	}
}
