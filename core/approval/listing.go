package approval

import (
	"slices"
	"strconv"

	"github.com/holdfast-mcp/holdfast/core/contract"
)

// Offer is one listed thing, of which the contract was read.
type Offer struct {
	Kind     Kind
	Name     string
	Contract contract.Contract
}

// Listing is one complete discovery pass of a server: all kinds, all pages.
type Listing struct {
	Incarnation string // under which it was taken
	Offers      []Offer
	LeftOut     []string // entries without a readable name, and why, for the report
}

// Limits of a listing; over one of them nothing changes and the pass is reported.
const (
	MaxTools   = 10_000
	MaxListing = 64 << 20 // bytes
	MaxRecords = 20_000
	// MaxValues bounds the JSON values in all definitions of a listing
	// (contract.Contract.Values): what is read takes more room than its bytes, up to
	// 25 times as much, and some 150 MiB for a listing of so many values.
	MaxValues = 2_000_000
)

var kinds = []Kind{Tool, Prompt, Template, Instructions}

// nameless reports whether the offer can't be held, because nothing names it. The
// instructions of a server are one and need no name.
func (o Offer) nameless() bool { return o.Name == "" && o.Kind != Instructions }

// named is a record's key within its server.
type named struct {
	kind Kind
	name string
}

// check refuses a listing that can't be taken, whole. It gives where each offer
// stands.
func (l Listing) check(s State) (map[named]int, error) {
	server := quote(s.Server.Name)
	if len(l.Offers) > MaxTools {
		return nil, refuse(CodeTooLarge,
			"the listing of server "+server+" has "+strconv.Itoa(len(l.Offers))+" entries, and "+strconv.Itoa(MaxTools)+" is the limit",
			"Nothing was changed; offer fewer tools, or split the server.")
	}
	size, values, known := 0, 0, len(s.Records)
	stands := make(map[named]int, len(l.Offers))
	for i, o := range l.Offers {
		if !slices.Contains(kinds, o.Kind) {
			return nil, refuse(CodeBadInput, "the listing of server "+server+" has an entry of kind "+quote(string(o.Kind))+", which is none",
				"Nothing was changed; this is a fault of Holdfast, please report it.")
		}
		size += len(o.Contract.Raw())
		values += o.Contract.Values()
		if o.nameless() {
			continue
		}
		key := named{o.Kind, o.Name}
		if _, twice := stands[key]; twice {
			return nil, refuse(CodeProtocol, "the listing of server "+server+" names the "+thing(o.Kind)+" "+quote(o.Name)+" twice",
				"Nothing was changed, because it can't be known which of the two would be called; the server has to be corrected.")
		}
		stands[key] = i
	}
	if size > MaxListing {
		return nil, refuse(CodeTooLarge,
			"the listing of server "+server+" has "+strconv.Itoa(size)+" bytes, and "+strconv.Itoa(MaxListing)+" is the limit",
			"Nothing was changed; offer fewer or smaller tools, or split the server.")
	}
	if values > MaxValues {
		return nil, refuse(CodeTooLarge,
			"the tools of server "+server+" consist of "+strconv.Itoa(values)+" JSON values, and "+strconv.Itoa(MaxValues)+" is the limit",
			"Nothing was changed; offer fewer or smaller tools, or split the server.")
	}
	for _, r := range s.Records {
		if _, again := stands[named{r.Key.Kind, r.Key.Name}]; again {
			known--
		}
	}
	if known+len(stands) > MaxRecords {
		return nil, refuse(CodeTooLarge,
			"with this listing server "+server+" would have more than "+strconv.Itoa(MaxRecords)+" records",
			"Nothing was changed; it offered too many names over time: remove the server and add it again.")
	}
	return stands, nil
}
