package delta

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// trail is a place as the walk came to it: through a reference it goes on from
// the place that refers. It is printed only when something is found there.
type trail struct {
	up      *trail
	keyword keyword
	name    string // of a property and the like
	index   int    // of a branch or item; -1 where there is none
	depth   int
}

// to is the trail of a single subschema, to the trail of a name, at of an index.
func (t *trail) to(k keyword) *trail { return &trail{up: t, keyword: k, index: -1, depth: t.depth + 1} }

func (t *trail) named(k keyword, name string) *trail {
	return &trail{up: t, keyword: k, name: name, index: -1, depth: t.depth + 1}
}

func (t *trail) at(k keyword, index int) *trail {
	return &trail{up: t, keyword: k, index: index, depth: t.depth + 1}
}

// path prints the place: a JSON Pointer (RFC 6901) without the leading slash, in
// the spelling of 2020-12; "#" for the root.
func (t *trail) path() string {
	if t.up == nil {
		return "#"
	}
	steps := make([]string, 0, 2*t.depth)
	for ; t.up != nil; t = t.up {
		switch {
		case t.keyword == kwText: // outside of what JSON Schema knows: a path of its own
			steps = append(steps, t.name)
			continue
		case t.index >= 0:
			steps = append(steps, strconv.Itoa(t.index))
		case t.keyword.mapsNames():
			steps = append(steps, pointerStep(t.name))
		}
		steps = append(steps, t.keyword.String())
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		b.WriteString(steps[i])
		if i > 0 {
			b.WriteByte('/')
		}
	}
	return b.String()
}

// under prints a name below a place.
func under(path, name string) string {
	if path == "#" {
		return pointerStep(name)
	}
	return path + "/" + pointerStep(name)
}

// pointerStep escapes a name for a JSON Pointer and for the eye.
func pointerStep(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return visible(name)
	}
	return visible(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
}

// visible prints a foreign text so that it can't forge a line, hide or turn
// around what stands next to it: control, format and line-separator characters
// become \u{HEX}, a backslash \\.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case hidden(r):
			fmt.Fprintf(&b, `\u{%X}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return r == '\\' || r < ' ' || r >= 0x7f && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
