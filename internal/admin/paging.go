package admin

import (
	"encoding/base64"
	"sort"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/fault"
)

// Page is one page of a list. NextCursor is empty on the last one.
type Page[T any] struct {
	Items      []T    `json:"items" nullable:"false"`
	NextCursor string `json:"next_cursor,omitempty" doc:"Give it as cursor to get what follows"`
}

// Paging asks for one page of a list.
type Paging struct {
	Cursor string `query:"cursor" maxLength:"2000" doc:"next_cursor of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"Most items of a page"`
}

// keyed is an item under the key by which a list is ordered. Keys are unique, so a
// cursor names the last item that was seen and stays right when others come or go.
type keyed[T any] struct {
	key  string
	item T
}

func page[T any](p Paging, all []keyed[T]) (Page[T], error) {
	after, err := p.after()
	if err != nil {
		return Page[T]{}, err
	}
	sort.Slice(all, func(i, j int) bool { return all[i].key < all[j].key })
	from := 0
	if p.Cursor != "" {
		from = sort.Search(len(all), func(i int) bool { return all[i].key > after })
	}
	out, last := Page[T]{Items: []T{}}, ""
	for _, k := range all[from:] {
		if len(out.Items) == p.Limit {
			out.NextCursor = cursorOf(last)
			break
		}
		out.Items = append(out.Items, k.item)
		last = k.key
	}
	return out, nil
}

// key joins the parts of a list's order so that different parts give different keys
// and a part sorts before every longer one that begins with it.
func key(parts ...string) string {
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(p, "\x00", "\x00\x01")
	}
	return strings.Join(parts, "\x00\x00")
}

func cursorOf(key string) string { return base64.RawURLEncoding.EncodeToString([]byte("1" + key)) }

func (p Paging) after() (string, error) {
	if p.Cursor == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil || len(b) == 0 || b[0] != '1' {
		return "", fault.New(fault.BadInput, "the cursor is not one that Holdfast gave", "start without a cursor")
	}
	return string(b[1:]), nil
}
