package delta

import (
	"strconv"
	"strings"
)

// uri is a reference split as RFC 3986 appendix B does. It is read leniently:
// whatever can't be a URI is a relative path, which leaves no document.
type uri struct {
	scheme, authority, path, query, fragment    string
	hasAuthority, hasQuery, hasFragment, opaque bool
}

func parseURI(s string) uri {
	var u uri
	s, u.fragment, u.hasFragment = strings.Cut(s, "#")
	s, u.query, u.hasQuery = strings.Cut(s, "?")
	if scheme, rest, ok := strings.Cut(s, ":"); ok && isScheme(scheme) {
		u.scheme, s = strings.ToLower(scheme), rest
	}
	if rest, ok := strings.CutPrefix(s, "//"); ok {
		u.hasAuthority = true
		end := strings.IndexByte(rest, '/')
		if end < 0 {
			end = len(rest)
		}
		u.authority, s = strings.ToLower(rest[:end]), rest[end:]
	}
	u.path = s
	u.opaque = u.scheme != "" && !u.hasAuthority && !strings.HasPrefix(s, "/")
	return u
}

func isScheme(s string) bool {
	for i, r := range s {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", r)) {
			return false
		}
	}
	return s != ""
}

// absolute prints everything but the fragment.
func (u uri) absolute() string {
	s := u.path
	if u.hasAuthority {
		s = "//" + u.authority + s
	}
	if u.scheme != "" {
		s = u.scheme + ":" + s
	}
	if u.hasQuery {
		s += "?" + u.query
	}
	return s
}

// resolve gives where a reference leads from a base (RFC 3986 section 5.2.2): the
// document and, apart, the fragment.
func resolve(base, reference string) (document, fragment string) {
	if rest, ok := strings.CutPrefix(reference, "#"); ok {
		return base, rest
	}
	r := parseURI(reference)
	fragment = r.fragment
	if r.scheme != "" {
		return r.absolute(), fragment
	}
	b := parseURI(base)
	switch {
	case r.hasAuthority:
		r.scheme = b.scheme
	case r.path == "" && !r.hasQuery:
		return b.absolute(), fragment
	case r.path == "":
		b.query, b.hasQuery = r.query, true
		return b.absolute(), fragment
	default:
		r.scheme, r.authority, r.hasAuthority = b.scheme, b.authority, b.hasAuthority
		if !strings.HasPrefix(r.path, "/") {
			r.path = merge(b, r.path)
		}
		r.path = withoutDots(r.path)
	}
	return r.absolute(), fragment
}

// merge puts a relative path in the place of the base's last segment.
func merge(b uri, path string) string {
	if b.hasAuthority && b.path == "" {
		return "/" + path
	}
	return b.path[:strings.LastIndexByte(b.path, '/')+1] + path
}

// withoutDots removes "." and ".." segments.
func withoutDots(path string) string {
	segments := strings.Split(path, "/")
	kept := segments[:0]
	for i, s := range segments {
		switch s {
		case ".", "..":
			if s == ".." && len(kept) > 0 && (len(kept) > 1 || kept[0] != "") {
				kept = kept[:len(kept)-1]
			}
			if i == len(segments)-1 {
				kept = append(kept, "") // it names a folder
			}
		default:
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "/")
}

// unescape decodes the percent signs of a fragment; what is none stays.
func unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if code, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(code))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// origin is who is asked for what a URI names: scheme and host. A reference that
// names no scheme is its own.
func origin(s string) string {
	u := parseURI(s)
	if u.scheme == "" {
		return s
	}
	host := u.authority
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	return u.scheme + "://" + host
}
