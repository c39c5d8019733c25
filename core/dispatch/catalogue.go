package dispatch

import (
	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Catalogue is an immutable snapshot of every server and every record, ready or
// not, so that a held tool is refused as what it is. Safe for concurrent use.
type Catalogue struct {
	// H: servers by name; entries by full name and by server+name; ready lists.
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
}

// NewCatalogue builds the snapshot. It keeps no reference to its arguments' maps.
func NewCatalogue(s approval.Settings, servers []approval.Server, records []approval.Record) *Catalogue {
	panic("unwritten")
}

// With gives a catalogue in which everything of one server is replaced: what a
// pass or an act changes. srv zero removes the server.
func (c *Catalogue) With(name string, srv approval.Server, records []approval.Record) *Catalogue {
	panic("unwritten")
}

// WithSettings gives the same servers and records under other settings.
func (c *Catalogue) WithSettings(s approval.Settings) *Catalogue { panic("unwritten") }

// Resolve finds an entry by its name in a face; never by splitting text.
func (c *Catalogue) Resolve(f Face, name string) (Entry, bool) { panic("unwritten") }

// Ready lists the entries of a kind that the caller may see in a face, in listed
// order: server name, then the order in which the server listed its tools.
func (c *Catalogue) Ready(f Face, kind approval.Kind, who Caller) []Entry { panic("unwritten") }

// Find gives the entry of a key, ready or not.
func (c *Catalogue) Find(k approval.Key) (Entry, bool) { panic("unwritten") }

// Server gives a stored server.
func (c *Catalogue) Server(name string) (approval.Server, bool) { panic("unwritten") }

// Servers lists all servers by name; Entries all entries of one server.
func (c *Catalogue) Servers() []approval.Server    { panic("unwritten") }
func (c *Catalogue) Entries(server string) []Entry { panic("unwritten") }
func (c *Catalogue) Settings() approval.Settings   { panic("unwritten") }

// Serve is the definition that an agent gets in a face: the approved bytes, with
// only the value of the top-level "name" replaced where the face prefixes it.
func (e Entry) Serve(f Face) []byte { panic("unwritten") }
