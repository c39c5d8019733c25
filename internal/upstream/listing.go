package upstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/core/approval"
	"github.com/holdfast-mcp/holdfast/core/contract"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/wire"
)

const (
	maxPages    = 2000    // of one listing
	maxCursor   = 4 << 10 // bytes of one, as it is written
	maxToolName = 256     // bytes; a longer name can't be read by a person
	maxLeftOut  = 100     // entries that are told one by one
)

// list takes one complete listing of the tools: all of it, or an error. It waits
// for one that another caller is taking.
func (c *connection) list(ctx context.Context) (approval.Listing, error) {
	ctx, cancel := context.WithTimeout(ctx, c.server.pool.timing.listing)
	defer cancel()
	select {
	case c.listing <- struct{}{}:
		defer func() { <-c.listing }()
	case <-ctx.Done():
		return approval.Listing{}, ended(ctx, fmt.Sprintf("%s did not finish listing its tools in time", c.server.name), ctx.Err())
	}
	c.mu.Lock()
	changes := c.changes
	c.mu.Unlock()
	began := time.Now()

	l := &lister{name: c.server.name, secrets: c.secrets, names: map[string]bool{}, cursors: map[[sha256.Size]byte]bool{}}
	l.Incarnation = c.server.incarnation
	if err := l.tools(ctx, c); err != nil {
		err = c.listingFailed(ctx, err)
		if !errors.Is(ctx.Err(), context.Canceled) { // else nobody wants it any more
			c.untrusted()
			c.server.listed(err, false)
		}
		return approval.Listing{}, err
	}
	c.accept(l.Offers, changes, began)
	c.server.listed(nil, false)
	return l.Listing, nil
}

// untrusted ends what the last good listing was worth: a server that does not list
// any more may have changed.
func (c *connection) untrusted() {
	c.mu.Lock()
	c.verified = time.Time{}
	c.mu.Unlock()
}

// accept keeps what was listed, as what calls are held against. A change that was
// announced meanwhile leaves it unverified.
func (c *connection) accept(offers []approval.Offer, changes uint64, began time.Time) {
	digests := make(map[held]contract.Digest, len(offers))
	for _, o := range offers {
		digests[held{o.Kind, o.Name}] = o.Contract.Digest()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = digests
	if c.changes == changes {
		c.verified = began
	}
}

// listingFailed explains an error of a listing. What the server did not answer, or
// not in a readable way, makes the connection one to be made again.
func (c *connection) listingFailed(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return ended(ctx, fmt.Sprintf("%s did not finish listing its tools in time", c.server.name), err)
	}
	_, junk := errors.AsType[*wire.SyntaxError](err)
	_, long := errors.AsType[*wire.TooLongError](err)
	reason, err := c.secrets.cause(err)
	f := fault.Wrap(err, fault.Upstream, c.server.name+" could not list its tools"+reason, "Restart the server; see its log.")
	if junk || long {
		f.Kind = fault.Protocol
	} else {
		c.drop(f)
	}
	return f
}

// lister collects the pages of one listing.
type lister struct {
	approval.Listing
	name    string
	secrets *scrubber
	names   map[string]bool
	cursors map[[sha256.Size]byte]bool // their hashes: a cursor can be long
	bytes   int                        // of whole pages
	values  int                        // of what was read
	entries int
	left    int
}

func (l *lister) broke(what string, args ...any) error {
	return fault.New(fault.Protocol, fmt.Sprintf("%s lists its tools in a way that can't be used: %s", l.name, fmt.Sprintf(what, args...)), "Report it to the server's makers; nothing of the listing was taken.")
}

func (l *lister) over(what string) error {
	return fault.New(fault.TooLarge, fmt.Sprintf("%s lists more than %s; nothing of the listing was taken", l.name, what), "")
}

func (l *lister) tools(ctx context.Context, c *connection) error {
	params := []byte("{}")
	for page := 1; ; page++ {
		m, err := c.session.Call(ctx, "tools/list", params, nil)
		if err != nil {
			return err
		}
		if m.Error != nil {
			if page == 1 && !c.tools && code(m.Error) == wire.CodeMethodNotFound {
				return nil // it said that it has none
			}
			return fault.Wrap(c.secrets.saying(nil, itSaid, textAt(m.Error, "message")), fault.Upstream, fmt.Sprintf("%s answered the listing of its tools with error %d", l.name, code(m.Error)), "See the server's log.")
		}
		if l.bytes += len(m.Result); l.bytes > approval.MaxListing { // whatever is in it
			return l.over(strconv.Itoa(approval.MaxListing) + " bytes of tools")
		}
		if err := l.page(m.Result); err != nil {
			return err
		}
		s, ok := wire.Find(m.Result, "nextCursor")
		if !ok {
			return nil
		}
		cursor := m.Result[s.Start:s.End]
		text, ok := wire.Text(cursor)
		switch {
		case string(cursor) == "null" || ok && text == "":
			return nil
		case !ok:
			return l.broke("a cursor is no string")
		case len(cursor) > maxCursor:
			return l.broke("a cursor is longer than %d bytes", maxCursor)
		case l.cursors[sha256.Sum256([]byte(text))]:
			return l.broke("it gave a cursor twice, so that its pages have no end")
		case page == maxPages:
			return l.over(strconv.Itoa(maxPages) + " pages")
		}
		l.cursors[sha256.Sum256([]byte(text))] = true
		params = slices.Concat([]byte(`{"cursor":`), cursor, []byte("}"))
	}
}

// page takes the tools of one page.
func (l *lister) page(result []byte) (err error) {
	s, ok := wire.Find(result, "tools")
	if !ok || result[s.Start] != '[' {
		return l.broke("a page has no list of tools")
	}
	wire.Elements(result[s.Start:s.End], func(e wire.Span) bool {
		err = l.entry(result[s.Start+e.Start : s.Start+e.End])
		return err == nil
	})
	return err
}

// entry takes one entry, as the bytes it came in.
func (l *lister) entry(raw []byte) error {
	if l.entries++; l.entries > approval.MaxTools {
		return l.over(strconv.Itoa(approval.MaxTools) + " tools")
	}
	name, problem := toolName(raw)
	if problem != "" {
		if l.left++; l.left <= maxLeftOut {
			l.LeftOut = append(l.LeftOut, fmt.Sprintf("entry %d %s", l.entries, problem))
		}
		return nil
	}
	if l.names[name] {
		return l.broke("it lists the tool %q twice", l.secrets.oneLine(name, maxName))
	}
	l.names[name] = true
	c := contract.Parse(raw)
	if l.values += c.Values(); l.values > approval.MaxValues {
		return l.over(strconv.Itoa(approval.MaxValues) + " JSON values")
	}
	l.Offers = append(l.Offers, approval.Offer{Kind: approval.Tool, Name: name, Contract: c})
	return nil
}

// toolName gives the name of an entry, or the sentence part that says why it has none.
func toolName(raw []byte) (name, problem string) {
	if raw[0] != '{' {
		return "", "is no object"
	}
	s, ok := wire.Find(raw, "name")
	if !ok {
		return "", "has no name"
	}
	name, ok = wire.Text(raw[s.Start:s.End])
	names := 0
	wire.Members(raw, func(n string, _ wire.Span) bool {
		if n == "name" {
			names++
		}
		return names < 2
	})
	switch {
	case names > 1: // which is it? No other entry is strict enough to have two
		return "", "has two names"
	case !ok:
		return "", "has a name that is no text"
	case name == "":
		return "", "has an empty name"
	case len(name) > maxToolName:
		return "", fmt.Sprintf("has a name of more than %d bytes", maxToolName)
	}
	for _, r := range name {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return "", "has a name with control characters"
		}
	}
	return name, ""
}

func code(errorObject []byte) int {
	s, ok := wire.Find(errorObject, "code")
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(string(errorObject[s.Start:s.End]))
	return n
}
