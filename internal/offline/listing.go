package offline

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Listing is one input, of which is known where each definition stands. Nothing
// else of it is in memory. It is not safe for concurrent use.
type Listing struct {
	src     *source
	entries []place
	servers []string // by the index in place; one unnamed where the input names none
	null    bool     // the input is null: nothing is recorded
	whole   bool     // the input is one definition
	broken  string   // why that can't be read, as far as it is known before reading it
	more    bool     // it says that another page follows
}

// place is where a definition stands.
type place struct {
	start, end int64
	server     int
}

// Entry is one definition of a listing.
type Entry struct {
	Server   string // empty where the input names no servers
	Name     string // empty where none can be read
	Contract contract.Contract
	Start    int64 // bytes into the input
	End      int64
}

// Open reads what is at path; "-" is stdin. It takes one tool, an array of tools,
// {"tools": [...]}, a JSON-RPC response to tools/list, or
// {"servers": {NAME: any of these but the first}}. What is no JSON is one definition
// that can't be read, not an error; another object is an error, for nothing in it would
// be looked at. Errors are faults: not_found and bad_input for
// what is no input, protocol for what can't be a listing, too_large.
func Open(path string, stdin io.Reader) (*Listing, error) {
	src, err := openSource(path, stdin)
	if err != nil {
		return nil, err
	}
	l, err := split(src)
	if err != nil {
		src.free()
		return nil, err
	}
	return l, nil
}

// Read is Open for bytes.
func Read(name string, raw []byte) (*Listing, error) { return split(memory(name, raw)) }

// Close frees what Open took.
func (l *Listing) Close() { l.src.free() }

// Name is the input as it was named.
func (l *Listing) Name() string { return l.src.name }

// Len is how many definitions there are.
func (l *Listing) Len() int { return len(l.entries) }

// More reports whether the input says that another page of tools follows: a part
// of the tools is not in it.
func (l *Listing) More() bool { return l.more }

// Servers are the names of the servers; none where the input names none.
func (l *Listing) Servers() []string {
	if len(l.servers) == 1 && l.servers[0] == "" {
		return nil
	}
	return slices.Clone(l.servers)
}

// Line is the line, from 1, in which an offset of the input stands.
func (l *Listing) Line(offset int64) int { return l.src.lineOf(offset) }

// Entry reads definition i.
func (l *Listing) Entry(i int) (Entry, error) {
	p := l.entries[i]
	c, err := l.src.contract(p.start, p.end, l.broken)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Server: l.servers[p.server], Name: l.name(i), Contract: c, Start: p.start, End: p.end}, nil
}

// name reads the name of definition i, also of one that can't be read otherwise.
// One with two names has none.
func (l *Listing) name(i int) string {
	p := l.entries[i]
	if l.broken != "" {
		return ""
	}
	dec := lenient(l.src.section(p.start, p.end))
	if dec.PeekKind() != '{' {
		return ""
	}
	name, found := "", false
	if _, err := dec.ReadToken(); err != nil {
		return ""
	}
	for dec.PeekKind() == '"' {
		member, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		if member.String() != "name" {
			if dec.SkipValue() != nil {
				return ""
			}
			continue
		}
		if found || dec.PeekKind() != '"' {
			return ""
		}
		value, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		name, found = strings.ToValidUTF8(value.String(), "\uFFFD"), true
	}
	return name
}

// lenient is a decoder that leaves it to contract.Parse to refuse a duplicate name
// or bad UTF-8, so that one bad definition does not hide the others. It remembers
// no names, so that its memory is that of the longest string.
func lenient(r io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Limits of an input, so that what is remembered of it is bounded.
const (
	maxEntries = 1 << 20
	maxServers = 10_000
)

// splitter finds the definitions of an input in one pass.
type splitter struct {
	dec *jsontext.Decoder
	l   *Listing
	bad error // what is wrong with a server of the map, if the input is one
}

// form is what an object is made of, as far as it says what the object is.
type form struct {
	seen    map[string]jsontext.Kind // the telling members, and what they begin with
	lists   []string                 // the members that hold tools
	entries []place
	more    bool
	twice   string // a telling member that stands twice
	foreign string // the first member that no tool has, quoted
	members int
}

// telling are the members that say what an object is.
var telling = []string{
	"name", "inputSchema", "tools", "nextCursor", "result", "error", "jsonrpc", "servers", "mcpServers", "command", "url",
}

// ofTool are the members that a tool has (MCP 2025-11-25).
var ofTool = []string{
	"name", "title", "description", "icons", "inputSchema", "outputSchema", "annotations", "execution", "_meta",
}

// split finds out what an input is.
func split(src *source) (*Listing, error) {
	l := &Listing{src: src, servers: []string{""}}
	s := &splitter{dec: lenient(src.section(0, src.size)), l: l}
	whole := func(why string) (*Listing, error) {
		l.whole, l.broken, l.servers, l.more = true, why, []string{""}, false
		l.entries = []place{{0, src.size, 0}}
		return l, nil
	}
	var root form
	var err error
	kind := s.dec.PeekKind()
	switch kind {
	case '[':
		root.entries, err = s.array(0)
	case '{':
		root, err = s.object(0, true)
	default:
		err = s.dec.SkipValue()
	}
	if err == nil {
		err = s.end()
	}
	switch f, refused := err.(*fault.Error); {
	case refused:
		return nil, f
	case err != nil:
		return whole("it is no valid JSON, near byte " + fmt.Sprint(s.dec.InputOffset()))
	case kind == '[':
		l.entries = root.entries
		return l, nil
	case kind != '{':
		l.null = kind == 'n'
		return whole("it is no object and no list")
	case root.twice != "":
		return whole(fmt.Sprintf("%q stands twice in it", root.twice))
	}
	return s.decide(root, whole)
}

// end reports what stands behind the value of the input.
func (s *splitter) end() error {
	_, err := s.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("something stands behind the JSON value")
	}
	return err
}

// decide takes the whole object for what its members say.
func (s *splitter) decide(root form, whole func(string) (*Listing, error)) (*Listing, error) {
	l, lists := s.l, root.lists
	_, schema := root.seen["inputSchema"]
	_, named := root.seen["name"]
	_, rpc := root.seen["jsonrpc"]
	_, config := root.seen["mcpServers"]
	_, failed := root.seen["error"]
	_, tools := root.seen["tools"]
	switch {
	case schema:
		return whole("")
	case config && len(lists) == 0:
		return nil, notRunning(l.src.name)
	case len(lists) == 0 && root.members > 0 && root.foreign == "":
		return whole("") // a tool, although one that lacks something
	case len(lists) > 1:
		return nil, unclear(l.src.name, "has "+strings.Join(lists, " and ")+", so it can be read in more than one way")
	case named && len(lists) > 0:
		return nil, unclear(l.src.name, "has a name and "+lists[0]+", so it can be read as a tool and as a listing")
	case rpc && failed && root.seen["error"] != 'n' && len(lists) == 0:
		return nil, unclear(l.src.name, "is the error of a server, and lists no tools")
	case rpc && len(lists) == 0:
		return nil, unclear(l.src.name, "is a JSON-RPC message that lists no tools")
	case tools && len(lists) == 0:
		return nil, unclear(l.src.name, "has tools that are no list")
	case len(lists) == 0 && root.members == 0:
		return nil, unclear(l.src.name, "is an empty object: neither a tool nor a list of tools")
	case len(lists) == 0:
		return nil, unclear(l.src.name, fmt.Sprintf("is no tool and lists none: it has no inputSchema, and a member %s that no tool has", root.foreign))
	case lists[0] == "servers" && s.bad != nil:
		return nil, s.bad
	}
	l.entries, l.more = root.entries, root.more
	if lists[0] != "servers" {
		l.servers = []string{""}
	}
	return l, nil
}

func unclear(name, what string) error {
	return fault.New(fault.Protocol, fmt.Sprintf("%q %s", name, what),
		`Give one tool, a list of tools, {"tools": [...]}, the answer to tools/list, or {"servers": {NAME: {"tools": [...]}}}.`)
}

// shownMember is a foreign name for an error, cut and escaped.
func shownMember(name string) string {
	if runes := []rune(name); len(runes) > 40 {
		name = string(runes[:40]) + "..."
	}
	return strconv.QuoteToASCII(name)
}

func notRunning(name string) error {
	return fault.New(fault.BadInput, fmt.Sprintf("%q configures servers and lists no tools of theirs, which only a daemon can ask them for", name),
		"Start it with `holdfast serve` and add the servers: what they list is scanned. Or give a file with a listing.")
}

// object reads an object that may be a tool, a listing or an answer. Only the root
// may hold servers.
func (s *splitter) object(server int, root bool) (form, error) {
	f := form{seen: map[string]jsontext.Kind{}}
	if _, err := s.dec.ReadToken(); err != nil {
		return f, err
	}
	for s.dec.PeekKind() != '}' {
		t, err := s.dec.ReadToken()
		if err != nil {
			return f, err
		}
		name := t.String()
		if t.Kind() != '"' {
			return f, fmt.Errorf("the name of a member is no string")
		}
		kind := s.dec.PeekKind()
		if f.members++; f.foreign == "" && !slices.Contains(ofTool, name) {
			f.foreign = shownMember(name)
		}
		if slices.Contains(telling, name) {
			if _, twice := f.seen[name]; twice && f.twice == "" {
				f.twice = name
			}
			f.seen[name] = kind
		}
		if err := s.member(&f, name, kind, server, root); err != nil {
			return f, err
		}
	}
	_, err := s.dec.ReadToken()
	return f, err
}

// member reads the value of a member.
func (s *splitter) member(f *form, name string, kind jsontext.Kind, server int, root bool) error {
	switch {
	case name == "tools" && kind == '[':
		entries, err := s.array(server)
		f.take(name, form{lists: []string{name}, entries: entries})
		return err
	case name == "result" && kind == '{':
		inner, err := s.object(server, false)
		f.take(name, inner)
		return err
	case name == "servers" && kind == '{' && root:
		f.lists = append(f.lists, name)
		return s.servers(f)
	case name == "nextCursor" && kind == '"':
		t, err := s.dec.ReadToken()
		f.more = f.more || err == nil && t.String() != ""
		return err
	}
	return s.dec.SkipValue()
}

// take adds what a member holds.
func (f *form) take(member string, inner form) {
	if len(inner.lists) > 0 {
		f.lists = append(f.lists, member)
	}
	f.entries, f.more = append(f.entries, inner.entries...), f.more || inner.more
	if f.twice == "" {
		f.twice = inner.twice
	}
}

// array reads a list of definitions.
func (s *splitter) array(server int) ([]place, error) {
	var entries []place
	if _, err := s.dec.ReadToken(); err != nil {
		return nil, err
	}
	for s.dec.PeekKind() != ']' {
		start := s.dec.InputOffset()
		for _, b := range s.dec.UnreadBuffer() {
			if !strings.ContainsRune(" \t\r\n,", rune(b)) {
				break
			}
			start++
		}
		if err := s.dec.SkipValue(); err != nil {
			return nil, err
		}
		if len(entries) == maxEntries {
			return nil, fault.New(fault.TooLarge, fmt.Sprintf("%q has more than %d tools", s.l.src.name, maxEntries), "Split it.")
		}
		entries = append(entries, place{start, s.dec.InputOffset(), server})
	}
	_, err := s.dec.ReadToken()
	return entries, err
}

// servers reads the map of servers.
func (s *splitter) servers(f *form) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	s.l.servers = []string{}
	known := map[string]bool{}
	for s.dec.PeekKind() != '}' {
		t, err := s.dec.ReadToken()
		if err != nil {
			return err
		}
		name := strings.ToValidUTF8(t.String(), "\uFFFD")
		if known[name] && f.twice == "" {
			f.twice = name
		}
		if len(s.l.servers) == maxServers {
			return fault.New(fault.TooLarge, fmt.Sprintf("%q has more than %d servers", s.l.src.name, maxServers), "Split it.")
		}
		known[name], s.l.servers = true, append(s.l.servers, name)
		if err := s.server(f, name); err != nil {
			return err
		}
		if len(f.entries) > maxEntries {
			return fault.New(fault.TooLarge, fmt.Sprintf("%q has more than %d tools", s.l.src.name, maxEntries), "Split it.")
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// server reads what one server of the map lists.
func (s *splitter) server(f *form, name string) error {
	n := len(s.l.servers) - 1
	var inner form
	var err error
	switch s.dec.PeekKind() {
	case '[':
		inner.lists = []string{name}
		inner.entries, err = s.array(n)
	case '{':
		inner, err = s.object(n, false)
	default:
		err = s.dec.SkipValue()
	}
	_, program := inner.seen["command"]
	_, remote := inner.seen["url"]
	switch {
	case err != nil || len(inner.lists) > 0 || s.bad != nil:
	case program || remote:
		s.bad = notRunning(s.l.src.name)
	default:
		s.bad = unclear(s.l.src.name, fmt.Sprintf("has a server %q that lists no tools", name))
	}
	inner.lists = nil
	f.take(name, inner)
	return err
}
