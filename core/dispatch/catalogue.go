package dispatch

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Catalogue is an immutable snapshot of every server and every record, ready or
// not, so that a held tool is refused as what it is. Safe for concurrent use.
// What it gives out is shared between all who ask and must not be changed. The
// nil and the zero Catalogue are empty: nothing is found in them.
type Catalogue struct {
	settings approval.Settings
	shelves  []*shelf // sorted by server name
}

// shelf is one server with everything of it. Names of different servers never
// meet: server names have no underscore, and every direct name, alias or not,
// begins with its server's name and two of them.
type shelf struct {
	server  approval.Server
	entries []Entry
	ready   []int // which of entries are ready, in the same order
	byKey   map[named]int
	direct  map[named]int
	own     map[named]int
	recall  *atomic.Bool // set: permits given from here are void. Shared with the shelves that this one replaced
}

type named struct {
	kind approval.Kind
	name string
}

// Entry is one record in the catalogue.
type Entry struct {
	Server  approval.Server
	Record  approval.Record
	Class   contract.Class
	Reason  Reason   // Ready, or the first failure
	Reasons []Reason // all failures
	Direct  string   // the name in the direct and search faces: server__tool, or its alias
	Own     string   // the name in the server's own face: the tool's name, or its alias

	name   span         // of the name's value in the approved bytes
	recall *atomic.Bool // of the shelf
}

// NewCatalogue builds the snapshot. It keeps no reference to its arguments' maps.
// Records of a server are served in the order in which they are given.
func NewCatalogue(s approval.Settings, servers []approval.Server, records []approval.Record) *Catalogue {
	c := &Catalogue{settings: cloneSettings(s)}
	of := make(map[string][]approval.Record, len(servers))
	for _, r := range records {
		of[r.Key.Server] = append(of[r.Key.Server], r)
	}
	for _, srv := range servers {
		c.shelves = append(c.shelves, c.stock(srv, of[srv.Name], nil))
	}
	slices.SortFunc(c.shelves, func(a, b *shelf) int { return strings.Compare(a.server.Name, b.server.Name) })
	return c
}

// With gives a catalogue in which everything of one server is replaced: what a
// pass or an act changes. srv zero removes the server. The work is that of the one
// server's records; the others are shared.
func (c *Catalogue) With(name string, srv approval.Server, records []approval.Record) *Catalogue {
	old, at := c.shelf(name)
	next := &Catalogue{settings: c.Settings()}
	rest := c.all()
	if old != nil {
		next.shelves = slices.Concat(rest[:at], rest[at+1:])
	} else {
		next.shelves = slices.Clone(rest)
	}
	if srv.Name == name && name != "" {
		next.shelves = slices.Insert(next.shelves, at, next.stock(srv, records, old))
	}
	return next
}

// WithSettings gives the same servers and records under other settings.
func (c *Catalogue) WithSettings(s approval.Settings) *Catalogue {
	next := &Catalogue{settings: cloneSettings(s), shelves: c.all()}
	if s.Unannotated == c.Settings().Unannotated {
		return next // nothing else of the settings is read here: the shelves can be shared
	}
	next.shelves = make([]*shelf, len(c.all()))
	for i, old := range c.all() {
		records := make([]approval.Record, len(old.entries))
		for j, e := range old.entries {
			records[j] = e.Record
		}
		next.shelves[i] = next.stock(old.server, records, old)
	}
	return next
}

// Recall voids every permit that was given for the server and not spent yet. It is
// called before the catalogue that replaces this one is made, whenever calls in
// flight are cancelled: a call that was admitted and not yet sent is then neither
// in flight nor sent later. It is the one thing about a Catalogue that changes.
func (c *Catalogue) Recall(server string) {
	if s, _ := c.shelf(server); s != nil {
		s.recall.Store(true)
	}
}

// stock puts a server's records on a shelf. old is the shelf that this one
// replaces: what was found out about the same bytes is taken over.
func (c *Catalogue) stock(srv approval.Server, records []approval.Record, old *shelf) *shelf {
	s := &shelf{
		server:  cloneServer(srv),
		entries: make([]Entry, 0, len(records)),
		byKey:   make(map[named]int, len(records)),
		direct:  make(map[named]int, len(records)),
		own:     make(map[named]int, len(records)),
		recall:  new(atomic.Bool),
	}
	if old != nil && !old.recall.Load() {
		s.recall = old.recall
	}
	for _, r := range records {
		key := named{r.Key.Kind, r.Key.Name}
		if r.Key.Server != srv.Name || r.Status == approval.None {
			continue // of another server, or not a record
		}
		if _, twice := s.byKey[key]; twice {
			continue
		}
		e := c.entry(s.server, r, old)
		e.recall = s.recall
		i := len(s.entries)
		s.entries = append(s.entries, e)
		s.byKey[key] = i
		claim(s.direct, named{key.kind, e.Direct}, i)
		claim(s.own, named{key.kind, e.Own}, i)
	}
	for i := range s.entries {
		e := &s.entries[i]
		if s.direct[named{e.Record.Key.Kind, e.Direct}] < 0 || s.own[named{e.Record.Key.Kind, e.Own}] < 0 {
			e.Reason, e.Reasons = ToolUnknown, []Reason{ToolUnknown}
		}
		if e.Reason == Ready {
			s.ready = append(s.ready, i)
		}
	}
	return s
}

// claim gives a name to an entry. Two things that would be served under one name
// (which takes two aliases with one digest) both lose it: a name that could mean
// either means none.
func claim(names map[named]int, name named, i int) {
	if _, taken := names[name]; taken {
		i = -1
	}
	names[name] = i
}

func (c *Catalogue) entry(srv approval.Server, r approval.Record, old *shelf) Entry {
	e := Entry{Server: srv, Record: r}
	e.Reason, e.Reasons = Classify(situation(c.settings, srv, r))
	e.Class = classOf(c.settings, r)
	if before, ok := old.find(named{r.Key.Kind, r.Key.Name}); ok {
		e.Direct, e.Own = before.Direct, before.Own
		if sameBytes(before.Record.Approved, r.Approved) {
			e.name = before.name
			return e
		}
	} else {
		e.Direct, e.Own = directName(srv.Name, r.Key.Name), ownName(srv.Name, r.Key.Name)
	}
	e.name = nameSpan(r.Approved)
	return e
}

// classOf is the dispatch class: by the approved contract where there is one, for
// that is what is served. Everything but a tool is read.
func classOf(s approval.Settings, r approval.Record) contract.Class {
	switch {
	case r.Key.Kind != approval.Tool:
		return contract.Read
	case r.Approved.IsZero():
		return r.Live.Class(s.Unannotated)
	}
	return r.Approved.Class(s.Unannotated)
}

// Resolve finds a tool by its name in a face; never by splitting text.
func (c *Catalogue) Resolve(f Face, name string) (Entry, bool) {
	return c.ResolveKind(f, approval.Tool, name)
}

// ResolveKind is Resolve for any kind of thing. A face that is neither finds nothing.
func (c *Catalogue) ResolveKind(f Face, kind approval.Kind, name string) (Entry, bool) {
	if f.Server != "" {
		s, _ := c.shelf(f.Server)
		if s == nil {
			return Entry{}, false
		}
		return s.at(s.own, named{kind, name})
	}
	if !f.Direct {
		return Entry{}, false
	}
	for _, s := range c.all() {
		if e, ok := s.at(s.direct, named{kind, name}); ok {
			return e, true
		}
	}
	return Entry{}, false
}

// Ready lists the entries of a kind that the caller may see in a face, in listed
// order: server name, then the order in which the server listed its tools.
func (c *Catalogue) Ready(f Face, kind approval.Kind, who Caller) []Entry {
	var shelves []*shelf
	most := 0
	for _, s := range c.all() {
		if f.Server != "" && f.Server != s.server.Name || f.Server == "" && !f.Direct {
			continue
		}
		if who.Scope.server(s.server.Name) {
			shelves = append(shelves, s)
			most += len(s.ready)
		}
	}
	if most == 0 {
		return nil
	}
	list := make([]Entry, 0, most)
	for _, s := range shelves {
		for _, i := range s.ready {
			if e := &s.entries[i]; e.Record.Key.Kind == kind && who.Scope.contains(e) {
				list = append(list, *e)
			}
		}
	}
	return list
}

// Find gives the entry of a key, ready or not.
func (c *Catalogue) Find(k approval.Key) (Entry, bool) {
	s, _ := c.shelf(k.Server)
	return s.find(named{k.Kind, k.Name})
}

// Server gives a stored server.
func (c *Catalogue) Server(name string) (approval.Server, bool) {
	if s, _ := c.shelf(name); s != nil {
		return s.server, true
	}
	return approval.Server{}, false
}

// Servers lists all servers by name.
func (c *Catalogue) Servers() []approval.Server {
	list := make([]approval.Server, 0, len(c.all()))
	for _, s := range c.all() {
		list = append(list, s.server)
	}
	return list
}

// Entries lists all entries of one server in served order.
func (c *Catalogue) Entries(server string) []Entry {
	s, _ := c.shelf(server)
	if s == nil {
		return nil
	}
	return slices.Clip(s.entries)
}

// Settings gives the settings that the snapshot was made under.
func (c *Catalogue) Settings() approval.Settings {
	if c == nil {
		return approval.Settings{}
	}
	return c.settings
}

func (c *Catalogue) all() []*shelf {
	if c == nil {
		return nil
	}
	return c.shelves
}

// shelf finds a server's shelf, nil when there is none, and its place in order.
func (c *Catalogue) shelf(server string) (*shelf, int) {
	at, ok := slices.BinarySearchFunc(c.all(), server, func(s *shelf, name string) int {
		return strings.Compare(s.server.Name, name)
	})
	if !ok {
		return nil, at
	}
	return c.shelves[at], at
}

func (s *shelf) find(key named) (Entry, bool) {
	if s == nil {
		return Entry{}, false
	}
	return s.at(s.byKey, key)
}

func (s *shelf) at(names map[named]int, key named) (Entry, bool) {
	i, ok := names[key]
	if !ok || i < 0 {
		return Entry{}, false
	}
	return s.entries[i], true
}

func cloneSettings(s approval.Settings) approval.Settings {
	if s.Lock != nil {
		s.Lock = &approval.Lock{Source: s.Lock.Source, Pins: maps.Clone(s.Lock.Pins)}
	}
	return s
}

func cloneServer(s approval.Server) approval.Server {
	s.Program.Args = slices.Clone(s.Program.Args)
	s.Program.Env = maps.Clone(s.Program.Env)
	s.Program.Headers = maps.Clone(s.Program.Headers)
	s.Options.EnabledTools = slices.Clone(s.Options.EnabledTools)
	s.Options.DisabledTools = slices.Clone(s.Options.DisabledTools)
	return s
}
